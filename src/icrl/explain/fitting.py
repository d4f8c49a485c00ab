"""The best shape of each kind for a region of few axes.

Every place i has a gain g_i: positive where ζ forbids, negative where it allows (`rules.py`). The
best shape is the one whose places' gains sum to most. Walls around what is allowed are the best box
for the gains with their sign turned.
"""

import math

import numpy as np

from icrl.explain.boxes import back, box, boxes, search_of
from icrl.explain.discs import discs
from icrl.explain.places import MOST_DIGITS, ROUND, Form, Places
from icrl.explain.search import Search
from icrl.explain.shapes import (
    Among,
    Arc,
    Boxes,
    HalfPlane,
    Where,
    degrees,
    thresholds_in,
    turning,
)
from icrl.types import FloatArray

_COARSE = 90
_FINE = 41
"""Directions of a half-plane: all round, then around the best."""
_BINS = 36


def forms_of(places: Places) -> list[Form]:
    """The best shape of each kind that these axes can have."""
    numbers = places.numbers
    blocks = places.blocks
    found: list[Form] = []
    if blocks:
        found += _named(places, blocks, numbers)
    if numbers:
        found += boxes(places, numbers)
    arcs: list[Form] = []
    for place, first in enumerate(numbers):
        for second in numbers[place + 1 :]:
            found.append(_half_plane(places, first, second))
            found += discs(places, first, second)
            arcs += _arcs(places, first, second, numbers)
    if arcs:  # people say an angle, not its cosine
        found = [form._replace(numbers=form.numbers + 1) for form in found]
    return arcs + found


def _half_plane(places: Places, first: int, second: int) -> Form:
    """The best direction by trying all, then the roundest weight that is as good."""
    columns = places.values[:, [first, second]]
    scales = np.maximum(columns.std(axis=0), 1e-12)
    # In deviations, so that directions are even: metres beside radians would crowd them all at one
    # axis.
    spread = columns / scales
    # Half a turn: the other half is the same lines with their sides changed, and a split looks at
    # both.
    angles = np.linspace(0, np.pi, _COARSE, endpoint=False)
    for width in (np.pi / _COARSE, np.pi / _COARSE / _FINE):
        gains = [_best_split(_along(spread, angle), places.gains) for angle in angles]
        best = float(angles[int(np.argmax(gains))])
        angles = np.linspace(best - width, best + width, _FINE)
    # an axis of its own is a threshold, not a half-plane
    cosine = math.cos(best)
    if abs(cosine) < 1e-3:
        cosine = math.copysign(1e-3, cosine)
    exact = math.sin(best) / cosine * float(scales[0] / scales[1])
    goal = _best_split(columns[:, 0] + exact * columns[:, 1], places.gains) - ROUND
    weight = exact
    for digits in range(1, MOST_DIGITS):
        rounder = float(f"{exact:.{digits}g}")
        if _best_split(columns[:, 0] + rounder * columns[:, 1], places.gains) >= goal:
            weight = rounder
            break
    load = columns[:, 0] + weight * columns[:, 1]
    search = Search(("load",), np.zeros(1, np.bool_), load[:, None], places.gains > 0)
    condition = search.threshold(0, places.gains)
    above = condition.low > -math.inf
    limit = condition.high
    if above:
        limit = condition.low
    names = (places.names[first], places.names[second])
    return Form("half-plane", 2, HalfPlane((first, second), names, weight, limit, above))


def _along(spread: FloatArray, angle: float) -> FloatArray:
    return np.asarray(math.cos(angle) * spread[:, 0] + math.sin(angle) * spread[:, 1])


def _best_split(column: FloatArray, gains: FloatArray) -> float:
    """The largest sum of the gains on one side of any threshold."""
    sums = np.cumsum(gains[np.argsort(column)])
    return float(max(sums.max(), sums[-1] - sums.min()))


