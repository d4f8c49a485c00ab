"""Does ζ explain what out-earns the demonstrations, and does its wall stand where they end?

Scouts know of no rule. Where their episodes out-earn the demonstrations, the expert must have been
held back by something: a right ζ forbids a part of nearly every one of them, and it begins where
demonstrations end. Both are read off the record: nothing is trained.
"""

from typing import Any

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.rounds import Phase
from icrl.trust.check import Check, Level
from icrl.trust.record import Record
from icrl.trust.returns import forbids_anything
from icrl.trust.space import Space

NAME = "evidence"
WALL = "wall"
EXPLAINED = 0.8
"""Share of what out-earns, by weight, that must enter what ζ forbids."""
UNEXPLAINED = 0.5
"""Below this share ζ does not explain it."""
MATTERS = 0.02
"""Share of scouts' steps below which ζ forbids next to nothing that anybody does."""
DISOBEYED = 0.3
"""Share of their steps on which agents that were trained under ζ,
from the first on, may break it."""
NEAR = 0.05
"""Of the range of the data: the room between demonstrations and wall that says nothing."""
FAR = 0.1
"""Room from which agents settle in it."""
NEEDS = 2.0
"""Mean advantage of the best round, in deviations,
from which agents plainly out-earn the demonstrations."""
LACKS = 1.0
"""The same, below them, from which agents have not learned the task."""
SCORES = 0.25
"""Score of a rule that was not taken, from which it plainly explains the evidence."""
_FACING = 0.02
"""Quantile over the edge of the forbidden of its distance from demonstrations:
the part that faces them."""


def check_evidence(
    constraint: LearnedConstraint, record: Record, nearest: tuple[str, float] | None
) -> Check:
    """Does ζ forbid what out-earns the demonstrations?

    `nearest`: the best rule over other features, and its score.
    """
    scouts = record.of(Phase.scout)
    if not scouts.any():
        return Check(NAME, Level.unknown, "the run kept nothing of agents that know of no rule", {})
    out_earns = record.best_round(Phase.scout)
    # An empty ζ explains nothing, and need not where there is nothing to explain: other questions.
    if not forbids_anything(constraint):
        return _of_nothing(
            out_earns, record.best_round(Phase.scout, Phase.judge, Phase.final), nearest
        )
    weights = record.weights * scouts
    explained = float(weights @ record.entered(constraint) / max(float(weights.sum()), 1e-12))
    forbidden = record.forbidden(constraint)
    by_scouts = float(np.mean(forbidden[record.steps_of(scouts)]))
    under = record.of(Phase.final)
    by_agents = 0.0
    numbers: dict[str, Any] = {
        "explained": explained,
        "scouts_steps_infeasible": by_scouts,
        "best_round": out_earns,
    }
    changes = f"agents that know of no rule break ζ on {by_scouts:.0%} of their steps"
    if under.any():
        by_agents = float(np.mean(forbidden[record.steps_of(under)]))
        numbers["agents_steps_infeasible"] = by_agents
        changes += f", those trained under it on {by_agents:.1%}"
    said = f"ζ forbids a part of {explained:.0%} of what out-earns the demonstrations; {changes}"
    # First: whatever else it explains, a rule that agents under it cannot keep is of no use.
    if by_agents > DISOBEYED:
        return Check(
            NAME, Level.bad, f"{said}: agents that were trained under it do not keep it", numbers
        )
    if explained < UNEXPLAINED:
        return Check(NAME, Level.bad, f"{said}: something else held the expert back", numbers)
    if by_scouts < MATTERS:
        return Check(NAME, Level.care, f"{said}: it changes next to nothing", numbers)
    if explained < EXPLAINED:
        return Check(
            NAME, Level.care, f"{said}: not all that needs explaining is explained", numbers
        )
    return Check(NAME, Level.good, said, numbers)


def _of_nothing(scouts: float, agents: float, nearest: tuple[str, float] | None) -> Check:
    """ζ is empty: fine where nobody out-earns the demonstrations."""
    numbers = {"best_round": scouts, "best_round_of_all": agents}
    if nearest is not None and nearest[1] >= SCORES:
        said = (
            f"ζ forbids nothing, but a rule over {nearest[0]} would explain what out-earns the "
            "demonstrations"
        )
        return Check(NAME, Level.bad, f"{said} (score {nearest[1]:.2f})", numbers)
    if agents >= NEEDS:
        said = (
            f"ζ forbids nothing while agents out-earn the demonstrations by {agents:.1f} of their "
            "deviations"
        )
        reason = (
            f"{said}: the expert is merely weaker, or a rule was not found; the data cannot say "
            "which"
        )
        return Check(NAME, Level.care, reason, numbers)
    # Decision 0020: where nobody earned what demonstrations earn, that no rule was found says
    # nothing.
    if agents < -LACKS:
        said = (
            "ζ forbids nothing, but no agent earns what the demonstrations earn "
            f"({agents:.1f} of their deviations beside them)"
        )
        return Check(NAME, Level.bad, f"{said}: nobody could have shown a rule", numbers)
    return Check(
        NAME, Level.good, "ζ forbids nothing, and agents earn what the demonstrations earn", numbers
    )


_HARDLY_ANY = 0.001
"""Of the range of the data: smaller ones would be told as 0."""


def check_wall(space: Space) -> Check | None:
    """Is there room between demonstrations and wall? None: there is no wall in numbers."""
    edge = space.edge()
    if not len(edge):
        return None
    # Not the nearest node of all, which one stray demonstration would decide.
    room = float(np.quantile(space.from_shown(edge), _FACING))
    numbers = {"room": room}
    shown = f"{room:.1%}"
    if room < _HARDLY_ANY:
        shown = f"less than {_HARDLY_ANY:.1%}"
    said = f"with all caution the wall stands {shown} of the data's range beyond the demonstrations"
    if room > FAR:
        return Check(
            WALL, Level.bad, f"{said}: agents can settle where nobody was shown to go", numbers
        )
    if room > NEAR:
        return Check(WALL, Level.care, f"{said}: agents may settle in between", numbers)
    return Check(WALL, Level.good, said, numbers)
