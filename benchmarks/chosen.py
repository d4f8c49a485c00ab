r"""What a sweep chooses; or sweeps of several tasks together, one choice for all of them.

    python benchmarks/chosen.py results/sweep-paper-lap-grid --stands 0 \
        --without backward.kl_unit=trajectory backward.max_kl_new_old=none
    python benchmarks/chosen.py results/sweep-paper-lap-grid runs/sweep-paper-half-cheetah \
        --stands 24 --without backward.kl_unit=trajectory backward.max_kl_new_old=none

Reads `trials.csv` and `sweep.json` of each sweep and ranks what was completed in all of them with
the same choices, by the mean of the objectives. Prints a Markdown table, the best first; trials
that repeat the same choices are one row. With one sweep it is that sweep's own ranking.

Two choices are the same where they stand at the same place in their spaces, which must have as many
choices of each setting: a round of 6,144 steps on LapGridWorld is one of 102,400 on HalfCheetah.

`--stands` names the trial that is the preset as it is (a sweep begins with it); of several sweeps,
the trial of the first, and all must have completed its choices. Then the table tells how many
values each row changes, and a sentence below it what is chosen: of those within 0.005 of the best
the one that changes least, and nothing where it is not better than what stands by more than 0.01.
Rows that have all of the values of `--without` are left out: choices that a space cannot help to
hold, but that are none.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

from icrl.errors import InputError
from icrl.experiment.suite.sweep_table import (
    Places,
    SweepTable,
    read_table,
    require_corresponding,
    values_of,
)
from icrl.report.cells import Table

TIE = 0.005
"""Objectives as near as this are alike. One episode of three seeds' 20 that obeys or does not is
1 / 60 of a part, and there are four parts: 0.004."""
WORTH_A_CHANGE = 0.01
"""A preset is changed for more than this alone."""


class Joint(NamedTuple):
    """What was completed in all sweeps with the same choices."""

    places: Places
    objective: float
    """The mean over sweeps."""


def ranked(sweeps: list[SweepTable]) -> list[Joint]:
    """What was completed in all of them, the best mean objective first."""
    for sweep in sweeps[1:]:
        require_corresponding(sweep.name, sweep.settings, sweeps[0].name, sweeps[0].settings)
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


def places_of(sweep: SweepTable, trial: int) -> Places:
    """The choices of a trial that was completed."""
    for places, trials in sweep.trials.items():
        if trial in trials:
            return places
    raise InputError(
        f"trial {trial} of {sweep.name} was not completed: expected the trial that is the preset "
        "as it is. See its table."
    )


def num_changed(places: Places, others: Places) -> int:
    """Settings that differ."""
    return sum(a != b for a, b in zip(places, others, strict=True))


def choose(found: list[Joint], stands: Places) -> Joint:
    """Of those that are nearly the best the one that changes least; what stands, where that is
    hardly worse."""
    nearly = [joint for joint in found if _ahead(found[0], joint) <= TIE]
    chosen = min(nearly, key=lambda joint: (num_changed(joint.places, stands), -joint.objective))
    now = what_stands(found, stands)
    if _ahead(chosen, now) > WORTH_A_CHANGE:
        return chosen
    return now


def what_stands(found: list[Joint], stands: Places) -> Joint:
    """The row of the preset as it is, which every sweep must have completed."""
    for joint in found:
        if joint.places == stands:
            return joint
    raise InputError(
        "what stands is none of what is ranked: expected a trial of --stands whose choices were "
        "completed in every sweep and are not left out. Sweep these choices too, or name the trial "
        "that is the preset as it is today."
    )


def _ahead(one: Joint, other: Joint) -> float:
    """By how much, in the digits that tables have."""
    return round(one.objective - other.objective, 4)


def verdict(sweeps: list[SweepTable], found: list[Joint], stands: Places) -> str:
    """What is chosen, in a sentence."""
    chosen = choose(found, stands)
    now = what_stands(found, stands)
    if chosen == now:
        return (
            f"Chosen: what stands ({now.objective:.4f}); the best is at {found[0].objective:.4f}."
        )
    trial = str(min(sweeps[0].trials[chosen.places]))
    if len(sweeps) > 1:
        trial += f" of {sweeps[0].name}"
    return (
        f"Chosen: trial {trial} ({chosen.objective:.4f}; what stands: {now.objective:.4f}; the "
        f"best: {found[0].objective:.4f})."
    )


def table(sweeps: list[SweepTable], found: list[Joint], stands: Places | None = None) -> Table:
    """A row for each, with its trials and objective in each sweep and its choices."""
    headers = ["trials", "mean objective"]
    if len(sweeps) == 1:
        headers = ["trials", "objective"]
    else:
        headers += [f"in {sweep.name.removeprefix('sweep-')}" for sweep in sweeps]
    if stands is not None:
        headers.append("changed")
    headers += list(sweeps[0].settings)
    rows = []
    for joint in found:
        numbers = [", ".join(map(str, sorted(sweep.trials[joint.places]))) for sweep in sweeps]
        row = [_once(numbers), f"{joint.objective:.4f}"]
        if len(sweeps) > 1:
            row += [f"{sweep.objectives[joint.places]:.4f}" for sweep in sweeps]
        if stands is not None:
            row.append(str(num_changed(joint.places, stands)))
        for name, index in zip(sweeps[0].settings, joint.places, strict=True):
            row.append(_once([str(sweep.settings[name][index]) for sweep in sweeps]))
        rows.append(row)
    return Table(headers, rows)


def _once(texts: list[str]) -> str:
    """One text where all say the same, else each."""
    return " / ".join(dict.fromkeys(texts))


def main() -> None:
    """Print the ranking, and what is chosen by it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweeps", nargs="+", type=Path, help="directories of committed sweeps")
    parser.add_argument(
        "--stands", type=int, help="the trial of the first that is the preset as it is"
    )
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="NAME=VALUE", help="values that are no choice"
    )
    args = parser.parse_args()
    sweeps = [read_table(directory) for directory in args.sweeps]
    sweeps = [sweep.without(values_of(args.without)) for sweep in sweeps]
    found = ranked(sweeps)
    if args.stands is None:
        print(table(sweeps, found).markdown(), end="")
        return
    stands = places_of(sweeps[0], args.stands)
    print(table(sweeps, found, stands).markdown())
    print(verdict(sweeps, found, stands))


if __name__ == "__main__":
    main()
