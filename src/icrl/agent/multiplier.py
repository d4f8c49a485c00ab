"""The Lagrange multiplier λ of the forward step (Eq. 9):
ascent on mean cost minus budget, never below 0."""

import math

from icrl.config import MultiplierConfig

_FLOOR = -30.0
"""softplus(−30) is 1e-13: a multiplier of zero for every purpose, from which it can still rise."""


def init_multiplier(config: MultiplierConfig) -> float:
    """The raw value ν with softplus(ν) = `initial`."""
    # The inverse of softplus, once: the authors' code applies it twice, so that its multiplier
    # never falls below 0.541 (fidelity F7).
    if config.initial > 0:
        return max(_FLOOR, config.initial + math.log(-math.expm1(-config.initial)))
    return _FLOOR


def multiplier_value(raw: float) -> float:
    """λ = softplus(ν) = log(1 + eᵛ) ≥ 0."""
    return max(raw, 0.0) + math.log1p(math.exp(-abs(raw)))


def update_multiplier(raw: float, mean_cost: float, config: MultiplierConfig) -> float:
    """ν ← max(ν + η (mean cost − budget), floor):
    λ rises if and only if the cost exceeds the budget (fidelity F7)."""
    return max(_FLOOR, raw + config.learning_rate * (mean_cost - config.budget))
