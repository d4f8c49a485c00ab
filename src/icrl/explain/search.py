"""Exact search for the best threshold and the best interval of a feature;
boxes and lists are grown from these.

Every pair i has a gain g_i (see `rules.py`);
the best condition is the one whose pairs' gains sum to most.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from icrl.explain.judged import flag_columns
from icrl.types import BoolArray, FloatArray, IntArray

WORTH = 0.01
"""A longer form must add this much balanced agreement to be preferred."""
_PLATEAU = 0.001
"""Bounds whose agreement is this close to the best are as good:
of their middle half the roundest is taken."""
_MOST_RULES = 3
_MOST_STARTS = 6
_SWEEPS = 4


class Condition(NamedTuple):
    """low < feature <= high; for a choice of a discrete action:
    it is taken (0.5 < value) or not."""

    feature: int
    """Index into the names."""
    name: str
    low: float
    high: float
    choice: bool
    flag: bool = False
    """The feature is 0 or 1."""

    @property
    def one_sided(self) -> bool:
        """A threshold on a number."""
        return (
            not self.choice and not self.flag and (self.low == -math.inf or self.high == math.inf)
        )

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]."""
        column = values[:, self.feature]
        return np.asarray((column > self.low) & (column <= self.high))

    def __str__(self) -> str:
        """As a person writes it."""
        if self.choice:
            if self.low > -math.inf:
                return f"action = {self.name}"
            return f"action is not {self.name}"
        if self.flag:
            return f"{self.name} = {int(self.low > -math.inf)}"
        if self.low == -math.inf:
            return f"{self.name} <= {self.high:g}"
        if self.high == math.inf:
            return f"{self.name} > {self.low:g}"
        return f"{self.low:g} < {self.name} <= {self.high:g}"


Rule = tuple[Condition, ...]
"""Forbidden where all conditions hold."""


def rule_holds(rule: Rule, values: FloatArray) -> BoolArray:
    """[n, d] -> [n]: every condition holds."""
    return np.asarray(np.all([condition.holds(values) for condition in rule], axis=0))


class _Column(NamedTuple):
    """A feature sorted once, equal values together."""

    order: IntArray
    starts: IntArray
    """Where each distinct value begins in the order."""
    distinct: FloatArray
    """[m] rising"""

    def sums(self, gains: FloatArray) -> FloatArray:
        """[m + 1]: the sum of the gains below each distinct value;
        the last entry is that of all."""
        return np.concatenate([[0.0], np.cumsum(np.add.reduceat(gains[self.order], self.starts))])


