"""The examples run as they are, without flags, and leave the picture that they promise."""

import os
import subprocess
import sys
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


@pytest.mark.slow
def test_forbidden_door(tmp_path):
    assert "state row 2 column 4" in run("forbidden_door", tmp_path)


def test_two_bridges(tmp_path):
    lines = run("two_bridges", tmp_path).splitlines()
    shares = {line.split()[0]: int(line.split("%")[0].split()[-1]) for line in lines if "lower bridge in" in line}
    assert shares["expert"] == 0
    assert shares["nominal"] >= 95
    assert shares["recovered"] <= 5
