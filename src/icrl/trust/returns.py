"""Over- or under-constraint, by what the agent under ζ earns beside the demonstrations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.trust.check import Check, Level
from icrl.types import Trajectories

NAME = "returns"
HIGHER = 1.0
"""Earning this share more than the demonstrations is much more: the agent earns twice as much."""
LOWER = 0.15
"""Earning this share less than the demonstrations is much less."""
MORE = 0.15
"""Earning this share more is more than chance: ζ may miss something, or the agent is better than the expert."""
DISOBEYS = 0.05
"""An agent that does more than this share of what ζ forbids is not under ζ."""


def forbids_anything(constraint: LearnedConstraint) -> bool:
    """ζ forbids something somewhere, as far as that can be told without data."""
    if constraint.region is None:
        return True
    return bool(np.any(constraint.region.depth > constraint.region.level))


def check_returns(
    constraint: LearnedConstraint,
    played: Trajectories,
    demos: Demonstrations | None,
    higher: float,
    missing: Callable[[], bool | None] = lambda: None,
) -> Check:
    """Does the agent under ζ earn what the demonstrations do? `higher`: the share more that is much more.

    Much less: ζ forbids too much, or the agent is not trained. Much more: the expert was held back by something that is
    `missing` from ζ, or the agent is merely better (asked only then; None: nobody can tell). Shares are of the size of
    the demonstrations' mean return (of its deviation where that is larger).
    """
    forbidden = ~constraint.is_feasible(played.observations, played.actions) & played.mask
    disobeyed = float(forbidden.sum() / played.num_steps)
    agent = float(np.mean(played.returns))
    numbers: dict[str, Any] = {"agent_return": agent, "agent_steps_infeasible": disobeyed}
    if demos is None or not demos.has_rewards:
        return Check(
            NAME, Level.unknown, f"the agent earns {agent:,.1f}; what the demonstrations earn is unknown", numbers
        )
    returns = demos.trajectories.returns
    expert = float(np.mean(returns))
    size = max(abs(expert), float(np.std(returns)), 1e-9)
    ratio = (agent - expert) / size
    numbers |= {"demo_return": expert, "difference": ratio}
    said = f"the agent under ζ earns {agent:,.1f}, the demonstrations {expert:,.1f} ({ratio:+.0%})"
    if disobeyed > DISOBEYS:
        reason = f"{said}, but {disobeyed:.0%} of its steps are infeasible: it does not obey ζ, so this says little"
        return Check(NAME, Level.care, reason, numbers)
    if ratio > higher:
        found = missing()
        numbers |= {"missing_from_zeta": found}
        if found is False:
            reason = f"{said}; fitted to it too, ζ has nothing against it: it may merely be better than the expert"
            return Check(NAME, Level.care, reason, numbers)
        doubt = "" if found else ", unless the agent is merely better than the expert"
        reason = f"{said}: under-constrained, something is still missing from ζ{doubt}"
        return Check(NAME, Level.bad, reason, numbers)
    if ratio > MORE:
        empty = not forbids_anything(constraint)
        reason = f"{said}: something may be missing from ζ, or the agent is merely better than the expert"
        level = Level.care
        if empty:
            level = Level.bad
            reason = f"{said}, and ζ forbids nothing: what held the expert back was not found"
        return Check(NAME, level, reason, numbers)
    if ratio < -LOWER:
        return Check(NAME, Level.care, f"{said}: ζ forbids too much, or the agent needs more training", numbers)
    return Check(NAME, Level.good, f"{said}: neither too much nor too little is forbidden", numbers)
