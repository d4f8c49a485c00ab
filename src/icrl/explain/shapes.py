"""What a rule can look like: boxes, walls, half-planes, discs, lists of names; each says itself.

A shape says of values [n, d], the features that ζ sees, which are forbidden.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from icrl.explain.search import Condition, Rule, rule_holds
from icrl.types import BoolArray, FloatArray

_FULL_TURN = 360.0


class Shape(Protocol):
    """A set of places that can be said in a line."""

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]: forbidden."""
        ...


class Boxes(NamedTuple):
    """Any of these rules: thresholds, intervals, boxes."""

    rules: tuple[Rule, ...]

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]: any of the rules holds."""
        return np.asarray(np.any([rule_holds(rule, values) for rule in self.rules], axis=0))

    def __str__(self) -> str:
        """As a person writes it."""
        return ", or ".join(_said(rule) for rule in self.rules)


def _said(rule: Rule) -> str:
    """A limit within a zone reads `b > 9 where 150 < a <= 330`; other boxes are joined by `and`."""
    limits = [condition for condition in rule if condition.one_sided]
    zones = [condition for condition in rule if not condition.one_sided]
    if len(limits) == 1 and zones:
        return f"{limits[0]} where {' and '.join(str(zone) for zone in zones)}"
    return " and ".join(str(condition) for condition in rule)


class Outside(NamedTuple):
    """All but a box: walls around what is allowed."""

    allowed: Rule

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]: some condition does not hold."""
        return ~rule_holds(self.allowed, values)

    def __str__(self) -> str:
        """As a person writes it: one wall after another."""
        walls = []
        for condition in self.allowed:
            if condition.low > -math.inf:
                walls.append(f"{condition.name} <= {condition.low:g}")
            if condition.high < math.inf:
                walls.append(f"{condition.name} > {condition.high:g}")
        return ", or ".join(walls)


class HalfPlane(NamedTuple):
    """first + weight · second beyond a limit."""

    features: tuple[int, int]
    names: tuple[str, str]
    weight: float
    limit: float
    above: bool

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]."""
        load = values[:, self.features[0]] + self.weight * values[:, self.features[1]]
        if self.above:
            return np.asarray(load > self.limit)
        return np.asarray(load <= self.limit)

    def __str__(self) -> str:
        """As a person writes it."""
        sign = "+"
        if self.weight < 0:
            sign = "-"
        factor = f"{abs(self.weight):g} "
        if abs(self.weight) == 1:
            factor = ""
        relation = "<="
        if self.above:
            relation = ">"
        return f"{self.names[0]} {sign} {factor}{self.names[1]} {relation} {self.limit:g}"


class Disc(NamedTuple):
    """Within, or beyond, a distance of a point; an ellipse where the two radii differ."""

    features: tuple[int, int]
    names: tuple[str, str]
    centre: tuple[float, float]
    radii: tuple[float, float]
    inside: bool

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]."""
        away = values[:, list(self.features)] - np.array(self.centre)
        within = np.asarray(np.sum((away / np.array(self.radii)) ** 2, axis=1) <= 1.0)
        if self.inside:
            return within
        return ~within

    def __str__(self) -> str:
        """As a person writes it."""
        point = f"({self.centre[0]:g}, {self.centre[1]:g})"
        names = f"({self.names[0]}, {self.names[1]})"
        if self.radii[0] == self.radii[1]:
            how = "further than"
            if self.inside:
                how = "within"
            return f"{names} {how} {self.radii[0]:g} of {point}"
        how = "outside"
        if self.inside:
            how = "within"
        sizes = (
            f"{self.radii[0]:g} along {self.names[0]} and {self.radii[1]:g} along {self.names[1]}"
        )
        return f"{names} {how} the ellipse around {point} that reaches {sizes}"


class Among(NamedTuple):
    """One of several names: choices of an action, or states that are or are not."""

    features: tuple[int, ...]
    """Columns of the block."""
    block: str
    """What the names are of."""
    members: tuple[int, ...]
    """Places of the forbidden ones in the block."""
    names: tuple[str, ...]
    """Of all of the block."""

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]."""
        taken = np.argmax(values[:, list(self.features)], axis=1)
        return np.isin(taken, self.members)

    def __str__(self) -> str:
        """As a person writes it."""
        named = [self.names[member] for member in self.members]
        if len(named) == 1:
            return f"{self.block} = {named[0]}"
        allowed = [name for place, name in enumerate(self.names) if place not in self.members]
        if len(allowed) == 1:
            return f"{self.block} is not {allowed[0]}"
        return f"{self.block} is one of {', '.join(named)}"


class Arc(NamedTuple):
    """Part of a turn, of an angle that is given by its cosine and sine."""

    features: tuple[int, int]
    name: str
    begin: float
    end: float
    """Degrees; from `begin` on, anticlockwise, to `end`."""

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]."""
        turned = (degrees(values, self.features) - self.begin) % _FULL_TURN
        return np.asarray(turned <= (self.end - self.begin) % _FULL_TURN)

    def __str__(self) -> str:
        """As a person writes it."""
        return f"the angle of {self.name} is from {self.begin:g} to {self.end:g} degrees"


class Where(NamedTuple):
    """A shape that counts within a zone only."""

    shape: Shape
    zone: Shape

    def holds(self, values: FloatArray) -> BoolArray:
        """[n, d] -> [n]: both hold."""
        return self.shape.holds(values) & self.zone.holds(values)

    def __str__(self) -> str:
        """As a person writes it."""
        return f"{self.shape} where {self.zone}"


def degrees(values: FloatArray, features: tuple[int, int]) -> FloatArray:
    """[n]: the angle whose cosine and sine the two features are, in [0, 360)."""
    angle = np.arctan2(values[:, features[1]], values[:, features[0]])
    return np.asarray(np.rad2deg(angle) % _FULL_TURN)


def turning(first: str, second: str) -> str | None:
    """The name of an angle whose cosine and sine are called so:
    ring_cos and ring_sin are of `ring`; None: no angle."""
    # By their names: that two columns lie on a circle could also be chance.
    if "cos" not in first or first.replace("cos", "sin") != second:
        return None
    return first.replace("cos", "").strip("_- ") or "both"


def conditions_of(shape: Shape) -> tuple[Rule, ...]:
    """The conditions of a shape that is made of them; of others none."""
    if isinstance(shape, Boxes):
        return shape.rules
    return ()


def features_of(shape: Shape) -> list[int]:
    """Which features it looks at, in order."""
    if isinstance(shape, Boxes):
        return list(dict.fromkeys(part.feature for rule in shape.rules for part in rule))
    if isinstance(shape, Outside):
        return [condition.feature for condition in shape.allowed]
    if isinstance(shape, Where):
        return list(dict.fromkeys(features_of(shape.zone) + features_of(shape.shape)))
    if isinstance(shape, HalfPlane | Disc | Among | Arc):
        return list(shape.features)
    return []


def thresholds_in(condition: Condition) -> int:
    """How many numbers it takes to say a condition."""
    return int(condition.low > -math.inf) + int(condition.high < math.inf)
