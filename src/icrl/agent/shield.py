"""The shield: where the action that was drawn is forbidden, the nearest allowed one is taken in its place.

It is part of the world and not of the policy, as clipping is: the policy update sees what was drawn. It needs nothing
but a cost function, so it works for a learned zeta as for a rule that somebody wrote down. NumPy only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icrl.types import AnyArray, BoolArray, CostFunction, FloatArray

FORBIDDEN_ABOVE = 0.5
"""A pair is forbidden where its cost 1 − ζ exceeds this."""

_NUM_CANDIDATES = 96
"""Actions tried for one that is forbidden: half anywhere in the space, half around it."""
_NARROWEST = 0.03
"""Deviation of the candidates nearest to it, as a share of half the width of the space."""
_NUM_BISECTIONS = 6
"""The found action ends up within 2⁻⁶ of its distance from the boundary."""


class Shielded(NamedTuple):
    """What a shield makes of forbidden actions."""

    actions: AnyArray
    """[n, a] or [n]: an allowed action where there is one, else the one that was given"""
    found: BoolArray
    """[n]: an allowed one was found"""


@dataclass(frozen=True, kw_only=True)
class Shield:
    """Stands between a policy and its environment."""

    cost: CostFunction

    def forbids(self, observations: FloatArray, actions: AnyArray) -> BoolArray:
        """True where a pair is forbidden; shapes as of a `CostFunction`."""
        return np.asarray(self.cost(observations, actions) > FORBIDDEN_ABOVE)


def nearest_allowed(
    rng: np.random.Generator,
    forbids: Callable[[FloatArray, AnyArray], BoolArray],
    observations: FloatArray,
    actions: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> Shielded:
    """Of many candidates the nearest allowed one, then moved towards the action as far as that is allowed.

    Distances are shares of the width of the space, per dimension. Shapes: observations [n, o], actions [n, a],
    finite low and high [a].
    """
    num, width = len(actions), actions.shape[1]
    half = _NUM_CANDIDATES // 2
    anywhere = rng.uniform(low, high, (num, half, width))
    spread = np.geomspace(_NARROWEST, 1.0, half)[None, :, None] * (high - low) / 2
    around = actions[:, None] + rng.standard_normal((num, half, width)) * spread
    candidates = np.concatenate([anywhere, around], axis=1)  # [n, K, a]
    candidates = np.clip(candidates, low, high).astype(actions.dtype)
    seen = np.repeat(observations[:, None], candidates.shape[1], axis=1)
    allowed: BoolArray = np.logical_not(forbids(seen, candidates))
    distances = np.linalg.norm((candidates - actions[:, None]) / (high - low), axis=-1)
    best = np.argmin(np.where(allowed, distances, np.inf), axis=1)
    found: BoolArray = np.asarray(allowed.any(axis=1))
    inside = candidates[np.arange(num), best]
    outside = actions
    for _ in range(_NUM_BISECTIONS):
        middle = ((inside + outside) / 2).astype(actions.dtype)
        beyond = forbids(observations, middle)[:, None]
        outside = np.where(beyond, middle, outside)
        inside = np.where(beyond, inside, middle)
    return Shielded(np.where(found[:, None], inside, actions), found)


def redrawn_choices(
    rng: np.random.Generator | None,
    forbids: Callable[[FloatArray, AnyArray], BoolArray],
    observations: FloatArray,
    actions: AnyArray,
    log_probs: FloatArray,
) -> Shielded:
    """Another choice among the allowed ones, with the policy's own probabilities (without `rng`: the likeliest).

    Shapes: observations [n, o], actions [n] integers, log_probs [n, choices].
    """
    num, choices = log_probs.shape
    every = np.broadcast_to(np.arange(choices, dtype=actions.dtype), (num, choices))
    seen = np.repeat(observations[:, None], choices, axis=1)
    allowed: BoolArray = np.logical_not(forbids(seen, every))
    scores = log_probs
    if rng is not None:
        scores = scores + rng.gumbel(size=scores.shape)  # the largest is a draw from the softmax
    found: BoolArray = np.asarray(allowed.any(axis=1))
    chosen = np.argmax(np.where(allowed, scores, -np.inf), axis=1).astype(actions.dtype)
    return Shielded(np.where(found, chosen, actions), found)
