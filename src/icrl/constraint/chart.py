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
_SQUARES = {1: 65536, 2: 512, 3: 64}
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
        stretches = _stretches_of(axis, first, share, squares)
        low = _within(np.minimum, low, stretches, number)
        high = _within(np.maximum, high, stretches, number)
        stride //= squares
        lows.append(first)
        shares.append(share)
        lasts.append(np.float32(squares - 1))
        strides.append(stride)
    # Between its nodes a region is linear along each axis, so in a square it lies between the least
    # and the most of the square's ends and the nodes in it: one where all of them agree needs no
    # look.
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


class _Stretches(NamedTuple):
    """What the squares of an axis stretch over."""

    nodes: FloatArray
    """[n] of the axis"""
    points: FloatArray
    """[p] rising: its nodes, and where squares begin and end"""
    first: IntArray
    """[squares]: the point with which each begins"""
    last: IntArray
    """[squares]: that with which it ends"""


def _stretches_of(
    axis: RegionAxis, first: np.float32, share: np.float32, squares: int
) -> _Stretches:
    """A little more than the squares themselves; of the outermost all that lies beyond."""
    nodes = np.asarray(axis.nodes, np.float64)
    edges = np.arange(squares + 1)
    begins = float(first) + (edges[:-1] - _MARGIN) / float(share)
    ends = float(first) + (edges[1:] + _MARGIN) / float(share)
    # Beyond the ends the grid holds its last depth, and so must the outermost squares.
    begins[0] = min(begins[0], nodes[0])
    ends[-1] = max(ends[-1], nodes[-1])
    points = np.unique(np.concatenate([nodes, begins, ends]))
    return _Stretches(nodes, points, np.searchsorted(points, begins), np.searchsorted(points, ends))


def _within(extreme: np.ufunc, values: FloatArray, stretches: _Stretches, axis: int) -> FloatArray:
    """The extreme over each stretch, along one axis of values at its nodes."""
    nodes, points = stretches.nodes, stretches.points
    along = np.interp(points, nodes, np.arange(len(nodes), dtype=np.float64))
    below = np.minimum(along.astype(np.int64), max(len(nodes) - 2, 0))
    share = (along - below).reshape((-1,) + (1,) * (values.ndim - axis - 1))
    lower = np.take(values, below, axis=axis)
    upper = np.take(values, np.minimum(below + 1, len(nodes) - 1), axis=axis)
    # the last point twice, so that every stretch has an end
    at = lower + share * (upper - lower)
    padded = np.concatenate([at, np.take(at, [-1], axis=axis)], axis=axis)
    bounds = np.stack([stretches.first, stretches.last + 1], axis=1).ravel()
    found = extreme.reduceat(padded, bounds, axis=axis)
    return np.asarray(np.take(found, np.arange(0, len(bounds), 2), axis=axis))