def _arcs(places: Places, first: int, second: int, numbers: list[int]) -> list[Form]:
    """Part of a turn, alone or with a limit on a third feature,
    where two features are cosine and sine."""
    stem = turning(places.names[first], places.names[second])
    if stem is None:
        return []
    pair = (first, second)
    angle = degrees(places.values, pair)
    # An interval cannot run through 360 degrees: so it is counted from where nothing is forbidden.
    cut = _cut(angle, places.gains)
    others = [number for number in numbers if number not in pair]
    columns = [(angle - cut) % 360.0] + [places.values[:, other] for other in others]
    turned = Places(
        names=("angle", *(places.names[other] for other in others)),
        axes=(),
        values=np.stack(columns, axis=1),
        gains=places.gains,
    )
    search = search_of(turned, list(range(len(columns))))
    rule = box(search, search.gains)
    zones = [condition for condition in rule if condition.feature == 0]
    limits = tuple(part for part in rule if part.feature > 0)
    if not zones:
        return []
    begin = (max(zones[0].low, 0.0) + cut) % 360.0
    end = (min(zones[0].high, 360.0) + cut) % 360.0
    arc = Arc(pair, stem, float(round(begin)), float(round(end)))
    if not limits:
        return [Form("arc", 2, arc)]
    count = 2 + sum(thresholds_in(condition) for condition in limits)
    limits = back(tuple(part._replace(feature=part.feature - 1) for part in limits), others)
    return [Form("limit on an arc", count, Where(Boxes((limits,)), arc))]


def _cut(angle: FloatArray, gains: FloatArray) -> float:
    """Where to begin to count degrees: the middle of the widest stretch with nothing forbidden."""
    bins = np.minimum((angle / 360.0 * _BINS).astype(np.int64), _BINS - 1)
    busy = np.bincount(bins, weights=gains > 0, minlength=_BINS) > 0
    if not busy.any():
        return 0.0
    taken = np.flatnonzero(busy)
    gaps = np.diff(np.concatenate([taken, [taken[0] + _BINS]]))
    widest = int(np.argmax(gaps))
    middle = taken[widest] + (gaps[widest] + 1) / 2
    return float(middle * 360.0 / _BINS % 360.0)


def _named(places: Places, blocks: list[tuple[int, ...]], numbers: list[int]) -> list[Form]:
    """Lists of names, alone or with a limit on a number."""
    among = [_among(places, block) for block in blocks]
    found = [Form("names", 1, part) for part in among if part is not None]
    for block in blocks:
        # Any at all: within a name that is forbidden above a limit only, most places are allowed.
        zone = _among(places, block, any_at_all=True)
        if zone is None:
            continue
        inside = places.within(zone.holds(places.values))
        for other in blocks:
            part = _among(inside, other)
            if other != block and part is not None:
                found.append(Form("names with names", 2, Where(part, zone)))
        if numbers:
            for form in boxes(inside, numbers):
                found.append(
                    Form(f"{form.name} for names", form.numbers + 1, Where(form.shape, zone))
                )
    return found


def _among(places: Places, block: tuple[int, ...], *, any_at_all: bool = False) -> Among | None:
    """The names of a block that are mostly forbidden (or at all); None: none is."""
    taken = np.argmax(places.values[:, list(block)], axis=1)
    gains = places.gains
    if any_at_all:
        gains = np.maximum(gains, 0.0)
    sums = np.bincount(taken, weights=gains, minlength=len(block))
    members = tuple(int(member) for member in np.flatnonzero(sums > 1e-9))
    # All of them is no rule about names.
    if not members or len(members) == len(block):
        return None
    names = tuple(places.names[column] for column in block)
    return Among(block, block_name(names), members, names)


def block_name(names: tuple[str, ...]) -> str:
    """What several names are of: what they begin with, or the action."""
    shared = names[0]
    for name in names[1:]:
        while not name.startswith(shared):
            shared = shared[:-1]
    return shared.rstrip("_[. -0123456789") or "action"
