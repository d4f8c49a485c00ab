"""The examples with Stable-Baselines3 run as they are,
and their agents respect what was learned."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

from icrl.constraint.learned import load_constraint
from icrl.demos.formats import load_demos

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, folder: Path) -> str:
    # One thread each: at this size threads wait for each other more than they work,
    # above all on a busy machine.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, EXAMPLES / name]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def lines_of_code(path: Path) -> int:
    """Lines that hold code: no blanks, comments or docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef)]
    docstrings = [node.body[0] for node in nodes if ast.get_docstring(node) is not None]
    quiet = {
        line for doc in docstrings for line in range(doc.lineno, (doc.end_lineno or doc.lineno) + 1)
    }
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    return sum(
        number not in quiet and line.strip() != "" and not line.strip().startswith("#")
        for number, line in lines
    )


def test_from_own_logs_to_a_lawful_agent(tmp_path: Path) -> None:
    assert lines_of_code(EXAMPLES / "own_logs_to_sb3.py") < 40
    out = run("own_logs_to_sb3.py", tmp_path)
    found = re.findall(r"swings up in (\d+) steps, pushes left in ([\d.]+)%", out)
    (free_steps, free_left), (steps, left) = ((int(steps), float(share)) for steps, share in found)
    assert free_steps < 200
    assert free_left > 20
    assert steps < 400  # it still does its task: an episode has 500 steps
    assert left <= 1.0

    constraint = load_constraint(tmp_path / "acrobot_constraint")
    demos = load_demos(EXAMPLES / "data" / "acrobot_logs.csv").trajectories
    observations, actions = demos.observations[demos.mask], demos.actions[demos.mask]
    # what was demonstrated is allowed
    assert constraint.is_feasible(observations, actions).mean() > 0.99
    # and a push to the left, there, is not
    assert constraint.is_feasible(observations, 0 * actions).mean() < 0.05


def test_ppo_under_a_constraint(tmp_path: Path) -> None:
    out = run("stable_baselines3_under_a_constraint.py", tmp_path)
    found = re.findall(r"return +(-?[\d.]+), ([\d.]+)% of the steps are infeasible", out)
    (free_return, free_share), (total, share) = ((float(a), float(b)) for a, b in found)
    assert free_return > 100  # the cheat: on and off one coin
    assert free_share > 30
    assert total > 50  # five laps pay 60
    assert share < 2
