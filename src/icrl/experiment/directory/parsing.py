"""Plain values (of JSON or TOML) as the typed dataclasses of the settings; what does not fit is
named."""

import dataclasses
import enum
import types
import typing
from typing import Any

from icrl.errors import InputError, unknown_name

NONE = "none"
"""How a file without a null says None."""


def parse_as(kind: Any, value: Any, where: str) -> Any:
    """`value` as the type `kind`; a field that is missing takes its default, an unknown one is an
    error."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _parse_dataclass(kind, value, where)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        (inner,) = [part for part in typing.get_args(kind) if part is not types.NoneType]
        # Where text is expected, "none" may be somebody's name.
        if value is None or (value == NONE and inner is not str):
            return None
        return parse_as(inner, value, where)
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise InputError(f"{where} holds {value!r}, expected a list.")
        return tuple(parse_as(typing.get_args(kind)[0], item, where) for item in value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        if value not in [option.value for option in kind]:
            raise InputError(
                f"{where} is {value!r}, expected one of {', '.join(str(o.value) for o in kind)}."
            )
        return kind(value)
    allowed: tuple[type, ...]
    if kind is float:
        # People write 1 where 1.0 is meant; the other way round something would be lost.
        allowed = (int, float)
    else:
        allowed = (kind,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{where} is {value!r}, expected {kind.__name__}.")
    return value


def changed(base: Any, said: Any, where: str = "") -> Any:
    """The dataclass `base` with what a table of names says; tables in it change the dataclasses in
    `base`."""
    if not isinstance(said, dict):
        raise InputError(f"{where or 'the settings'} is {said!r}, expected a table of settings.")
    hints = typing.get_type_hints(type(base))
    values: dict[str, Any] = {}
    for name, value in said.items():
        dotted = f"{where}.{name}".lstrip(".")
        if name not in hints:
            raise unknown_name("setting", dotted, known_names(type(base), where))
        old = getattr(base, name)
        if dataclasses.is_dataclass(old):
            values[name] = changed(old, value, dotted)
        else:
            values[name] = parse_as(hints[name], value, dotted)
    return dataclasses.replace(base, **values)


def without_none(table: Any) -> Any:
    """A table of TOML with None for "none", also where text is expected: TOML has no null."""
    if not isinstance(table, dict):
        return table
    said: dict[str, Any] = dict(table)
    for name, value in table.items():
        if value == NONE:
            said[name] = None
    return said


def dotted_names(kind: type, prefix: str = "") -> list[str]:
    """Names of all settings: ["steps", ..., "forward.learning_rate", ...]."""
    found = []
    for name, hint in typing.get_type_hints(kind).items():
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            found += dotted_names(hint, f"{prefix}{name}.")
        else:
            found.append(f"{prefix}{name}")
    return found


def known_names(kind: type, where: str = "") -> list[str]:
    """`dotted_names`, and those of the tables that they stand in: what may be meant by a name that
    is none of them."""
    prefix = ""
    if where:
        prefix = f"{where}."
    tables = [
        f"{prefix}{name}"
        for name, hint in typing.get_type_hints(kind).items()
        if dataclasses.is_dataclass(hint)
    ]
    return [*tables, *dotted_names(kind, prefix)]


def _parse_dataclass(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise InputError(f"{where} holds {value!r}, expected an object.")
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(value) - set(hints))
    if unknown:
        raise InputError(
            f"{where} has settings that this version does not know: {', '.join(unknown)}."
        )
    parsed = {name: parse_as(hints[name], item, f"{where}: {name}") for name, item in value.items()}
    try:
        return kind(**parsed)
    except TypeError as error:
        raise InputError(f"{where} is incomplete: {error}.") from error
