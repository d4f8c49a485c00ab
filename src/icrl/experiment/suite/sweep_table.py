"""What a sweep wrote of itself, read again: its settings, and what was completed.

Choices of different sweeps are the same where they stand at the same place in their spaces: a round
of 6,144 steps on LapGridWorld is one of 102,400 on HalfCheetah.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from icrl.errors import InputError
from icrl.json_files import read_json

SWEEP = "sweep.json"
CSV = "trials.csv"

Settings = dict[str, list[Any]]
"""Of each setting its choices; none where it is a range."""
Places = tuple[int, ...]
"""Of each setting, in the order of the space, the place of what was chosen."""


class SweepTable(NamedTuple):
    """The trials of a sweep that were completed."""

    name: str
    told: dict[str, Any]
    """What the sweep is: all of sweep.json."""
    settings: Settings
    trials: dict[Places, list[int]]
    """Numbers of the trials with these choices."""
    objectives: dict[Places, float]

    def best_first(self) -> list[Places]:
        """What was completed, once each; of what is worth the same, what was tried first."""
        return sorted(
            self.objectives, key=lambda places: (-self.objectives[places], self.trials[places])
        )

    def without(self, values: dict[str, str]) -> "SweepTable":
        """The same less the trials that have all of these values, by the names of settings."""
        if not values:
            return self
        names = list(self.settings)
        strange = [name for name in values if name not in names]
        if strange:
            raise InputError(
                f"{self.name} has no setting {', '.join(strange)}: expected some of "
                f"{', '.join(names)}."
            )
        left_out = {
            names.index(name): place(self.settings[name], value) for name, value in values.items()
        }
        kept = {
            places: objective
            for places, objective in self.objectives.items()
            if any(places[index] != there for index, there in left_out.items())
        }
        return self._replace(objectives=kept)


def values_of(words: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE, as they are written on a command line."""
    wrong = [word for word in words if "=" not in word]
    if wrong:
        raise InputError(f"--without {wrong[0]}: expected NAME=VALUE, e.g. backward.updates=1.")
    return dict(word.split("=", 1) for word in words)


def cell_of(value: Any) -> str:
    """A value of a setting as tables have it."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def place(choices: list[Any], cell: str) -> int:
    """Where a cell of the table stands among the choices of its setting."""
    found = [
        index for index, choice in enumerate(choices) if cell in (str(choice), cell_of(choice))
    ]
    if len(found) != 1:
        raise InputError(
            f"{cell!r} is {len(found) or 'none'} of the choices {choices}, expected one: is the "
            "table of this sweep?"
        )
    return found[0]


def read_table(directory: Path) -> SweepTable:
    """The sweep in a directory; trials that failed or were pruned are left out."""
    for name in (SWEEP, CSV):
        if not (directory / name).is_file():
            raise InputError(
                f"{directory} has no {name}: expected the directory of a sweep that came to its "
                "end, which has its trials in trials.csv and its space in sweep.json."
            )
    told = read_json(directory / SWEEP)
    settings = _settings(told, directory / SWEEP)
    trials: dict[Places, list[int]] = {}
    objectives: dict[Places, float] = {}
    try:
        with (directory / CSV).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["state"] != "complete":
                    continue
                key = tuple(place(choices, row[name]) for name, choices in settings.items())
                trials.setdefault(key, []).append(int(row["trial"]))
                # the same settings on the same seeds: the same number, to the last digit
                objectives[key] = _finite(row["objective"])
    except InputError as error:
        raise InputError(f"{directory / CSV}: {error}") from error
    except (KeyError, TypeError, ValueError, OSError, csv.Error) as error:
        raise InputError(
            f"{directory / CSV} cannot be read as the table of the sweep beside it: {error!r:.200}"
        ) from error
    for numbers in trials.values():
        numbers.sort()
    return SweepTable(directory.resolve().name, told, settings, trials, objectives)


def require_corresponding(name: str, settings: Settings, other: str, others: Settings) -> None:
    """Raise `InputError` unless both have as many choices of the same settings."""
    sizes = {setting: len(choices) for setting, choices in settings.items()}
    other_sizes = {setting: len(choices) for setting, choices in others.items()}
    # in order, for places are told by it
    if list(sizes.items()) != list(other_sizes.items()):
        raise InputError(
            f"{name} has choices {sizes}, {other} {other_sizes}: expected as many of the same "
            "settings, in the same order. Give sweeps whose spaces correspond."
        )


def _settings(told: dict[str, Any], path: Path) -> Settings:
    try:
        settings = {str(each["name"]): list(each["choices"]) for each in told["dimensions"]}
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path} does not say what was swept ({error!r:.200}): is it of a sweep?"
        ) from error
    ranges = [name for name, choices in settings.items() if not choices]
    if ranges:
        raise InputError(
            f"{path}: {', '.join(ranges)} was swept over a range, expected choices: only they have "
            "a place by which sweeps correspond."
        )
    return settings


def _finite(cell: str) -> float:
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {cell}")
    return value
