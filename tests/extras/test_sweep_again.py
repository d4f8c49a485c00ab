"""The best of an earlier sweep tried again, on Optuna: these choices and no others, also where it
was killed, or two work on it."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import optuna
import pytest

from icrl.cli import main
from icrl.experiment.suite import sweep_study
from icrl.experiment.suite.sweep_study import num_done, open_study
from icrl.experiment.suite.sweep_table import read_table
from small_sweeps import write_sweep

SPACE = """
scouts = 0
num_samples = 2
[forward]
steps = 512
num_envs = 4
rollout_steps = 64
hidden = [16]
target_kl = {choices = ["none", 0.03, 0.5]}
respect = {choices = ["terminate", "lagrangian"]}
"""
SETTINGS = {
    "forward.target_kl": ["none", 0.02, 0.4],
    "forward.respect": ["terminate", "lagrangian"],
}
ROWS = [
    (3, 0.9, "complete", 0.4, "lagrangian"),
    (5, 0.9, "complete", 0.4, "lagrangian"),
    (1, 0.8, "complete", "none", "terminate"),
    (0, 0.7, "complete", 0.02, "terminate"),  # the default, which has 0.03 here
    (4, 0.6, "complete", 0.02, "lagrangian"),
    (2, "-", "failed: why", "none", "lagrangian"),
]
TOLD = {"method": "icrl", "preset": "default", "objective": "no-truth"}
TRIED = [(0.03, "terminate"), (0.5, "lagrangian"), ("none", "terminate"), (0.03, "lagrangian")]


@pytest.fixture
def words(tmp_path):
    """The command but for how many are tried again, and how long."""
    (tmp_path / "space.toml").write_text(SPACE)
    before = write_sweep(tmp_path / "before", SETTINGS, ROWS, **TOLD)
    told = ["sweep", "lap-grid", "--space", str(tmp_path / "space.toml"), "--episodes", "2"]
    return [*told, "--no-prune", "--again", str(before), "--out", str(tmp_path / "out")]


def tried(out):
    """Choices of what was finished, in order of trial."""
    states = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    trials = open_study(out).get_trials(states=states)
    return [(each.params["forward.target_kl"], each.params["forward.respect"]) for each in trials]


def test_the_best_are_tried_again_after_what_stands_and_nothing_is_drawn(words, tmp_path, capsys):
    out = tmp_path / "out"
    main([*words, "--steps", "2000", "--best", "2"])
    assert "Again: 2 of 4 choices of before, the best first; 3 trials in all." in (
        capsys.readouterr().out
    )
    assert tried(out) == TRIED[:3]
    with (out / "trials.csv").open() as file:
        assert {row["state"] for row in csv.DictReader(file)} == {"complete"}
    # and what they are compared by
    assert set(read_table(out).objectives) == {(1, 0), (2, 1), (0, 0)}
    assert json.loads((out / "sweep.json").read_text())["again"] == "before"
    config = json.loads((out / "trial-0001/seed-0/config.json").read_text())["config"]
    assert (config["steps"], config["forward"]["target_kl"]) == (2_000, 0.5)
    # the same command makes nothing more; a longer list what is new in it
    main([*words, "--steps", "2000", "--best", "2"])
    assert tried(out) == TRIED[:3]
    main([*words, "--steps", "2000", "--best", "4"])
    assert tried(out) == TRIED


def test_a_sweep_that_draws_is_another_one(words, tmp_path, capsys):
    words = [*words, "--steps", "2000"]
    main([*words, "--best", "1"])
    place = words.index("--again")
    with pytest.raises(SystemExit):
        main([*words[:place], *words[place + 2 :], "--trials", "3"])
    assert "holds another sweep (it differs in again)" in capsys.readouterr().err
    assert tried(tmp_path / "out") == TRIED[:2]


def test_two_at_once_draw_nothing(words, tmp_path):
    main([*words, "--steps", "2000", "--best", "4", "--jobs", "2"])
    assert sorted(tried(tmp_path / "out"), key=str) == sorted(TRIED, key=str)
    assert len(open_study(tmp_path / "out").get_trials()) == 4


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_one_that_was_stopped_goes_on_with_the_same_trials(words, tmp_path, monkeypatch, number):
    out = tmp_path / "out"
    words = [*words, "--steps", "12000", "--best", "2"]
    process = subprocess.Popen([sys.executable, "-m", "icrl", *words], start_new_session=True)
    deadline = time.monotonic() + 300
    # in its last trial: at once after a kill no other waits
    while not (out / "trial-0002" / "seed-0" / "metrics.jsonl").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if number == signal.SIGKILL:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    process.wait()
    assert num_done(open_study(out)) == 2
    monkeypatch.setattr(sweep_study, "_HEARTBEAT", 1)
    monkeypatch.setattr(sweep_study, "_GRACE", 12)
    main(words)
    assert tried(out) == TRIED[:3]
