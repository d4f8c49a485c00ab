"""A run's settings as a file: TOML that a person writes, or the `config.json` of another run.

What a file leaves out is as the preset has it; flags of the command line change what a file says.
"""

import dataclasses
import enum
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from icrl.config import LearnConfig
from icrl.errors import InputError, unknown_name
from icrl.experiment.directory.gone import without_gone
from icrl.experiment.directory.parsing import (
    NONE,
    changed,
    known_names,
    parse_as,
    without_none,
)
from icrl.experiment.directory.run_directory import CONFIG
from icrl.files import MOST_JSON_BYTES, read_bytes
from icrl.json_files import read_json

Parsed = TypeVar("Parsed")
_RUN = {
    "task": str,
    "method": str,
    "preset": str,
    "demos": str | None,
    "seed": int,
    "episodes": int,
}
"""What says which run it is, and the type of each."""
_TABLES = ("env", "columns")
"""Tables beside the settings: a user's own environment, and the columns of their logs."""
_RECORDED = ("command", "label", "versions")
"""What a run's `config.json` records that is no setting."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """What a file says, checked as far as it can be without a preset."""

    run: dict[str, Any]
    """`task`, `method`, `preset`, `demos`, `seed`, `episodes`: those that it names."""
    settings: dict[str, Any]
    """Of `LearnConfig`, nested, as written."""
    tables: dict[str, dict[str, Any]]
    """`env` and `columns`, where it has them."""

    def changes(self, base: LearnConfig) -> LearnConfig:
        """The settings with what the file says of them."""
        settings: LearnConfig = changed(base, self.settings)
        return settings


def read_config(path: Path) -> ConfigFile:
    """Read a file of settings; every problem is an `InputError` that names the file."""
    # The folder of a run stands for what it was made with.
    if path.is_dir():
        path = path / CONFIG
    expected = f"settings in TOML, or a run's {CONFIG}"
    if path.suffix != ".json":
        return read_toml(path, expected, _sorted_out_toml)
    if not path.exists():
        raise InputError(f"{path}: there is no such file: expected {expected}.")
    content = read_json(path)
    try:
        return _sorted_out(content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def write_config(
    run: dict[str, Any], config: LearnConfig, tables: dict[str, dict[str, Any]]
) -> str:
    """The whole as TOML, which `read_config` reads back; None is written as "none"."""
    lines = [f"{name} = {_value(value)}" for name, value in run.items() if value is not None]
    parts = {name: table for name, table in tables.items() if table}
    return "\n".join([*lines, "", *_table_lines(config, ""), *_dict_lines(parts)]).rstrip() + "\n"


def read_toml(path: Path, expected: str, parse: Callable[[dict[str, Any]], Parsed]) -> Parsed:
    """What `parse` makes of a file of TOML; every problem is an `InputError` that names the file.

    `expected` says what the file should hold, where there is none.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such file: expected {expected}.")
    content = _toml(path)
    try:
        return parse(content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bytes(path, MOST_JSON_BYTES).decode())
    except InputError:
        raise
    except RecursionError as error:
        raise InputError(f"{path}: cannot be read as TOML: it is nested too deeply") from error
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: cannot be read as TOML: {error}") from error


def _sorted_out_toml(content: dict[str, Any]) -> ConfigFile:
    if "columns" in content:
        content = {**content, "columns": without_none(content["columns"])}
    return _sorted_out(content)


def _sorted_out(content: dict[str, Any]) -> ConfigFile:
    if content.get("constraint") is not None:
        raise InputError(
            "is of a transfer, which learns nothing: use icrl transfer with --constraint."
        )
    nested = content.get("config", {})
    if not isinstance(nested, dict):
        raise InputError(f"config is {nested!r}, expected a table of settings.")
    known = {field.name for field in dataclasses.fields(LearnConfig)}
    # A run's own record nests its settings, a file that a person wrote does not: both are read.
    settings = dict(nested)
    run: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    for name, value in content.items():
        if name in _RUN:
            run[name] = parse_as(_RUN[name], value, name)
        elif name in _TABLES:
            if value is not None and not isinstance(value, dict):
                raise InputError(f"{name} is {value!r}, expected a table.")
            tables[name] = value or {}
        elif name in known:
            settings[name] = value
        elif name not in (*_RECORDED, "config", "constraint"):
            raise unknown_name("setting", name, [*_RUN, *_TABLES, *known_names(LearnConfig)])
    settings = without_gone(settings)
    # names and types are wrong or right whatever the preset
    changed(LearnConfig(), _checkable(settings))
    return ConfigFile(run=run, settings=settings, tables=tables)


def _checkable(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those whose values only make sense together with the preset's."""
    forward = settings.get("forward")
    if not isinstance(forward, dict):
        return settings
    together = ("num_envs", "rollout_steps", "minibatch")
    return {**settings, "forward": {name: v for name, v in forward.items() if name not in together}}


def _table_lines(table: Any, prefix: str) -> list[str]:
    """The plain fields of a dataclass, then a table for each dataclass in it."""
    fields = {field.name: getattr(table, field.name) for field in dataclasses.fields(table)}
    plain = {name: value for name, value in fields.items() if not dataclasses.is_dataclass(value)}
    lines = [f"{name} = {_value(value)}" for name, value in plain.items()]
    for name, value in fields.items():
        if name not in plain:
            lines += ["", f"[{prefix}{name}]", *_table_lines(value, f"{prefix}{name}.")]
    return lines


def _dict_lines(tables: dict[str, dict[str, Any]]) -> list[str]:
    lines = []
    for name, table in tables.items():
        # None too: of some it is not what a file that leaves them out means.
        said = [f"{key} = {_value(value)}" for key, value in table.items()]
        lines += ["", f"[{name}]", *said]
    return lines


def _value(value: Any) -> str:
    if value is None:
        return f'"{NONE}"'
    if isinstance(value, enum.Enum):
        return _value(value.value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, float):
        # repr reads back to the same bits, and writes 1e-05 as TOML does.
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    return json.dumps(value)  # whole numbers and booleans are the same in TOML


def _text(value: str) -> str:
    """In quotes, plain ASCII. JSON's way but for what TOML refuses: halves of a character, DEL."""
    parts = []
    for character in value:
        if ord(character) >= 0x7F:
            parts.append(f"\\U{ord(character):08x}")
        else:
            parts.append(json.dumps(character)[1:-1])
    return f'"{"".join(parts)}"'
