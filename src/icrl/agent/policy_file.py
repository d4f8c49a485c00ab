"""A policy on disk: `policy.safetensors`: layers, scaling of observations, unit of actions;
NumPy alone reads it.

The file's metadata hold a checksum of the tensors, because a flipped bit of a weight is a weight
too. A file without metadata is of an earlier version, and is read as it is.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from icrl.agent.ahead import LAYERS, ActionUnit, Ahead
from icrl.agent.networks import PolicyLayers
from icrl.agent.normalizer import RunningMoments
from icrl.agent.state import Policy, shield_of
from icrl.errors import InputError
from icrl.files import read_bytes, write_whole
from icrl.tasks.task import Task
from icrl.types import AnyArray, CostFunction

SAID = "policy"
CHECKSUM = "checksum"
GREEDY = "greedy"
"""It acts at its mode."""
SHIELDED = "shielded"
"""It stood behind the shield of its run's constraint."""
MAX_BYTES = 10**9
"""A policy of the sizes in use has less than a thousandth of this."""
MAX_WEIGHT = 1e10
MAX_LOG_STD = 50.0
"""No training leads beyond these; float32 would overflow somewhere beyond them."""


def save_policy(policy: Policy, path: Path) -> None:
    """Write the policy whole or not at all."""
    tensors: dict[str, AnyArray] = {}
    for index, (weight, bias) in enumerate(policy.layers.layers):
        tensors |= {f"layer{index}.weight": weight, f"layer{index}.bias": bias}
    if policy.layers.log_std is not None:
        tensors["log_std"] = policy.layers.log_std
    if policy.unit is not None:
        tensors |= {"action_centre": policy.unit.centre, "action_scale": policy.unit.scale}
    if policy.moments is not None:
        tensors |= {
            "mean": policy.moments.mean,
            "variance": policy.moments.variance,
            "num_seen": policy.moments.num_seen,
        }
    if policy.shield is not None and policy.shield.ahead is not None:
        tensors |= _ahead_tensors(policy.shield.ahead)
    # keeps the shape of a scalar
    tensors = {name: np.array(tensor, order="C") for name, tensor in tensors.items()}
    said = {
        CHECKSUM: _checksum(tensors),
        GREEDY: policy.greedy,
        SHIELDED: policy.shield is not None,
    }
    # one entry: the order of several is not the same in every process
    write_whole(path, save(tensors, metadata={SAID: json.dumps(said, sort_keys=True)}))


def load_policy(path: Path, task: Task, cost: CostFunction | None = None) -> Policy:
    """Read a policy for the task it was trained on.

    With the `cost` of its run's constraint it stands behind a shield, if it did when it was saved.
    """
    try:
        data = read_bytes(path, MAX_BYTES)
        tensors = load(data)
        said = _said(data)
        _check_sum(tensors, said)
        depth = sum(name.endswith(".weight") for name in tensors)
        if any(name.startswith(AHEAD) for name in tensors):
            for name in (*LAYERS, "centre", "scale", "spread", "mean", "variance"):
                tensors[f"{AHEAD}{name}"]
        layers = tuple(
            (tensors[f"layer{i}.weight"], tensors[f"layer{i}.bias"]) for i in range(depth)
        )
        moments = None
        if "mean" in tensors:
            moments = RunningMoments(tensors["mean"], tensors["variance"], tensors["num_seen"])
        unit = (
            ActionUnit(tensors["action_centre"], tensors["action_scale"])
            if "action_scale" in tensors
            else None
        )  # a file without is of an earlier version, whose policies had the environment's unit
    except FileNotFoundError as error:
        raise InputError(
            f"{path} does not exist: a run writes it at the end of its first round."
        ) from error
    except (OSError, KeyError, ValueError, TypeError, SafetensorError) as error:
        raise InputError(f"{path} is not a policy of icrl: {error!s:.300}") from error
    _check_tensors(tensors, depth, path)
    shield = None
    if cost is not None and said.get(SHIELDED) is True:
        shield = shield_of(cost, task.action_space, _ahead(tensors, unit, task))
    policy = Policy(
        layers=PolicyLayers(layers, tensors.get("log_std")),
        moments=moments,
        action_space=task.action_space,
        unit=unit,
        shield=shield,
        greedy=said.get(GREEDY) is True,
    )
    _check_fit(policy, task, path)
    return policy


AHEAD = "ahead."
"""What the shield knows of what follows from an action."""
_AHEAD_RANKS = {
    "w0": 2,
    "b0": 1,
    "w1": 2,
    "b1": 1,
    "straight": 2,
    "centre": 1,
    "scale": 1,
    "spread": 1,
}


def _ahead_tensors(ahead: Ahead) -> dict[str, AnyArray]:
    tensors: dict[str, AnyArray] = {
        f"{AHEAD}{name}": layer for name, layer in zip(LAYERS, ahead.layers, strict=True)
    }
    tensors |= {
        f"{AHEAD}centre": ahead.centre,
        f"{AHEAD}scale": ahead.scale,
        f"{AHEAD}spread": ahead.spread,
    }
    return tensors | {
        f"{AHEAD}mean": ahead.moments.mean,
        f"{AHEAD}variance": ahead.moments.variance,
    }


