"""All that is said of a constraint: its rules, the interval left open, what matters to ζ, and the slices to draw."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.errors import InputError
from icrl.explain.judged import Judged, influence, judge_pairs
from icrl.explain.open_interval import OpenInterval, open_interval, turning_zone
from icrl.explain.rules import BAR, Explanation, choose, explain_rules
from icrl.explain.search import Condition
from icrl.explain.slices import Plane, Slice, find_feature, plane_over, slice_along
from icrl.types import FloatArray, Trajectories
from icrl.visited import Visited

_MOST_SLICES = 3
MATTERS = 0.01
"""A feature matters if shuffling it flips at least this share of ζ's judgements."""


class Reading(NamedTuple):
    """A constraint, read."""

    judged: Judged
    rule: Explanation | None
    """The shortest rule that fits, or the best that does not; None: ζ forbids none, or all, of the pairs."""
    longer: Explanation | None
    """A longer rule that agrees better by 0.01 or more."""
    interval: OpenInterval | None
    """For a threshold on one feature: where else it could lie."""
    turning: tuple[float, float] | None
    """For a threshold on one feature: where ζ itself crosses its threshold."""
    influence: FloatArray
    """[d]: how much each feature matters to ζ"""
    slices: tuple[Slice, ...]
    plane: Plane | None
    recorded: bool
    """The run kept a record of where its agents went."""


def read_constraint(
    constraint: LearnedConstraint, demos: Trajectories, visited: Visited | None, features: Sequence[str] = ()
) -> Reading:
    """Distil ζ into rules, and cut slices along `features` (none given: those of the rule, then those that matter)."""
    check_fits(constraint, demos, "the demonstrations")
    judged = judge_pairs(constraint, demos, visited)
    explanations = explain_rules(judged)
    rule = choose(explanations) if explanations else None
    longer = explanations[-1] if explanations and explanations[-1] is not rule else None
    shares = influence(constraint, judged)
    condition = threshold_of(rule)
    chosen = [find_feature(judged, name) for name in features] or _slices_worth_seeing(rule, shares)
    numbers = [index for index in chosen if not judged.choices[index]]
    return Reading(
        judged=judged,
        rule=rule,
        longer=longer,
        interval=None if condition is None else open_interval(judged, condition),
        turning=None if condition is None else turning_zone(constraint, judged, condition),
        influence=shares,
        slices=tuple(slice_along(constraint, judged, index) for index in chosen),
        plane=plane_over(constraint, judged, numbers[0], numbers[1]) if len(numbers) > 1 else None,
        recorded=visited is not None,
    )


def threshold_of(rule: Explanation | None) -> Condition | None:
    """The condition of a rule that is one threshold on one number."""
    if rule is None or len(rule.rules) != 1 or len(rule.rules[0]) != 1 or not rule.rules[0][0].one_sided:
        return None
    return rule.rules[0][0]


def check_fits(constraint: LearnedConstraint, trajectories: Trajectories, what: str) -> None:
    """Raise `InputError` unless the constraint can judge these pairs."""
    features = constraint.features
    width = trajectories.observations.shape[2]
    actions = "discrete" if trajectories.actions.ndim == 2 else f"{trajectories.actions.shape[2]} numbers"
    wanted = "discrete" if features.discrete else f"{features.num_actions} numbers"
    if width != features.num_observations or actions != wanted:
        raise InputError(
            f"the constraint judges observations of {features.num_observations} numbers and actions that are {wanted}; "
            f"{what} have {width} and {actions}. Give those of the task that it was learned on, with --demos."
        )


def verdict_on(rule: Explanation | None) -> str:
    """Whether a short rule says what ζ says, in one line."""
    if rule is None:
        return "no rule: ζ judges all recorded pairs alike"
    agreement = f"balanced agreement {rule.fidelity.balanced_agreement:.3f}"
    if rule.fits:
        return f"a short rule fits ({agreement}, the bar is {BAR})"
    return f"no short rule fits; the best has {agreement}, below the bar of {BAR}"


def _slices_worth_seeing(rule: Explanation | None, shares: FloatArray) -> list[int]:
    """The features of the rule, then those that matter most."""
    named = [] if rule is None else [condition.feature for conditions in rule.rules for condition in conditions]
    by_influence = [int(index) for index in np.argsort(-shares, kind="stable")]
    least = max(2, len(set(named)))
    ordered = list(dict.fromkeys(named + by_influence))
    return [index for place, index in enumerate(ordered) if place < least or shares[index] >= MATTERS][:_MOST_SLICES]
