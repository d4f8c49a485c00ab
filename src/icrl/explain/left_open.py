"""What a rule that was found leaves open: its wall with all caution and with none,
and which rules came next."""

import math
from typing import Any, NamedTuple

from icrl.constraint.learned import LearnedConstraint
from icrl.explain.judged import Judged
from icrl.explain.rules import Explanation, explain_region


class OpenWall(NamedTuple):
    """The same form, at full caution and at none:
    between the two the data cannot say where the wall is."""

    cautious: str
    lenient: str | None
    """None: where the evidence lies deepest, the form says nothing any more."""
    caution: float
    """Where in between the constraint stands."""


class Rival(NamedTuple):
    """Another set of axes, as the card tells of it."""

    axes: str
    score: float
    explained: float
    refuted: float
    vetoed: bool
    kept: float | None = None
    """Share of what agents earn beyond demonstrations that they keep while they
    obey it; None: nobody tried."""
    by_chance: float = 0.0
    """Share of what chance does that a rule over these axes forbids."""
    lost: bool = False
    """Agents that were trained under it told against it."""

    @property
    def taken(self) -> float:
        """Share of the gain that obeying takes away."""
        return 1.0 - (self.kept or 0.0)

    @property
    def spared(self) -> float:
        """What the search goes by (`Candidate.spared`): score, as far as obeying takes away what
        was to be explained, and as far as it leaves alone what has nothing to do with that."""
        return self.score * self.taken**2 * (1.0 - self.by_chance)

    def holds(self, other: "Rival") -> bool:
        """It is over the same features and more."""
        return set(other.axes.split(" + ")) < set(self.axes.split(" + "))


def open_wall(constraint: LearnedConstraint, judged: Judged, rule: Explanation) -> OpenWall | None:
    """The form of `rule` at both ends of caution;
    None: ζ has no caution, or names have no between."""
    region = constraint.region
    if region is None or all(axis.categorical for axis in region.axes):
        return None
    said = []
    for caution in (1.0, 0.0):
        moved = constraint.with_caution(caution)
        forbidden = ~moved.is_feasible(judged.pairs.observations, judged.pairs.actions)
        # Of the same form at both ends: two sentences of different kinds cannot be compared.
        found = explain_region(moved, judged.judged_as(forbidden), form=rule.form)
        said.append(str(found[0]) if found else None)
    if said[0] is None:
        return None
    return OpenWall(said[0], said[1], region.caution)


def rivals_of(constraint: LearnedConstraint) -> tuple[Rival, ...]:
    """The best few sets of axes, the chosen one first; what a card says badly is left out."""
    search = constraint.card.get("search")
    if not isinstance(search, dict) or not isinstance(search.get("rivals"), list):
        return ()
    return tuple(rival for told in search["rivals"] if (rival := _rival(told)) is not None)


def _rival(told: Any) -> Rival | None:
    if not isinstance(told, dict) or not isinstance(told.get("axes"), str):
        return None
    numbers = [told.get(name, 0.0) for name in ("score", "explained", "refuted", "by_chance")]
    if told.get("kept") is not None:
        numbers.append(told["kept"])
    for number in numbers:
        if (
            # True is a number in Python, and none on a card.
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not math.isfinite(number)
        ):
            return None
    score, explained, refuted, by_chance, *kept = (float(number) for number in numbers)
    return Rival(
        told["axes"],
        score,
        explained,
        refuted,
        told.get("vetoed") is True,
        kept[0] if kept else None,
        by_chance,
        told.get("lost") is True,
    )