def _ahead(tensors: dict[str, AnyArray], unit: ActionUnit | None, task: Task) -> Ahead | None:
    if f"{AHEAD}scale" not in tensors:
        return None
    moments = RunningMoments(tensors[f"{AHEAD}mean"], tensors[f"{AHEAD}variance"], np.asarray(1.0))
    return Ahead(
        moments=moments,
        unit=unit,
        num_actions=len(task.action_names),
        layers=tuple(tensors[f"{AHEAD}{name}"] for name in LAYERS),
        centre=tensors[f"{AHEAD}centre"],
        scale=tensors[f"{AHEAD}scale"],
        spread=tensors[f"{AHEAD}spread"],
    )


def _checksum(tensors: dict[str, AnyArray]) -> str:
    """SHA-256 of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tensor.shape} ".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


def _said(data: bytes) -> dict[str, Any]:
    """What the file says of itself: earlier versions its checksum alone, or nothing."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    found = header.get("__metadata__", {})
    if isinstance(found, dict) and SAID in found:
        found = json.loads(found[SAID])
    if not isinstance(found, dict):
        raise TypeError("its metadata are no names and values")
    return found


def _check_sum(tensors: dict[str, AnyArray], said: dict[str, Any]) -> None:
    """The tensors are those that were saved, where the file says which those were."""
    if said and said.get(CHECKSUM) != _checksum(tensors):
        raise ValueError(
            "its values are not those that were saved (the checksum differs): copy it again."
        )


def _check_tensors(tensors: dict[str, AnyArray], depth: int, path: Path) -> None:
    """Nothing but a policy's tensors, of their types and ranks,
    with finite values of sensible size."""
    ranks = {
        f"layer{i}.{part}": rank
        for i in range(depth)
        for part, rank in (("weight", 2), ("bias", 1))
    }
    ranks |= {f"{AHEAD}{name}": rank for name, rank in _AHEAD_RANKS.items()}
    ranks |= {f"{AHEAD}mean": 1, f"{AHEAD}variance": 1}
    ranks |= {
        "log_std": 1,
        "mean": 1,
        "variance": 1,
        "num_seen": 0,
        "action_centre": 1,
        "action_scale": 1,
    }
    for name, tensor in tensors.items():
        moments = name.removeprefix(AHEAD) in ("mean", "variance", "num_seen")
        kind: np.dtype[Any] = np.dtype(np.float32)
        if moments:
            kind = np.dtype(np.float64)
        known = [ranks.get(name)]
        if name == "num_seen":  # earlier versions saved it as [1]
            known = [0, 1]
        if tensor.dtype != kind or tensor.ndim not in known:
            raise InputError(
                f"{path} is not a policy of icrl: {name} is {tensor.dtype} {list(tensor.shape)}."
            )
        if name == "log_std":
            limit = MAX_LOG_STD
        elif moments:
            limit = np.inf
        else:
            limit = MAX_WEIGHT
        if (
            not np.isfinite(tensor).all()
            or np.any(tensor > limit)
            or (name != "log_std" and np.any(tensor < -limit))
        ):
            raise InputError(
                f"{path}: {name} is not finite, or huge: it is damaged, or the training diverged."
            )
    if np.any(np.asarray(tensors.get("variance", 0.0)) < 0):
        raise InputError(f"{path}: variance is negative: the file is damaged.")
    if np.any(np.asarray(tensors.get("action_scale", 1.0)) <= 0):
        raise InputError(f"{path}: action_scale is not above 0: the file is damaged.")


def _check_fit(policy: Policy, task: Task, path: Path) -> None:
    """Layers lead from the task's observations to its actions,
    and continuous actions have a deviation each."""
    num_observations = len(task.observation_names)
    num_actions = len(task.action_names)
    shapes = [tuple(weight.shape) for weight, _ in policy.layers.layers]
    inputs = [shape[0] for shape in shapes] + [num_actions]
    outputs = [num_observations] + [bias.shape[0] for _, bias in policy.layers.layers]
    log_std = policy.layers.log_std
    moments = policy.moments
    unit = policy.unit
    fits = (
        len(shapes) >= 1
        and inputs == outputs
        and outputs[1:] == [shape[-1] for shape in shapes]
        and (
            log_std is None
            if task.discrete
            else log_std is not None and log_std.shape == (num_actions,)
        )
        and (
            moments is None
            or np.shape(moments.mean) == np.shape(moments.variance) == (num_observations,)
        )
        and (
            unit is None
            or (log_std is not None and unit.centre.shape == unit.scale.shape == log_std.shape)
        )
    )
    if not fits:
        kind = "continuous"
        if log_std is None:
            kind = "discrete"
        raise InputError(
            f"{path} holds a policy for {kind} actions with layers {shapes}; {task.name} has "
            f"{num_observations} observations and {num_actions} "
            f"{'choices' if task.discrete else 'continuous actions'}: was it trained on another "
            "task?"
        )
