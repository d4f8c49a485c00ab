"""Which samples are evidence of a constraint? (fidelity F15; docs/collapse.md has the reasoning and the measurements.)

The likelihood compares demonstrations with what an *optimal* agent would do. Samples of an agent that cannot walk yet
differ from demonstrations too, but for want of skill; samples of a skilled one differ in style. Neither is evidence:

- *Scouts*, fresh agents trained without any constraint, show where reward leads. What they seek and no demonstration
  ever shows is evidence. They are sampled at several stages of their training: what all stages have in common is
  where they go, while how fast and in which gait changes from one to the next.
- *Chance*, what an untrained agent does, is nobody's intention: presumed innocent, as far as the evidence allows.
- Once the agent obeys zeta, its samples are evidence only where they earn clearly more than the demonstrations: then
  something is still missing from zeta.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from icrl.config import BackwardConfig, LearnConfig
from icrl.constraint.backward_step import (
    BackwardInfo,
    ConstraintState,
    backward_step,
    constraint_cost,
    init_constraint,
)
from icrl.constraint.features import Features
from icrl.constraint.objective import Objective
from icrl.demos.dataset import Demonstrations
from icrl.trajectories import join, select
from icrl.types import BoolArray, CostFunction, FloatArray, Trajectories

_STRENGTHS = (1.0, 0.5, 0.25, 0.125, 0.0)
"""Shares of the presumption of innocence that are tried."""
_LASSOS = (1.0, 0.5)
"""Shares of the sparsity over features that are tried."""
_AS_MUCH = 0.995
"""Share of a conviction rate that counts as all of it."""


class Evidence(NamedTuple):
    """Sampled trajectories and how much each counts against what it does."""

    trajectories: Trajectories
    weights: FloatArray
    """[N]: 1 evidence, 0 none"""


def evidence_weights(
    samples: Trajectories, demos: Demonstrations, scouts_out: bool, returned: bool, config: LearnConfig
) -> FloatArray:
    """[N]: how much each of a round's samples counts against what it does.

    Without scouts (the paper's form) every sample counts. With scouts those of the round in which one of them returns
    count and, once all are back, those that earn too much.
    """
    if config.scouts == 0 or returned:
        return np.ones(samples.num_trajectories)
    if scouts_out:
        return np.zeros(samples.num_trajectories)
    return out_earning(samples, demos, config.evidence_margin).astype(np.float64)


def gather(
    evidence: Evidence | None, samples: Trajectories, weights: FloatArray, scouts_out: bool, config: LearnConfig
) -> tuple[Evidence | None, bool]:
    """The evidence after a round, and whether zeta is to move on it now.

    Without scouts it is this round's S. With scouts it grows, and zeta moves on all of it once the last is back.
    """
    found = Evidence(samples, weights)
    if config.scouts == 0:
        return found, True
    if not weights.any():
        return evidence, False
    if evidence is not None:
        joined = join([evidence.trajectories, samples])
        found = Evidence(joined, np.concatenate([evidence.weights, weights]))
    return found, not scouts_out


def out_earning(samples: Trajectories, demos: Demonstrations, margin: float) -> BoolArray:
    """[N]: the sample out-earns the mean demonstration by `margin` of its size; never where rewards are unknown."""
    if not demos.has_rewards:
        return np.zeros(samples.num_trajectories, np.bool_)
    expert = float(np.mean(demos.trajectories.returns))
    return np.asarray(samples.returns > expert + margin * abs(expert))


def fit_zeta(
    rng: np.random.Generator,
    demos: Trajectories,
    evidence: Evidence,
    innocents: Trajectories | None,
    features: Features,
    config: LearnConfig,
    objective: Objective,
) -> tuple[ConstraintState, BackwardInfo]:
    """Zeta fitted afresh to all evidence, of as few features and presuming as much innocence as the evidence allows.

    The sparsity over features is halved once where zeta convicts too little with it: scouts showed little, or the rule
    needs more features. The presumption is that of `presumable`.
    """
    least = config.restart_above or 0.0
    for lasso in _LASSOS:
        backward = replace(config.backward, feature_sparsity=lasso * config.backward.feature_sparsity)
        fit, convicted = _fit_presuming(rng, demos, evidence, innocents, features, backward, objective, least)
        if convicted >= least or backward.feature_sparsity == 0:
            break
    return fit


def _fit_presuming(
    rng: np.random.Generator,
    demos: Trajectories,
    evidence: Evidence,
    innocents: Trajectories | None,
    features: Features,
    config: BackwardConfig,
    objective: Objective,
    least: float,
) -> tuple[tuple[ConstraintState, BackwardInfo], float]:
    """The fit of the strength that `presumable` takes, and the share of the evidence that it convicts."""
    start = init_constraint(rng, features, config)
    guilty = select(evidence.trajectories, evidence.weights > 0)
    strengths = _STRENGTHS if innocents is not None and config.presumption > 0 else (0.0,)
    fits, convicted = [], []
    for strength in strengths:
        backward = replace(config, presumption=strength * config.presumption)
        state, info = backward_step(
            start, demos, evidence.trajectories, features, backward, evidence.weights, objective,
            innocents if strength > 0 else None,
        )  # fmt: skip
        fits.append((state, info))
        convicted.append(newly_forbidden(guilty, None, constraint_cost(state, features, backward)))
    taken = presumable(convicted, least)
    return fits[taken], convicted[taken]


def presumable(convicted: list[float], least: float) -> int:
    """Which of several fits to take, by the share of the evidence that each convicts: the first presumes most, the last
    no innocence.

    Chance may do what is forbidden as often as scouts do (half of all random moves go anticlockwise). Where a fit
    convicts as much as the last, its presumption clears nothing that the evidence speaks against: the first such fit.
    Where every bit of presumption clears something (what scouts do for want of skill), the first that convicts `least`.
    """
    for index, share in enumerate(convicted[:-1]):
        if share >= _AS_MUCH * convicted[-1]:
            return index
    return next((index for index, share in enumerate(convicted) if share >= least), len(convicted) - 1)


def newly_forbidden(samples: Trajectories, old: CostFunction | None, new: CostFunction) -> float:
    """Share of sampled steps with cost above ½ under the new cost but not under the old one (None: nothing was)."""
    pairs = samples.observations[samples.mask], samples.actions[samples.mask]
    forbidden = new(*pairs) > 0.5
    return float(np.mean(forbidden if old is None else forbidden & (old(*pairs) <= 0.5)))


def settled_on_forbidden_ways(
    samples: Trajectories, old: CostFunction | None, new: CostFunction | None, share: float | None
) -> bool:
    """More than `share` of the agent's steps became forbidden: it will seldom find its way out (None: never)."""
    return share is not None and new is not None and new is not old and newly_forbidden(samples, old, new) > share
