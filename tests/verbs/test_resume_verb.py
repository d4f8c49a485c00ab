"""`icrl learn --resume DIR` and `icrl transfer`, as a person whose run was killed meets them."""

import json
import signal
import subprocess
import sys
import time

import pytest

from icrl.cli import main
from icrl.experiment.directory.checkpoint import checkpoints
from icrl.experiment.directory.run_directory import without_times
from small_runs import ROUND, TINY_FLAGS

LONG = ["--steps", str(16 * ROUND), *TINY_FLAGS]
TRANSFER = [
    *("transfer", "lap-grid", "--constraint", "run", "--out", "moved"),
    *("--steps", str(16 * ROUND), "--num-samples=2", "--episodes=3"),
    *("--forward.steps=512", "--forward.num-envs=4", "--forward.rollout-steps=64"),
]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def kill_after_a_round(directory, *words):
    """Start `icrl` with these words, and kill it when there is something to go on from."""
    with subprocess.Popen(
        [sys.executable, "-m", "icrl", *words], stdout=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and not checkpoints(directory):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (directory / "scores.json").exists()


def content(directory):
    """What must be the same: the constraint, the policy, the metrics but for seconds."""
    rows = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    files = [
        "policy.safetensors",
        "constraint/constraint.safetensors",
        "constraint/card.json",
        "config.json",
    ]
    return [without_times(row) for row in rows], [(directory / name).read_bytes() for name in files]


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tmp_path, capsys, refused):
    kill_after_a_round(tmp_path / "run", "learn", "lap-grid", "--out", "run", *LONG)
    main(["learn", "--resume", "run"])
    said = capsys.readouterr().out
    assert "Going on after round" in said
    assert "icrl (this run)" in said
    main(["learn", "lap-grid", "--out", "straight", *LONG])
    assert content(tmp_path / "run") == content(tmp_path / "straight")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        path.name for path in (tmp_path / "straight").iterdir()
    }
    capsys.readouterr()
    main(["learn", "--resume", "run"])
    assert "run is finished: there is nothing left to do" in capsys.readouterr().out

    kill_after_a_round(tmp_path / "moved", *TRANSFER)
    other = refused("transfer", "lap-grid", "--constraint", "run", "--out", "moved", "--seed=1")
    assert "moved holds a run with other settings" in other
    assert "seed is 0 there, 1 here" in other
    main(TRANSFER)
    assert "Going on after round" in capsys.readouterr().out


def test_what_cannot_be_gone_on_with(tmp_path, refused):
    assert "nothere/config.json does not exist" in refused("learn", "--resume", "nothere")
    (tmp_path / "run").mkdir()
    main(["learn", "lap-grid", "--out", "made", "--steps", str(2 * ROUND), *TINY_FLAGS])
    config = json.loads((tmp_path / "made" / "config.json").read_text())
    (tmp_path / "run" / "config.json").write_text(json.dumps(config | {"task": "os:abort"}))
    assert "os:abort, a function that the run names and that would be executed" in refused(
        "learn", "--resume", "run"
    )
    assert "is a run on os:abort, not on lap-grid" in refused(
        "learn", "lap-grid", "--resume", "run"
    )
    assert "--seed" in refused("learn", "--resume", "made", "--seed", "3")
