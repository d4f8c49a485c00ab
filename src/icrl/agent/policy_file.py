"""A policy on disk: `policy.safetensors`, layers and observation scaling; NumPy alone reads and uses it."""

import os
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from icrl.agent.networks import PolicyLayers
from icrl.agent.normalizer import RunningMoments
from icrl.agent.state import Policy
from icrl.errors import InputError
from icrl.tasks.task import Task
from icrl.types import AnyArray


def save_policy(policy: Policy, path: Path) -> None:
    """Write the policy whole or not at all."""
    tensors: dict[str, AnyArray] = {}
    for index, (weight, bias) in enumerate(policy.layers.layers):
        tensors |= {f"layer{index}.weight": weight, f"layer{index}.bias": bias}
    if policy.layers.log_std is not None:
        tensors["log_std"] = policy.layers.log_std
    if policy.moments is not None:
        tensors |= {
            "mean": policy.moments.mean,
            "variance": policy.moments.variance,
            "num_seen": policy.moments.num_seen,
        }
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}))
    os.replace(temporary, path)


def load_policy(path: Path, task: Task) -> Policy:
    """Read a policy for the task it was trained on."""
    try:
        tensors = load(path.read_bytes())
        depth = sum(name.endswith(".weight") for name in tensors)
        layers = tuple((tensors[f"layer{i}.weight"], tensors[f"layer{i}.bias"]) for i in range(depth))
        moments = (
            RunningMoments(tensors["mean"], tensors["variance"], tensors["num_seen"]) if "mean" in tensors else None
        )
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: a run writes it at the end of its first round.") from error
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise InputError(f"{path} is not a policy of icrl: {error}") from error
    policy = Policy(
        layers=PolicyLayers(layers, tensors.get("log_std")), moments=moments, action_space=task.action_space
    )
    _check_fit(policy, task, path)
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise InputError(f"{path} holds values that are not finite: the file is damaged, or the training diverged.")
    return policy


def _check_fit(policy: Policy, task: Task, path: Path) -> None:
    """Layers lead from the task's observations to its actions, and continuous actions have a deviation each."""
    num_observations, num_actions = len(task.observation_names), len(task.action_names)
    shapes = [tuple(weight.shape) for weight, _ in policy.layers.layers]
    inputs = [shape[0] for shape in shapes] + [num_actions]
    outputs = [num_observations] + [bias.shape[0] for _, bias in policy.layers.layers]
    log_std, moments = policy.layers.log_std, policy.moments
    fits = (
        len(shapes) >= 1
        and inputs == outputs
        and outputs[1:] == [shape[-1] for shape in shapes]
        and (log_std is None if task.discrete else log_std is not None and log_std.shape == (num_actions,))
        and (moments is None or np.shape(moments.mean) == np.shape(moments.variance) == (num_observations,))
    )
    if not fits:
        kind = "discrete" if log_std is None else "continuous"
        raise InputError(
            f"{path} holds a policy for {kind} actions with layers {shapes}; {task.name} has {num_observations} "
            f"observations and {num_actions} {'choices' if task.discrete else 'continuous actions'}: "
            f"was it trained on another task?"
        )
