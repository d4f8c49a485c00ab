"""Baseline GC: zeta is GAIL's discriminator, and the agent maximises r + log ζ;
there is no Lagrangian (Section 4)."""

import numpy as np

from icrl.types import AnyArray, CostFunction, FloatArray

_SMALLEST = 5e-5
"""log 5e-5 is about −10: an infeasible step costs that much, not infinity."""


def log_feasibility_bonus(cost: CostFunction) -> CostFunction:
    """log ζ(s, a) = log(1 − cost), what is added to the reward; same shapes as the cost."""

    def bonus(observations: AnyArray, actions: AnyArray) -> FloatArray:
        return np.asarray(np.log(np.maximum(1.0 - cost(observations, actions), _SMALLEST)))

    return bonus
