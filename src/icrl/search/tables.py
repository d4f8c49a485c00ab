"""Tables: for a set of axes and a scale, which cells demonstrations visit, and who leaves them.

C(F, B), the cells that no demonstration visits and that are next to none,
is a candidate for what is forbidden.
"""

import itertools
import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from icrl.search.axes import Ruler, dilated, make_ruler
from icrl.types import BoolArray, FloatArray, IntArray

MOST_CELLS = 2**18
"""Of a table: a larger one is not made."""
FOLDS = 5
"""Parts of the demonstrations, each held out once."""
_LEANS = 0.9
"""Correlation from which on one axis is measured by its distance from what another foretells."""


class Steps(NamedTuple):
    """Steps of several trajectories, in order."""

    places: FloatArray
    """[n, q]: place on the ruler of every axis"""
    owners: IntArray
    """[n]: which trajectory, never falling"""
    number: int
    """Trajectories."""

    @property
    def starts(self) -> IntArray:
        """[number]: first step of each trajectory."""
        return np.searchsorted(self.owners, np.arange(self.number))


class Look(NamedTuple):
    """What one table says."""

    refuted: float
    """h: share of demonstrations that leave the cells of the others."""
    novel: BoolArray
    """[n]: the agents' steps in cells that no demonstration visits"""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """All tables over demonstrated steps and agents' steps;
    each is made when it is asked for, once."""

    rulers: tuple[Ruler, ...]
    shown: Steps
    done: Steps
    folds: IntArray
    """[demonstrated steps]: the part that each belongs to"""
    units: IntArray
    """[demonstrated steps]: the demonstration (or, where there are few, the block of one)
    that each belongs to"""
    memo: dict[tuple[tuple[int, ...], int, float], Look] = field(default_factory=dict)
    cells: dict[tuple[int, int, int, float], tuple[IntArray, IntArray]] = field(
        default_factory=dict
    )
    """Of demonstrated and of agents' steps along one axis, or beside another one that it leans on,
    at a scale, with a shift"""
    leaning: dict[tuple[int, int], tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    """Places of demonstrated and of agents' steps along an axis that leans on an earlier one: how
    far they are from what that foretells, from 0 to 1"""

    def small(self, sets: list[tuple[int, ...]], scales: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Those of some sets of axes whose tables are not too large at any of the scales."""
        finest = max(scales)
        cells = [ruler.num_cells(finest, 0.0) for ruler in self.rulers]
        return [axes for axes in sets if math.prod(cells[axis] for axis in axes) < MOST_CELLS]

    def look(self, axes: tuple[int, ...], scale: int, shift: float = 0.0) -> Look:
        """The table over some axes at one scale."""
        key = (axes, scale, shift)
        if key not in self.memo:
            self.memo[key] = self._make(axes, scale, shift)
        return self.memo[key]

    def _make(self, axes: tuple[int, ...], scale: int, shift: float) -> Look:
        shape = tuple(self.rulers[axis].num_cells(scale, shift) for axis in axes)
        few = tuple(self.rulers[axis].few for axis in axes)
        shown, done = self._codes(axes, scale, shift, shape)
        # [folds, cells]: one pass over the steps serves every part that is held out
        number = int(np.prod(shape))
        visited = np.zeros((FOLDS, number), np.bool_)
        mine = self.folds * number + shown
        visited.reshape(-1)[mine] = True
        # Neighbours are allowed, too: where a cell ends is an accident of the grid.
        allowed = dilated(visited.any(axis=0).reshape(shape), few).ravel()
        novel = ~allowed[done]
        # Nothing is explained, so it does not matter what is refuted.
        if not novel.any():
            return Look(0.0, novel)
        num_visits = visited.sum(axis=0)
        # [folds, cells]: what the other parts show
        others = np.empty_like(visited)
        for part in range(FOLDS):
            others[part] = dilated((num_visits - visited[part] > 0).reshape(shape), few).ravel()
        left = ~others.reshape(-1)[mine]
        refuted = len(np.unique(self.units[left]))
        return Look(refuted / (self.units.max() + 1), novel)

    def _codes(
        self, axes: tuple[int, ...], scale: int, shift: float, shape: tuple[int, ...]
    ) -> tuple[IntArray, IntArray]:
        """Numbers of the cells that demonstrated and agents' steps lie in, over some axes."""
        shown, done = (
            cells.astype(np.int64) for cells in self._cells(axes[0], axes[0], scale, shift)
        )
        for number, width in enumerate(shape[1:], start=1):
            axis = axes[number]
            beside = next((other for other in axes[:number] if (other, axis) in self.leaning), axis)
            further, further_done = self._cells(beside, axis, scale, shift)
            shown = shown * width + further
            done = done * width + further_done
        return shown, done

    def _cells(self, beside: int, axis: int, scale: int, shift: float) -> tuple[IntArray, IntArray]:
        """The same along one axis, `beside` itself or another one that it leans on:
        made once for all sets that it is in."""
        key = (beside, axis, scale, shift)
        if key not in self.cells:
            ruler = self.rulers[axis]
            places = self.leaning.get(
                (beside, axis), (self.shown.places[:, axis], self.done.places[:, axis])
            )
            # 32 bits: all axes at all scales are kept, tens of megabytes.
            self.cells[key] = (
                ruler.cells(places[0], scale, shift).astype(np.int32),
                ruler.cells(places[1], scale, shift).astype(np.int32),
            )
        return self.cells[key]

    def entered(self, novel: BoolArray) -> BoolArray:
        """[trajectories]: enters a novel cell at some step."""
        return np.logical_or.reduceat(novel, self.done.starts)


def make_tables(rulers: tuple[Ruler, ...], shown: Steps, done: Steps) -> Tables:
    """Tables whose parts are whole demonstrations; of fewer than five, blocks of steps."""
    units = shown.owners
    if shown.number < FOLDS:
        # Blocks, not every fifth step: neighbours in time lie in the same cells, and hardly
        # anything would be refuted.
        units = np.minimum(np.arange(len(units)) * FOLDS // len(units), FOLDS - 1)
    return Tables(
        rulers=rulers,
        shown=shown,
        done=done,
        folds=units % FOLDS,
        units=units,
        leaning=_leaning(rulers, shown.places, done.places),
    )


def _leaning(
    rulers: tuple[Ruler, ...], shown: FloatArray, done: FloatArray
) -> dict[tuple[int, int], tuple[FloatArray, FloatArray]]:
    """Axes that nearly follow from an earlier one, measured by how far they are from that.

    Two temperatures that rise together fill a narrow band: cells along the axes would be wider than
    it, and what leaves it would be in the same cells as what does not.
    """
    found = {}
    for axis, other in itertools.combinations(range(len(rulers)), 2):
        if rulers[axis].few or rulers[other].few:
            continue
        slope = _slope(shown[:, axis], done[:, axis], shown[:, other], done[:, other])
        if slope is None:
            continue
        rests = [steps[:, other] - slope * steps[:, axis] for steps in (shown, done)]
        ruler = make_ruler(rests[0], rests[1], even=1.0)
        if not ruler.few:
            found[axis, other] = (ruler.measure(rests[0]), ruler.measure(rests[1]))
    return found


def _slope(
    shown: FloatArray, done: FloatArray, shown_other: FloatArray, done_other: FloatArray
) -> float | None:
    """Of the line that foretells another axis, both sides with half of the weight;
    None: it does not."""
    sides = ((shown, shown_other), (done, done_other))
    means = np.mean([[x.mean(), y.mean()] for x, y in sides], axis=0)
    # 2 x 2
    spread = np.mean(
        [np.cov(np.stack([x, y]) - means[:, None], bias=True) for x, y in sides], axis=0
    )
    size = np.sqrt(spread[0, 0] * spread[1, 1])
    if size <= 0.0 or abs(spread[0, 1]) < _LEANS * size:
        return None
    return float(spread[0, 1] / spread[0, 0])


def sets_of(num_axes: int, most: int = 2) -> list[tuple[int, ...]]:
    """All sets of up to `most` axes."""
    sizes = range(1, most + 1)
    return [axes for size in sizes for axes in itertools.combinations(range(num_axes), size)]
