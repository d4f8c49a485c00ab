"""The wheel as a stranger gets it: built, then installed without the constraints
file into clean environments.

    make test-wheels PYTHONS="python3.11 python3.12 python3.13"
    python benchmarks/wheels.py python3.11 python3.12 python3.13 --out results/wheels [--all-extras]

For each Python two environments: `icrl[learn]`, in which a constraint is learned, and `icrl` alone,
in which it is used and whatever needs more must name the extra. Whatever does not work ends the
script with its output. Sizes are those of site-packages, less what a new environment has. Times are
CPU seconds (user and system) of a process, the median of eleven.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from icrl.report.table import as_markdown

ROOT = Path(__file__).parents[1]
LEARN = [
    "learn", "lap-grid", "--steps", "4000", "--scouts", "0", "--num-samples", "2",
    "--forward.steps", "512", "--forward.num-envs", "4", "--forward.rollout-steps", "64",
    "--episodes", "3", "--out", "run",
]  # fmt: skip
USE = """
import sys, numpy as np, icrl
constraint = icrl.load_constraint(sys.argv[1])
zeta = constraint.feasibility(np.zeros((3, 1), np.float32), np.zeros(3, int))
assert zeta.shape == (3,) and ((zeta > 0) & (zeta <= 1)).all(), zeta
shield = icrl.Shield(constraint=constraint)
assert shield.most_feasible(np.zeros(1, np.float32), [0, 1]).action in (0, 1)
assert icrl.CostInInfo.__name__ == "CostInInfo"
heavy = {"jax", "mujoco", "matplotlib", "scipy", "optax"} & set(sys.modules)
assert not heavy, heavy
"""
ALL = "learn,minari,tables,video,sb3,onnx,pandas,tensorboard,wandb,sweep,notebooks"


def run(command: list[Any], folder: Path, code: int = 0) -> str:
    """What a command says; anything but the expected exit code ends the script."""
    hidden = {"PYTHONPATH", "PIP_CONSTRAINT"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(
            f"{' '.join(words)}\n"
            f"ended with {done.returncode}, expected {code}:\n"
            f"{done.stdout}{done.stderr}"
        )
    return done.stdout + done.stderr


def megabytes(environment: Path) -> float:
    """Size of what is installed."""
    places = environment.glob("lib/python*/site-packages/**/*")
    return sum(path.lstat().st_size for path in places if path.is_file()) / 1e6


def new_environment(python: str, folder: Path, name: str, what: str) -> tuple[Path, float]:
    """A clean environment with `what` in it, and how much that weighs in MB."""
    environment = folder / name
    run([python, "-m", "venv", environment], folder)
    before = megabytes(environment)
    run([environment / "bin" / "python", "-m", "pip", "install", "--quiet", what], folder)
    return environment / "bin", megabytes(environment) - before


def help_seconds(binaries: Path, folder: Path) -> float:
    """CPU seconds of `icrl --help`."""
    times = []
    for _ in range(11):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run([binaries / "icrl", "--help"], folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def try_python(python: str, wheel: Path, all_extras: bool) -> dict[str, Any]:
    """Install, learn, use; what was measured on the way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        learn, learn_size = new_environment(python, folder, "learn", f"{wheel}[learn]")
        version = run(
            [learn / "python", "-c", "import platform; print(platform.python_version())"], folder
        ).strip()
        print(f"Python {version}: icrl[learn] is {learn_size:.0f} MB", flush=True)
        run([learn / "icrl", *LEARN], folder)
        run([learn / "icrl", "explain", "run"], folder)
        run([learn / "icrl", "evaluate", "run", "--episodes", "3"], folder)
        slim, slim_size = new_environment(python, folder, "slim", str(wheel))
        print(f"Python {version}: icrl is {slim_size:.0f} MB", flush=True)
        run([slim / "python", "-c", USE, folder / "run" / "constraint"], folder)
        run([slim / "icrl", "explain", "run"], folder)
        refused = run([slim / "icrl", "learn", "lap-grid", "--out", "refused"], folder, code=2)
        assert "pip install 'icrl[learn]'" in refused, refused
        found = {
            "python": version,
            "slim_mb": round(slim_size),
            "learn_mb": round(learn_size),
            "help_slim_s": round(help_seconds(slim, folder), 3),
            "help_learn_s": round(help_seconds(learn, folder), 3),
            "jax": run(
                [learn / "python", "-c", "import jax; print(jax.__version__)"], folder
            ).strip(),
            "mujoco": run(
                [learn / "python", "-c", "import mujoco; print(mujoco.__version__)"], folder
            ).strip(),
        }
        if all_extras:
            every, size = new_environment(python, folder, "every", f"{wheel}[{ALL}]")
            found["all_extras_mb"] = round(size)
            found["help_all_extras_s"] = round(help_seconds(every, folder), 3)
    return found


def main() -> None:
    """Build the wheel, try every Python, write what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="+")
    parser.add_argument(
        "--out", type=Path, help="where wheels.json and table.md go; left out: nowhere"
    )
    parser.add_argument(
        "--all-extras", action="store_true", help="with the last Python also all extras (6 GB)"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT], ROOT
        )
        (wheel,) = Path(folder).glob("icrl-*.whl")
        last = args.pythons[-1]
        rows = [
            try_python(python, wheel, args.all_extras and python == last) for python in args.pythons
        ]
        size = round(wheel.stat().st_size / 1e6, 1)
    print(as_table(rows))
    if args.out is not None:
        keep(args.out, rows, size)


def as_table(rows: list[dict[str, Any]]) -> str:
    """A row for each Python."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return as_markdown(columns, [[str(row.get(name, "")) for name in columns] for row in rows])


def keep(out: Path, rows: list[dict[str, Any]], wheel_mb: float) -> None:
    """Write what was found; Pythons that were tried before, and not now, stay."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "wheels.json"
    before = []
    if path.exists():
        before = json.loads(path.read_text())["environments"]
    now = {row["python"] for row in rows}
    every = sorted(
        [*rows, *(row for row in before if row["python"] not in now)], key=lambda row: row["python"]
    )
    record = {"wheel_mb": wheel_mb, "machine": platform.machine(), "environments": every}
    path.write_text(json.dumps(record, indent=2) + "\n")
    words = (
        f"The wheel ({wheel_mb} MB) installed without constraints.txt into clean environments, on "
        "Linux: `icrl`\n"
        "alone (slim) and `icrl[learn]`. In this a constraint is learned, explained and evaluated, "
        "in that it is used\n"
        "and explained. `help_..._s`: CPU seconds of `icrl --help`. Made by\n"
        "`python benchmarks/wheels.py PYTHON... --out results/wheels`."
    )
    (out / "table.md").write_text(f"# The wheel\n\n{words}\n\n{as_table(every)}\n")


if __name__ == "__main__":
    main()
