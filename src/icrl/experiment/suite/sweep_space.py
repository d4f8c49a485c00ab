"""What a sweep may change: a TOML file of settings, in which a table {low, high, log} or {choices}
stands for a value.

Plain values are settings that all trials share.
Names and types are those of the settings themselves.
"""

import dataclasses
import enum
import types
import typing
from pathlib import Path
from typing import Any, NamedTuple

from icrl.config import LearnConfig
from icrl.errors import InputError, unknown_name
from icrl.experiment.directory.config_file import read_toml
from icrl.experiment.directory.parsing import changed, dotted_names, parse_as

_RANGE = {"low", "high", "log"}
_CHOICE = {"choices"}


class Dimension(NamedTuple):
    """One setting that is swept."""

    name: str
    """Dotted: forward.learning_rate."""
    low: float | None
    high: float | None
    log: bool
    whole: bool
    """Whole numbers only."""
    choices: tuple[Any, ...]
    """As written; empty for a range."""

    def suggest(self, trial: Any) -> Any:
        """A value, by Optuna."""
        if self.choices:
            # Optuna keeps plain values: a list is named by its place
            index = trial.suggest_categorical(
                self.name, [_label(choice) for choice in self.choices]
            )
            return next(choice for choice in self.choices if _label(choice) == index)
        if self.whole:
            return trial.suggest_int(self.name, self.low, self.high, log=self.log)
        return trial.suggest_float(self.name, self.low, self.high, log=self.log)

    def holding(self, config: LearnConfig) -> Any | None:
        """What these settings have here, as Optuna keeps it; None: it does not lie in the space."""
        value = self.value_of(config)
        if self.low is not None and self.high is not None:
            if value is not None and self.low <= value <= self.high:
                return value
            return None
        hint = _hint_of(self.name)
        for choice in self.choices:
            if parse_as(hint, choice, self.name) == value:
                return _label(choice)
        return None

    def label(self, place: int) -> Any:
        """The choice at a place, as Optuna keeps it."""
        return _label(self.choices[place])

    def value_of(self, config: LearnConfig) -> Any:
        """What these settings have here."""
        value: Any = config
        for part in self.name.split("."):
            value = getattr(value, part)
        return value


class Space(NamedTuple):
    """What is swept, and what is fixed."""

    dimensions: tuple[Dimension, ...]
    fixed: dict[str, Any]
    """Nested, as in a file of settings."""

    def settings(self) -> dict[str, list[Any]]:
        """Of each setting that is swept its choices; none where it is a range."""
        return {dimension.name: list(dimension.choices) for dimension in self.dimensions}

    def holding(self, config: LearnConfig) -> dict[str, Any]:
        """What these settings have of each, as Optuna keeps it; None: it does not lie here."""
        return {dimension.name: dimension.holding(config) for dimension in self.dimensions}

    def config_of(self, base: LearnConfig, values: dict[str, Any]) -> LearnConfig:
        """The settings of a trial; all changes at once, since some values only fit together."""
        said = _copied(self.fixed)
        for name, value in values.items():
            *tables, last = name.split(".")
            table = said
            for part in tables:
                table = table.setdefault(part, {})
            table[last] = value
        config: LearnConfig = changed(base, said)
        return config


def read_space(path: Path) -> Space:
    """Read and check a file; every problem is an `InputError` that names it."""
    return read_toml(path, "what to sweep, in TOML", space_of)


def space_of(content: dict[str, Any]) -> Space:
    """The space that a table of settings describes."""
    found: list[Dimension] = []
    fixed = _split(LearnConfig, content, "", found)
    if not found:
        raise InputError(
            "nothing is swept: give a setting a range, e.g. forward.learning_rate = {low = 1e-5, "
            "high = 1e-3, log = true}, or choices, e.g. scouts = {choices = [1, 3]}."
        )
    return Space(tuple(found), fixed)


def _split(kind: type, said: dict[str, Any], where: str, found: list[Dimension]) -> dict[str, Any]:
    """What is fixed in a table; what is swept is added to `found`."""
    hints = typing.get_type_hints(kind)
    fixed: dict[str, Any] = {}
    for name, value in said.items():
        dotted = f"{where}{name}"
        if name not in hints:
            raise unknown_name("setting", dotted, dotted_names(kind, where))
        hint = hints[name]
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            if not isinstance(value, dict):
                raise InputError(f"{dotted} is {value!r}, expected a table of settings.")
            fixed[name] = _split(hint, value, f"{dotted}.", found)
        elif isinstance(value, dict):
            found.append(_dimension(dotted, value, hint))
        else:
            # Before the first trial: a type that is wrong would fail every one of them.
            parse_as(hint, value, dotted)
            fixed[name] = value
    return fixed


def _dimension(name: str, said: dict[str, Any], hint: Any) -> Dimension:
    unknown = sorted(set(said) - (_RANGE | _CHOICE))
    if unknown:
        raise unknown_name(f"part of {name}", unknown[0], _RANGE | _CHOICE)
    if "choices" in said:
        if len(said) > 1 or not isinstance(said["choices"], list) or len(said["choices"]) < 2:
            raise InputError(
                f"{name} = {said!r}: choices stand alone, and are a list of two or more."
            )
        for choice in said["choices"]:
            parse_as(hint, choice, name)
        return Dimension(name, None, None, False, False, tuple(said["choices"]))
    kind = _number_kind(hint)
    if kind is None:
        raise InputError(f"{name} is no number: give choices = [...] instead of a range.")
    if not {"low", "high"} <= set(said):
        raise InputError(f"{name} = {said!r}: a range needs low and high.")
    low, high = (parse_as(kind, said[end], f"{name}.{end}") for end in ("low", "high"))
    log = parse_as(bool, said.get("log", False), f"{name}.log")
    if not low < high or (log and low <= 0):
        raise InputError(f"{name} = {said!r}: low must be below high, and above 0 if log is true.")
    return Dimension(name, low, high, log, kind is int, ())


def _hint_of(name: str) -> Any:
    """The type of a setting, by its dotted name."""
    hint: Any = LearnConfig
    for part in name.split("."):
        hint = typing.get_type_hints(hint)[part]
    return hint


def _number_kind(hint: Any) -> type | None:
    """int or float, also where None is allowed beside it; None: the setting is no number."""
    if isinstance(hint, types.UnionType):
        (hint,) = [part for part in typing.get_args(hint) if part is not types.NoneType]
    if hint in (int, float) and not (isinstance(hint, type) and issubclass(hint, enum.Enum)):
        return typing.cast(type, hint)
    return None


def _label(choice: Any) -> Any:
    """A choice as Optuna can keep it."""
    if isinstance(choice, list):
        return str(choice)
    return choice


def _copied(table: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _copied(value) if isinstance(value, dict) else value for name, value in table.items()
    }
