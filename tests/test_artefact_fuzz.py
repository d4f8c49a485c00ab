"""Damaged artefacts: each ends in `InputError` or in a correct load, and in nothing else.

Constraints (networks and tables) and policies, damaged as files are damaged (cut, flipped bits,
pieces lost or put in, foreign content) and as programs damage them (well-formed files with wrong
shapes, types, or values that are not finite; then with a fresh checksum too, so that nothing but
the checks of the content stands in the way).
"""

import json
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

import worlds
from damage import cut, flip, splice
from icrl.agent.policy_file import CHECKSUM, load_policy, save_policy
from icrl.agent.policy_file import _checksum as policy_checksum
from icrl.agent.state import init_agent, policy_of
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.network import init_params
from icrl.constraint.saved import CARD, TENSORS
from icrl.constraint.saved import _checksum as constraint_checksum
from icrl.constraint.table import hard_table
from icrl.errors import InputError
from plain_settings import plain_forward

KINDS = ("network", "places", "pairs", "policy-choice", "policy-push")
TASKS = {"policy-choice": worlds.choice_reward(), "policy-push": worlds.push_reward()}
POLICY = "policy.safetensors"
RNG = np.random.default_rng(5)
OBSERVATIONS = {
    "policy": RNG.normal(0, 3, (9, 1)).astype(np.float32),
    "constraint": RNG.normal(0, 9, (9, 2)),
}


def features(discrete: bool, names: tuple[str, ...]) -> Features:
    every = ("x", "y", "left", "right") if discrete else ("x", "y", "push")
    return Features(
        names=names,
        columns=tuple(every.index(name) for name in names),
        lower=(-5.0,) * len(names),
        upper=(6.5,) * len(names),
        num_observations=2,
        num_actions=2 if discrete else 1,
        discrete=discrete,
    )


def constraint_of(kind: str) -> LearnedConstraint:
    card = {"method": "icrl", "seed": 3, "notes": ["a", 1.5, None]}
    if kind == "network":
        params = init_params(np.random.default_rng(3), 2, (5, 4))
        return LearnedConstraint(features=features(False, ("y", "push")), params=params, card=card)
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    if kind == "places":
        table = hard_table(places, np.array([[True], [False], [True]]))
        return LearnedConstraint(features=features(False, ("x", "y")), table=table, card=card)
    table = hard_table(places, np.array([[True, False], [False, True], [True, True]]))
    return LearnedConstraint(
        features=features(True, ("x", "y", "left", "right")), table=table, card=card
    )


def write_good(kind: str, folder: Path) -> None:
    if kind in TASKS:
        folder.mkdir(parents=True)
        config = plain_forward(hidden=(5, 4))
        save_policy(
            policy_of(
                init_agent(np.random.default_rng(0), TASKS[kind], config), TASKS[kind], config
            ),
            folder / POLICY,
        )
    else:
        constraint_of(kind).save(folder)


def answer(kind: str, folder: Path) -> np.ndarray:
    """What the artefact says; loading it may raise."""
    if kind in TASKS:
        policy = load_policy(folder / POLICY, TASKS[kind])
        return np.asarray(policy.act(np.random.default_rng(1), OBSERVATIONS["policy"]), np.float64)
    constraint = load_constraint(folder)
    seen, width = constraint.features.num_observations, constraint.features.num_actions
    observations = np.resize(OBSERVATIONS["constraint"], (9, seen))
    actions = np.arange(9) % width if constraint.features.discrete else np.zeros((9, width))
    assert json.dumps(constraint.card, allow_nan=False)
    return constraint.feasibility(observations, actions)


def overwrite_number(rng: random.Random, good: bytes) -> bytes:
    data = bytearray(good)
    at = rng.choice((0, rng.randrange(max(1, len(data) - 8))))
    data[at : at + 8] = struct.pack(
        "<q", rng.choice((-1, 0, 2**31, 2**62, 10**10, rng.getrandbits(60)))
    )
    return bytes(data)


def foreign(rng: random.Random, good: bytes) -> bytes:
    magics = (
        b"",
        b"PK\x03\x04",
        b"\x80\x04",
        b"{}",
        b"[]",
        b"null",
        b"\x02\0\0\0\0\0\0\0{}",
        b"[" * 100_000,
        b'"\xff"',
    )
    return rng.choice(magics) + rng.choice((b"", rng.randbytes(200), good[100:], b"{}"))


BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    cut,
    flip,
    splice,
    overwrite_number,
    foreign,
)

ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    3,
    1.5,
    1e30,
    1e300,
    10**30,
    float("nan"),
    float("inf"),
    -float("inf"),
    "",
    "x",
    "1",
    "NaN",
    "\ud800",
    [],
    [1],
    ["x", "x"],
    [[1, 2]],
    {},
    {"a": 1},
    [None],
    [float("nan")] * 2,
    [1e39, 1e39],
    [0, 0],
)


