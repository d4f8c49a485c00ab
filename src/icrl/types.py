"""The nouns that travel between the rooms: trajectories, rollouts, scores. No logic lives here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

CostFunction = Callable[[AnyArray, AnyArray], FloatArray]
"""Cost of raw pairs (s, a): observations [..., o],
actions [..., a] (or [...] when discrete) -> [...] in [0, 1]."""

Violation = Callable[[AnyArray, AnyArray], BoolArray]
"""The true constraint on raw pairs (s, a), same shapes as `CostFunction`:
True where the pair is forbidden."""

THRESHOLD = 0.5
"""A pair is forbidden where ζ is below this: of every constraint that does not say otherwise."""

EXPERT = "expert"
NOMINAL = "nominal"
"""The two agents that all others are compared with:
methods, tables and the cards of demonstrations call them so."""


@dataclass(frozen=True, kw_only=True)
class Trajectories:
    """N trajectories of aligned pairs (s_t, a_t), padded to the longest, raw (never normalised)."""

    observations: FloatArray
    """[N, T, o]"""
    actions: AnyArray
    """[N, T, a] float, or [N, T] integer when actions are discrete"""
    rewards: FloatArray
    """[N, T]; zero on padding"""
    lengths: IntArray
    """[N]: how many of the T steps are real"""

    @property
    def mask(self) -> BoolArray:
        """[N, T]: True on real steps."""
        steps = np.arange(self.observations.shape[1])
        return np.asarray(steps[None, :] < np.asarray(self.lengths)[:, None])

    @property
    def num_trajectories(self) -> int:
        """N."""
        return int(self.observations.shape[0])

    @property
    def num_steps(self) -> int:
        """Real steps over all trajectories."""
        return int(np.sum(self.lengths))

    @property
    def returns(self) -> FloatArray:
        """[N]: undiscounted return of each trajectory."""
        return np.asarray(np.sum(self.rewards * self.mask, axis=1))


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Loose pairs (s, a), of no trajectory in particular."""

    observations: FloatArray
    """[n, o]"""
    actions: AnyArray
    """[n, a], or [n] when discrete"""


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """T steps of E parallel environments, for one policy update; raw observations."""

    observations: FloatArray
    """[T, E, o]"""
    next_observations: FloatArray
    """[T, E, o]: the state after the step, before any reset"""
    actions: AnyArray
    """[T, E, a] float, as the policy made them (its unit, unclipped), or [T, E] integer"""
    env_actions: AnyArray
    """[T, E, a] float, as the environment was given them (its unit, clipped), or [T, E] integer"""
    rewards: FloatArray
    """[T, E]"""
    costs: FloatArray
    """[T, E]: 1 - zeta of the pair (zero where there is no constraint)"""
    terminated: BoolArray
    """[T, E]: the episode ended for good: no value follows"""
    truncated: BoolArray
    """[T, E]: the episode was cut by the horizon: the value of the next state follows"""
    stopped: BoolArray
    """[T, E]: the episode was ended because it broke the constraint (also marked terminated)"""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """What the evaluator found; the content of `scores.json`."""

    scenario: str
    method: str
    seed: int
    steps: int
    """Environment steps used for learning, sampling included."""
    true_return: float | None
    """Mean return in the constrained world (a violation ends the episode);
    None: nobody told the true constraint."""
    violation_rate: float | None
    """Share of steps that violate in the nominal world; None likewise."""
    expert_return: float | None
    """Mean return of the demonstrations."""
    seconds: float
    steps_per_second: float
