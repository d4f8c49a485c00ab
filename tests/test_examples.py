"""The examples run as they are, without flags, and leave the picture that they promise."""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, folder: Path) -> str:
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return done.stdout


def test_a_callback_of_ones_own_stops_a_run_at_the_first_two_good_rounds(tmp_path):
    command = [sys.executable, EXAMPLES / "stop_early.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "stopped after" in done.stdout
    lines = (tmp_path / "runs" / "stopped-early" / "metrics.jsonl").read_text().splitlines()
    good = [
        line["constraint/phase"] == "final"
        and line["agent/return"] >= 0.95 * 60
        and line["constraint/cost_samples"] < 0.01
        for line in map(json.loads, lines)
    ]
    assert good[-2:] == [True, True]
    assert not any(first and second for first, second in pairwise(good[:-1]))


def example(name: str, folder: Path) -> str:
    """Run an example in `folder`, as it is; what it says."""
    command = [sys.executable, EXAMPLES / f"{name}.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_method_of_ones_own_is_added_without_editing_sources(tmp_path):
    assert "a step of its agent costs 0." in example("own_method", tmp_path)
    config = json.loads((tmp_path / "runs" / "own-method" / "config.json").read_text())
    assert config["method"] == "own_method:LEAST_SQUARES"
    assert len((EXAMPLES / "own_method.py").read_text().splitlines()) < 40


def test_a_logger_of_ones_own_writes_a_line_for_every_round(tmp_path):
    example("own_logger", tmp_path)
    lines = (tmp_path / "log.md").read_text().splitlines()
    rounds = (tmp_path / "runs" / "own-logger" / "metrics.jsonl").read_text().splitlines()
    assert len([line for line in lines if line.startswith("| ")]) == 1 + len(rounds)
    assert lines[-1].startswith("The agent that was handed out earns")


@pytest.mark.slow
def test_a_task_of_ones_own_has_its_unwritten_rule_found(tmp_path):
    assert "cost of the lower lane 1.00, of the upper 0.00" in example("own_task", tmp_path)


@pytest.mark.slow
def test_forbidden_door(tmp_path):
    assert "state row 2 column 4" in run("forbidden_door", tmp_path)


def test_two_bridges(tmp_path):
    lines = run("two_bridges", tmp_path).splitlines()
    shares = {
        line.split()[0]: int(line.split("%")[0].split()[-1])
        for line in lines
        if "lower bridge in" in line
    }
    assert shares["expert"] == 0
    assert shares["nominal"] >= 95
    assert shares["recovered"] <= 5
