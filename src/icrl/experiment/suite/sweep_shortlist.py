"""The best choices of an earlier sweep, to be tried again in another: what was screened on a cheap
task is judged on a dear one, with the same choices."""

from pathlib import Path
from typing import Any, NamedTuple

from icrl.config import LearnConfig
from icrl.errors import InputError
from icrl.experiment.suite.sweep_space import Space
from icrl.experiment.suite.sweep_table import SweepTable, read_table, require_corresponding


class Shortlist(NamedTuple):
    """Choices that are tried again."""

    sweep: str
    """Where they were tried before, by the name of its directory."""
    completed: int
    """How many were completed there."""
    choices: tuple[dict[str, Any], ...]
    """The best of these, the best first, as Optuna keeps them."""


def read_shortlist(
    directory: Path,
    best: int,
    space: Space,
    without: dict[str, str],
    *,
    method: str,
    preset: str,
    objective: str,
) -> Shortlist:
    """The best choices that were completed in a directory, at their places in this space;
    less those that have all values of `without`."""
    table = read_table(directory).without(without)
    _require_alike(directory, table, {"method": method, "preset": preset, "objective": objective})
    require_corresponding(
        str(directory), table.settings, "the space of this sweep", space.settings()
    )
    ordered = table.best_first()
    if not ordered:
        raise InputError(
            f"{directory} has no trial that was completed: there is nothing to try again. Give "
            "--again a sweep with trials that came to their end."
        )
    choices = tuple(
        {
            dimension.name: dimension.label(place)
            for dimension, place in zip(space.dimensions, places, strict=True)
        }
        for places in ordered[:best]
    )
    return Shortlist(table.name, len(ordered), choices)


def planned(space: Space, base: LearnConfig, again: Shortlist | None) -> list[dict[str, Any]]:
    """What is tried before anything is drawn, as Optuna keeps it: the settings as they stand, where
    the space holds them; then the shortlist, but for these."""
    held = space.holding(base)
    found = []
    if None not in held.values():
        found.append(held)
    if again is not None:
        found += [choice for choice in again.choices if choice != held]
    return found


def _require_alike(directory: Path, table: SweepTable, expected: dict[str, str]) -> None:
    """Its choices are of another algorithm, or were chosen by the truth, unless these agree."""
    for name, value in expected.items():
        came = table.told.get(name)
        if came != value:
            raise InputError(
                f"--again {directory}: it was a sweep with {name} {came!r}, this is one with "
                f"{value!r}: expected the same. Give this sweep --{name} {came}, or --again "
                "another directory."
            )
