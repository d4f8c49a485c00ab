"""All that is said of a constraint: its rules, the interval left open, what matters to ζ,
and the slices to draw."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.errors import InputError
from icrl.explain.judged import Judged, influence, judge_pairs
from icrl.explain.left_open import OpenWall, Rival, open_wall, rivals_of
from icrl.explain.maps import RegionMap, maps_of
from icrl.explain.open_interval import OpenInterval, open_interval, turning_zone
from icrl.explain.rules import BAR, EVEN_BAR, Explanation, choose, explain_region, explain_rules
from icrl.explain.search import Condition
from icrl.explain.shapes import features_of
from icrl.explain.slices import Plane, Slice, find_feature, plane_over, slice_along
from icrl.types import THRESHOLD, FloatArray, Trajectories
from icrl.visited import Visited

_MOST_SLICES = 3
_ZOOM = 0.25
"""A close-up is drawn where it shows less than this share of the range of the data."""
NEAR = 0.9
"""Balanced agreement with ζ from which a rule that misses the bar still says most of it."""
MATTERS = 0.01
"""A feature matters if shuffling it flips at least this share of ζ's judgements."""


class Reading(NamedTuple):
    """A constraint, read."""

    judged: Judged
    rule: Explanation | None
    """The shortest rule that fits, or the best that does not;
    None: ζ forbids none, or all, of the pairs."""
    longer: Explanation | None
    """A longer rule that agrees better by 0.01 or more."""
    interval: OpenInterval | None
    """For a threshold on one feature that fits: where else it could lie."""
    turning: tuple[float, float] | None
    """For a threshold on one feature that fits: where ζ itself crosses its threshold."""
    influence: FloatArray
    """[d]: how much each feature matters to ζ"""
    slices: tuple[Slice, ...]
    zoom: Slice | None
    """The rule's threshold seen close up, where the data reach much further than that."""
    plane: Plane | None
    recorded: bool
    """The run kept a record of where its agents went."""
    maps: tuple[RegionMap, ...] = ()
    """Of a region of two or three axes."""
    wall: OpenWall | None = None
    """Of a region: its wall at both ends of caution."""
    rivals: tuple[Rival, ...] = ()
    """Of a rule that was found: the best sets of axes, the chosen one first."""
    threshold: float = THRESHOLD
    """The constraint's own: a pair is feasible when ζ is at least this."""


def read_constraint(
    constraint: LearnedConstraint,
    demos: Trajectories,
    visited: Visited | None,
    features: Sequence[str] = (),
) -> Reading:
    """Distil ζ into rules, and cut slices along `features`
    (none given: those of the rule, then those that matter)."""
    check_fits(constraint, demos, "the demonstrations")
    judged = judge_pairs(constraint, demos, visited)
    rule = None
    if constraint.region is None:
        explanations = explain_rules(judged)
        if explanations:
            rule = choose(explanations)
    else:
        explanations = explain_region(constraint, judged)
        if explanations:
            rule = explanations[0]
    longer = None
    if explanations and explanations[-1] is not rule:
        longer = explanations[-1]
    # Of ζ and not of the rule: what the rule leaves out is what a reader should be told.
    shares = influence(constraint, judged)
    condition = None
    # Only of a rule that fits: the interval of one that does not would be taken for ζ's.
    if rule is not None and rule.fits:
        condition = threshold_of(rule)
    interval = None
    turning = None
    if condition is not None:
        interval = open_interval(judged, condition)
        turning = turning_zone(constraint, judged, condition)
    ordered = [find_feature(judged, name) for name in features] or _worth_seeing(
        rule, judged, shares
    )
    if rule is None:
        named = set()
    else:
        named = set(features_of(rule.shape))
    shown = [
        index for index in ordered if features or index in named or shares[index] >= MATTERS
    ] or ordered[:1]
    limits = None
    if condition is not None and interval is not None and condition.feature == ordered[0]:
        limits = close_up(judged, condition, interval, turning)
    numbers = [index for index in ordered if not judged.choices[index]][:2]
    maps = maps_of(constraint, judged)
    if maps and not features:  # the region is seen whole: slices and a plane would say less
        shown = []
        numbers = []
        limits = None
    wall = None
    if rule is not None:
        wall = open_wall(constraint, judged, rule)
    zoom = None
    if limits is not None:
        zoom = slice_along(constraint, judged, ordered[0], limits)
    plane = None
    if len(numbers) > 1:
        plane = plane_over(constraint, judged, numbers[0], numbers[1], limits)
    return Reading(
        judged=judged,
        rule=rule,
        longer=longer,
        interval=interval,
        turning=turning,
        influence=shares,
        slices=tuple(slice_along(constraint, judged, index) for index in shown[:_MOST_SLICES]),
        zoom=zoom,
        plane=plane,
        recorded=visited is not None,
        maps=maps,
        wall=wall,
        rivals=rivals_of(constraint),
        threshold=constraint.threshold,
    )


