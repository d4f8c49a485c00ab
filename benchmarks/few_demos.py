"""Files with the first two or three demonstrations of worlds of Shapes: too few to say anything.

    python benchmarks/few_demos.py runs/few-demos
    icrl learn shapes/disc --seed 7 --demos runs/few-demos/disc.npz \\
        --out runs/verdicts-few/disc-few-7

The study of verdicts (`verdicts.py`) asks what is said of such runs.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos, save_demos
from icrl.trajectories import select

NUMBERS = {
    "disc": 2,
    "diagonal": 3,
    "plant": 2,
    "zone-speed": 3,
    "two-walls": 2,
    "never-action": 2,
    "action-limit": 3,
    "no-rule": 2,
    "tube": 3,
}
"""Demonstrations that are kept, by world."""


def main() -> None:
    """Write one file for each world."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for world, number in NUMBERS.items():
        demos = load_demos(shipped_demos(f"shapes-{world}.npz"))
        kept = select(demos.trajectories, np.arange(demos.trajectories.num_trajectories) < number)
        save_demos(replace(demos, trajectories=kept), arguments.out / f"{world}.npz")


if __name__ == "__main__":
    main()
