"""What a user's environment says of itself and answers, checked:
its spaces and names, what reset and step return."""

import math
import warnings
from typing import Any, cast

import gymnasium as gym
import numpy as np

from icrl.errors import InputError, InputWarning
from icrl.tasks.factories import Env, blamed
from icrl.tasks.options import name_list
from icrl.tasks.task import RewardOf
from icrl.types import FloatArray

_ROW = np.float32
_STEP = "5 values (observation, reward, terminated, truncated, info)"
_RESET = "2 values (observation, info)"


def called(env: Env) -> str:
    """How the environment's class is called, under all its wrappers."""
    return type(env.unwrapped).__name__


def space_of(env: Env, attribute: str, name: str) -> Any:
    """Its `observation_space` or `action_space`:
    Gymnasium promises both, but only the environment can have them."""
    # It may be a property that raises.
    with blamed(f"{attribute} of {name}"):
        space = getattr(env, attribute, None)
    if space is None:
        raise InputError(
            f"{name} has no {attribute}, expected a gymnasium.spaces.Box or Discrete: set "
            f"self.{attribute} in its __init__, or on the class."
        )
    return space


def names_of(env: Env, name: str) -> tuple[str, ...] | None:
    """Its attribute `feature_names`, which may be a method;
    None where there is none, or it is None."""
    with blamed(f"feature_names of {name}"):
        given = None
        if env.has_wrapper_attr("feature_names"):
            given = env.get_wrapper_attr("feature_names")
        if callable(given):
            given = given()
    if given is None:
        return None
    return name_list(given, f"feature_names of {name}")


def reward_function_of(env: Env, name: str) -> RewardOf | None:
    """Its method `reward_of(observations, actions, next_observations)`, found as `feature_names`
    is; None where there is none, or it is None."""
    with blamed(f"reward_of of {name}"):
        found = None
        if env.has_wrapper_attr("reward_of"):
            found = env.get_wrapper_attr("reward_of")
    if found is None:
        return None
    if not callable(found):
        raise InputError(
            f"reward_of of {name} is {type(found).__name__}, expected a method "
            "reward_of(observations [n, o], actions, next_observations [n, o]) that returns n "
            "rewards: write it as one, or leave it out."
        )
    return cast(RewardOf, found)


def first_observation(env: Env, answer: Any) -> FloatArray:
    """The row that `reset` answered."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise InputError(
            f"reset() of {called(env)} returned {_counted(answer)}, expected {_RESET}."
        )
    return observed(env, answer[0])


def step_result(env: Env, answer: Any) -> tuple[FloatArray, float, bool, bool]:
    """What `step` answered: the row, the reward, whether the episode ended, whether it was cut."""
    if not isinstance(answer, tuple) or len(answer) != 5:
        if _counted(answer) == "4 values":
            old = ": tell in place of one `done` whether it ended or was only cut"
        else:
            old = ""
        raise InputError(
            f"step() of {called(env)} returned {_counted(answer)}, expected {_STEP}{old}."
        )
    observation, reward, ended, cut, _ = answer
    row = observed(env, observation)
    try:
        paid = float(reward)
        result = (row, paid, bool(ended), bool(cut))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"step() of {called(env)} returned reward = {reward!r:.60}, terminated = "
            f"{ended!r:.60}, truncated = {cut!r:.60}, expected one number and two booleans."
        ) from error
    # One NaN would be in the normaliser's moments for ever.
    if not math.isfinite(paid):
        raise InputError(f"{called(env)} paid a reward that is not a finite number ({paid}).")
    return result


def observed(env: Env, observation: Any) -> FloatArray:
    """An observation as a row of float32; it must have the shape that the
    space promises, and be finite."""
    space = env.observation_space
    try:
        if isinstance(space, gym.spaces.Discrete):
            row = _one_hot(space, observation)
        else:
            row = np.asarray(observation, _ROW)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{called(env)} gave the observation {observation!r:.60} "
            f"({type(observation).__name__}), which is not in its space {space}: let reset and "
            "step return what observation_space says."
        ) from error
    if row.shape != space.shape and not isinstance(space, gym.spaces.Discrete):
        raise InputError(
            f"{called(env)} gave an observation of shape {row.shape}, its space says {space.shape}."
        )
    if not np.isfinite(row).all():
        wrong = int(np.flatnonzero(~np.isfinite(row))[0])
        raise InputError(
            f"{called(env)} gave an observation that is not finite: entry {wrong} is {row[wrong]}."
        )
    return row


_warned: set[str] = set()
"""Environments whose observations were outside their space: it is said once of each."""


def warn_if_outside(rows: FloatArray, space: gym.spaces.Box, name: str) -> None:
    """Say once, in words, that observations [k, o] are outside the space that
    the environment declares.

    Nothing is clipped: the space is used for nothing but this. Yet one of the two is wrong.
    """
    if name in _warned:
        return
    outside = (rows < space.low) | (rows > space.high)
    if not outside.any():
        return
    _warned.add(name)
    row, column = np.argwhere(outside)[0]
    warnings.warn(
        f"{name} gave an observation outside its observation_space: entry {column} is "
        f"{rows[row, column]:.6g}, the "
        f"space says {space.low[column]:.6g} to {space.high[column]:.6g}. Training goes on with it "
        "as it is; mend the "
        "space, or the observation.",
        InputWarning,
        stacklevel=2,
    )


def _one_hot(space: gym.spaces.Discrete, observation: Any) -> FloatArray:
    """The row of a state."""
    row: FloatArray = np.zeros(int(space.n), _ROW)
    place = int(observation) - int(space.start)
    if not 0 <= place < len(row):
        raise ValueError("no such state")
    row[place] = 1.0
    return row


def _counted(answer: Any) -> str:
    if isinstance(answer, tuple):
        return f"{len(answer)} values"
    return f"{type(answer).__name__}, no tuple"
