"""A user's own environment as a `Task`: any `gymnasium.Env` with a Box or
Discrete observation and action."""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from icrl.errors import InputError
from icrl.tasks.answers import (
    first_observation,
    names_of,
    reward_function_of,
    space_of,
    step_result,
)
from icrl.tasks.factories import RGB, Env, EnvFactory, FunctionEnv, blamed, find_factory
from icrl.tasks.options import EnvOptions, env_options
from icrl.tasks.own_envs import MakeOwnEnvs
from icrl.tasks.patience import within
from icrl.tasks.task import RewardOf, Task
from icrl.types import AnyArray

SLOW_SECONDS = 1e-3
"""A step that takes longer is worth a process:
asking one and hearing from it takes about 0.1 ms."""
_TRIAL_STEPS = 30
_TRIAL_SECONDS = 0.3


def make_own_task(name: str, options: EnvOptions | None = None) -> Task:
    """The task of an environment by its name: a registered Gymnasium id, or `module:function`."""
    options = options or EnvOptions()
    return _task(find_factory(name, options.horizon), name, options)


def task_from_env(
    factory: Callable[..., Env],
    *,
    name: str | None = None,
    feature_names: tuple[str, ...] | None = None,
    horizon: int | None = None,
    processes: int | None = None,
    env_timeout: float | None = 600.0,
) -> Task:
    """The task of an environment by a function (or class)
    that makes a new `gymnasium.Env` at every call.

    Other arguments as in `EnvOptions`. Without a name it is called as the function is.
    """
    if not callable(factory):
        raise InputError(
            f"expected a function that makes an environment, got {type(factory).__name__}: many "
            "are needed, so give task_from_env(lambda: MyEnv(...)) in place of one environment."
        )
    called = name or str(getattr(factory, "__name__", type(factory).__name__))
    options = env_options(horizon, feature_names, processes, env_timeout)
    return _task(FunctionEnv(called, factory), called, options)


def _task(factory: EnvFactory, name: str, options: EnvOptions) -> Task:
    # Everything that can be wrong with a user's environment should show here, in a second, and not
    # after an hour of training.
    with within(options.env_timeout, lambda: f"making {name}"):
        env = factory()
    with _closed_after(env, name):
        observation_space, states = _observation_space(env, name)
        action_space = _action_space(env, name)
        horizon = _horizon(env, name, options.horizon)
        observation_names, action_names = _names(env, name, options.feature_names)
        reward_of: RewardOf | None = None
        if reward_function_of(env, name) is not None:
            reward_of = OwnReward(factory, name, options.env_timeout)
        trial = f"a reset and {_TRIAL_STEPS} steps of {name} (seed 0)"
        with within(options.env_timeout, lambda: trial):
            seconds = _try_out(env, name)
        pictures = RGB in ((env.metadata or {}).get("render_modes") or ())
    # A fast environment loses more by talking to a process than it gains by a second core.
    processes = options.processes or (_num_cores() if seconds > SLOW_SECONDS else 1)
    if processes == 1:
        where = "in one process"
    else:
        where = f"over {processes} processes"
    return Task(
        name=name,
        make_env=MakeOwnEnvs(
            factory,
            observation_space,
            action_space,
            horizon,
            processes,
            pictures,
            name,
            options.env_timeout,
        ),
        observation_space=observation_space,
        action_space=action_space,
        observation_names=observation_names,
        action_names=action_names,
        horizon=horizon,
        description=f"own environment, {1000 * seconds:.2g} ms a step, {where}",
        one_hot=states is not None,
        first_state=0 if states is None else states.start,
        reward_of=reward_of,
    )


@dataclass(frozen=True)
class OwnReward:
    """`Task.reward_of` of a user's environment that has a method of that name."""

    factory: EnvFactory
    name: str
    timeout: float | None
    """Seconds that making one and asking it may take."""

    def __call__(
        self, observations: AnyArray, actions: AnyArray, next_observations: AnyArray
    ) -> AnyArray:
        """What a new environment says that the steps pay; it is closed afterwards."""
        # A new one: that which was tried when the task was made is closed.
        asked = f"making {self.name} and asking its reward_of about {len(observations)} steps"
        with within(self.timeout, lambda: asked):
            env = self.factory()
            with _closed_after(env, self.name):
                reward_of = reward_function_of(env, self.name)
                if reward_of is None:
                    raise InputError(
                        f"{self.name} had a method reward_of when the task was made, and a new "
                        "one has none: let every environment that it makes have it, or none."
                    )
                with blamed(f"reward_of of {self.name}"):
                    return np.asarray(reward_of(observations, actions, next_observations))


@contextmanager
def _closed_after(env: Env, name: str) -> Iterator[None]:
    """Close it in the end.

    Where something went wrong before, that is what is told, whatever closing says.
    """
    try:
        yield
    except BaseException:
        with suppress(Exception):
            env.close()
        raise
    with blamed(f"close() of {name}"):
        env.close()


