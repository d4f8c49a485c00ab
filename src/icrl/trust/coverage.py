"""Coverage: where neither expert nor agent went, ζ is a guess.

Only features that matter to ζ count (shuffling them flips its judgements). They span a box: the
range of the data in each. Points drawn evenly from the box are *near data* if some recorded pair is
as close as recorded pairs usually are to one another (the 95 % quantile of the distance from one
half of the pairs to the other, in units of deviations).
"""

from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.explain.judged import Judged, influence, with_feature
from icrl.explain.reading import MATTERS
from icrl.trust.check import Check, Level
from icrl.types import BoolArray, FloatArray, Pairs

NAME = "coverage"
GOOD = 0.25
"""Share of what ζ forbids, in the box, that must lie near data."""
_MOST_FEATURES = 3
_PROBES = 2_000
_POINTS = 4_000
_CHUNK = 200
_NEAR = 0.95
_GAP = 0.1
"""A stretch without data is told of when it is at least this share of the feature's range."""


class FeatureRange(NamedTuple):
    """Where the data are along a feature that matters."""

    name: str
    low: float
    high: float
    gap: tuple[float, float] | None
    """The widest stretch inside where nobody was seen, if it is wide."""


class Coverage(NamedTuple):
    """How much of what ζ says rests on data;
    shares are None where there is nothing to take a share of."""

    ranges: tuple[FeatureRange, ...]
    box: float | None
    """Share of the box that lies near data."""
    forbidden: float | None
    """Of what ζ forbids in the box, the share near data."""
    allowed: float | None
    """Of what ζ allows in the box, the share near data."""


def measure_coverage(constraint: LearnedConstraint, judged: Judged) -> Coverage:
    """Draw probes from the box of the (at most three) numbers that matter most,
    and see which lie near data."""
    # Between two choices lies nothing that could be left uncovered.
    shares = np.where(judged.choices | judged.flags, 0.0, influence(constraint, judged))
    order = [int(i) for i in np.argsort(-shares, kind="stable") if shares[i] >= MATTERS][
        :_MOST_FEATURES
    ]
    if not order:
        return Coverage((), None, None, None)
    # The seed is fixed: the same run has the same verdict, however often it is asked.
    rng = np.random.default_rng(0)
    points = judged.values[:, order]
    low = points.min(axis=0)
    high = points.max(axis=0)
    probes = rng.uniform(low, high, (_PROBES, len(order)))
    # In deviations: a distance over metres and radians would be one over metres.
    scale = np.maximum(points.std(axis=0), 1e-12)
    near = near_data(probes / scale, points[rng.permutation(len(points))[:_POINTS]] / scale)
    # Only the features that matter are moved. The rest of a probe is that of a recorded pair: drawn
    # evenly, it would be a state that cannot be.
    chosen = rng.integers(0, len(points), _PROBES)
    pairs = Pairs(
        observations=judged.pairs.observations[chosen], actions=judged.pairs.actions[chosen]
    )
    for place, feature in enumerate(order):
        pairs = with_feature(constraint.features, pairs, feature, probes[:, place])
    forbidden = ~constraint.is_feasible(pairs.observations, pairs.actions)
    ranges = tuple(
        FeatureRange(judged.names[feature], float(low[i]), float(high[i]), _gap(points[:, i]))
        for i, feature in enumerate(order)
    )
    return Coverage(ranges, float(near.mean()), _share(near[forbidden]), _share(near[~forbidden]))


def near_data(probes: FloatArray, points: FloatArray) -> BoolArray:
    """[p]: min_j |probe − point_j| <= r, r the 95 % quantile of that distance between
    two halves of the points.

    Shapes: [p, d], [m, d] -> [p].
    """
    half = len(points) // 2
    radius = 0.0
    if half:
        # Half against half: a point is at distance 0 from itself.
        radius = float(np.quantile(_nearest(points[:half], points[half:]), _NEAR))
    return np.asarray(_nearest(probes, points) <= radius)


def check_coverage(coverage: Coverage) -> Check:
    """Does what ζ forbids rest on data?"""
    numbers = {
        "box_near_data": coverage.box,
        "forbidden_near_data": coverage.forbidden,
        "allowed_near_data": coverage.allowed,
        "ranges": [part._asdict() for part in coverage.ranges],
    }
    if not coverage.ranges:
        return Check(
            NAME,
            Level.good,
            "no number matters to ζ beyond choices of an action and states that are or are not: "
            "nothing to cover",
            numbers,
        )
    names = ", ".join(
        f"{part.name} from {part.low:.3g} to {part.high:.3g}" for part in coverage.ranges
    )
    # Not bad: a ζ that forbids nothing where anybody was may be right, but nobody can say.
    if coverage.forbidden is None:
        return Check(
            NAME,
            Level.care,
            f"within the data ({names}) ζ forbids nothing; beyond it is a guess",
            numbers,
        )
    gaps = [
        f"{part.gap[0]:.3g} < {part.name} < {part.gap[1]:.3g}"
        for part in coverage.ranges
        if part.gap
    ]
    nobody = ""
    if gaps:
        nobody = f"; nobody was seen at {', '.join(gaps)}"
    reason = (
        f"of what ζ forbids within {names}, {coverage.forbidden:.0%} lies near data "
        f"(of what it allows {_percent(coverage.allowed)}){nobody}; elsewhere ζ is a guess"
    )
    return Check(NAME, Level.good if coverage.forbidden >= GOOD else Level.care, reason, numbers)


def _nearest(probes: FloatArray, points: FloatArray) -> FloatArray:
    """Distance to the nearest point. [p, d], [m, d] -> [p]."""
    found = np.empty(len(probes))
    for begin in range(0, len(probes), _CHUNK):
        # In pieces: all differences at once (2,000 x 4,000 x 3) would take 190 MB.
        gaps = probes[begin : begin + _CHUNK, None, :] - points  # [chunk, m, d]
        found[begin : begin + _CHUNK] = np.sqrt(np.min(np.sum(gaps**2, axis=-1), axis=1))
    return found


def _gap(column: FloatArray) -> tuple[float, float] | None:
    values = np.unique(column)
    if len(values) < 2:
        return None
    widest = int(np.argmax(np.diff(values)))
    low = float(values[widest])
    high = float(values[widest + 1])
    if high - low >= _GAP * (values[-1] - values[0]):
        return (low, high)
    return None


def _share(chosen: BoolArray) -> float | None:
    if chosen.size:
        return float(np.mean(chosen))
    return None


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    return f"{share:.0%}"
