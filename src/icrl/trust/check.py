"""A check: one question about a constraint, its answer in numbers, and what it means for trust."""

import enum
from typing import Any, NamedTuple


class Level(enum.StrEnum):
    """What a check says."""

    good = "good"
    care = "care"
    bad = "bad"
    unknown = "unknown"


class Check(NamedTuple):
    """The answer to one question."""

    name: str
    level: Level
    reason: str
    """One sentence for a person."""
    numbers: dict[str, Any]
    """For `evaluation.json`."""


REMEDIES = {
    "held-out demonstrations": "more demonstrations, recorded as these were",
    "enough demonstrations": "more demonstrations, recorded as these were",
    "evidence": "demonstrations of a better expert, or scouts that are trained for longer",
    "wall": "demonstrations between the ones there are and the wall",
    "judges": (
        "a fresh agent under ζ (--judge) that earns what the demonstrations earn: where it earns "
        "less, train it for longer; where more, ζ may lack something that more scouts or "
        "demonstrations show"
    ),
    "coverage": "demonstrations near what ζ forbids, on the allowed side of it",
    "other seeds": "runs with other seeds that agree",
    "returns": "an agent trained for longer, or demonstrations of a better expert",
    "rivals": "demonstrations that keep one of the rivals and break the other",
    "elsewhere": (
        "demonstrations that go there, or the word of somebody who knows that nothing forbids it"
    ),
}
"""By the name of a check: what would answer it."""


class Verdict(NamedTuple):
    """All checks, and what follows from them."""

    checks: tuple[Check, ...]

    @property
    def would_change(self) -> str:
        """What would change the verdict, in one sentence."""
        # The worst first: what would answer a doubt changes nothing while something speaks against
        # ζ.
        doubts = [
            check.name
            for level in (Level.bad, Level.care, Level.unknown)
            for check in self.checks
            if check.level is level
        ]
        if not doubts:
            return "a demonstration that enters what ζ forbids"
        first, *others = doubts
        said = f"{REMEDIES.get(first, 'more demonstrations, and other seeds')} ({first})"
        if others:
            said += f"; open after that: {', '.join(others)}"
        return said

    @property
    def text(self) -> str:
        """`do not trust it` if any check is bad; `trust it` if all were made and are good;
        `with care` otherwise."""
        levels = {check.level for check in self.checks}
        if Level.bad in levels:
            return "do not trust it"
        # A check that could not be made is no good one: silence must not look like trust.
        if levels == {Level.good}:
            return "trust it"
        return "with care"

    def as_json(self) -> dict[str, Any]:
        """For `evaluation.json`."""
        return {
            "verdict": self.text,
            "would_change": self.would_change,
            "checks": {
                c.name: {"level": c.level.value, "reason": c.reason, **c.numbers}
                for c in self.checks
            },
        }
