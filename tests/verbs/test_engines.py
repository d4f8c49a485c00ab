"""`icrl suite` and `icrl sweep` with `--engine ray`: what is chosen, shown and skipped is as with
processes. (`tests/extras/test_ray.py` has a cluster.)"""

import signal
import sys

import pytest

from icrl.cli import main
from icrl.errors import InputError
from icrl.experiment.engine import ray_engine
from icrl.experiment.suite.suite import expand
from icrl.experiment.suite.suites import find_suite
from icrl.json_files import to_json, write_json

SUITE = """
seeds = 2

[[entries]]
label = "ours"
task = "lap-grid"

[[entries]]
label = "others"
task = "lap-grid"
method = "nominal"
"""
SCORES = {
    "scenario": "lap-grid", "method": "icrl", "label": "ours", "seed": 0, "steps": 9,
    "true_return": 1.0, "violation_rate": 0.0, "expert_return": 1.0, "seconds": 1.0,
    "steps_per_second": 9.0,
}  # fmt: skip
RAY = ["--engine", "ray", "--address", "auto", "--jobs", "3"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(SUITE)
    (tmp_path / "space.toml").write_text("caution = {low = 0.1, high = 0.9}\n")
    return tmp_path


def test_a_suite_hands_over_what_is_asked_for_and_not_finished(folder, monkeypatch, capsys):
    asked = []
    handed = []

    def engine(jobs, num_processes, watcher):
        for job in jobs:
            handed.append((job.name, job.directory))
            watcher.started(job, 0)

    def find(*words):
        asked.append(words)
        return engine

    monkeypatch.setattr(ray_engine, "find_engine", find)
    finished = expand(find_suite("mine.toml"), folder / "out")[0]
    finished.directory.mkdir(parents=True)
    write_json(finished.directory / "config.json", to_json(finished.spec))
    write_json(finished.directory / "scores.json", SCORES)
    main(["suite", "mine.toml", *RAY, "--only", "ours", "--out", str(folder / "out")])
    assert asked == [("ray", "auto", 3)]
    assert handed == [("ours-seed1", folder / "out" / "ours-seed1")]
    said = capsys.readouterr().out
    assert "2 runs, 1 finished already" in said
    assert "started   ours-seed1" in said


@pytest.mark.parametrize(
    "words", [["suite", "mine.toml"], ["sweep", "lap-grid", "--space", "space.toml"]]
)
def test_without_ray_both_name_the_extra_and_make_nothing(words, folder, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    said = refused(*words, *RAY, "--out", "out")
    assert "--engine ray needs the extra 'ray'" in said
    assert "pip install 'icrl[ray]'" in said
    assert not (folder / "out").exists()


def test_a_sweep_asks_for_the_engine_that_is_named(refused, monkeypatch):
    def find(*words):
        raise InputError(f"asked for {words}")

    monkeypatch.setattr(ray_engine, "find_engine", find)
    said = refused("sweep", "lap-grid", "--space", "space.toml", *RAY)
    assert "asked for ('ray', 'auto', 3)" in said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_suite_that_is_stopped_says_how_to_go_on(number, code, monkeypatch, capsys):
    def engine(jobs, num_processes, watcher):
        signal.raise_signal(number)

    monkeypatch.setattr(ray_engine, "find_engine", lambda *words: engine)
    with pytest.raises(SystemExit) as stop:
        main(["suite", "mine.toml", "--out", "out"])
    assert stop.value.code == code
    assert "interrupted. out keeps what was done: the same command goes on." in (
        capsys.readouterr().err
    )
