"""Small tasks and trajectories that the tests of the constraint share."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from icrl.tasks.task import Task
from icrl.types import Trajectories


def no_env(num_envs: int) -> VectorEnv:
    raise AssertionError(
        f"the constraint never simulates, yet {num_envs} environments were asked for"
    )


def box_task(
    observations: tuple[str, ...], actions: tuple[str, ...], name: str = "box", bound: float = 1.0
) -> Task:
    return Task(
        name=name,
        make_env=no_env,
        observation_space=gym.spaces.Box(-np.inf, np.inf, (len(observations),)),
        action_space=gym.spaces.Box(-bound, bound, (len(actions),)),
        observation_names=observations,
        action_names=actions,
        horizon=10,
    )


def discrete_task(
    observations: tuple[str, ...], actions: tuple[str, ...], name: str = "choices"
) -> Task:
    return Task(
        name=name,
        make_env=no_env,
        observation_space=gym.spaces.Box(-np.inf, np.inf, (len(observations),)),
        action_space=gym.spaces.Discrete(len(actions)),
        observation_names=observations,
        action_names=actions,
        horizon=10,
    )


def random_trajectories(
    rng: np.random.Generator, n: int, t: int, o: int, a: int, shift: float = 0.0, full: bool = False
) -> Trajectories:
    lengths = np.full(n, t) if full else rng.integers(1, t + 1, n)
    return Trajectories(
        observations=(rng.normal(size=(n, t, o)) + shift).astype(np.float32),
        actions=rng.uniform(-1, 1, (n, t, a)).astype(np.float32),
        rewards=np.zeros((n, t)),
        lengths=lengths,
    )


def choices(actions: Any) -> Trajectories:
    """Trajectories [N, T] of discrete actions in a world with one constant observation."""
    actions = np.asarray(actions)
    n, t = actions.shape
    return Trajectories(
        observations=np.ones((n, t, 1), np.float32),
        actions=actions,
        rewards=np.zeros((n, t)),
        lengths=np.full(n, t),
    )
