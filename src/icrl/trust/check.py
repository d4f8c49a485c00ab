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


class Verdict(NamedTuple):
    """All checks, and what follows from them."""

    checks: tuple[Check, ...]

    @property
    def text(self) -> str:
        """`do not trust it` if any check is bad; `trust it` if all were made and are good; `with care` otherwise."""
        levels = {check.level for check in self.checks}
        if Level.bad in levels:
            return "do not trust it"
        return "trust it" if levels == {Level.good} else "with care"

    def as_json(self) -> dict[str, Any]:
        """For `evaluation.json`."""
        return {
            "verdict": self.text,
            "checks": {c.name: {"level": c.level.value, "reason": c.reason, **c.numbers} for c in self.checks},
        }
