"""A policy on disk: `policy.safetensors`, layers and observation scaling; NumPy alone reads and uses it."""

import os
from pathlib import Path

import gymnasium as gym
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

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
    save_file({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, temporary)
    os.replace(temporary, path)


def load_policy(path: Path, task: Task) -> Policy:
    """Read a policy for the task it was trained on."""
    try:
        tensors = load_file(path)
        depth = sum(name.endswith(".weight") for name in tensors)
        layers = tuple((tensors[f"layer{i}.weight"], tensors[f"layer{i}.bias"]) for i in range(depth))
        moments = (
            RunningMoments(tensors["mean"], tensors["variance"], tensors["num_seen"]) if "mean" in tensors else None
        )
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise InputError(f"{path} is not a policy of icrl: {error}") from error
    width = int(task.observation_space.shape[0])
    num_actions = (
        int(task.action_space.n) if isinstance(task.action_space, gym.spaces.Discrete) else task.action_space.shape[0]
    )
    if not layers or layers[0][0].shape[0] != width or layers[-1][0].shape[1] != num_actions:
        raise InputError(
            f"{path} holds a policy with layers {[tuple(w.shape) for w, _ in layers]}; {task.name} has {width} "
            f"observations and {num_actions} actions: was it trained on another task?"
        )
    return Policy(layers=PolicyLayers(layers, tensors.get("log_std")), moments=moments, action_space=task.action_space)
