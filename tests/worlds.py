"""Probe worlds: each so small that its right answer is known,
and each breaks when one organ of the agent is broken."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks.batched import BatchedEnv
from icrl.tasks.task import Task

Array = np.ndarray[Any, Any]

CHOICE = gym.spaces.Discrete(2)
NUMBER = gym.spaces.Box(-2.0, 2.0, (1,), np.float32)
SEEN = gym.spaces.Box(-100.0, 100.0, (1,), np.float32)


class ProbeEnv(BatchedEnv):
    """One number is seen; `reward(seen, actions)` is paid; `follow(seen)` is seen next;
    it ends after `length`."""

    def __init__(
        self,
        num_envs: int,
        action_space: gym.spaces.Box | gym.spaces.Discrete,
        begin: Callable[[np.random.Generator], float],
        reward: Callable[[Array, Array], Array],
        follow: Callable[[Array], Array],
        length: int | None,
        horizon: int,
    ) -> None:
        super().__init__(
            num_envs=num_envs,
            observation_space=SEEN,
            action_space=action_space,
            horizon=horizon,
            autoreset_mode=AutoresetMode.DISABLED,
        )
        self.begin, self.reward, self.follow, self.length = begin, reward, follow, length
        self.seen = np.zeros(num_envs)

    def start(self, indices: Array) -> None:
        for i in indices:
            self.seen[i] = self.begin(self.rngs[i])

    def advance(self, actions: Array) -> tuple[Array, Array, dict[str, Array]]:
        rewards = np.asarray(self.reward(self.seen, actions.reshape(self.num_envs)), np.float64)
        self.seen = np.asarray(self.follow(self.seen), np.float64)
        ends = (
            np.zeros(self.num_envs, np.bool_)
            if self.length is None
            else self.elapsed + 1 >= self.length
        )
        return rewards, ends, {}

    def observations(self) -> Array:
        return self.seen[:, None].astype(np.float32)


def _task(
    name: str,
    reward: Callable[[Array, Array], Array],
    action_space: gym.spaces.Box | gym.spaces.Discrete = CHOICE,
    begin: Callable[[np.random.Generator], float] = lambda rng: 0.0,
    follow: Callable[[Array], Array] = lambda seen: seen,
    length: int | None = 1,
    horizon: int = 10,
) -> Task:
    discrete = isinstance(action_space, gym.spaces.Discrete)
    return Task(
        name=name,
        make_env=lambda num_envs: ProbeEnv(
            num_envs, action_space, begin, reward, follow, length, horizon
        ),
        observation_space=SEEN,
        action_space=action_space,
        observation_names=("seen",),
        action_names=("no", "yes") if discrete else ("push",),
        horizon=horizon,
    )


def _either(rng: np.random.Generator) -> float:
    return float(rng.choice([-1.0, 1.0]))


def constant_reward() -> Task:
    """1. One step that pays 1, whatever is done: V = 1. Broken: the critic, or its loss."""
    return _task("constant-reward", lambda seen, actions: np.ones_like(seen))


def seen_reward() -> Task:
    """2. One step that pays what is seen, −1 or 1: V(s) = s.
    Broken: observations do not reach the critic."""
    return _task("seen-reward", lambda seen, actions: seen, begin=_either)


def delayed_reward() -> Task:
    """3. Two steps; 0 is seen, then 1; only the second pays: V(1) = 1, V(0) = γ.
    Broken: discounting, bootstrapping."""
    return _task(
        "delayed-reward", lambda seen, actions: seen, follow=lambda seen: seen + 1.0, length=2
    )


def choice_reward() -> Task:
    """4. One step; `yes` pays 1, `no` pays −1. Broken: the advantage, or the policy's loss."""
    return _task("choice-reward", lambda seen, actions: 2.0 * actions - 1.0)


def push_reward() -> Task:
    """4, continuous. One step that pays −(a − 1)²: the best push is 1."""
    return _task("push-reward", lambda seen, actions: -((actions - 1.0) ** 2), action_space=NUMBER)


def valve_reward() -> Task:
    """4, in large units.

    One step that pays −((a − 70) / 50)² for a from 0 to 100: the best is 70.
    """
    valve = gym.spaces.Box(0.0, 100.0, (1,), np.float32)
    return _task(
        "valve-reward", lambda seen, actions: -(((actions - 70.0) / 50.0) ** 2), action_space=valve
    )


def matching_reward() -> Task:
    """5. One step; the right choice depends on what is seen: `yes` at 1, `no` at −1.
    Broken: rows get mixed up."""
    return _task(
        "matching-reward", lambda seen, actions: seen * (2.0 * actions - 1.0), begin=_either
    )


def tempting_door() -> Task:
    """`yes` pays 2 each step and `no` pays 1; ten steps, cut, never terminated.

    Forbid `yes`, and it must go.
    """
    return _task("tempting-door", lambda seen, actions: 1.0 + actions, length=None)


def painful_life() -> Task:
    """Steps cost 1 and 3 in turn, whatever is done: whoever may die would.

    The way out, `yes`, is forbidden.
    """
    return _task(
        "painful-life",
        lambda seen, actions: -2.0 - seen,
        begin=_either,
        follow=lambda seen: -seen,
        length=None,
    )


def countdown(horizon: int = 6) -> Task:
    """Begins at a random number from 1 to 4 and terminates when it
    reaches 0 (reward: the number)."""

    class CountdownEnv(ProbeEnv):
        def advance(self, actions: Array) -> tuple[Array, Array, dict[str, Array]]:
            rewards, _, infos = super().advance(actions)
            return rewards, self.seen <= 0, infos

    def begin(rng: np.random.Generator) -> float:
        return float(rng.integers(1, 5))

    def make_env(num_envs: int) -> ProbeEnv:
        return CountdownEnv(
            num_envs, CHOICE, begin, lambda seen, _: seen, lambda seen: seen - 1.0, None, horizon
        )

    return Task(
        name="countdown",
        make_env=make_env,
        observation_space=SEEN,
        action_space=CHOICE,
        observation_names=("seen",),
        action_names=("no", "yes"),
        horizon=horizon,
    )


def forbid_yes(observations: Array, actions: Array) -> Array:
    """Cost 1 for `yes`, 0 for `no`."""
    return np.asarray(actions, np.float32)
