"""Boxes: thresholds, intervals, walls and lists of these, each the best of its kind."""

import math

import numpy as np

from icrl.explain.places import Form, Places
from icrl.explain.search import WORTH, Condition, Rule, Search
from icrl.explain.shapes import (
    Boxes,
    Outside,
    thresholds_in,
)
from icrl.types import FloatArray

_SWEEPS = 8


def search_of(places: Places, numbers: list[int]) -> Search:
    """The search for boxes over some features of the places, with the places' gains."""
    values = places.values[:, numbers]
    names = tuple(places.names[number] for number in numbers)
    search = Search(names, np.zeros(len(numbers), np.bool_), values, places.gains > 0)
    # The search would take a column of zeros and ones for a flag and weigh places by their number:
    # these are numbers, with gains of their own.
    search.flags[:] = False
    search.gains = places.gains
    return search


def back(rule: Rule, numbers: list[int]) -> Rule:
    """Conditions that count the features of the search as conditions on those of the places."""
    return tuple(condition._replace(feature=numbers[condition.feature]) for condition in rule)


def boxes(places: Places, numbers: list[int]) -> list[Form]:
    """Thresholds, intervals, boxes, walls, and lists of these."""
    search = search_of(places, numbers)
    found = [
        _form("threshold", (search.best(search.threshold, search.gains),), numbers),
        _form("interval", (search.best(search.interval, search.gains),), numbers),
        _form("box", box(search, search.gains), numbers),
    ]
    # What is allowed may be a box where what is forbidden is none: all that lies outside walls.
    allowed = back(box(search, -search.gains), numbers)
    walls = sum(thresholds_in(condition) for condition in allowed)
    if walls:
        found.append(Form("walls", walls, Outside(allowed)))
    several = tuple(back(rule, numbers) for rule in search.rules())
    if len(several) > 1:
        count = sum(thresholds_in(condition) for rule in several for condition in rule)
        found.append(Form("list", count + len(several) - 1, Boxes(several)))
    return found


def _form(name: str, rule: Rule, numbers: list[int]) -> Form:
    conditions = back(rule, numbers)
    return Form(
        name, sum(thresholds_in(condition) for condition in conditions), Boxes((conditions,))
    )


def box(search: Search, gains: FloatArray) -> Rule:
    """A condition on each feature, as far as it is worth it:
    each is improved in turn, given the others."""
    features = range(search.values.shape[1])
    whole = [Condition(j, search.names[j], -math.inf, math.inf, False) for j in features]
    # One condition at a time is improved, which ends on the nearest summit. So it is begun from
    # every feature alone, and from the box that what is forbidden spans.
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
    # Conditions that bound nothing are tried first, and go at once.
    for condition in sorted(best, key=thresholds_in):
        rest = [part for part in kept if part is not condition]
        if rest and search.gain(tuple(rest), gains) >= search.gain(tuple(kept), gains) - WORTH / 2:
            kept = rest
    return tuple(kept)


def _spanned(condition: Condition, values: FloatArray) -> Condition:
    # Without the outermost: one stray place would stretch the box over everything.
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
            # Only if it is better: its bounds are rounded, and a rounder one may say less.
            better = search.condition(j, inside)
            if search.gain((better,), inside) > search.gain((rule[j],), inside):
                rule[j] = better
        if search.gain(tuple(rule), gains) <= before + 1e-9:
            break
    return rule
