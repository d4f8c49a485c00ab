"""Runs of others: nothing that they name is executed, nothing that was exchanged or edited passes,
none ends in a traceback; and a run that may not be written can be read."""

import errno
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from icrl.cli import main
from icrl.constraint.learned import load_constraint
from icrl.errors import InputError
from icrl.experiment.directory.provenance import constraint_of_run
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.run.inputs import scenario_of_run
from icrl.experiment.run.one_run import run_learning
from icrl.experiment.suite.display import last_words
from icrl.tasks.lap_grid import lap_grid
from small_runs import TINY, Quiet, lap_demos, tiny_spec

VERBS = {
    "evaluate": ["evaluate", "run", "--episodes", "1"],
    "explain": ["explain", "run"],
    "render": ["render", "run", "--steps", "2"],
    "report": ["report", "run", "--out", "page"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three small runs: two that differ in the seed, one that differs from the
    first in its settings."""
    folder = tmp_path_factory.mktemp("runs")
    for name, spec in {
        "zero": tiny_spec(),
        "one": tiny_spec(seed=1),
        "other": tiny_spec(config=replace(TINY, caution=0.4)),
    }.items():
        run_learning(spec, lap_grid(), lap_demos(), folder / name, Quiet())
    return folder


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    """A copy of the first run, called `run`, in the folder that the verbs are called in."""
    shutil.copytree(made / "zero", tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def edit(path, **changes):
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(before | changes))


def ending(words, capsys):
    """Exit code and last words; whatever else is raised ends the test."""
    code = 0
    try:
        main(words)
    except SystemExit as stop:
        code = stop.code
    return code, capsys.readouterr().err


TRAP = """
from pathlib import Path
Path({note!r}).write_text("executed")
def make():
    raise RuntimeError
"""


@pytest.mark.parametrize("verb", VERBS)
def test_a_module_that_a_run_names_is_not_executed(run, capsys, verb, tmp_path):
    (tmp_path / "trap.py").write_text(TRAP.format(note=str(tmp_path / "note")))
    edit(run / "config.json", task="trap:make")
    code, said = ending(VERBS[verb], capsys)
    # zeta can be read without its environment, but this run's card is of another task
    if verb == "explain":
        assert "is not the constraint of this run: its card says task 'lap-grid'" in said
    elif verb == "report":
        assert "whose true constraint is not known" in said
    else:
        assert "with --allow-import, or name the task yourself: --task trap:make" in said
    assert code == 2
    assert not (tmp_path / "note").exists()
    assert "trap" not in sys.modules


@pytest.mark.parametrize("place", ["run", "run/config.json"])
def test_settings_of_another_run_execute_nothing_that_they_name(run, capsys, place, tmp_path):
    (tmp_path / "trap.py").write_text(TRAP.format(note=str(tmp_path / "note")))
    edit(run / "config.json", task="trap:make")
    code, said = ending(["learn", "--config", place, "--out", "new"], capsys)
    assert code == 2
    assert f"name the task yourself: icrl learn trap:make --config {place}" in said
    assert not (tmp_path / "note").exists()


def test_a_report_on_a_task_of_somebodys_own_executes_nothing(run, tmp_path):
    (tmp_path / "trap.py").write_text(TRAP.format(note=str(tmp_path / "note")))
    edit(run / "config.json", task="trap:make")
    constraint = load_constraint(run / "constraint")
    replace(constraint, card={**constraint.card, "task": "trap:make"}).save(run / "constraint")
    edit(run / "scores.json", true_return=None, violation_rate=None)
    main(VERBS["report"])
    page = (tmp_path / "page" / "index.html").read_text()
    assert "The true constraint is not known here." in page
    assert "The constraint in words" in page  # read as it is, with the demonstrations as they are
    assert not (tmp_path / "note").exists()


def test_a_run_that_ends_the_process_that_reads_it_is_only_refused(run, capsys):
    edit(run / "config.json", task="os:abort")
    assert ending(VERBS["evaluate"], capsys)[0] == 2


@pytest.mark.parametrize("words", [["--allow-import"], ["--task", "trap:make"]])
def test_nothing_is_imported_from_the_folder_of_the_run(run, capsys, monkeypatch, words):
    (run / "trap.py").write_text(TRAP.format(note=str(run / "note")))
    edit(run / "config.json", task="trap:make")
    monkeypatch.chdir(run)
    code, said = ending(["evaluate", ".", *words], capsys)
    assert (code, "from which nothing is imported" in said) == (2, True)
    monkeypatch.chdir(run.parent)
    monkeypatch.syspath_prepend(str(run))
    code, said = ending(["evaluate", "run", *words], capsys)
    assert (code, "from which nothing is imported" in said) == (2, True)
    assert not (run / "note").exists()


def test_registered_ids_and_our_own_names_need_no_word():
    assert scenario_of_run({"task": "lap-grid"}).task.name == "lap-grid"
    assert scenario_of_run({"task": "Pendulum-v1"}).task.name == "Pendulum-v1"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("one", "its card says seed 1, config.json 0"),
        ("other", "it was made with other settings than"),
    ],
)
@pytest.mark.parametrize("verb", VERBS)
def test_the_constraint_of_another_run_does_not_pass(made, run, capsys, source, words, verb):
    shutil.rmtree(run / "constraint")
    shutil.copytree(made / source / "constraint", run / "constraint")
    code, said = ending(VERBS[verb], capsys)
    assert code == 2
    assert f"is not the constraint of this run: {words}" in said


def test_features_of_another_task_do_not_pass(run):
    config = RunDirectory(run).config()
    constraint = load_constraint(run / "constraint")
    names = ("elsewhere", *constraint.features.names[1:])
    replace(constraint, features=replace(constraint.features, names=names)).save(run / "constraint")
    assert constraint_of_run(run, config, None).features.names == names
    with pytest.raises(InputError, match=r"its column \d+ is elsewhere, that of lap-grid is"):
        constraint_of_run(run, config, lap_grid().task)
    wide = replace(constraint.features, num_observations=constraint.features.num_observations + 9)
    replace(constraint, features=wide).save(run / "constraint")
    with pytest.raises(
        InputError, match=r"it judges \d+ observations and 2 actions .*, lap-grid has"
    ):
        constraint_of_run(run, config, lap_grid().task)


EDITS = [
    ("config.json", {"seed": "zero"}),
    ("config.json", {"seed": None}),
    ("config.json", {"task": ["lap-grid"]}),
    ("config.json", {"task": "../../elsewhere"}),
    ("config.json", {"label": 7}),
    ("config.json", {"constraint": 3}),
    ("config.json", {"demos": ["a"]}),
    ("config.json", {"demos": "missing.npz"}),
    ("config.json", {"config": None}),
    ("config.json", {"config": {"steps": {}}}),
    ("config.json", {"env": {"horizon": "9"}}),
    ("config.json", {"env": {"feature_names": [1, 2]}}),
    ("config.json", {"columns": {"observations": "x", "actions": ["a"]}}),
    ("config.json", {"method": {}}),
    ("config.json", {"preset": 2}),
    ("scores.json", {"true_return": "high"}),
    ("scores.json", {"violation_rate": [0.1]}),
    ("scores.json", {"violation_rate": None}),
    ("scores.json", {"seed": 1.5}),
    ("scores.json", {"steps": True}),
    ("scores.json", {"seconds": None}),
    ("scores.json", {"versions": "new"}),
    ("scores.json", {"versions": {}}),
    ("scores.json", {"constraint": 5}),
    ("scores.json", {"expert_return": {}}),
    ("scores.json", {"constraint": None}),
    ("scores.json", {"constraint": {"agent_steps_forbidden": "few"}, "true_return": None}),
    ("evaluation.json", {"trust": []}),
    ("evaluation.json", {"trust": {"verdict": 3}}),
    ("evaluation.json", {"trust": {"verdict": "good", "checks": {"a": 1}}}),
]


@pytest.mark.parametrize("verb", ["evaluate", "report"])  # benchmarks/fuzz.py tries all of them
@pytest.mark.parametrize(("name", "changes"), EDITS)
def test_edited_json_is_refused_in_words_or_makes_no_difference(run, capsys, name, changes, verb):
    edit(run / name, **changes)
    code, said = ending(VERBS[verb], capsys)
    assert code in (0, 2)
    assert (code == 0) == ("icrl: " not in said)


HUGE = f'{{"seed": 1{400 * "0"}}}'
TEXTS = [
    "",
    "{",
    "[]",
    "3",
    "null",
    '{"a": NaN}',
    "[" * 100_000,
    "\xff\xfe",
    '{"steps": 1e999}',
    "\x00",
    HUGE,
]


@pytest.mark.parametrize("verb", ["evaluate", "report"])
@pytest.mark.parametrize("name", ["config.json", "scores.json", "metrics.jsonl"])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_file_that_is_no_json_is_refused_in_words_or_makes_no_difference(
    run, capsys, name, text, verb
):
    (run / name).write_bytes(text.encode("latin-1"))
    code, _ = ending(VERBS[verb], capsys)
    assert code in (0, 2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[1]", "line 1 holds list, expected an object"),
        ('{"steps": "many"}', "line 1: steps is 'many', expected int or float"),
        ('{"truth/true_return": {}}', "line 1: truth/true_return is {}"),
        ('{"truth/violation_rate": "../.."}', "line 1: truth/violation_rate is '../..'"),
        ("{half of a li", "line 1 is not JSON"),
    ],
)
def test_an_edited_line_of_the_metrics_is_named(run, line, words):
    path = run / "metrics.jsonl"
    path.write_text(f"{line}\n{path.read_text()}")
    with pytest.raises(InputError, match=words):
        RunDirectory(run).metrics()


def test_last_words_that_are_none_do_not_end_a_report(run, capsys):
    (run / "scores.json").unlink()  # a run that failed
    (run / "error.txt").write_text(" \n")
    assert ending(VERBS["report"], capsys)[0] in (0, 2)
    assert last_words(run) == "error.txt is empty"


def test_of_last_words_only_the_last_are_read(run):
    (run / "error.txt").write_text("why\nThe run ended with exit code 1.\n")
    assert last_words(run) == "why"
    with (run / "error.txt").open("r+b") as file:
        file.truncate(3 * 10**12)  # takes no room on the disk, and would take terabytes of memory
        file.seek(0, os.SEEK_END)
        file.write(b"\nwhy not\nThe run ended with exit code 1.\n")
    assert last_words(run) == "why not"


FILES = [
    "config.json",
    "scores.json",
    "metrics.jsonl",
    "evaluation.json",
    "error.txt",
    "policy.safetensors",
    "visited.npz",
    "constraint/constraint.safetensors",
    "constraint/card.json",
]


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_a_run_is_not_waited_for(run, capsys, name):
    """Read where it matters: `report` reads no policy, `evaluate` no last words."""
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    verb = "report"
    if name == "policy.safetensors":
        verb = "evaluate"
    code, said = ending(VERBS[verb], capsys)
    assert (code, "named pipe" in said) == (2, True)


@pytest.fixture
def read_only(monkeypatch):
    """Nothing can be opened for writing. (Permissions would not hinder the tests'
    user, where that is root.)"""
    really = Path.open

    def refuse(path, mode="r", *arguments, **options):
        if set(mode) & set("wax+"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return really(path, mode, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)


@pytest.mark.parametrize("verb", ["evaluate", "explain"])
def test_a_run_that_may_not_be_written_is_read_and_that_is_said(run, capsys, read_only, verb):
    before = sorted(os.listdir(run))
    main(VERBS[verb])
    said = " ".join(capsys.readouterr().out.split())
    assert "This is shown, but not kept: " in said
    assert "read-only file system" in said
    assert ("Verdict" in said) == (verb == "evaluate")
    assert sorted(os.listdir(run)) == before


@pytest.mark.parametrize("verb", ["render", "report"])
def test_what_makes_files_says_that_it_cannot(run, capsys, read_only, verb):
    code, said = ending(VERBS[verb], capsys)
    assert code == 2
    assert "cannot be written: it lies on a read-only file system" in said


def test_a_disk_that_fills_up_ends_a_run_with_words_and_whole_files(tmp_path, capsys, monkeypatch):
    calls = [0]
    fsync = os.fsync

    def fills_up(descriptor):
        calls[0] += 1
        if calls[0] > 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fills_up)
    with pytest.raises(InputError, match="cannot be written: the disk is full"):
        run_learning(
            tiny_spec(config=replace(TINY, steps=5 * 912)),
            lap_grid(),
            lap_demos(),
            tmp_path / "run",
            Quiet(),
        )
    monkeypatch.undo()
    run = RunDirectory(tmp_path / "run")
    assert run.metrics()
    assert load_constraint(run.path / "constraint").card["seed"] == 0
    assert not list(run.path.rglob("*.tmp"))
