"""Maps of a region in its own axes: what it forbids at its caution,
and what it would forbid at none."""

from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.region import RegionAxis
from icrl.explain.judged import Judged
from icrl.explain.region_sample import forbidden_at
from icrl.explain.shapes import turning
from icrl.types import BoolArray, FloatArray

_POINTS = 161
_MARGIN = 0.05
_LAYERS = (0.2, 0.5, 0.8)
"""Where a third axis is cut, as shares of its range."""


class RegionMap(NamedTuple):
    """A region over two axes."""

    names: tuple[str, str]
    xs: FloatArray
    """[k]"""
    ys: FloatArray
    """[j]"""
    choices: tuple[str, ...]
    """Names along y, where these are names."""
    forbidden: BoolArray
    """[j, k]: at the constraint's caution"""
    without_caution: BoolArray
    """[j, k]: at none: only where the evidence went"""
    places: FloatArray
    """[n, 2]: where the recorded pairs lie on the map"""
    shown: BoolArray
    """[n]: pairs that lie in this layer"""
    layer: str
    """What a third axis is set to; empty without one."""


def maps_of(constraint: LearnedConstraint, judged: Judged) -> tuple[RegionMap, ...]:
    """One map of two axes, three layers of three; none of a region that one slice shows whole."""
    region = constraint.region
    if region is None or len(region.axes) < 2 or not np.any(region.depth > 1):
        return ()
    order = _order(constraint)
    first, second = (region.axes[place] for place in order[:2])
    if len(order) == 2:
        return (_map(constraint, judged, first, second, None, 0.0, 0.0),)
    third = region.axes[order[2]]
    found = []
    values = _range(third, judged)
    width = float(np.ptp(values)) * (_LAYERS[1] - _LAYERS[0]) / 2
    for share in _LAYERS:
        value = float(values[0] + share * (values[-1] - values[0]))
        found.append(_map(constraint, judged, first, second, third, value, width))
    return tuple(found)


def _order(constraint: LearnedConstraint) -> list[int]:
    """Which axes lie along x, along y, and in layers:
    numbers before names, an angle's cosine and sine together."""
    region = constraint.region
    assert region is not None
    # Names go last: along x there would be nothing between them to see.
    order = sorted(range(len(region.axes)), key=lambda place: region.axes[place].categorical)
    names = constraint.features.names
    for first in order:
        for second in order:
            one = names[region.axes[first].columns[0]]
            other = names[region.axes[second].columns[0]]
            if turning(one, other) is not None:
                return [first, second, *(place for place in order if place not in (first, second))]
    return order


def _map(
    constraint: LearnedConstraint,
    judged: Judged,
    first: RegionAxis,
    second: RegionAxis,
    third: RegionAxis | None,
    value: float,
    width: float,
) -> RegionMap:
    xs = _range(first, judged)
    ys = _range(second, judged)
    grid_y, grid_x = np.meshgrid(ys, xs, indexing="ij")
    places = np.zeros((grid_x.size, judged.values.shape[1]))
    _set(places, first, grid_x.ravel())
    _set(places, second, grid_y.ravel())
    shown = np.ones(len(judged.values), np.bool_)
    layer = ""
    if third is not None:
        _set(places, third, np.full(grid_x.size, value))
        shown = np.asarray(np.abs(_along(third, judged.values) - value) <= width)
        layer = f"{_name(third, judged)} near {value:.3g}"
    choices: tuple[str, ...] = ()
    if second.categorical:
        choices = tuple(judged.names[column] for column in second.columns)
    return RegionMap(
        names=(_name(first, judged), _name(second, judged)),
        xs=xs,
        ys=ys,
        choices=choices,
        forbidden=forbidden_at(constraint, places).reshape(grid_x.shape),
        without_caution=forbidden_at(constraint.with_caution(0.0), places).reshape(grid_x.shape),
        places=np.stack([_along(first, judged.values), _along(second, judged.values)], axis=1),
        shown=shown,
        layer=layer,
    )


def _name(axis: RegionAxis, judged: Judged) -> str:
    if axis.categorical:
        return "one of"
    return judged.names[axis.columns[0]]


def _range(axis: RegionAxis, judged: Judged) -> FloatArray:
    """What the data span, a little wider; of names all of them."""
    if axis.categorical:
        return np.arange(len(axis.columns), dtype=np.float64)
    column = judged.values[:, axis.columns[0]]
    low = float(column.min())
    high = float(column.max())
    margin = _MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, _POINTS)


def _along(axis: RegionAxis, values: FloatArray) -> FloatArray:
    if axis.categorical:
        return np.asarray(np.argmax(values[:, list(axis.columns)], axis=1), np.float64)
    return np.asarray(values[:, axis.columns[0]])


def _set(places: FloatArray, axis: RegionAxis, values: FloatArray) -> None:
    if not axis.categorical:
        places[:, axis.columns[0]] = values
        return
    taken = np.rint(values).astype(np.int64)
    places[np.arange(len(places)), np.array(axis.columns)[taken]] = 1.0
