"""How long `icrl --help` takes, with whatever is installed beside it: wall and CPU seconds.

    .venv-extras/bin/python benchmarks/help_time.py --out results/bench/help.json

Each time is a process of its own, as a person starts it; the first, which may have to read files
from the disk, is told apart.
"""

import argparse
import os
import subprocess
import sys
import time
from importlib.metadata import distributions
from pathlib import Path
from statistics import median

from icrl.experiment.bench.throughput import machine_facts
from icrl.json_files import write_json

BUDGET = 0.2
"""Seconds."""
COMMAND = [str(Path(sys.executable).parent / "icrl"), "--help"]


def measure() -> tuple[float, float]:
    """Wall and CPU seconds of one."""
    before = os.times()
    began = time.perf_counter()
    subprocess.run(COMMAND, stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    after = os.times()
    cpu = after.children_user + after.children_system
    return wall, cpu - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    words = f"--times {arguments.times} --out {arguments.out}"
    taken = [measure() for _ in range(arguments.times)]
    found = {
        "command": f"python benchmarks/help_time.py {words}",
        "packages_installed": len({found.name for found in distributions()}),
        "first_wall_seconds": taken[0][0],
        "median_wall_seconds": median([wall for wall, _ in taken]),
        "longest_wall_seconds": max(wall for wall, _ in taken),
        "median_cpu_seconds": median([cpu for _, cpu in taken]),
        "budget": BUDGET,
        "machine": machine_facts(),
    }
    write_json(arguments.out, found)
    print({name: value for name, value in found.items() if name != "machine"})


if __name__ == "__main__":
    main()
