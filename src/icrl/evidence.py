"""Which samples are evidence of a constraint? (fidelity F15; docs/collapse.md has the reasoning and the measurements.)

The likelihood compares demonstrations with what an *optimal* agent would do. Samples of an agent that cannot walk yet
differ from demonstrations too, but for want of skill; samples of a skilled one differ in style. Neither is evidence:

- *Scouts*, fresh agents trained without any constraint, show where reward leads. What they seek and no demonstration
  ever shows is evidence. They are sampled at several stages of their training: what all stages have in common is
  where they go, while how fast and in which gait changes from one to the next.
- *Chance*, what an untrained agent does, is nobody's intention: presumed innocent, as far as the evidence allows.
- Once the agent obeys zeta, its samples are evidence only where they earn clearly more than the demonstrations: then
  something is still missing from zeta, or the agent is merely better than the expert. It is the former if a zeta
  fitted to them too convicts them and acquits nobody else; otherwise they are dismissed.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icrl.config import LearnConfig
from icrl.demos.dataset import Demonstrations
from icrl.trajectories import join, select
from icrl.types import BoolArray, CostFunction, FloatArray, IntArray, Trajectories


class Evidence(NamedTuple):
    """Sampled trajectories and how much each counts against what it does."""

    trajectories: Trajectories
    weights: FloatArray
    """[N]: 1 evidence, 0 none"""
    sizes: tuple[int, ...]
    """How many of them came together, in order: those of one scout, then of another."""
    bar: float = -math.inf
    """What a later sample must earn besides: `evidence_margin` more than the best of those that were dismissed."""

    @property
    def parts(self) -> tuple[Trajectories, Trajectories]:
        """What counts of it: of earlier rounds, and of the newest."""
        late = self.batches == len(self.sizes) - 1
        counts = self.weights > 0
        return select(self.trajectories, counts & ~late), select(self.trajectories, counts & late)

    @property
    def batches(self) -> IntArray:
        """[N]: which of `sizes` each belongs to."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def evidence_of(parts: Sequence[Trajectories]) -> Evidence:
    """All of what several scouts did."""
    sizes = tuple(part.num_trajectories for part in parts)
    return Evidence(join(parts), np.ones(sum(sizes)), sizes)


def evidence_weights(
    samples: Trajectories,
    demos: Demonstrations,
    evidence: Evidence | None,
    scouts_out: bool,
    returned: bool,
    config: LearnConfig,
) -> FloatArray:
    """[N]: how much each of a round's samples counts against what it does.

    Without scouts (the paper's form) every sample counts. With scouts those of the round in which one of them returns
    count and, once all are back, those that earn too much.
    """
    if config.scouts == 0 or returned:
        return np.ones(samples.num_trajectories)
    if scouts_out:
        return np.zeros(samples.num_trajectories)
    bar = -math.inf if evidence is None else evidence.bar
    return (out_earning(samples, demos, config.evidence_margin) & (samples.returns > bar)).astype(np.float64)


def gather(
    evidence: Evidence | None, samples: Trajectories, weights: FloatArray, scouts_out: bool, config: LearnConfig
) -> tuple[Evidence | None, bool]:
    """The evidence after a round, and whether zeta is to move on it now.

    Without scouts it is this round's S. With scouts it grows, and zeta moves on all of it once the last is back.
    """
    found = Evidence(samples, weights, (len(weights),))
    if config.scouts == 0:
        return found, True
    if not weights.any():
        return evidence, False
    if evidence is not None:
        joined = join([evidence.trajectories, samples])
        found = Evidence(
            joined, np.concatenate([evidence.weights, weights]), (*evidence.sizes, len(weights)), evidence.bar
        )
    return found, not scouts_out


def out_earning(samples: Trajectories, demos: Demonstrations, margin: float) -> BoolArray:
    """[N]: the sample out-earns the mean demonstration by `margin` of its size; never where rewards are unknown."""
    if not demos.has_rewards:
        return np.zeros(samples.num_trajectories, np.bool_)
    expert = float(np.mean(demos.trajectories.returns))
    return np.asarray(samples.returns > expert + margin * abs(expert))


def convicts(evidence: Evidence, old: CostFunction, new: CostFunction, least: float) -> bool:
    """Is something missing from zeta (cost `old`) that the newest of the evidence shows?

    Fitted to it too (cost `new`) zeta must convict `least` of its steps and, of the steps of earlier evidence that were
    convicted before, acquit no more than that share.
    """
    earlier, newest = evidence.parts
    acquitted, convicted = newly_forbidden(earlier, new, old), newly_forbidden(earlier, None, old)
    return newly_forbidden(newest, None, new) >= least and acquitted <= least * convicted


def dismiss(evidence: Evidence, demos: Demonstrations, margin: float) -> Evidence:
    """The evidence without the newest. To be looked at, others must earn more than it by `margin` of what the mean
    demonstration earns."""
    expert, kept = float(np.mean(demos.trajectories.returns)), evidence.batches < len(evidence.sizes) - 1
    bar = float(np.max(evidence.parts[1].returns)) + margin * abs(expert)
    return Evidence(select(evidence.trajectories, kept), evidence.weights[kept], evidence.sizes[:-1], bar)


def most_convicted(evidence: Evidence, cost: CostFunction) -> float:
    """Share of the steps with cost above ½ of the scout of whom it is largest (decision 0014).

    Reward seldom leads every scout to where the constraint is: those who went elsewhere acquit nobody.
    """
    counts = evidence.weights > 0
    scouts = [select(evidence.trajectories, counts & (evidence.batches == i)) for i in range(len(evidence.sizes))]
    return max((newly_forbidden(scout, None, cost) for scout in scouts if scout.num_trajectories > 0), default=0.0)


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
