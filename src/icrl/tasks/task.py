"""`Task`: what a learner may see. `Scenario`: a task and the truth about it, for the evaluator and the expert."""

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium as gym
from gymnasium.vector import VectorEnv

from icrl.types import Violation


@dataclass(frozen=True, kw_only=True)
class Task:
    """A nominal simulator M with a known reward and named features; it knows nothing of the constraint."""

    name: str
    make_env: Callable[[int], VectorEnv]
    """num_envs -> a vector env whose autoreset is disabled: the caller resets ended episodes with
    `env.reset(options={"reset_mask": mask})`, so the observation that `step` returns is always the true next state."""
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

    @property
    def discrete(self) -> bool:
        """Actions are discrete."""
        return isinstance(self.action_space, gym.spaces.Discrete)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of what a constraint may look at: the observation, then the action (one-hot when discrete)."""
        return self.observation_names + self.action_names


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The constrained world M^C: a task plus the true constraint. A learner is only ever given `.task`."""

    task: Task
    violates: Violation
    """True where the pair (s_t, a_t) is forbidden."""
    constraint: str
    """The true constraint in words, for tables and figures."""
    violation_reward: float = 0.0
    """Reward of the step that violates; the episode ends with it."""
    demos: str | None = None
    """File name of the demonstrations that ship with the package (in icrl/demos/data)."""
