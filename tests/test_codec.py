"""Values taken apart and put together again, to the bit; nothing else can be built from a file."""

import dataclasses
import enum
import json
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from icrl.codec import classes_of, pack, unpack
from icrl.errors import InputError
from icrl.state import LearnState


class Colour(enum.StrEnum):
    red = "red"


class Pair(NamedTuple):
    left: Any
    right: Any = None


class Stranger(NamedTuple):
    value: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Thing:
    pair: Pair | None = None
    colours: tuple[Colour, ...] = ()
    anything: Any = None


def there_and_back(value):
    """As a file does it: the tree through JSON, the arrays by name."""
    packed = pack(Thing(anything=value), Thing)
    tree = json.loads(json.dumps(packed.tree, allow_nan=False))
    return unpack(tree, packed.arrays, Thing).anything


def same(first, second):
    """Equal in type and bits, all the way down."""
    assert type(first) is type(second)
    if isinstance(first, dict):
        assert list(first) == list(second)
        return all(same(first[key], second[key]) for key in first)
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(
            same(a, b) for a, b in zip(first, second, strict=True)
        )
    if dataclasses.is_dataclass(first):
        return all(
            same(getattr(first, f.name), getattr(second, f.name)) for f in dataclasses.fields(first)
        )
    if hasattr(first, "dtype"):
        one = np.asarray(first)
        other = np.asarray(second)
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    return first == second or (first != first and second != second)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**70),
        0.1,
        1e-320,
        math.inf,
        -math.inf,
        math.nan,
        "",
        "ζ \ud800 \x00",
        (),
        (1, (2.0, "x"), []),
        [None, (1,)],
        {"a": 1, 2: {"b": ()}},
        Colour.red,
        Pair(1, Pair(Colour.red)),
        Thing(pair=Pair(np.float64(2), np.int64(3)), colours=(Colour.red,)),
        np.float64(0.1),
        np.bool_(True),
        np.float32("inf"),
        np.zeros(()),
        np.zeros((0, 3), np.int8),
        np.arange(6, dtype=np.float16).reshape(2, 3),
        np.array([True, False]),
        np.array(["ab", "c"]),
        np.arange(3).astype(">i4"),
        np.array([1 + 2j]),
        np.zeros((2, 0), complex),
        np.array([1.5], ml_dtypes.bfloat16),
        jnp.arange(4),
        jnp.float32(2),
        jnp.ones((2, 2), jnp.bfloat16),
        jnp.zeros((), bool),
    ],
)
def test_a_value_comes_back_to_the_bit(value):
    assert same(there_and_back(value), value)


@given(
    hnp.arrays(
        st.sampled_from(["f4", "f8", "i8", "u1", "?"]),
        hnp.array_shapes(min_dims=0, max_dims=4),
        elements=None,
    ),
    st.randoms(use_true_random=False),
)
def test_an_array_lies_in_memory_as_it_did(array, random):
    axes = list(range(array.ndim))
    random.shuffle(axes)
    turned = np.transpose(array, axes)
    back = there_and_back(turned)
    assert same(back, turned)
    if turned.size > 1:  # strides of axes of length 1 mean nothing
        kept = [axis for axis in range(turned.ndim) if turned.shape[axis] > 1]
        assert [back.strides[axis] for axis in kept] == [turned.strides[axis] for axis in kept]


def test_the_state_of_an_optimiser_comes_back():
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
    params = jnp.arange(3.0)
    _, state = optimizer.update(params, optimizer.init(params))
    back = there_and_back(state)
    assert same(back, state)
    first, _ = optimizer.update(params, state)
    second, _ = optimizer.update(params, back)
    assert same(first, second)


def test_what_is_held_twice_is_kept_once():
    array = np.arange(5)
    packed = pack(Thing(anything=(array, [array])), Thing)
    assert len(packed.arrays) == 1
    back = unpack(packed.tree, packed.arrays, Thing).anything
    assert back[0] is back[1][0]


@pytest.mark.parametrize("value", [object(), {1, 2}, Stranger(1), lambda: 0, np.array([None])])
def test_what_could_not_be_put_together_is_not_kept(value):
    with pytest.raises(TypeError, match=r"Thing\.anything\[0\]"):
        pack(Thing(anything=[value]), Thing)


def test_all_that_learning_carries_can_be_named():
    names = {name.rpartition(".")[2] for name in classes_of(LearnState)}
    assert {
        "LearnState",
        "Training",
        "AgentState",
        "Evidence",
        "Finding",
        "Region",
        "ScaleByAdamState",
    } <= names
    assert not any(
        name.startswith("builtins") or "Callable" in name for name in classes_of(LearnState)
    )


STRANGE = [
    {"class": "os.system", "fields": {"command": "true"}},
    {"class": f"{__name__}.Stranger", "fields": {"value": 1}},
    {"class": f"{__name__}.Colour", "fields": {}},
    {"class": f"{__name__}.Pair", "fields": {"left": 1}},
    {"class": f"{__name__}.Pair", "fields": {"left": 1, "right": 2, "more": 3}},
    {"class": 3, "fields": {}},
    {"enum": f"{__name__}.Colour", "value": "blue"},
    {"enum": f"{__name__}.Colour", "value": []},
    {"enum": "os.system", "value": "true"},
    {"array": "7"},
    {"array": ["7"]},
    {"array": "0", "order": [0, 0]},
    {"array": "0", "dtype": "O", "shape": [1]},
    {"array": "0", "dtype": "nonsense", "shape": [1]},
    {"array": "0", "dtype": "f8", "shape": [10**9]},
    {"array": "0", "dtype": "f8"},
    {"scalar": 3},
    {"float": "1e999"},
    {"dict": [[1]]},
    {"dict": [[{"list": []}, 1]]},
    {"tuple": 3},
    {"what": 1},
    {},
    [1],
]


@pytest.mark.parametrize("tree", STRANGE, ids=lambda tree: json.dumps(tree)[:40])
def test_what_no_value_was_taken_apart_into_is_refused(tree):
    fields = {"pair": None, "colours": {"tuple": []}, "anything": tree}
    whole = {"class": f"{__name__}.Thing", "fields": fields}
    with pytest.raises(InputError, match="damaged, or of another version"):
        unpack(whole, {"0": np.zeros(2)}, Thing)


def test_another_value_than_was_asked_for_is_refused():
    with pytest.raises(InputError, match="expected Thing, got int"):
        unpack(3, {}, Thing)
