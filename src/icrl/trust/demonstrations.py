"""What demonstrations say of a rule that was found:
their own, those left out, and whether there are enough.

The wall stands as near to demonstrations as they bear, so one that was left out often lies just
beyond it: experts have set-points of their own. That is a hair's breadth, and caution moves it. A
demonstration that lies deep in what ζ would then forbid, towards the evidence, is another matter:
it refutes the rule.
"""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from icrl.constraint.learned import LearnedConstraint
from icrl.rounds import Phase
from icrl.trust.check import Check, Level
from icrl.trust.record import Record
from icrl.trust.space import Space
from icrl.types import FloatArray

NAME = "held-out demonstrations"
ENOUGH = "enough demonstrations"
FEW = 5
"""Fewer demonstrations cannot hold each other to account."""
OWN = 0.1
"""Share of the demonstrations that ζ may touch before it contradicts them."""
DEEP = 0.5
"""Of the way from demonstrations to the evidence: what is left out and lies deeper refutes ζ."""
SOME_DEEP = 0.1
MANY_DEEP = 0.3
"""Shares of demonstrations that lie so deep, above which there is care, and refutation."""
STRAYS = 0.1
"""Of the data's range: where the median demonstration strays further from all
others, there are too few."""


def check_demonstrations(constraint: LearnedConstraint, record: Record, space: Space) -> Check:
    """Does ζ forbid what experts do, those it was shown and those it was not?"""
    demos = record.demos
    infeasible = ~constraint.is_feasible(demos.observations, demos.actions) & demos.mask
    # By demonstrations, not by steps: steps of one resemble each other.
    own = float(np.mean(infeasible.any(axis=1)))
    steps = float(infeasible.sum() / demos.num_steps)
    number = demos.num_trajectories
    numbers: dict[str, Any] = {
        "demo_steps_infeasible": steps,
        "demos_touched": own,
        "episodes": number,
    }
    if own > OWN:
        reason = (
            f"ζ forbids a part of {own:.0%} of its own demonstrations ({steps:.1%} of their steps)"
        )
        return Check(NAME, Level.bad, reason, numbers)
    if number < 2:
        return Check(
            NAME, Level.unknown, "with one demonstrated episode it cannot be known", numbers
        )
    # By distances in the record, not by finding the rule again without each demonstration: that
    # would take a run for every one of them.
    touched, deep = _left_out(space, _evidence_distance(record, space))
    numbers |= {"left_out_touched": touched, "left_out_deep": deep}
    reason = (
        f"each of {number} demonstrations left out in turn: {touched:.0%} would cross the wall "
        f"that the others give (by a hair, as a rule), {deep:.0%} lie deep beyond it (more than "
        "half-way to the evidence)"
    )
    if own > 0:
        reason = f"ζ forbids a part of {own:.0%} of its own demonstrations; {reason}"
    level = Level.good
    if own > 0 or deep > SOME_DEEP:
        level = Level.care
    # Of four demonstrations one is a quarter: a share of so few refutes nothing.
    if deep > MANY_DEEP and number >= FEW:
        level = Level.bad
    return Check(NAME, level, reason, numbers)


def _evidence_distance(record: Record, space: Space) -> float:
    """How far from demonstrations out-earning scouts go:
    the median, by weight, of their farthest steps."""
    scouts = record.of(Phase.scout)
    steps = record.steps_of(scouts)
    if not steps.any():
        return 0.0
    visited = record.visited
    away = space.from_shown(space.places(visited.observations[steps], visited.actions[steps]))
    farthest = np.zeros(len(record.phases))
    np.maximum.at(farthest, visited.episodes[steps], away)
    # The median, by what needs explaining, as the wall itself has it (`search/wall.py`).
    order = np.argsort(farthest[scouts])
    reached = np.cumsum(record.weights[scouts][order])
    middle = int(np.searchsorted(reached, reached[-1] / 2))
    return float(farthest[scouts][order][middle])


def _left_out(space: Space, evidence: float) -> tuple[float, float]:
    """Shares of demonstrations that would lie beyond the wall,
    were they left out; and deep beyond it.

    Without one demonstration what is forbidden grows to as near as the others are: it takes in a
    step that is further from the others than from what is forbidden now.
    """
    forbidden = space.forbidden()
    if not len(forbidden):
        return 0.0, 0.0
    apart = space.held_out()
    # No refit: where the wall would go without a demonstration follows from the distances alone.
    taken_in = apart > cKDTree(forbidden).query(space.shown, workers=1)[0]
    deepest = _per_demonstration(space, np.where(taken_in, apart, 0.0))
    return float(np.mean(deepest > 0)), float(np.mean(deepest > max(DEEP * evidence, 1e-9)))


def _per_demonstration(space: Space, values: FloatArray) -> FloatArray:
    """The largest value of each demonstration."""
    names, index = np.unique(space.owners, return_inverse=True)
    most = np.zeros(len(names))
    np.maximum.at(most, index, values)
    return most


def check_enough(space: Space) -> Check:
    """Were there enough demonstrations, and how does that change with their number?"""
    names = np.unique(space.owners)
    rng = np.random.default_rng(0)
    strays: dict[int, float] = {}
    # With a quarter, a half and all: whether more would help is read off how fast it falls.
    for number in sorted({max(2, len(names) // 4), max(2, len(names) // 2), len(names)}):
        if number > len(names):
            continue
        chosen = rng.permutation(names)[:number]
        apart = _per_demonstration(space, space.held_out(chosen))
        strays[number] = float(np.median(apart[np.isin(names, chosen)]))
    numbers = {
        "demonstrations": len(names),
        "strays": {str(number): stray for number, stray in strays.items()},
    }
    if len(names) < FEW:
        reason = (
            f"{len(names)} demonstrations cannot hold each other to account: at least {FEW}, "
            "better 20"
        )
        return Check(ENOUGH, Level.care, reason, numbers)
    course = ", ".join(f"{stray:.1%} with {number}" for number, stray in strays.items())
    reason = (
        "in ζ's features a demonstration strays from all others by (median, of the data's range) "
        f"{course}"
    )
    if strays[len(names)] > STRAYS:
        return Check(ENOUGH, Level.care, f"{reason}: more are needed", numbers)
    return Check(ENOUGH, Level.good, reason, numbers)
