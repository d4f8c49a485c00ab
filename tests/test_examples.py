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
        [sys.executable, EXAMPLES / f"{name}.py"], cwd=folder, env=environment, capture_output=True, text=True
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


@pytest.mark.slow
def test_forbidden_door(tmp_path):
    assert "state row 2 column 4" in run("forbidden_door", tmp_path)


def test_two_bridges(tmp_path):
    lines = run("two_bridges", tmp_path).splitlines()
    shares = {line.split()[0]: int(line.split("%")[0].split()[-1]) for line in lines if "lower bridge in" in line}
    assert shares["expert"] == 0
    assert shares["nominal"] >= 95
    assert shares["recovered"] <= 5
