"""`Chart`: a coarse picture of a region that says at a glance where it forbids, or that one must
look closer.

Reading a region's grid costs a search along every axis and a sum over corners, millions of times in
a run. The chart has even squares: that of a place is a product away. A square through which the
wall runs says `LOOK`, and there the grid is read: answers are those of the grid, to the bit. NumPy
only.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icrl.constraint.region import Region, RegionAxis
from icrl.types import AnyArray, FloatArray, IntArray

ALLOWED, FORBIDDEN, LOOK = 0, 1, 2
_SQUARES = {1: 4096, 2: 512, 3: 64}
"""Along each axis, by the number of axes: what stays in a core's own memory."""
_MARGIN = 0.01
"""Of a square: rounding may put a place into the neighbour."""
_ONE_SQUARE = np.float32(1e-30)
"""Squares per unit of an axis that has none to tell apart; not 0, of which infinity makes NaN."""
_FIRST = np.float32(0.0)
_SURE = 1e-5
"""Of the level: nearer to it rounding could decide."""


class Chart(NamedTuple):
    """Even squares over axes of numbers."""

    lows: tuple[np.float32, ...]
    """Where the first square of each axis begins; all below it is the first square's too"""
    shares: tuple[np.float32, ...]
    """Squares per unit"""
    lasts: tuple[np.float32, ...]
    """Number of the last square"""
    strides: tuple[int, ...]
    says: AnyArray
    """[squares], flat: ALLOWED, FORBIDDEN or LOOK"""

    def look(self, values: Sequence[FloatArray]) -> AnyArray:
        """What it says of places: one array [...] of float32 per axis -> [...]."""
        place: IntArray | None = None
        for low, share, last, stride, along in zip(
            self.lows, self.shares, self.lasts, self.strides, values, strict=True
        ):
            squares = along - low
            squares *= share
            # Clipped while still a float: a place far outside would overflow the whole number
            # below.
            squares.clip(_FIRST, last, out=squares)
            # 32 bits: three axes have 64³ squares, and half the bytes of the default are moved.
            number = squares.astype(np.int32)
            if stride > 1:
                number *= np.int32(stride)
            if place is None:
                place = number
            else:
                place += number
        assert place is not None
        return self.says.take(place, mode="clip")


def make_chart(region: Region) -> Chart | None:
    """The chart of a region; None where one of its axes has names instead of numbers."""
    if any(axis.categorical for axis in region.axes):
        return None
    squares = _SQUARES[len(region.axes)]
    low = high = region.depth
    lows, shares, lasts, strides = [], [], [], []
    stride = squares ** len(region.axes)
    for number, axis in enumerate(region.axes):
        first, share = _even(axis, squares)
        nodes = _nodes_of(axis, first, share, squares)
        low = _within(np.minimum, low, nodes, number)
        high = _within(np.maximum, high, nodes, number)
        stride //= squares
        lows.append(first)
        shares.append(share)
        lasts.append(np.float32(squares - 1))
        strides.append(stride)
    # Between its nodes a region is linear, so it lies between the least and the most of them: a
    # square whose nodes agree needs no look.
    says = np.full(low.shape, LOOK, np.uint8)
    says[high < region.level * (1.0 - _SURE)] = ALLOWED
    says[low > region.level * (1.0 + _SURE)] = FORBIDDEN
    return Chart(tuple(lows), tuple(shares), tuple(lasts), tuple(strides), says.ravel())


def _even(axis: RegionAxis, squares: int) -> tuple[np.float32, np.float32]:
    """Where squares begin along an axis, and how many there are per unit."""
    first = np.float32(axis.nodes[0])
    width = float(axis.nodes[-1]) - float(first)
    share = _ONE_SQUARE
    if width > 0 and np.isfinite(np.float32(squares / width)):
        share = np.float32(squares / width)
    return first, share


def _nodes_of(
    axis: RegionAxis, first: np.float32, share: np.float32, squares: int
) -> tuple[IntArray, IntArray]:
    """First and last of the nodes between which the places of each square lie."""
    if share == _ONE_SQUARE:
        return np.zeros(squares, np.int64), np.full(squares, len(axis.nodes) - 1)
    edges = np.arange(squares + 1)
    begins = float(first) + (edges[:-1] - _MARGIN) / float(share)
    ends = float(first) + (edges[1:] + _MARGIN) / float(share)
    # Beyond the ends the grid holds its last depth, and so must the outermost squares.
    begins[0], ends[-1] = -np.inf, np.inf
    below = np.searchsorted(axis.nodes, begins, side="right") - 1
    above = np.searchsorted(axis.nodes, ends, side="left")
    last = len(axis.nodes) - 1
    return np.clip(below, 0, last), np.clip(above, 0, last)


def _within(
    extreme: np.ufunc, values: FloatArray, nodes: tuple[IntArray, IntArray], axis: int
) -> FloatArray:
    """The extreme over the nodes of each square, along one axis."""
    first, last = nodes
    # a row that belongs to nobody, so that every stretch has an end
    padded = np.concatenate([values, np.take(values, [-1], axis=axis)], axis=axis)
    stretches = np.stack([first, last + 1], axis=1).ravel()
    found = extreme.reduceat(padded, stretches, axis=axis)
    return np.asarray(np.take(found, np.arange(0, len(stretches), 2), axis=axis))
