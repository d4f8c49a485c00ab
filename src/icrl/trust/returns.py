"""Over- or under-constraint, by what the agent under ζ earns beside the demonstrations."""

from typing import Any, NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.trust.check import Check, Level
from icrl.types import Trajectories

NAME = "returns"
LOWER = 0.15
"""Earning this share less than the demonstrations is much less."""
MORE = 0.15
"""Earning this share more is more than chance:
ζ may miss something, or the agent is better than the expert."""
MUCH_MORE = 0.3
"""Earning this share more is no good sign."""
DISOBEYS = 0.05
"""An agent that does more than this share of what ζ forbids is not under ζ."""


class Compared(NamedTuple):
    """A mean return beside the demonstrations'."""

    share: float
    """Difference in units of their mean (or of their deviation, where that is larger)."""
    deviations: float
    """Difference in their deviations."""


def compared(mean_return: float, demos: Demonstrations) -> Compared:
    """How much more than the demonstrations this is."""
    returns = demos.trajectories.returns
    expert = float(np.mean(returns))
    scatter = max(float(np.std(returns)), 1e-9)
    # A share of a mean near 0 would be any number: there the scatter is the unit.
    return Compared(
        (mean_return - expert) / max(abs(expert), scatter), (mean_return - expert) / scatter
    )


def forbids_anything(constraint: LearnedConstraint) -> bool:
    """ζ forbids something somewhere, as far as that can be told without data."""
    # A network forbids something somewhere: where, only data can say.
    if constraint.region is None:
        return True
    return bool(np.any(constraint.region.depth > constraint.region.level))


def check_returns(
    constraint: LearnedConstraint,
    played: Trajectories,
    demos: Demonstrations | None,
    elsewhere: bool | None,
) -> Check:
    """Does the agent under ζ earn what the demonstrations do?

    Much less: ζ forbids too much, or the agent is not trained. Much more: the expert was held
    back by something that is missing from ζ, or the agent is merely better. `elsewhere`: it
    goes where no demonstration was, in features that ζ ignores: then something is missing
    (None: nobody knows).
    """
    forbidden = ~constraint.is_feasible(played.observations, played.actions) & played.mask
    disobeyed = float(forbidden.sum() / played.num_steps)
    agent = float(np.mean(played.returns))
    numbers: dict[str, Any] = {"agent_return": agent, "agent_steps_infeasible": disobeyed}
    if demos is None or not demos.has_rewards:
        reason = f"the agent earns {agent:,.1f}; what the demonstrations earn is unknown"
        return Check(NAME, Level.unknown, reason, numbers)
    ratio = compared(agent, demos).share
    expert = float(np.mean(demos.trajectories.returns))
    numbers |= {"demo_return": expert, "difference": ratio}
    said = f"the agent under ζ earns {agent:,.1f}, the demonstrations {expert:,.1f} ({ratio:+.0%})"
    # Before all else: what an agent earns beyond ζ says nothing about ζ.
    if disobeyed > DISOBEYS:
        reason = (
            f"{said}, but {disobeyed:.0%} of its steps are infeasible: it does not obey ζ, so this "
            "says little"
        )
        return Check(NAME, Level.care, reason, numbers)
    if ratio > MUCH_MORE and elsewhere:
        return Check(
            NAME,
            Level.bad,
            f"{said}, and goes where none of them was: something is missing from ζ",
            numbers,
        )
    if ratio > MORE:
        reason = (
            f"{said}: something may be missing from ζ, or the agent is merely better than the "
            "expert"
        )
        return Check(NAME, Level.care, reason, numbers)
    if ratio < -LOWER:
        return Check(
            NAME,
            Level.care,
            f"{said}: ζ forbids too much, or the agent needs more training",
            numbers,
        )
    return Check(
        NAME, Level.good, f"{said}: no sign that ζ forbids too much or too little", numbers
    )
