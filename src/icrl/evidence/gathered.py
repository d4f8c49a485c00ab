"""`Evidence`: all that competent agents did so far, generation by generation,
and how much of it needs explaining."""

from typing import NamedTuple

import numpy as np

from icrl.evidence.expected import Expected
from icrl.trajectories import join
from icrl.types import FloatArray, IntArray, Trajectories

OUT_EARNS = 1.0
"""An agent out-earns demonstrations when its mean advantage is above so many of their
deviations."""
STILL = 1 / 3
"""An agent under ζ out-earns demonstrations if it does so by this share of what scouts have, too:
below it, it may merely be better than the expert. Learning and verdicts ask the same."""
_STEEPNESS = 2.0
_ENOUGH = 8.0
"""Fewer trajectories than this, by their effective number, say less."""


class Evidence(NamedTuple):
    """Trajectories of agents at the mode of their policies; the first generation are scouts."""

    trajectories: Trajectories
    generations: IntArray
    """[M]: 0: a scout's; k: of the agent under the k-th zeta"""


def add(evidence: Evidence | None, samples: Trajectories, generation: int) -> Evidence:
    """The evidence and more of it."""
    numbers = np.full(samples.num_trajectories, generation, np.int64)
    if evidence is None:
        return Evidence(samples, numbers)
    return Evidence(
        join([evidence.trajectories, samples]), np.concatenate([evidence.generations, numbers])
    )


def weights_of(evidence: Evidence, expected: Expected) -> FloatArray:
    """[M]: how much each trajectory needs explaining;
    every generation has the same sum, all together have 1.

    w = sigmoid(2 (A/σ_D − 1)): one half where a trajectory out-earns demonstrations from a
    like start by their scatter.
    """
    # exp of these is still a number; weights that all round to 0 could not be divided by their sum.
    advantages = np.clip(expected.advantages(evidence.trajectories), -25.0, 25.0)
    weights = 1.0 / (1.0 + np.exp(-_STEEPNESS * (advantages - 1.0)))
    # However many episodes scouts left: a later counter-example would otherwise hardly be heard.
    for generation in np.unique(evidence.generations):
        mine = evidence.generations == generation
        weights[mine] /= weights[mine].sum()
    return np.asarray(weights / weights.sum())


def strength_of(evidence: Evidence, weights: FloatArray, expected: Expected) -> float:
    """How much there is to explain, from 0 to 1:
    half for earning as much as demonstrations, half for earning more.

    Agents that earn less than demonstrations do other things for want of skill.
    """
    advantages = np.clip(expected.advantages(evidence.trajectories), -25.0, 25.0)
    more = 1.0 / (1.0 + np.exp(-_STEEPNESS * (advantages - 1.0)))
    as_much = np.clip(expected.competence(evidence.trajectories), 0.0, 1.0)
    # Kish's effective number: one lucky episode with all of the weight counts as one.
    enough = min(1.0, float(1.0 / np.sum(weights**2)) / _ENOUGH)
    return enough * float(weights @ (0.5 * as_much + 0.5 * more))


def scouts_advantage(evidence: Evidence, expected: Expected) -> float:
    """What scouts earn beyond demonstrations, by weight, in units of σ_D."""
    mine = evidence.generations == 0
    weights = weights_of(evidence, expected) * mine
    return float(weights @ expected.advantages(evidence.trajectories) / weights.sum())