def _observation_space(env: Env, name: str) -> tuple[gym.spaces.Box, range | None]:
    """A box of float32 of shape [o]; and, where it is the one-hot form of a Discrete space,
    the numbers of that."""
    space = space_of(env, "observation_space", name)
    if isinstance(space, gym.spaces.Discrete):
        states = range(int(space.start), int(space.start + space.n))
        return gym.spaces.Box(0.0, 1.0, (len(states),), np.float32), states
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and space.shape[0] > 0:
        # float64 bounds beyond float32 become infinite, which is what they mean
        with np.errstate(over="ignore"):
            return gym.spaces.Box(
                space.low.astype(np.float32), space.high.astype(np.float32), dtype=np.float32
            ), None
    raise InputError(
        f"{name} observes {_described(space)}, expected a Box of shape [o] or Discrete: wrap it in "
        "gymnasium.wrappers.FlattenObservation inside the function that makes it, and record "
        "demonstrations so."
    )


def _action_space(env: Env, name: str) -> gym.spaces.Box | gym.spaces.Discrete:
    space = space_of(env, "action_space", name)
    if isinstance(space, gym.spaces.Discrete):
        if int(space.start) == 0:
            return gym.spaces.Discrete(int(space.n))
        raise InputError(
            f"the actions of {name} count from {int(space.start)}, expected from 0: wrap it in "
            "gymnasium.wrappers.TransformAction, and number the actions in demonstrations so."
        )
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and space.shape[0] > 0:
        return gym.spaces.Box(
            space.low.astype(np.float32), space.high.astype(np.float32), dtype=np.float32
        )
    raise InputError(
        f"{name} acts in {_described(space)}, expected a Box of shape [a] or Discrete: wrap it in "
        "gymnasium.wrappers.TransformAction (with gymnasium.spaces.flatten_space and unflatten)."
    )


def _described(space: Any) -> str:
    shape = getattr(space, "shape", None)
    return f"{type(space).__name__}" + (f" of shape {list(shape)}" if shape is not None else "")


def _horizon(env: Env, name: str, given: int | None) -> int:
    """The given one, if the environment does not cut earlier; else the environment's own limit."""
    if env.spec is None or env.spec.max_episode_steps is None:
        limits = []
    else:
        limits = [env.spec.max_episode_steps]
    # A TimeLimit may hide under other wrappers, and there may be several: the shortest counts.
    layer: Any = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, gym.wrappers.TimeLimit):
            limits.append(int(layer._max_episode_steps))
        layer = layer.env
    if given is None and not limits:
        raise InputError(
            f"{name} does not say how long an episode is at most (no TimeLimit, no "
            "max_episode_steps): give --horizon (in Python: horizon=...)."
        )
    if given is not None and limits and given > min(limits):
        raise InputError(
            f"horizon = {given}, but {name} itself cuts episodes after {min(limits)} steps: give a "
            "horizon of at most that, or take the limit off the environment."
        )
    return int(given if given is not None else min(limits))


def _names(
    env: Env, name: str, given: tuple[str, ...] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of observation columns and of action columns or choices:
    given, the environment's own, or numbered."""
    space = env.observation_space
    width = _width(space)
    acts = _width(env.action_space)
    whose = "--feature-names"
    if given is None:
        given = names_of(env, name)
        whose = "its attribute feature_names"
    numbered = tuple(f"action[{i}]" for i in range(acts))
    if given is None and isinstance(space, gym.spaces.Discrete):
        return tuple(f"state[{int(space.start) + i}]" for i in range(width)), numbered
    if given is None:
        return tuple(f"obs[{i}]" for i in range(width)), numbered
    if len(given) not in (width, width + acts) or len(set(given)) != len(given):
        raise InputError(
            f"{name}: expected {width} different names (observations), or {width + acts} (and "
            f"actions), {whose} has {len(given)}: "
            f"{', '.join(given[:8])}{', ...' if len(given) > 8 else ''}."
        )
    return given[:width], given[width:] or numbered


def _width(space: Any) -> int:
    if isinstance(space, gym.spaces.Discrete):
        return int(space.n)
    return int(space.shape[0])


def _try_out(env: Env, name: str) -> float:
    """Seconds that a step takes: the median of a few with random actions.

    What is wrong with `env` shows here.
    """
    with blamed(f"reset(seed=0) of {name}"):
        env.action_space.seed(0)
        answer = env.reset(seed=0)
    first_observation(env, answer)
    times: list[float] = []
    # A slow simulator is not tried for longer than it takes to see that it is slow.
    while len(times) < _TRIAL_STEPS and sum(times) < _TRIAL_SECONDS:
        action = env.action_space.sample()
        started = time.perf_counter()
        with blamed(f"step({action}) of {name}"):
            result = env.step(action)
        times.append(time.perf_counter() - started)
        _, _, ended, cut = step_result(env, result)
        if ended or cut:
            with blamed(f"reset() of {name}"):
                env.reset()
    # The median: the first step often builds something.
    return statistics.median(times)


def _num_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        # Not all of the machine's: containers and clusters give a process fewer.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
