"""Ctrl-C at any moment: exit code 130, a word on how far it got, and a directory that can be read and judged."""

import signal
import subprocess
import sys
import time

import pytest

from icrl.agent.policy_file import load_policy
from icrl.constraint.learned import load_constraint
from icrl.experiment.run_directory import RunDirectory
from icrl.tasks.lap_grid import lap_grid
from small_runs import TINY_FLAGS

# A shell that starts jobs in the background may have them ignore Ctrl-C: the child takes the usual handler again.
CODE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from icrl.cli import main
main(sys.argv[1:])
"""


def start(tmp_path, *words):
    command = [sys.executable, "-c", CODE, *words]
    return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path, process):
    """Until the file is there and not empty."""
    for _ in range(6000):
        if path.exists() and path.stat().st_size:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    raise AssertionError(f"{path.name} never appeared")


@pytest.mark.parametrize("times", [1, 3])
def test_ctrl_c_after_the_first_round(tmp_path, capsys, monkeypatch, times):
    process = start(tmp_path, "learn", "lap-grid", "--steps", "50000000", "--out", "run", *TINY_FLAGS)
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
        assert "holds the metrics, the constraint and the policy" in said
    assert run.config()["task"] == "lap-grid"
    assert not run.finished
    assert load_constraint(run.path / "constraint").card["steps"] == run.metrics()[-1]["steps"]
    load_policy(run.path / "policy.safetensors", lap_grid().task)
    assert [path.name for path in run.path.rglob(".*")] == []  # no half-written file is left

    from icrl.cli import main

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
    process = start(tmp_path, "collect", "lap-grid", "--out", "out/demos.npz", "--steps", "50000000")
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
