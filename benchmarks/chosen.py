"""What sweeps choose together: one choice for all of their tasks.

    python benchmarks/chosen.py results/sweep-paper-lap-grid results/sweep-paper-half-cheetah

Reads `trials.csv` and `sweep.json` of each sweep and ranks what was completed in all of them with
the same choices, by the mean of the objectives. Prints a Markdown table, the best first; trials
that repeat the same choices are one row. With one sweep it is that sweep's own ranking.

Two choices are the same where they stand at the same place in their spaces, which must have as many
choices of each setting: a round of 6,144 steps on LapGridWorld is one of 102,400 on HalfCheetah.
"""

import argparse
import csv
import json
from pathlib import Path
from typing import NamedTuple

from icrl.errors import InputError
from icrl.report.cells import Table

Places = tuple[int, ...]
"""Of each setting, in the order of the space, the place of what was chosen."""


class Sweep(NamedTuple):
    """The trials of a sweep that were completed."""

    name: str
    settings: dict[str, list[object]]
    """Of each setting its choices."""
    trials: dict[Places, list[int]]
    """Numbers of the trials with these choices."""
    objectives: dict[Places, float]


class Joint(NamedTuple):
    """What was completed in all sweeps with the same choices."""

    places: Places
    objective: float
    """The mean over sweeps."""


def place(choices: list[object], cell: str) -> int:
    """Where a cell of the table stands among the choices of its setting."""
    for index, choice in enumerate(choices):
        if str(choice) == cell:
            return index
        is_number = isinstance(choice, int | float) and not isinstance(choice, bool)
        if is_number and cell not in ("none", "-") and float(cell) == choice:
            return index
    raise InputError(f"{cell!r} is none of the choices {choices}: is the table of this sweep?")


def read(directory: Path) -> Sweep:
    """The sweep in a directory; trials that failed or were pruned are left out."""
    described = json.loads((directory / "sweep.json").read_text())
    settings = {
        dimension["name"]: list(dimension["choices"]) for dimension in described["dimensions"]
    }
    trials: dict[Places, list[int]] = {}
    objectives: dict[Places, float] = {}
    with (directory / "trials.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["state"] != "complete":
                continue
            key = tuple(place(choices, row[name]) for name, choices in settings.items())
            trials.setdefault(key, []).append(int(row["trial"]))
            # the same settings on the same seeds: the same number, to the last digit
            objectives[key] = float(row["objective"])
    return Sweep(directory.name, settings, trials, objectives)


def ranked(sweeps: list[Sweep]) -> list[Joint]:
    """What was completed in all of them, the best mean objective first."""
    sizes = [{name: len(choices) for name, choices in s.settings.items()} for s in sweeps]
    for sweep, size in zip(sweeps, sizes, strict=True):
        if size != sizes[0]:
            raise InputError(
                f"{sweep.name} has choices {size}, {sweeps[0].name} {sizes[0]}: expected as many "
                "of the same settings. Give sweeps whose spaces correspond."
            )
    shared = set.intersection(*(set(sweep.objectives) for sweep in sweeps))
    if not shared:
        raise InputError(
            f"no choices were completed in all of {', '.join(sweep.name for sweep in sweeps)}: "
            "nothing can be chosen for all of them. Sweep more trials."
        )
    found = [
        Joint(places, sum(sweep.objectives[places] for sweep in sweeps) / len(sweeps))
        for places in shared
    ]
    return sorted(found, key=lambda joint: (-joint.objective, joint.places))


def table(sweeps: list[Sweep], found: list[Joint]) -> Table:
    """A row for each, with its trials and objective in each sweep and its choices."""
    headers = ["trials", "mean objective"]
    headers += [f"in {sweep.name.removeprefix('sweep-')}" for sweep in sweeps]
    headers += list(sweeps[0].settings)
    rows = []
    for joint in found:
        numbers = [", ".join(map(str, sorted(sweep.trials[joint.places]))) for sweep in sweeps]
        row = [_once(numbers), f"{joint.objective:.4f}"]
        row += [f"{sweep.objectives[joint.places]:.4f}" for sweep in sweeps]
        for name, index in zip(sweeps[0].settings, joint.places, strict=True):
            row.append(_once([str(sweep.settings[name][index]) for sweep in sweeps]))
        rows.append(row)
    return Table(headers, rows)


def _once(texts: list[str]) -> str:
    """One text where all say the same, else each."""
    return " / ".join(dict.fromkeys(texts))


def main() -> None:
    """Print the ranking."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweeps", nargs="+", type=Path, help="directories of committed sweeps")
    sweeps = [read(directory) for directory in parser.parse_args().sweeps]
    print(table(sweeps, ranked(sweeps)).markdown(), end="")


if __name__ == "__main__":
    main()