def change_card(rng: random.Random, folder: Path, fresh: bool) -> None:
    """One or two values of the card become something else, or are missing."""
    card = json.loads((folder / CARD).read_text())
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.choice((card, card["definition"], card["definition"], card["definition"]))
        key = rng.choice(sorted(place))
        if place is card and key == "definition":
            continue
        odd = rng.choice(ODD)
        if isinstance(place[key], list) and place[key] and rng.random() < 0.5:
            place[key][rng.randrange(len(place[key]))] = odd
        elif rng.random() < 0.1:
            del place[key]
            break
        else:
            place[key] = odd
    if fresh and "definition" in card:
        card["checksum"] = constraint_checksum(card["definition"], (folder / TENSORS).read_bytes())
    text = json.dumps(card)
    (folder / CARD).write_text(text.replace("1e+300", rng.choice(("1e300", "1e999", "-1e999"))))


def change_tensors(rng: random.Random, kind: str, folder: Path, fresh: bool) -> None:
    """Well-formed tensors of wrong shapes, types, names or values."""
    path = folder / (POLICY if kind in TASKS else TENSORS)
    tensors = {name: np.array(tensor) for name, tensor in load(path.read_bytes()).items()}
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(tensors))
        tensor = tensors[name]
        change = rng.randrange(6)
        if change == 0:
            tensors[name] = np.zeros(
                tuple(rng.choice((0, 1, 2, 5)) for _ in range(rng.randrange(4))), tensor.dtype
            )
        elif change == 1:
            with np.errstate(all="ignore"):
                tensors[name] = tensor.astype(rng.choice(("f8", "f4", "f2", "i4", "u1", "?")))
        elif change == 2 and tensor.size:
            odd = rng.choice((np.nan, np.inf, -np.inf, 3e38, -3e38, -1.0, 0.0, 1.0))
            tensor.reshape(-1)[rng.randrange(tensor.size)] = odd if tensor.dtype.kind == "f" else 0
        elif change == 3:
            tensors[rng.choice(("other", "layer9.weight", "layer9.bias", "mean", ""))] = tensor
        elif change == 4 and len(tensors) > 1:
            del tensors[name]
        else:
            tensors[name] = np.moveaxis(tensor, 0, -1).copy() if tensor.ndim else tensor[None]
    metadata = (
        {CHECKSUM: policy_checksum(tensors) if fresh else "0" * 64} if kind in TASKS else None
    )
    data = save(tensors, metadata=metadata)
    path.write_bytes(data)
    if fresh and kind not in TASKS:
        card = json.loads((folder / CARD).read_text())
        card["checksum"] = constraint_checksum(card["definition"], data)
        (folder / CARD).write_text(json.dumps(card))


def damage(rng: random.Random, kind: str, folder: Path) -> bool:
    """Damage an artefact; whether its checksum still vouches for what was saved."""
    choice = rng.randrange(len(BYTES) + 4)
    if choice < len(BYTES):
        path = folder / (POLICY if kind in TASKS else rng.choice((TENSORS, CARD)))
        path.write_bytes(BYTES[choice](rng, path.read_bytes()))
        return True
    fresh = rng.random() < 0.6
    if kind not in TASKS and choice % 2:
        change_card(rng, folder, fresh)
    else:
        change_tensors(rng, kind, folder, fresh)
    return not fresh


def run(root: Path, count: int, seed: int) -> dict[str, int]:
    rng = random.Random(seed)
    expected = {}
    for kind in KINDS:
        write_good(kind, root / "good" / kind)
        expected[kind] = answer(kind, root / "good" / kind)
    outcomes = {"refused": 0, "loaded": 0}
    folder = root / "damaged"
    for index in range(count):
        kind = KINDS[index % len(KINDS)]
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(root / "good" / kind, folder)
        vouched = damage(rng, kind, folder)
        try:
            said = answer(kind, folder)
        except InputError as error:
            if str(folder) not in str(error) or len(str(error)) > 1000:
                raise AssertionError(
                    f"artefact {index} ({kind}): no name of the file, or a flood"
                ) from error
            outcomes["refused"] += 1
            continue
        except BaseException as error:
            raise AssertionError(
                f"artefact {index} of seed {seed} ({kind}) raised {error!r}"
            ) from error
        assert np.isfinite(said).all(), f"artefact {index} of seed {seed} ({kind})"
        if vouched:
            np.testing.assert_array_equal(
                said, expected[kind], err_msg=f"artefact {index} of seed {seed} ({kind})"
            )
        outcomes["loaded"] += 1
    return outcomes


@pytest.mark.parametrize("seed", range(4))
def test_500_damaged_artefacts(tmp_path: Path, seed: int) -> None:
    outcomes = run(tmp_path, 500, seed)
    assert outcomes["refused"] + outcomes["loaded"] == 500
    assert outcomes["refused"] >= 350
    assert outcomes["loaded"] >= 5


@pytest.mark.slow
def test_20000_damaged_artefacts(tmp_path: Path) -> None:
    outcomes = run(tmp_path, 20_000, seed=100)
    assert outcomes["refused"] >= 14_000
