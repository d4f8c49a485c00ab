"""The best shape of each kind for a region of few axes.

Every place i has a gain g_i: positive where ζ forbids, negative where it allows (`rules.py`). The
best shape is the one whose places' gains sum to most. Walls around what is allowed are the best box
for the gains with their sign turned.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icrl.constraint.region import RegionAxis
from icrl.explain.search import WORTH, Condition, Rule, Search
from icrl.explain.shapes import (
    Among,
    Arc,
    Boxes,
    Disc,
    HalfPlane,
    Outside,
    Shape,
    Where,
    degrees,
    thresholds_in,
    turning,
)
from icrl.types import BoolArray, FloatArray

_ROUND = 0.003
"""Agreement that rounder numbers may cost."""
_SWEEPS = 8
_COARSE = 90
_FINE = 41
"""Directions of a half-plane: all round, then around the best."""
_BINS = 36
_MOST_DIGITS = 5
_SMALLEST = 1 / 128
"""The last step of the search for a centre, as a share of the extent of what is forbidden."""


class Places(NamedTuple):
    """n places over d features."""

    names: tuple[str, ...]
    axes: tuple[RegionAxis, ...]
    values: FloatArray
    """[n, d]"""
    gains: FloatArray
    """[n]"""

    @property
    def numbers(self) -> list[int]:
        """Features that are numbers."""
        return [axis.columns[0] for axis in self.axes if not axis.categorical]

    @property
    def blocks(self) -> list[tuple[int, ...]]:
        """Features that are the names of one thing."""
        return [axis.columns for axis in self.axes if axis.categorical]

    def gain(self, shape: Shape) -> float:
        """Agreement above ½."""
        return float(np.sum(self.gains[shape.holds(self.values)]))

    def within(self, zone: BoolArray) -> "Places":
        """The same, where nothing outside the zone counts."""
        return self._replace(gains=np.where(zone, self.gains, 0.0))


class Form(NamedTuple):
    """A shape and how much it takes to say it."""

    name: str
    numbers: int
    """Thresholds, weights, coordinates and radii."""
    shape: Shape


def gains_of(parts: Sequence[BoolArray]) -> FloatArray:
    """Gains of several sets of places, each of which counts alike;
    each is told what is forbidden in it [n].

    Within a set, what is forbidden and what is allowed count the same,
    however many places there are of either.
    """
    found = []
    for forbidden in parts:
        gain = np.zeros(len(forbidden))
        for kind, sign in ((forbidden, 1.0), (~forbidden, -1.0)):
            if kind.any():
                gain[kind] = sign * 0.5 / kind.sum() / len(parts)
        found.append(gain)
    return np.concatenate(found)


def forms_of(places: Places) -> list[Form]:
    """The best shape of each kind that these axes can have."""
    numbers = places.numbers
    blocks = places.blocks
    found: list[Form] = []
    if blocks:
        found += _named(places, blocks, numbers)
    if numbers:
        found += _boxes(places, numbers)
    arcs: list[Form] = []
    for place, first in enumerate(numbers):
        for second in numbers[place + 1 :]:
            found.append(_half_plane(places, first, second))
            found += _discs(places, first, second)
            arcs += _arcs(places, first, second, numbers)
    if arcs:  # people say an angle, not its cosine
        found = [form._replace(numbers=form.numbers + 1) for form in found]
    return arcs + found


def _search(places: Places, numbers: list[int]) -> Search:
    values = places.values[:, numbers]
    names = tuple(places.names[number] for number in numbers)
    search = Search(names, np.zeros(len(numbers), np.bool_), values, places.gains > 0)
    search.flags[:] = False
    search.gains = places.gains
    return search


def _back(rule: Rule, numbers: list[int]) -> Rule:
    """Conditions that count the features of the search as conditions on those of the places."""
    return tuple(condition._replace(feature=numbers[condition.feature]) for condition in rule)


def _boxes(places: Places, numbers: list[int]) -> list[Form]:
    """Thresholds, intervals, boxes, walls, and lists of these."""
    search = _search(places, numbers)
    found = [
        _form("threshold", (search.best(search.threshold, search.gains),), numbers),
        _form("interval", (search.best(search.interval, search.gains),), numbers),
        _form("box", box(search, search.gains), numbers),
    ]
    allowed = _back(box(search, -search.gains), numbers)
    walls = sum(thresholds_in(condition) for condition in allowed)
    if walls:
        found.append(Form("walls", walls, Outside(allowed)))
    several = tuple(_back(rule, numbers) for rule in search.rules())
    if len(several) > 1:
        count = sum(thresholds_in(condition) for rule in several for condition in rule)
        found.append(Form("list", count + len(several) - 1, Boxes(several)))
    return found


def _form(name: str, rule: Rule, numbers: list[int]) -> Form:
    conditions = _back(rule, numbers)
    return Form(
        name, sum(thresholds_in(condition) for condition in conditions), Boxes((conditions,))
    )


def box(search: Search, gains: FloatArray) -> Rule:
    """A condition on each feature, as far as it is worth it:
    each is improved in turn, given the others."""
    features = range(search.values.shape[1])
    whole = [Condition(j, search.names[j], -math.inf, math.inf, False) for j in features]
    starts = []
    for j in features:
        start = list(whole)
        start[j] = search.condition(j, gains)
        starts.append(start)
    inside = search.values[gains > 0]
    starts.append([_spanned(part, inside[:, part.feature]) for part in whole])
    found = [_improved(search, start, gains) for start in starts]
    best = max(found, key=lambda rule: search.gain(tuple(rule), gains))
    kept = list(best)
    for condition in sorted(best, key=thresholds_in):
        rest = [part for part in kept if part is not condition]
        if rest and search.gain(tuple(rest), gains) >= search.gain(tuple(kept), gains) - WORTH / 2:
            kept = rest
    return tuple(kept)


def _spanned(condition: Condition, values: FloatArray) -> Condition:
    low, high = np.quantile(values, [0.02, 0.98])
    return condition._replace(low=float(low), high=float(high))


def _improved(search: Search, rule: list[Condition], gains: FloatArray) -> list[Condition]:
    for _ in range(_SWEEPS):
        before = search.gain(tuple(rule), gains)
        for j in range(len(rule)):
            others = [part.holds(search.values) for part in rule if part.feature != j]
            if others:
                mask = np.logical_and.reduce(others)
            else:
                mask = np.ones(len(gains), np.bool_)
            inside = np.where(mask, gains, 0.0)
            better = search.condition(j, inside)
            if search.gain((better,), inside) > search.gain((rule[j],), inside):
                rule[j] = better
        if search.gain(tuple(rule), gains) <= before + 1e-9:
            break
    return rule


def _half_plane(places: Places, first: int, second: int) -> Form:
    """The best direction by trying all, then the roundest weight that is as good."""
    columns = places.values[:, [first, second]]
    scales = np.maximum(columns.std(axis=0), 1e-12)
    spread = columns / scales
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
    goal = _best_split(columns[:, 0] + exact * columns[:, 1], places.gains) - _ROUND
    weight = exact
    for digits in range(1, _MOST_DIGITS):
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


def _discs(places: Places, first: int, second: int) -> list[Form]:
    """A disc where both features have the same unit; an ellipse;
    either from within or from without."""
    found = []
    for inside in (True, False):
        gains = places.gains
        if not inside:
            gains = -places.gains
        if not (gains > 0).any():
            continue
        if _unit(places.names[first]) == _unit(places.names[second]):
            found.append(
                Form("disc", 3, _round_disc(places, gains, (first, second), inside, even=True))
            )
        found.append(
            Form("ellipse", 4, _round_disc(places, gains, (first, second), inside, even=False))
        )
    return found


def _unit(name: str) -> str:
    """What follows the first word of a name:
    east_m and north_m have the same unit, and x and y have none."""
    return name.partition("_")[2]


def _round_disc(
    places: Places, gains: FloatArray, features: tuple[int, int], inside: bool, *, even: bool
) -> Disc:
    """A centre by pattern search; the best radius follows from it.

    Then rounder numbers that are as good.
    """
    columns = places.values[:, list(features)]
    chosen = columns[gains > 0]
    extent = np.maximum(np.ptp(chosen, axis=0), 1e-12)
    ratio = 1.0
    if not even:
        ratio = float(extent[1] / extent[0])
    guess = np.array([*chosen.mean(axis=0), math.log(ratio)])
    steps = np.array([extent[0] / 4, extent[1] / 4, 0.0 if even else 0.4])
    best, radius = _radius(columns, gains, guess)
    size = 1.0
    while size > _SMALLEST:
        moved = False
        for j in np.flatnonzero(steps):
            for sign in (1.0, -1.0):
                trial = guess.copy()
                trial[j] += sign * size * steps[j]
                score, reach = _radius(columns, gains, trial)
                if score > best + 1e-6:
                    best = score
                    radius = reach
                    guess = trial
                    moved = True
        if not moved:
            size /= 2
    radii = (radius, radius * math.exp(guess[2]))
    names = (places.names[features[0]], places.names[features[1]])
    exact = Disc(features, names, (float(guess[0]), float(guess[1])), radii, inside)
    return _rounded(places, exact)


def _radius(columns: FloatArray, gains: FloatArray, guess: FloatArray) -> tuple[float, float]:
    """The best sum within a distance of a centre, and that distance along the first feature."""
    away = np.hypot(columns[:, 0] - guess[0], (columns[:, 1] - guess[1]) / math.exp(guess[2]))
    order = np.argsort(away)
    sums = np.cumsum(gains[order])
    best = int(np.argmax(sums))
    outer = away[order[min(best + 1, len(order) - 1)]]
    return float(sums[best]), float((away[order[best]] + outer) / 2)


def _rounded(places: Places, exact: Disc) -> Disc:
    """The numbers with the fewest decimals that say the same."""
    goal = places.gain(exact) - _ROUND
    for finer in range(_MOST_DIGITS):
        size = [
            10.0 ** (math.floor(math.log10(max(radius, 1e-300))) - finer) for radius in exact.radii
        ]
        centre = (_nearest(exact.centre[0], size[0]), _nearest(exact.centre[1], size[1]))
        radii = (_nearest(exact.radii[0], size[0]), _nearest(exact.radii[1], size[1]))
        rounder = exact._replace(centre=centre, radii=radii)
        if min(radii) > 0 and places.gain(rounder) >= goal:
            return rounder
    return exact


def _nearest(value: float, step: float) -> float:
    decimals = max(0, -math.floor(math.log10(step)))
    return float(round(round(value / step) * step, decimals))


def _arcs(places: Places, first: int, second: int, numbers: list[int]) -> list[Form]:
    """Part of a turn, alone or with a limit on a third feature,
    where two features are cosine and sine."""
    stem = turning(places.names[first], places.names[second])
    if stem is None:
        return []
    pair = (first, second)
    angle = degrees(places.values, pair)
    cut = _cut(angle, places.gains)
    others = [number for number in numbers if number not in pair]
    columns = [(angle - cut) % 360.0] + [places.values[:, other] for other in others]
    turned = Places(
        names=("angle", *(places.names[other] for other in others)),
        axes=(),
        values=np.stack(columns, axis=1),
        gains=places.gains,
    )
    search = _search(turned, list(range(len(columns))))
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
    limits = _back(tuple(part._replace(feature=part.feature - 1) for part in limits), others)
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
        zone = _among(places, block, any_at_all=True)
        if zone is None:
            continue
        inside = places.within(zone.holds(places.values))
        for other in blocks:
            part = _among(inside, other)
            if other != block and part is not None:
                found.append(Form("names with names", 2, Where(part, zone)))
        if numbers:
            for form in _boxes(inside, numbers):
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
