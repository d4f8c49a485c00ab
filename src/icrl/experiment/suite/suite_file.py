"""A suite as a file of TOML that a person writes: one table for each row of runs.

name = "mine"
seeds = 5                                  # of every entry that says nothing else

[[entries]]
label = "ours"
task = "lap-grid"

[[entries]]
label = "ours-long"
task = "lap-grid"
settings = {steps = 300_000, forward = {learning_rate = 1e-4}}
"""

from functools import partial
from pathlib import Path
from typing import Any

from icrl.config import LearnConfig
from icrl.demos.formats_table import ColumnMapping
from icrl.errors import InputError, unknown_name
from icrl.experiment.directory.config_file import read_toml
from icrl.experiment.directory.parsing import changed, parse_as, without_none
from icrl.experiment.suite.suite import Entry, Suite, unchanged
from icrl.tasks.options import EnvOptions

_SUITE = {"name": str, "purpose": str, "seeds": int, "episodes": int}
_ENTRY = {
    "label": str,
    "task": str,
    "method": str,
    "preset": str,
    "seeds": int,
    "demos": str | None,
    "episodes": int,
    "source": str | None,
    "borrow": str | None,
}
"""Of `Entry`, what a file says as it is."""
_TABLES = ("settings", "columns", "env")
DEFAULT_SEEDS = 5


def read_suite(path: Path) -> Suite:
    """The suite in a file; every problem is an `InputError` that names the file."""
    return read_toml(
        path, "a suite in TOML (docs/suites.md)", lambda content: _suite(content, path.stem)
    )


def _suite(content: dict[str, Any], stem: str) -> Suite:
    said = {name: value for name, value in content.items() if name != "entries"}
    for name, value in said.items():
        if name not in _SUITE:
            raise unknown_name("key", name, [*_SUITE, "entries"])
        parse_as(_SUITE[name], value, name)
    rows = content.get("entries")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            f"entries is {rows!r:.60}, expected tables: [[entries]], each with a label and a task."
        )
    defaults = {"seeds": DEFAULT_SEEDS} | {
        key: said[key] for key in ("seeds", "episodes") if key in said
    }
    return Suite(
        name=said.get("name", stem),
        purpose=said.get("purpose", "of a file"),
        entries=tuple(_entry(row, defaults, number) for number, row in enumerate(rows, 1)),
    )


def _entry(row: dict[str, Any], defaults: dict[str, Any], number: int) -> Entry:
    where = f"entry {number}"
    # Unknown keys are errors: a misspelt setting would otherwise be a run with the default.
    for name in row:
        if name not in _ENTRY and name not in _TABLES:
            raise unknown_name(f"key of {where}", name, [*_ENTRY, *_TABLES])
    for name in ("label", "task"):
        if name not in row:
            raise InputError(f"{where} has no {name}: every entry needs a label and a task.")
    plain = {
        name: parse_as(_ENTRY[name], row[name], f"{where}: {name}")
        for name in _ENTRY
        if name in row
    }
    for name in ("seeds", "episodes"):
        if name in plain and plain[name] < 1:
            raise InputError(f"{where}: {name} is {plain[name]}, expected an integer >= 1.")
    settings = row.get("settings", {})
    change = unchanged
    if settings:
        # names and types are wrong or right whatever the preset
        changed(LearnConfig(), settings, "")
        change = partial(_change, settings)
    columns = None
    if "columns" in row:
        columns = parse_as(ColumnMapping, without_none(row["columns"]), f"{where}: columns")
    env = parse_as(EnvOptions, row.get("env", {}), f"{where}: env")
    return Entry(**{**defaults, **plain, "change": change, "columns": columns, "env": env})


def _change(settings: dict[str, Any], config: LearnConfig) -> LearnConfig:
    """What the file says, made to the preset's settings."""
    made: LearnConfig = changed(config, settings)
    return made
