"""A run directory: files whole or not at all, never another run's."""

import json
from pathlib import Path

import pytest

from icrl.errors import InputError
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.files import make_folder
from icrl.json_files import read_json, to_json, write_json
from icrl.versions import library_versions


def test_a_new_directory_describes_itself(tmp_path):
    run = RunDirectory(tmp_path / "a" / "b")
    run.begin({"task": "lap-grid", "where": Path("x/y")})
    assert run.config() == {"task": "lap-grid", "where": "x/y", "versions": library_versions()}
    assert not run.finished
    assert run.metrics() == []
    assert {"python", "icrl", "jax", "mujoco", "gymnasium", "numpy"} <= set(library_versions())


@pytest.mark.parametrize(
    ("name", "what"), [("config.json", "a run"), ("thesis.tex", "other files")]
)
def test_a_directory_in_use_is_refused_and_left_as_it_is(tmp_path, name, what):
    (tmp_path / name).write_text("precious")
    with pytest.raises(InputError, match=f"already holds {what}: nothing was overwritten"):
        RunDirectory(tmp_path).begin({})
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "precious"


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="is a file"):
        RunDirectory(tmp_path / "file").begin({})
    with pytest.raises(InputError, match="cannot create the folder"):
        make_folder(tmp_path / "file" / "below")


def test_an_empty_directory_may_be_used(tmp_path):
    RunDirectory(tmp_path).begin({"seed": 1})
    assert RunDirectory(tmp_path).config()["seed"] == 1


def test_metrics_leave_out_a_line_that_was_cut_off(tmp_path):
    run = RunDirectory(tmp_path)
    run.begin({})
    run.log({"round": 0, "agent/kl": float("nan")})
    run.log({"round": 1})
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"round": 2, "age')
    assert run.metrics() == [{"round": 0, "agent/kl": None}, {"round": 1}]


def test_numbers_that_are_not_finite_become_null_so_that_files_stay_json():
    content = to_json({"a": float("inf"), "b": [float("nan"), 1.5], "c": (True, None, 2)})
    assert content == {"a": None, "b": [None, 1.5], "c": [True, None, 2]}


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"old": 1})
    with pytest.raises(TypeError):
        write_json(path, {"new": object()})
    assert json.loads(path.read_text()) == {"old": 1}


@pytest.mark.parametrize(
    ("text", "word"), [("{", "cannot be read as JSON"), ("[1]", "expected a JSON object")]
)
def test_a_damaged_json_file_is_named(tmp_path, text, word):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError, match=word) as caught:
        RunDirectory(tmp_path).config()
    assert "config.json" in str(caught.value)
    with pytest.raises(InputError, match=r"is .* a run directory"):
        read_json(tmp_path / "missing" / "config.json")
