"""Which samples are evidence of a constraint? (fidelity F15; docs/collapse.md has the reasoning and the measurements.)

The likelihood compares demonstrations with what an *optimal* agent would do. Samples of an agent that cannot walk yet
differ from demonstrations too, but for want of skill; samples of a skilled one differ in style. Neither is evidence:

- *Scouts*, fresh agents trained without any constraint, show where reward leads. What they seek and no demonstration
  ever shows is evidence.
- *Chance*, what an untrained agent does, is nobody's intention: presumed innocent, as far as the evidence allows.
- Once the agent obeys zeta, its samples are evidence only where they earn clearly more than the demonstrations: then
  something is still missing from zeta.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from icrl.config import LearnConfig
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
_AS_MUCH = 0.99
"""Share of a conviction rate that counts as all of it."""


class Evidence(NamedTuple):
    """Sampled trajectories and how much each counts against what it does."""

    trajectories: Trajectories
    weights: FloatArray
    """[N]: 1 evidence, 0 none"""


class Scouting(NamedTuple):
    """How far the scouts are."""

    left: int
    """Scouts that have not returned."""
    rounds: int
    """Rounds that the present one has been trained for."""
    most: int
    """Rounds that each may take."""


def scout_on(
    scouting: Scouting, samples: Trajectories, demos: Demonstrations, config: LearnConfig
) -> tuple[Scouting, bool]:
    """The scouts after one more round, and whether one returned: it earns `scout_share`, or its time is over.

    Where rewards are unknown every scout takes all its time. A loss counts as it does in `out_earning`.
    """
    if scouting.left == 0:
        return scouting, False
    rounds = scouting.rounds + 1
    returns = rounds >= scouting.most
    if demos.has_rewards:
        expert = float(np.mean(demos.trajectories.returns))
        returns |= float(np.mean(samples.returns)) >= expert - (1.0 - config.scout_share) * abs(expert)
    if returns:
        return Scouting(scouting.left - 1, 0, scouting.most), True
    return scouting._replace(rounds=rounds), False


def gather(
    evidence: Evidence | None,
    samples: Trajectories,
    demos: Demonstrations,
    scouting: Scouting,
    returned: bool,
    config: LearnConfig,
) -> tuple[Evidence | None, bool]:
    """The evidence after a round, and whether zeta is to move on it now.

    Without scouts (the paper's form) it is this round's S. With scouts it grows by what each of them does when it
    returns, zeta moves after the last of them, and from then on whenever samples earn too much.
    """
    found = Evidence(samples, np.ones(samples.num_trajectories))
    if config.scouts == 0:
        return found, True
    if scouting.left > 0 and not returned:
        return evidence, False
    if not returned:
        guilty = out_earning(samples, demos, config.evidence_margin)
        if not guilty.any():
            return evidence, False
        found = Evidence(samples, guilty.astype(np.float64))
    if evidence is not None:
        joined = join([evidence.trajectories, found.trajectories])
        found = Evidence(joined, np.concatenate([evidence.weights, found.weights]))
    return found, scouting.left == 0


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
    """Zeta fitted afresh to all evidence, presuming as much innocence as the evidence allows (`presumable`)."""
    start = init_constraint(rng, features, config.backward)
    guilty = select(evidence.trajectories, evidence.weights > 0)
    strengths = _STRENGTHS if innocents is not None and config.backward.presumption > 0 else (0.0,)
    fits, convicted = [], []
    for strength in strengths:
        backward = replace(config.backward, presumption=strength * config.backward.presumption)
        state, info = backward_step(
            start, demos, evidence.trajectories, features, backward, evidence.weights, objective,
            innocents if strength > 0 else None,
        )  # fmt: skip
        fits.append((state, info))
        convicted.append(newly_forbidden(guilty, None, constraint_cost(state, features, backward)))
    return fits[presumable(convicted, config.restart_above or 0.0)]


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
