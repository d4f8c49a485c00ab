"""Values as plain JSON and named arrays, and back to the bit:
how a run that goes on is kept on disk.

Dataclasses, NamedTuples and enums, tuples, lists, dicts, None, strings, numbers (infinite ones
too), arrays of NumPy and of JAX. A class is only ever rebuilt if the type that the reader expects
names it, in its annotations or theirs; a file cannot name another one, and nothing is imported for
it.
"""

import dataclasses
import enum
import math
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from icrl.errors import InputError
from icrl.types import AnyArray

_PLAIN = {
    np.dtype(name)
    for name in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
}
"""Types of numbers that a safetensors file holds as they are; others are held as bytes."""
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Packed(NamedTuple):
    """A value taken apart."""

    tree: Any
    """Plain JSON; arrays are named."""
    arrays: dict[str, AnyArray]


def pack(value: Any, kind: Any) -> Packed:
    """Take apart a `value` of the type `kind`.

    A `TypeError` says where a part is that could not be put together again: a class that no
    annotation names.
    """
    packer = _Packer(classes_of(kind))
    tree = packer.packed(value, _name_of(kind))
    return Packed(tree, packer.arrays)


def unpack(tree: Any, arrays: Mapping[str, AnyArray], kind: Any) -> Any:
    """Put together a value of the type `kind`; what is none is an `InputError`."""
    value = _Unpacker(classes_of(kind), arrays).unpacked(tree)
    if isinstance(kind, type) and not isinstance(value, kind):
        raise _damaged(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def classes_of(kind: Any) -> dict[str, type]:
    """The dataclasses, NamedTuples and enums that a type names, and those that they name, by name;
    and the states of optax's optimisers, which annotations call `Any`."""
    found: dict[str, type] = {}
    waiting = [kind]
    while waiting:
        part = waiting.pop()
        waiting += typing.get_args(part)
        if isinstance(part, type) and _is_record(part) and _name_of(part) not in found:
            found[_name_of(part)] = part
            if not issubclass(part, enum.Enum):
                waiting += typing.get_type_hints(part).values()
    return found | _optimiser_states()


# optax names its states nowhere in our annotations, so they are listed: by name, never by a file.
def _optimiser_states() -> dict[str, type]:
    import optax

    states = [part for name, part in vars(optax).items() if name.endswith("State")]
    return {
        _name_of(part): part for part in states if isinstance(part, type) and _is_named_tuple(part)
    }


def _is_record(part: type) -> bool:
    return dataclasses.is_dataclass(part) or _is_named_tuple(part) or issubclass(part, enum.Enum)


def _is_named_tuple(part: type) -> bool:
    return issubclass(part, tuple) and hasattr(part, "_fields")


def _name_of(kind: Any) -> str:
    if not isinstance(kind, type):
        return str(kind)
    return f"{kind.__module__}.{kind.__qualname__}"


def _fields_of(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    fields: tuple[str, ...] = getattr(kind, "_fields", ())
    return fields


def _is_jax(value: Any) -> bool:
    """An array of JAX; asked without importing it."""
    module = type(value).__module__
    return module.startswith(("jax.", "jaxlib.")) and hasattr(value, "dtype")


class _Packer:
    def __init__(self, classes: dict[str, type]) -> None:
        self.classes = classes
        self.arrays: dict[str, AnyArray] = {}
        self.names: dict[int, dict[str, Any]] = {}
        """Nodes of the arrays that were packed, by identity: the same agent is often held
        twice."""
        self.held: list[Any] = []
        """Keeps them alive, so that no other object gets their identity."""

    def packed(self, value: Any, where: str) -> Any:
        if isinstance(value, enum.Enum):
            return {"enum": self._known(type(value), where), "value": value.value}
        if isinstance(value, np.generic):  # before the others: NumPy's float64 is a float too
            return {"scalar": self._array(np.asarray(value), where)}
        # Floats stand apart: JSON has neither infinity nor NaN.
        if value is None or isinstance(value, bool | str | int):
            return value
        if isinstance(value, float):
            if math.isfinite(value):
                return value
            return {"float": str(value)}
        if isinstance(value, np.ndarray) or _is_jax(value):
            return self._array(value, where)
        if _is_record(type(value)):
            fields = _fields_of(type(value))
            parts = {name: self.packed(getattr(value, name), f"{where}.{name}") for name in fields}
            return {"class": self._known(type(value), where), "fields": parts}
        if type(value) is tuple or type(value) is list:
            items = [self.packed(item, f"{where}[{index}]") for index, item in enumerate(value)]
            return {type(value).__name__: items}
        if type(value) is dict:
            keys = value.items()
            # A list of pairs and not an object: keys of JSON are text, and a 3 would come back as
            # "3".
            items = [[self.packed(k, where), self.packed(v, f"{where}[{k!r}]")] for k, v in keys]
            return {"dict": items}
        raise TypeError(f"{where} is a {_name_of(type(value))}, which cannot be kept.")

    def _known(self, kind: type, where: str) -> str:
        name = _name_of(kind)
        if self.classes.get(name) is not kind:
            raise TypeError(
                f"{where} is a {name}, which no annotation names: annotate what holds it."
            )
        return name

    def _array(self, value: Any, where: str) -> dict[str, Any]:
        if id(value) in self.names:
            return self.names[id(value)]
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise TypeError(f"{where} is an array of objects, which cannot be kept.")
        # The order in which numbers lie in memory decides the order in which they are added up.
        order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        stored = np.array(np.transpose(array, order), order="C")
        node: dict[str, Any] = {"array": str(len(self.arrays))}
        if order != list(range(array.ndim)):
            node["order"] = order
        if array.dtype not in _PLAIN or not array.dtype.isnative:
            if array.dtype.kind in "cSUmMfiu":
                node["dtype"] = array.dtype.str
            else:
                node["dtype"] = array.dtype.name
            node["shape"] = list(stored.shape)
            stored = stored.reshape(-1).view(np.uint8)
        if _is_jax(value):
            node["jax"] = True
        self.arrays[node["array"]] = stored
        self.names[id(value)] = node
        self.held.append(value)
        return node


class _Unpacker:
    def __init__(self, classes: dict[str, type], arrays: Mapping[str, AnyArray]) -> None:
        self.classes = classes
        self.arrays = arrays
        self.made: dict[str, Any] = {}

    def unpacked(self, tree: Any) -> Any:
        if tree is None or isinstance(tree, bool | str | int | float):
            return tree
        if not isinstance(tree, dict):
            raise _damaged(f"expected an object, got {type(tree).__name__}")
        match tree:
            case {"class": name, "fields": dict() as fields}:
                return self._record(name, fields)
            case {"enum": name, "value": value}:
                return self._built(self._class(name), {"value": value})
            case {"float": str() as name} if name in _NOT_FINITE:
                return _NOT_FINITE[name]
            case {"scalar": node}:
                return np.asarray(self._array(node))[()]
            case {"array": _}:
                return self._array(tree)
            case {"tuple": list() as items}:
                return tuple(self.unpacked(item) for item in items)
            case {"list": list() as items}:
                return [self.unpacked(item) for item in items]
            case {"dict": list() as items}:
                return self._dict(items)
        raise _damaged(f"an object of {', '.join(sorted(map(str, tree)))[:80] or 'nothing'}")

    def _class(self, name: Any) -> type:
        if not isinstance(name, str) or name not in self.classes:
            raise _damaged(f"{str(name)[:80]!r} is no part of what is kept here")
        return self.classes[name]

    def _record(self, name: Any, fields: dict[str, Any]) -> Any:
        kind = self._class(name)
        if issubclass(kind, enum.Enum):
            raise _damaged(f"{kind.__name__} has no fields")
        wanted = _fields_of(kind)
        # Never filled in by defaults: a state of another version would go on as if nothing had
        # changed.
        if set(wanted) != set(fields):
            differing = sorted(set(wanted) ^ set(fields))
            raise _damaged(
                f"{kind.__name__} has other fields in this version: {', '.join(differing)[:80]}"
            )
        return self._built(kind, {part: self.unpacked(fields[part]) for part in wanted})

    def _dict(self, items: list[Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for item in items:
            if not isinstance(item, list) or len(item) != 2:
                raise _damaged("a dict is a list of keys and values")
            key = self.unpacked(item[0])
            try:
                found[key] = self.unpacked(item[1])
            except TypeError as error:
                raise _damaged(f"a {type(key).__name__} cannot be a key") from error
        return found

    def _built(self, kind: type, fields: dict[str, Any]) -> Any:
        try:
            return kind(**fields)
        except InputError:
            raise
        except Exception as error:  # given nonsense, a class may raise anything
            raise _damaged(f"{kind.__name__}: {error!s:.100}") from error

    def _array(self, node: Any) -> Any:
        if not isinstance(node, dict):
            raise _damaged("an array has a name")
        name = node.get("array")
        if not isinstance(name, str) or name not in self.arrays:
            raise _damaged(f"there is no array {str(name)[:20]!r}")
        # What was one array is one again: the same agent is held twice, and not stored twice.
        if name not in self.made:
            self.made[name] = self._restored(node, self.arrays[name])
        return self.made[name]

    def _restored(self, node: dict[str, Any], array: AnyArray) -> Any:
        try:
            if "dtype" in node:
                array = array.view(_dtype(node["dtype"])).reshape(node["shape"])
            if "order" in node:
                array = np.transpose(array, np.argsort(node["order"]))
        except (LookupError, TypeError, ValueError) as error:
            raise _damaged(f"an array: {error!s:.100}") from error
        if node.get("jax") is not True:
            return array
        import jax.numpy as jnp

        return jnp.asarray(array)


def _dtype(name: str) -> np.dtype[Any]:
    """Also those that JAX brings along, such as bfloat16."""
    try:
        found = np.dtype(name)
    except TypeError:
        import ml_dtypes

        found = np.dtype(getattr(ml_dtypes, name, None) if isinstance(name, str) else None)
    if found.hasobject:
        raise TypeError("it holds objects")
    return found


def _damaged(why: str) -> InputError:
    return InputError(f"it cannot be put together ({why}): it is damaged, or of another version.")
