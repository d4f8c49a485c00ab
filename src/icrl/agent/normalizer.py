"""Running moments, carried as state: a network that wants scaled inputs owns its
normaliser; the pipes stay raw."""

from typing import NamedTuple

import numpy as np

from icrl.types import BoolArray, FloatArray

_CLIP = 10.0
"""Scaled inputs are clipped to this many deviations
(the value of VecNormalize, which the authors used)."""
_EPSILON = 1e-8


class RunningMoments(NamedTuple):
    """Mean and variance of everything seen so far, per dimension, in float64."""

    mean: FloatArray
    variance: FloatArray
    num_seen: FloatArray
    """Scalar."""


def init_moments(shape: tuple[int, ...]) -> RunningMoments:
    """Moments of nothing yet: mean 0, variance 1."""
    # Not quite nothing seen: a count of 0 would divide by 0 before the first batch. VecNormalize
    # does the same, and 1e-4 of a row is forgotten at once.
    return RunningMoments(np.zeros(shape), np.ones(shape), np.asarray(1e-4))


def update_moments(moments: RunningMoments, batch: FloatArray) -> RunningMoments:
    """Merge the moments of a batch [B, ...]: Chan's parallel formula.

    n = nₐ + n_b, δ = μ_b − μₐ, μ = μₐ + δ n_b/n, σ² n = σₐ² nₐ + σ_b² n_b + δ² nₐ n_b/n
    """
    # Merged, not recomputed: the observations of a run would not fit in memory.
    count_b = batch.shape[0]
    mean_b = np.mean(batch, axis=0, dtype=np.float64)
    variance_b = np.var(batch, axis=0, dtype=np.float64)
    count = moments.num_seen + count_b
    delta = mean_b - moments.mean
    mean = moments.mean + delta * count_b / count
    squares = (
        moments.variance * moments.num_seen
        + variance_b * count_b
        + delta**2 * moments.num_seen * count_b / count
    )
    return RunningMoments(mean, squares / count, count)


class Scaling(NamedTuple):
    """A normaliser ready for use many times: x · scale − shift."""

    scale: FloatArray
    """[o] float32: 1/√(σ² + ε)"""
    shift: FloatArray
    """[o] float32: μ/√(σ² + ε)"""

    def apply(self, values: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """x · scale − shift, clipped; [..., o] -> [..., o] float32, into `out` if it is given."""
        scaled = np.multiply(values, self.scale, out=out, dtype=np.float32, casting="same_kind")
        scaled -= self.shift
        # The method: `np.minimum` and `np.maximum` of a number take four times as long.
        return scaled.clip(-_CLIP, _CLIP, out=scaled)


def scaling(moments: RunningMoments) -> Scaling:
    """The moments as a scale and a shift."""
    scale = 1.0 / np.sqrt(moments.variance + _EPSILON)
    return Scaling(scale.astype(np.float32), (moments.mean * scale).astype(np.float32))


_MANY = 1e9
"""Rows beside which those of a run are few."""


def settled(moments: RunningMoments) -> RunningMoments:
    """The same moments, which what is seen from now on does not move."""
    return moments._replace(num_seen=np.asarray(_MANY))


_FAR = 1e90
"""A deviation beside which every feature is 0 in float32; finite, so that files can hold it."""


def without(moments: RunningMoments, sees: FloatArray) -> RunningMoments:
    """Moments by which features with `sees` [o] of 0 come out as 0."""
    return moments._replace(variance=np.where(sees > 0, moments.variance, _FAR**2))


_SPREAD = 5.0


def on_one_scale(moments: RunningMoments) -> RunningMoments:
    """Moments by which all features are divided by one number, and none is moved: the largest of
    them comes out at about 5.

    Scaled one by one, a place and a goal in the same unit cannot be told apart by a difference any
    more. Where features have units of their own, small ones vanish instead.
    """
    largest = np.max(moments.variance + moments.mean**2)
    variance = np.full_like(moments.variance, largest / _SPREAD**2)
    return RunningMoments(np.zeros_like(moments.mean), variance, moments.num_seen)


def normalize(moments: RunningMoments, values: FloatArray) -> FloatArray:
    """(x − μ)/√(σ² + ε), clipped; [..., o] -> [..., o] float32."""
    return scaling(moments).apply(values)


def discounted_returns(
    rewards: FloatArray, ended: BoolArray, carried: FloatArray, gamma: float
) -> FloatArray:
    """Gₜ = γ Gₜ₋₁ + rₜ, restarted after an end; rewards and ended [T, E], carried [E] -> [T, E].

    This backward-looking return is the quantity whose deviation scales rewards,
    as VecNormalize does.
    """
    returns = np.empty_like(rewards, dtype=np.float64)
    current = carried.copy()
    for t in range(rewards.shape[0]):
        current = gamma * current + rewards[t]
        returns[t] = current
        current = np.where(ended[t], 0.0, current)
    return returns


def reward_scale(moments: RunningMoments) -> float:
    """1/√(σ² + ε) of the discounted return."""
    return float(1.0 / np.sqrt(moments.variance + _EPSILON))