class Search:
    """Conditions on the features of `values` [n, d] that forbid what is `forbidden` [n]."""

    def __init__(
        self, names: tuple[str, ...], choices: BoolArray, values: FloatArray, forbidden: BoolArray
    ) -> None:
        self.names = names
        self.choices = choices
        self.values = values
        self.flags = flag_columns(choices, values)
        # Both kinds weigh one half in all: a rule that forbids one pair in a thousand would else be
        # said best by "nothing".
        self.gains = np.where(forbidden, 0.5 / forbidden.sum(), -0.5 / (~forbidden).sum())
        self.columns = [_sorted(values[:, j]) for j in range(values.shape[1])]

    def gain(self, rule: Rule, gains: FloatArray | None = None) -> float:
        """Balanced agreement above ½ of a rule."""
        if gains is None:
            gains = self.gains
        return float(np.sum(gains[rule_holds(rule, self.values)]))

    def gain_of_any(self, rules: tuple[Rule, ...]) -> float:
        """Balanced agreement above ½ of rules of which any one forbids."""
        return float(
            np.sum(self.gains[np.any([rule_holds(rule, self.values) for rule in rules], axis=0)])
        )

    def threshold(self, feature: int, gains: FloatArray) -> Condition:
        """The best of feature <= t and feature > t."""
        column = self.columns[feature]
        sums = column.sums(gains)
        # `<= v_k`, never everything unless there is one value
        if len(sums) > 2:
            # A threshold beyond the last value would forbid everything, or nothing: no rule.
            below = sums[1:-1]
        else:
            below = sums[1:]
        above = sums[-1] - below
        upward = len(above) > 0 and above.max() > below.max()
        bound = _bound(column.distinct, above if upward else below)
        if upward:
            low = bound
            high = math.inf
        else:
            low = -math.inf
            high = bound
        return self._between(feature, low, high)

    def interval(self, feature: int, gains: FloatArray) -> Condition:
        """The best low < feature <= high; either side may be open."""
        column = self.columns[feature]
        sums = column.sums(gains)
        # The run of values with the greatest sum, in one pass (Kadane): at each end, the lowest sum
        # before it.
        lowest = np.minimum.accumulate(sums[:-1])
        last = int(np.argmax(sums[1:] - lowest))  # the run ends with the value `last` ...
        first = int(np.argmin(sums[: last + 1]))  # ... and begins with the value `first`
        low = -math.inf
        high = math.inf
        if first > 0:
            low = _bound(column.distinct[: last + 1], -sums[1 : last + 1], first - 1)
        if last < len(column.distinct) - 1:
            high = _bound(column.distinct[first:], sums[first + 1 : -1], last - first)
        return self._between(feature, low, high)

    def _between(self, feature: int, low: float, high: float) -> Condition:
        return Condition(
            feature,
            self.names[feature],
            low,
            high,
            bool(self.choices[feature]),
            bool(self.flags[feature]),
        )

    def condition(self, feature: int, gains: FloatArray) -> Condition:
        """The best threshold, unless an interval is worth its second bound."""
        one = self.threshold(feature, gains)
        two = self.interval(feature, gains)
        if self.gain((two,), gains) >= self.gain((one,), gains) + WORTH:
            return two
        return one

    def best(self, find: Callable[[int, FloatArray], Condition], gains: FloatArray) -> Condition:
        """The best condition over all features."""
        found = [find(j, gains) for j in range(len(self.columns))]
        # of two that say the same, `action = b` reads better than `action is not a`
        return max(
            found,
            key=lambda c: (round(self.gain((c,), gains), 9), not c.choice or c.low > -math.inf),
        )

    def box(self, gains: FloatArray) -> Rule:
        """Two features, a condition on each:
        from the best single ones, each is improved in turn given the other."""
        singles = [self.condition(j, gains) for j in range(len(self.columns))]
        starts = sorted(singles, key=lambda c: -self.gain((c,), gains))[:_MOST_STARTS]
        boxes = [self._grow(start, gains) for start in starts]
        return max(boxes, key=lambda rule: self.gain(rule, gains))

    def _grow(self, start: Condition, gains: FloatArray) -> Rule:
        # Given the first condition, pairs outside it are allowed whatever the second says.
        inside = np.where(start.holds(self.values), gains, 0.0)
        others = [j for j in range(len(self.columns)) if j != start.feature]
        if not others:
            return (start,)
        second = max(
            (self.condition(j, inside) for j in others), key=lambda c: self.gain((c,), inside)
        )
        rule: Rule = (start, second)
        for _ in range(_SWEEPS):
            before = self.gain(rule, gains)
            for index in (0, 1):
                inside = np.where(rule[1 - index].holds(self.values), gains, 0.0)
                better = self.condition(rule[index].feature, inside)
                if self.gain((better,), inside) > self.gain((rule[index],), inside):
                    if index == 0:
                        rule = (better, rule[1])
                    else:
                        rule = (rule[0], better)
            if self.gain(rule, gains) <= before:
                break
        return rule

    def rules(self) -> tuple[Rule, ...]:
        """Up to three rules, any of which forbids:
        each is the best on what the earlier ones leave, and worth it."""
        found: list[Rule] = []
        gains = self.gains
        while len(found) < _MOST_RULES:
            short: Rule = (self.best(self.condition, gains),)
            long = self.box(gains)
            if self.gain(long, gains) >= self.gain(short, gains) + WORTH:
                rule = long
            else:
                rule = short
            if found and self.gain(rule, gains) < WORTH:
                break
            found.append(rule)
            # What a rule forbids already is nobody's gain any more, right or wrong.
            gains = np.where(rule_holds(rule, self.values), 0.0, gains)
        return tuple(found)


def _sorted(values: FloatArray) -> _Column:
    order = np.argsort(values, kind="stable")
    distinct, starts = np.unique(values[order], return_index=True)
    return _Column(order, starts, distinct)


def _bound(distinct: FloatArray, scores: FloatArray, best: int | None = None) -> float:
    """The roundest t that splits `distinct` [m] nearly as well as the best:
    score k is that of a split after value k.

    Shapes: [m], [k <= m] -> [].
    """
    if best is None:
        best = int(np.argmax(scores))
    # Between two recorded values every bound is as good: the data leave open which, so the roundest
    # is said.
    worse = np.flatnonzero(scores < scores[best] - _PLATEAU)
    before = worse[worse < best]
    after_best = worse[worse > best]
    first = 0
    if len(before):
        first = int(before[-1]) + 1
    if len(after_best):
        last = int(after_best[0]) - 1
    else:
        last = len(scores) - 1
    if last + 1 < len(distinct):
        after = float(distinct[last + 1])
    else:
        after = float(distinct[last])
    low = float(distinct[first])
    high = after
    # The middle half: the roundest number of all would often stand right beside a recorded pair.
    quarter = (high - low) / 4
    return round_between(low + quarter, high - quarter)


def round_between(low: float, high: float) -> float:
    """The number in [low, high) with the fewest decimals, of these the nearest to the middle."""
    middle = (low + high) / 2
    scale = max(abs(low), abs(high))
    for exponent in range(math.floor(math.log10(scale)) + 1 if scale > 0 else 0, -16, -1):
        step = 10.0**exponent
        candidate = round(middle / step) * step
        candidate = round(candidate, max(0, -exponent))
        if low <= candidate < high:
            return float(candidate)
    return low
