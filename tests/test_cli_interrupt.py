"""Ctrl-C at any moment: exit code 130, a word on how far it got,
and a directory that can be read and judged."""

import signal
import subprocess
import sys
import time

import pytest

import icrl.verbs.tasks
from icrl.agent.policy_file import load_policy
from icrl.cli import main
from icrl.constraint.learned import load_constraint
from icrl.experiment.directory.checkpoint import checkpoints
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.tasks.lap_grid import lap_grid
from small_runs import TINY_FLAGS

# A shell that starts jobs in the background may have them ignore Ctrl-C:
# the child takes the usual handler again.
CODE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from icrl.cli import main
main()
"""


def start(tmp_path, *words):
    command = [sys.executable, "-c", CODE, *words]
    return subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(path, process):
    """Until the file is there and not empty."""
    for _ in range(6000):
        if path.exists() and path.stat().st_size:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    raise AssertionError(f"{path.name} never appeared")


def test_sigterm_is_ctrl_c_with_another_exit_code(tmp_path):
    process = start(
        tmp_path, "learn", "lap-grid", "--steps", "50000000", "--out", "run", *TINY_FLAGS
    )
    wait_for(tmp_path / "run" / "checkpoint" / "round-000000.safetensors", process)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 143  # 128 + 15
    assert "Traceback" not in said
    assert "To go on: icrl learn --resume run" in said
    run = RunDirectory(tmp_path / "run")
    # of the last round, or of the one before where the signal came between its
    # metrics and its checkpoint
    last = len(run.metrics()) - 1
    assert checkpoints(run.path)[0].name in {
        f"round-{number:06d}.safetensors" for number in (last - 1, last)
    }
    assert load_constraint(run.path / "constraint").card["steps"] == run.metrics()[-1]["steps"]
    assert [path.name for path in run.path.rglob(".*")] == []


BAD_ENDING = """
import atexit, os, signal
# what Python does at its end goes wrong while JAX compiles in its threads
atexit.register(os.abort)
signal.signal(signal.SIGINT, signal.default_int_handler)
import icrl.verbs.tasks

def interrupted(arguments):
    signal.raise_signal(signal.SIGINT)

icrl.verbs.tasks.run = interrupted
from icrl.cli import main
main()
"""


def test_the_exit_code_does_not_depend_on_how_python_ends(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BAD_ENDING, "tasks"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "icrl: interrupted.\n")


SWALLOWS = """
import contextlib, signal
import icrl.verbs.tasks
from icrl.errors import InputError

def swallows(arguments):
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)
    {then}

icrl.verbs.tasks.run = swallows
"""


@pytest.mark.parametrize("then", ["pass", "raise InputError('what was interrupted is not there')"])
def test_an_interrupt_that_somebody_took_still_decides_the_exit_code(monkeypatch, capsys, then):
    monkeypatch.setattr(icrl.verbs.tasks, "run", icrl.verbs.tasks.run)
    exec(SWALLOWS.format(then=then), {})
    with pytest.raises(SystemExit) as stop:
        main(["tasks"])
    assert stop.value.code == 130
    assert capsys.readouterr().err == "icrl: interrupted.\n"
    # who called it goes on as before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_after_the_first_round(tmp_path, capsys, monkeypatch, times):
    process = start(
        tmp_path, "learn", "lap-grid", "--steps", "50000000", "--out", "run", *TINY_FLAGS
    )
    wait_for(tmp_path / "run" / "metrics.jsonl", process)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "interrupted" in said
    run = RunDirectory(tmp_path / "run")
    rounds = len(run.metrics())
    assert rounds >= 1
    if times == 1:
        assert f"interrupted after {rounds} of 54824 rounds" in said  # 50,000,000 // 912
        assert (
            f"run holds all of it up to round {rounds}. To go on: icrl learn --resume run" in said
        )
    assert run.config()["task"] == "lap-grid"
    assert not run.finished
    assert load_constraint(run.path / "constraint").card["steps"] == run.metrics()[-1]["steps"]
    load_policy(run.path / "policy.safetensors", lap_grid().task)
    assert [path.name for path in run.path.rglob(".*")] == []  # no half-written file is left

    monkeypatch.chdir(tmp_path)
    main(["evaluate", "run", "--episodes", "2"])
    assert "this run (2 episodes)" in capsys.readouterr().out


def test_ctrl_c_before_the_first_round(tmp_path):
    long_round = ["--forward.steps", "40000000", "--steps", "50000000", "--scouts", "0"]
    process = start(tmp_path, "learn", "lap-grid", "--out", "run", *long_round)
    wait_for(tmp_path / "run" / "config.json", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "interrupted after 0 of 1 rounds. run holds the configuration only." in said
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["config.json"]


def test_ctrl_c_while_collecting_writes_nothing(tmp_path):
    process = start(
        tmp_path, "collect", "lap-grid", "--out", "out/demos.npz", "--steps", "50000000"
    )
    for _ in range(6000):
        if (tmp_path / "out").exists() or process.poll() is not None:
            break
        time.sleep(0.02)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "interrupted" in said
    assert list((tmp_path / "out").iterdir()) == []
