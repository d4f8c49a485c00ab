"""`Judge`: a learned constraint made ready for one environment, whose pairs (s_t, a_t) it judges.

NumPy only.

Features are found by name where the environment names its own (the attribute
`feature_names`, as in `icrl.make_task`) or where the caller names them; where nobody does,
by position, if the sizes agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from icrl.constraint.features import described, one_hot
from icrl.constraint.learned import LearnedConstraint, require_constraint
from icrl.errors import InputError
from icrl.tasks.answers import names_of, space_of
from icrl.tasks.options import name_list
from icrl.tasks.task import Task
from icrl.types import AnyArray, FloatArray

SINGLE_ADVICE = "wrap each environment before it is vectorised, or use VectorCostInInfo"


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What the pairs of one environment cost."""

    constraint: LearnedConstraint
    """With its features at the columns of this environment."""
    states: range | None = None
    """Numbers of a Discrete observation, which enters one-hot; None: observations are vectors."""
    hard: bool = False
    """Costs are 0 (feasible) and 1; otherwise 1 - ζ."""

    def cost(self, observations: Any, actions: Any) -> FloatArray:
        """1 − ζ(s, a), or 1[ζ(s, a) < threshold] when hard.

        Observations [..., o], actions [..., a] or [...] -> [...].

        Fidelity F6: the observation is the one that the action was chosen in,
        not the one that follows.
        """
        seen = self.encode(observations)
        acted = np.asarray(actions)
        if self.hard:
            return np.asarray(~self.constraint.is_feasible(seen, acted), np.float64)
        return self.constraint.cost(seen, acted)

    def encode(self, observations: Any) -> AnyArray:
        """Observations as the constraint knows them:
        a number of a Discrete space becomes a one-hot vector."""
        if self.states is None:
            return np.asarray(observations)
        return one_hot(observations, self.states)


def judge_for(
    env: Any,
    constraint: LearnedConstraint,
    feature_names: Sequence[str] | None = None,
    hard: bool = False,
) -> Judge:
    """The judge of a single environment's pairs."""
    if not isinstance(env, gym.Env):  # a VectorEnv is none
        raise InputError(f"expected one gymnasium.Env, got {type(env).__name__}: {SINGLE_ADVICE}.")
    if env.spec is not None:
        called = env.spec.id
    else:
        called = type(env.unwrapped).__name__
    names: Sequence[str] | None = feature_names
    if feature_names is None:
        # The caller's names before the environment's: who wraps it knows which constraint is meant.
        names = names_of(env, called)
    spaces = space_of(env, "observation_space", called), space_of(env, "action_space", called)
    return judge_for_spaces(*spaces, constraint, names, hard, called)


def judge_for_spaces(
    observation_space: Any,
    action_space: Any,
    constraint: LearnedConstraint,
    feature_names: Sequence[str] | None = None,
    hard: bool = False,
    called: str = "the environment",
) -> Judge:
    """The judge of pairs from these spaces: features by name,
    or by position where nothing is named."""
    require_constraint(constraint)
    width, states = _observation_width(observation_space, called)
    acts, discrete = _action_width(action_space, called)
    if feature_names is None:
        _require_same_sizes(constraint, width, acts, discrete, called)
    else:
        constraint = constraint.for_task(
            _named_task(width, acts, action_space, name_list(feature_names), called)
        )
    return Judge(constraint=constraint, states=states, hard=hard)


def _observation_width(space: Any, called: str) -> tuple[int, range | None]:
    """o, and the numbers of the states when they are Discrete."""
    if isinstance(space, gym.spaces.Discrete):
        return int(space.n), range(int(space.start), int(space.start + space.n))
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and space.shape[0] > 0:
        return int(space.shape[0]), None
    raise InputError(
        f"{called} observes {space}, expected a Box of shape [o] or Discrete: wrap it in "
        "gymnasium.wrappers.FlattenObservation first."
    )


def _action_width(space: Any, called: str) -> tuple[int, bool]:
    """a, and whether actions are choices."""
    # From 0 alone: choices are one-hot by their number, and would be shifted.
    if isinstance(space, gym.spaces.Discrete) and int(space.start) == 0:
        return int(space.n), True
    if isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and space.shape[0] > 0:
        return int(space.shape[0]), False
    raise InputError(
        f"{called} acts in {space}, expected a Box of shape [a] or Discrete from 0: wrap it in "
        "gymnasium.wrappers.TransformAction first."
    )


def _require_same_sizes(
    constraint: LearnedConstraint, width: int, acts: int, discrete: bool, called: str
) -> None:
    features = constraint.features
    known = (features.num_observations, features.num_actions, features.discrete)
    if known != (width, acts, discrete):
        raise InputError(
            f"the constraint was learned on {described(*known)}, {called} has "
            f"{described(width, acts, discrete)}, and does not name them. Name its {width} "
            f"observations (and {acts} actions) with feature_names=..., or in an attribute "
            f"feature_names: the constraint looks for {', '.join(features.names)}."
        )


def _named_task(
    width: int, acts: int, action_space: Any, names: tuple[str, ...], called: str
) -> Task:
    """As much of a task as finding features by name needs."""
    if len(names) not in (width, width + acts) or len(set(names)) != len(names):
        raise InputError(
            f"{called}: expected {width} different feature names (observations), or {width + acts} "
            f"(and actions), got {len(names)}: "
            f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}."
        )
    return Task(
        name=called,
        make_env=_never_simulates,
        # Bounds play no part: those that ζ was trained with stay (`features.match`).
        observation_space=gym.spaces.Box(-np.inf, np.inf, (width,)),
        action_space=action_space,
        observation_names=names[:width],
        action_names=names[width:] or tuple(f"action[{i}]" for i in range(acts)),
        horizon=1,
    )


def _never_simulates(num_envs: int) -> VectorEnv:
    raise InputError(f"this task only names features; it cannot make {num_envs} environments.")
