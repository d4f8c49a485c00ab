"""Disagreement of seeds: what other runs of the same method, from the same demonstrations,
say of the same pairs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.errors import InputError
from icrl.trust.check import Check, Level
from icrl.types import Pairs

NAME = "other seeds"
GOOD = 0.05
BAD = 0.20
"""Shares of pairs with any disagreement up to which, and above which,
the seeds speak for and against ζ."""


class Disagreement(NamedTuple):
    """How far an ensemble of constraints agrees on a set of pairs."""

    constraints: int
    """How many, this run's included."""
    share: float
    """Of all pairs, the share on which the constraints do not all say the same."""
    forbidden_by_all: float | None
    """Of the pairs that any constraint forbids, the share that all forbid;
    None: none forbids any."""
    pairs: int


def measure_disagreement(constraints: Sequence[LearnedConstraint], pairs: Pairs) -> Disagreement:
    """Ask all constraints about the same pairs;
    they must look at the same kind of observation and action."""
    first = constraints[0].features
    for other in constraints[1:]:
        theirs = other.features
        if (theirs.num_observations, theirs.num_actions, theirs.discrete) != (
            first.num_observations,
            first.num_actions,
            first.discrete,
        ):
            raise InputError(
                "the constraints of an ensemble must judge the same pairs: "
                f"{first.num_observations} observations and {first.num_actions} actions here, "
                f"{theirs.num_observations} and {theirs.num_actions} in another."
            )
    # [constraints, n]
    # On the recorded pairs alone: far from all data seeds may differ in what nobody will ever do.
    votes = np.stack([~c.is_feasible(pairs.observations, pairs.actions) for c in constraints])
    any_forbids = votes.any(axis=0)
    all_forbid = votes.all(axis=0)
    total = int(any_forbids.sum())
    return Disagreement(
        constraints=len(constraints),
        share=float(np.mean(any_forbids & ~all_forbid)),
        forbidden_by_all=float(all_forbid.sum() / total) if total else None,
        pairs=votes.shape[1],
    )


def check_ensemble(disagreement: Disagreement | None) -> Check:
    """Do other seeds say the same?"""
    if disagreement is None:
        reason = (
            "one seed cannot say how much is chance: make runs with other --seed, and give them "
            "with --others"
        )
        return Check(NAME, Level.unknown, reason, {})
    share = disagreement.share
    by_all = disagreement.forbidden_by_all
    if share <= GOOD:
        level = Level.good
    elif share > BAD:
        level = Level.bad
    else:
        level = Level.care
    common = ""
    if by_all is not None:
        common = f"; of what any of them forbids, all forbid {by_all:.0%}"
    reason = (
        f"{disagreement.constraints} seeds disagree on {share:.1%} of the recorded pairs{common}"
    )
    return Check(NAME, level, reason, dict(disagreement._asdict()))
