"""`Task`: what a learner may see.

`Scenario`: a task and the truth about it, for the evaluator and the expert.
"""

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym
from gymnasium.vector import VectorEnv

from icrl.errors import InputError
from icrl.types import AnyArray, BoolArray, Violation

RewardOf = Callable[[AnyArray, AnyArray, AnyArray], AnyArray]
"""r(s, a, s') of n steps: observations [n, o], actions [n, a] ([n] when discrete),
next observations [n, o] -> rewards [n]."""


def truth_unknown(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """Stands where the true constraint would,
    of a task whose truth nobody has told: it cannot be asked."""
    raise InputError(
        "the true constraint of this task is not known: only what needs no truth can be done. "
        "If you know it, give it to: icrl evaluate DIR --truth module:function"
    )


@dataclass(frozen=True, kw_only=True)
class Task:
    """A nominal simulator M with a known reward and named features;
    it knows nothing of the constraint."""

    name: str
    make_env: Callable[[int], VectorEnv]
    """num_envs -> a vector env whose autoreset is disabled: the caller resets ended episodes with
    `env.reset(options={"reset_mask": mask})`, so the observation that `step` returns is always the
    true next state."""
    observation_space: gym.spaces.Box
    """Of one environment: shape [o]."""
    action_space: gym.spaces.Box | gym.spaces.Discrete
    """Of one environment: Box of shape [a], or Discrete."""
    observation_names: tuple[str, ...]
    """One name per observation dimension."""
    action_names: tuple[str, ...]
    """One name per action dimension (Box) or per choice (Discrete)."""
    horizon: int
    """Episodes are truncated after this many steps."""
    description: str = ""
    one_hot: bool = False
    """The observation is one of o states, one-hot; logs may hold the state's number instead."""
    first_state: int = 0
    """The number of the first of these states: logs count as the environment does."""
    reward_of: RewardOf | None = None
    """What the environment pays, as a function of (s, a, s') alone: demonstrations without rewards
    get them from it. None where the reward depends on more (the clock, a hidden state)."""

    @property
    def discrete(self) -> bool:
        """Actions are discrete."""
        return isinstance(self.action_space, gym.spaces.Discrete)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of what a constraint may look at:
        the observation, then the action (one-hot when discrete)."""
        return self.observation_names + self.action_names


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The constrained world M^C: a task plus the true constraint.

    A learner is only ever given `.task`.

    The truth about a user's own environment may be unknown: then `truth_known` is False and
    `violates` cannot be asked.
    """

    task: Task
    violates: Violation = truth_unknown
    """True where the pair (s_t, a_t) is forbidden."""
    constraint: str = "unknown"
    """The true constraint in words, for tables and figures."""
    violation_reward: float = 0.0
    """Reward of the step that violates; the episode ends with it."""
    demos: str | None = None
    """File name of the demonstrations that ship with the package (in icrl/demos/data)."""

    @property
    def truth_known(self) -> bool:
        """Somebody has told the true constraint."""
        return self.violates is not truth_unknown
