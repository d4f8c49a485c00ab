"""Held-out demonstrations judged infeasible:
the cross-validated false-alarm rate, agents held fixed.

Demonstrations are split by episodes into k folds; ζ is fitted again to the others (`refit.py`) and
judges the fold. Steps of one episode resemble each other, so the episode is the unit: intervals are
over episodes. A refit to all demonstrations is the control: if that does not say what the run's ζ
says, refits tell nothing about it.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.demos.fitting import FittedDemos
from icrl.explain.judged import Judged
from icrl.trajectories import select
from icrl.trust.check import Check, Level
from icrl.trust.refit import Refit
from icrl.types import BoolArray, FloatArray, Trajectories

NAME = "held-out demonstrations"
FOLDS = 5
REPRODUCED = 0.9
"""Balanced agreement with the run's ζ that a refit to all demonstrations must reach."""
GOOD = 0.02
BAD = 0.10
"""Rates of infeasible steps up to which, and above which,
held-out demonstrations speak for and against ζ."""
_RESAMPLES = 2_000
_Z95 = 1.959964


class Alarms(NamedTuple):
    """How often demonstrations are judged infeasible."""

    rates: FloatArray
    """[N]: of each episode, the share of steps judged infeasible"""

    @property
    def rate(self) -> float:
        """Mean over episodes."""
        return float(np.mean(self.rates))

    def interval(self) -> tuple[float, float]:
        """95 % percentile bootstrap of the mean over episodes; a point where all episodes agree."""
        # Episodes are drawn, not steps: steps of one episode are not independent.
        draws = np.random.default_rng(0).integers(0, len(self.rates), (_RESAMPLES, len(self.rates)))
        low, high = np.quantile(self.rates[draws].mean(axis=1), [0.025, 0.975])
        return float(low), float(high)

    @property
    def alarmed(self) -> int:
        """Episodes with at least one infeasible step."""
        return int(np.sum(self.rates > 0))

    def alarmed_interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the share of episodes with any infeasible step:
        it has a width at 0 of N too."""
        n = len(self.rates)
        share = self.alarmed / n
        middle = (share + _Z95**2 / (2 * n)) / (1 + _Z95**2 / n)
        half = _Z95 / (1 + _Z95**2 / n) * math.sqrt(share * (1 - share) / n + _Z95**2 / (4 * n**2))
        return max(0.0, middle - half), min(1.0, middle + half)


def alarms(constraint: LearnedConstraint, trajectories: Trajectories) -> Alarms:
    """The share of infeasible steps of each episode."""
    infeasible = (
        ~constraint.is_feasible(trajectories.observations, trajectories.actions) & trajectories.mask
    )
    return Alarms(infeasible.sum(axis=1) / trajectories.lengths)


def held_out_alarms(
    demos: FittedDemos,
    refit: Refit,
    on_fold: Callable[[int, int], None] = lambda done, fits: None,
) -> Alarms:
    """Every episode judged by a ζ that was fitted to the other folds;
    `on_fold(done, fits)` after each.

    The control is counted as the first of the fits.
    """
    n = demos.trajectories.num_trajectories
    folds = min(FOLDS, n)
    # At random: episodes often stand in the order of their experts (decision 0008), and a fold of
    # one expert would ask another question.
    fold_of = np.random.default_rng(0).permutation(n) % folds
    rates = np.zeros(n)
    for fold in range(folds):
        held_out = fold_of == fold
        constraint = refit(_part(demos, ~held_out))
        # Each episode is judged once, by a ζ that has never seen it.
        rates[held_out] = alarms(constraint, select(demos.trajectories, held_out)).rates
        on_fold(fold + 2, folds + 1)
    return Alarms(rates)


def reproduction(
    constraint: LearnedConstraint, control: LearnedConstraint, judged: Judged
) -> float:
    """Balanced agreement of the control with the run's ζ on the recorded pairs
    (plain where ζ judges all alike)."""
    said = ~control.is_feasible(judged.pairs.observations, judged.pairs.actions)
    # Balanced: of a ζ that forbids little, a control that forbids nothing would agree nearly
    # everywhere.
    kinds = [kind for kind in (judged.forbidden, ~judged.forbidden) if kind.any()]
    return float(np.mean([np.mean(said[kind] == judged.forbidden[kind]) for kind in kinds]))


def check_held_out(
    constraint: LearnedConstraint, demos: Demonstrations, held_out: Alarms | None, why: str
) -> Check:
    """Are demonstrations that ζ was not held to judged infeasible?

    `why` says why that is not known, if it is not.
    """
    own = alarms(constraint, demos.trajectories).rate
    numbers = {"demo_steps_infeasible": own}
    if held_out is None:
        if own > BAD:
            level = Level.bad
        else:
            level = Level.unknown
        return Check(
            NAME, level, f"{why}; of its own demonstrations' steps ζ forbids {own:.1%}", numbers
        )
    low, high = held_out.interval()
    n = len(held_out.rates)
    episodes_low, episodes_high = held_out.alarmed_interval()
    if held_out.rate > BAD:
        level = Level.bad
    # A low rate over few episodes is luck as often as not: its interval must be low, too.
    elif held_out.rate <= GOOD and high <= BAD:
        level = Level.good
    else:
        level = Level.care
    # Whatever held-out ones say: it forbids what it was shown.
    if own > BAD:
        level = Level.bad
    reason = (
        f"{held_out.rate:.1%} of held-out steps judged infeasible (95 % interval {low:.1%} to "
        f"{high:.1%}; refits of ζ, agents held fixed), in {held_out.alarmed} of {n} episodes "
        f"({episodes_low:.0%} to {episodes_high:.0%})"
    )
    numbers |= {
        "held_out_steps_infeasible": held_out.rate,
        "low": low,
        "high": high,
        "episodes": n,
        "folds": min(FOLDS, n),
        "alarmed_episodes": held_out.alarmed,
        "alarmed_low": episodes_low,
        "alarmed_high": episodes_high,
    }
    return Check(NAME, level, reason, numbers)


def _part(demos: FittedDemos, keep: BoolArray) -> FittedDemos:
    return replace(demos, trajectories=select(demos.trajectories, keep))
