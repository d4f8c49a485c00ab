"""JSON files of ours: written whole, read with every number finite;
what is wrong with one is said."""

import dataclasses
import enum
import json
import math
import os
from pathlib import Path
from typing import Any

from icrl.errors import InputError
from icrl.files import MOST_JSON_BYTES, read_bytes, write_whole


def to_json(value: Any) -> Any:
    """Dataclasses, enums, tuples and paths as plain JSON values;
    a number that is not finite becomes null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    # null, which every reader of JSON knows; NaN is read by Python alone.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, os.PathLike):
        return str(value)
    return value


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole or not at all."""
    write_whole(path, (json.dumps(to_json(value), indent=2, allow_nan=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object, or say what is wrong with the file."""
    try:
        content = parse_json(read_bytes(path, MOST_JSON_BYTES))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: is {path.parent} a run directory?") from error
    except InputError:
        raise
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error!s:.200}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds {type(content).__name__}, expected a JSON object.")
    return content


def parse_json(data: bytes) -> Any:
    """JSON whose numbers are finite; whatever is wrong with it is a `ValueError`."""
    try:
        return json.loads(
            data.decode(), parse_constant=_finite, parse_float=_finite, parse_int=_whole
        )
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {text:.40}")
    return value


def _whole(text: str) -> int:
    """A whole number that arrays and floats can hold too."""
    value = int(text)
    if abs(value) >= 2**63:
        raise ValueError(f"expected a whole number below 2^63, got {text:.40}")
    return value
