"""Places of a region and what each is worth: what every shape is fitted to.

Every place i has a gain g_i: positive where ζ forbids, negative where it allows (`rules.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icrl.constraint.region import RegionAxis
from icrl.explain.shapes import (
    Shape,
)
from icrl.types import BoolArray, FloatArray

ROUND = 0.003
"""Agreement that rounder numbers may cost."""
MOST_DIGITS = 5
"""Of a rounder number, tried from one on."""


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
        # Else a rule that forbids one place in a thousand would be said best by "nothing".
        for kind, sign in ((forbidden, 1.0), (~forbidden, -1.0)):
            if kind.any():
                # Sets alike, too: thousands of recorded pairs would outvote the even sample of the
                # box.
                gain[kind] = sign * 0.5 / kind.sum() / len(parts)
        found.append(gain)
    return np.concatenate(found)
