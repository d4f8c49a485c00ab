"""Statistics over seeds: the paper's mean and standard error,
and robust ones that few seeds can bear.

Every function takes scores along the last axis,
so that resamples [R, n] are judged in one call. NumPy only.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from icrl.errors import InputError
from icrl.types import AnyArray, FloatArray

COLLAPSED_ABOVE = 0.5
"""A seed has collapsed that violates at least this share as often as agents that know of no
constraint; where nothing is known of those, one that violates on more than this share of its steps.
"""
LEAST_NOMINAL = 0.02
"""Where agents that know of no constraint violate on fewer steps than this, half of it is noise."""

Statistic = Callable[[AnyArray], FloatArray]
"""Scores [..., n] -> [...]."""


class Interval(NamedTuple):
    """An estimate and its confidence interval."""

    value: float
    low: float
    high: float


def standard_error(scores: AnyArray) -> FloatArray:
    """Standard error of the mean, √( Σᵢ (xᵢ − x̄)² / (n (n − 1)) );
    NaN for one score. [..., n] -> [...]."""
    scores = _checked(scores)
    n = scores.shape[-1]
    if n == 1:
        return np.full(scores.shape[:-1], np.nan)
    squares = np.sum((scores - scores.mean(axis=-1, keepdims=True)) ** 2, axis=-1)
    return np.asarray(np.sqrt(squares / (n * (n - 1))))


def interquartile_mean(scores: AnyArray) -> FloatArray:
    """Mean of the middle half: IQM = (2/n) Σᵢ wᵢ x₍ᵢ₎,
    wᵢ = length of [i − 1, i] ∩ [n/4, 3n/4]. [..., n] -> [...].

    Scores on the edge of the middle half count in part, so that n need not be a multiple of 4 (with
    3 seeds the outer two weigh 1/6 each; cutting whole scores would cut none of them).
    """
    scores = _checked(scores)
    n = scores.shape[-1]
    edges = np.arange(n + 1)
    # Each score is a piece of length 1 on [0, n]; its weight is how much of it lies in the middle
    # half.
    weights = np.clip(np.minimum(edges[1:], 0.75 * n) - np.maximum(edges[:-1], 0.25 * n), 0.0, None)
    return np.asarray(np.sort(scores, axis=-1) @ weights * (2.0 / n))


def stratified_bootstrap(
    strata: Sequence[AnyArray],
    statistic: Statistic = interquartile_mean,
    *,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Percentile interval of a statistic of the pooled scores,
    seeds resampled within each stratum (task).

    θ̂*ᵣ = θ( x*ᵣ,₁ ∪ … ∪ x*ᵣ,ₖ ), x*ᵣ,ⱼ = nⱼ draws with replacement from xⱼ; the interval is the (1
    ∓ confidence)/2 quantiles of θ̂*. Each stratum is [nⱼ]; scores of several tasks should be ratios
    to their experts.
    """
    if not strata or resamples < 1 or not 0 < confidence < 1:
        raise InputError(
            "the bootstrap needs strata, resamples >= 1 and a confidence in (0, 1); got "
            f"{len(strata)}, {resamples} and {confidence}."
        )
    rng = np.random.default_rng(seed)
    pools = [_checked(stratum) for stratum in strata]
    # k of [R, nⱼ]
    # Within each stratum: else a resample could hold a task with many seeds and another with none.
    drawn = [pool[rng.integers(len(pool), size=(resamples, len(pool)))] for pool in pools]
    replicas = statistic(np.concatenate(drawn, axis=-1))  # [R]
    low, high = np.quantile(replicas, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(statistic(np.concatenate(pools))), float(low), float(high))


def probability_of_improvement(scores: AnyArray, others: AnyArray) -> float:
    """Chance that a seed of the one beats a seed of the other:
    (1/nm) Σᵢⱼ ( 1[xᵢ > yⱼ] + ½ 1[xᵢ = yⱼ] ). [n], [m]."""
    x = _checked(scores)[:, None]
    y = _checked(others)[None, :]
    return float(np.mean((x > y) + 0.5 * (x == y)))


def num_collapsed(violation_rates: AnyArray, nominal_rate: float | None = None) -> int:
    """Seeds that ended as if there were no constraint:
    Σᵢ 1[rateᵢ ≥ ½ nominal rate], or Σᵢ 1[rateᵢ > ½]. [n].

    On LapGridWorld agents that know of no constraint violate on 0.46 of their steps: one limit for
    all tasks would call none of them collapsed.
    """
    rates = _checked(violation_rates)
    # Half of next to nothing would call every seed collapsed that strayed once.
    if nominal_rate is None or nominal_rate < LEAST_NOMINAL:
        return int(np.sum(rates > COLLAPSED_ABOVE))
    return int(np.sum(rates >= COLLAPSED_ABOVE * nominal_rate))


def _checked(scores: AnyArray) -> FloatArray:
    array = np.asarray(scores, np.float64)
    if array.ndim == 0 or array.shape[-1] == 0 or not np.isfinite(array).all():
        raise InputError(
            f"statistics need one or more finite scores, got shape {array.shape}: {scores!r}."
        )
    return array
