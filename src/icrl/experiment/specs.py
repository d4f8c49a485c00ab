"""A `RunSpec` as JSON and back, so that a run can be handed to another process, or found again in its directory."""

import dataclasses
import enum
import types
import typing
from typing import Any

from icrl.errors import InputError
from icrl.experiment.runs import RunSpec


def spec_from_json(content: dict[str, Any]) -> RunSpec:
    """The spec in a run's `config.json`; what else stands there (command, versions) is left out."""
    names = {f.name for f in dataclasses.fields(RunSpec)}
    return parse_as(RunSpec, {k: v for k, v in content.items() if k in names}, "the run")


Kind = typing.TypeVar("Kind")


def parse_as(kind: type[Kind], value: Any, where: str) -> Kind:
    """JSON as a dataclass, field by field; `InputError` that begins with `where`
    for what does not fit."""
    return typing.cast(Kind, _parse(kind, value, where))


def _parse(kind: Any, value: Any, where: str) -> Any:
    """`value` as the type `kind`; a field that is missing takes its default, an unknown one is an error."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _parse_dataclass(kind, value, where)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        (inner,) = [part for part in typing.get_args(kind) if part is not types.NoneType]
        return None if value is None else _parse(inner, value, where)
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise InputError(f"{where} holds {value!r}, expected a list.")
        return tuple(_parse(typing.get_args(kind)[0], item, where) for item in value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        if value not in [option.value for option in kind]:
            raise InputError(f"{where} is {value!r}, expected one of {', '.join(str(o.value) for o in kind)}.")
        return kind(value)
    allowed: tuple[type, ...] = (int, float) if kind is float else (kind,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{where} is {value!r}, expected {kind.__name__}.")
    return value


def _parse_dataclass(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise InputError(f"{where} holds {value!r}, expected an object.")
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(value) - set(hints))
    if unknown:
        raise InputError(f"{where} has settings that this version does not know: {', '.join(unknown)}.")
    parsed = {name: _parse(hints[name], item, f"{where}: {name}") for name, item in value.items()}
    try:
        return kind(**parsed)
    except TypeError as error:
        raise InputError(f"{where} is incomplete: {error}.") from error