def threshold_of(rule: Explanation | None) -> Condition | None:
    """The condition of a rule that is one threshold on one number."""
    if (
        rule is None
        or len(rule.rules) != 1
        or len(rule.rules[0]) != 1
        or not rule.rules[0][0].one_sided
    ):
        return None
    return rule.rules[0][0]


def check_fits(constraint: LearnedConstraint, trajectories: Trajectories, what: str) -> None:
    """Raise `InputError` unless the constraint can judge these pairs."""
    features = constraint.features
    width = trajectories.observations.shape[2]
    if trajectories.actions.ndim == 2:
        actions = "discrete"
    else:
        actions = f"{trajectories.actions.shape[2]} numbers"
    if features.discrete:
        wanted = "discrete"
    else:
        wanted = f"{features.num_actions} numbers"
    if width != features.num_observations or actions != wanted:
        raise InputError(
            f"the constraint judges observations of {features.num_observations} numbers and "
            f"actions that are {wanted}; {what} have {width} and {actions}. Give those of the task "
            "that it was learned on, with --demos."
        )


def verdict_on(rule: Explanation | None) -> str:
    """Whether a short rule says what ζ says, in one line."""
    if rule is None:
        return "no rule: ζ judges all recorded pairs alike"
    agreement = f"balanced agreement {rule.fidelity.balanced_agreement:.3f}"
    bar = f"the bar is {BAR}"
    if rule.fidelity.even_agreement is not None:
        agreement += f", on an even sample of the region's box {rule.fidelity.even_agreement:.3f}"
        bar = f"the bars are {BAR} and {EVEN_BAR}"
    if rule.fits:
        return f"a short rule fits ({agreement}; {bar})"
    fidelity = rule.fidelity
    on_the_box = fidelity.even_agreement is None or fidelity.even_agreement >= EVEN_BAR
    if fidelity.balanced_agreement >= NEAR and on_the_box:
        return f"these words come near ζ, but are not all of it ({agreement}; {bar})"
    return f"no short rule fits; the best has {agreement} ({bar})"


def close_up(
    judged: Judged,
    condition: Condition,
    interval: OpenInterval,
    turning: tuple[float, float] | None,
) -> tuple[float, float] | None:
    """Limits around the rule's threshold that show where ζ turns and demonstrations begin;
    None: the whole does."""
    if condition.low == -math.inf:
        threshold = condition.high
    else:
        threshold = condition.low
    points = [threshold, interval.proven, *(turning or ())]
    data = judged.values[:, condition.feature]
    # All three may coincide, and a picture needs some width.
    margin = max(max(points) - min(points), 0.005 * float(np.ptp(data)))
    low = min(points) - margin
    high = max(points) + margin
    if high - low < _ZOOM * float(np.ptp(data)):
        return (low, high)
    return None


def _worth_seeing(rule: Explanation | None, judged: Judged, shares: FloatArray) -> list[int]:
    """The features of the rule, then all others by how much they matter;
    of the choices of an action only the first."""
    named = []
    if rule is not None:
        named = features_of(rule.shape)
    ordered = dict.fromkeys(named + [int(index) for index in np.argsort(-shares, kind="stable")])
    choices = [index for index in ordered if judged.choices[index]]
    return [index for index in ordered if index not in choices[1:]]
