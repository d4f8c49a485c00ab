"""Slices through ζ: along one feature or over two, all other features as they were recorded."""

from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.errors import unknown_name
from icrl.explain.judged import Judged, balanced_indices, with_feature
from icrl.types import FloatArray, Pairs

_PAIRS = 64
_POINTS = 161
_PLANE_PAIRS = 24
_PLANE_POINTS = 61


class Slice(NamedTuple):
    """ζ along one feature, or over the choices of a discrete action."""

    name: str
    """Of the feature; `action` for the choices."""
    choices: tuple[str, ...]
    """Names of the choices, one per value; empty for a number."""
    values: FloatArray
    """[k]"""
    mean: FloatArray
    """[k]: mean ζ over recorded pairs with the feature set to the value"""
    low: FloatArray
    """[k]: its 5 % quantile"""
    high: FloatArray
    """[k]: its 95 % quantile"""


class Plane(NamedTuple):
    """ζ over two features."""

    names: tuple[str, str]
    xs: FloatArray
    """[k]"""
    ys: FloatArray
    """[k]"""
    mean: FloatArray
    """[k (y), k (x)]: mean ζ"""


def find_feature(judged: Judged, name: str) -> int:
    """Index of a feature of ζ by its name."""
    if name not in judged.names:
        raise unknown_name("feature of the constraint", name, judged.names)
    return judged.names.index(name)


def slice_along(
    constraint: LearnedConstraint,
    judged: Judged,
    feature: int,
    limits: tuple[float, float] | None = None,
) -> Slice:
    """ζ as one feature changes; the other features are those of recorded pairs,
    half of them forbidden ones.

    `limits` of the values: None: the range of the data, a little wider.
    A choice stands for its whole action.
    """
    pairs = _some(judged, _PAIRS)
    if judged.choices[feature]:
        taken = np.flatnonzero(judged.choices)
        parts = [
            _zeta(constraint, pairs, [(int(c), np.ones(len(pairs.actions)))], 1) for c in taken
        ]
        values: FloatArray = np.arange(len(taken), dtype=np.float64)
        zeta = np.stack(parts)  # [choices, pairs]
        name = "action"
        choices = tuple(judged.names[c] for c in taken)
    else:
        if limits is None:
            values = _grid(judged, feature, _POINTS)
        else:
            values = np.linspace(*limits, _POINTS)
        zeta = _zeta(
            constraint, pairs, [(feature, np.repeat(values, len(pairs.actions)))], len(values)
        )
        zeta = zeta.reshape(len(values), -1)  # [k, pairs]
        name = judged.names[feature]
        choices = ()
    # A band beside the mean: where it is wide, ζ depends on more than this feature.
    low, high = np.quantile(zeta, [0.05, 0.95], axis=1)
    return Slice(name, choices, values, zeta.mean(axis=1), low, high)


def plane_over(
    constraint: LearnedConstraint,
    judged: Judged,
    first: int,
    second: int,
    limits: tuple[float, float] | None = None,
) -> Plane:
    """Mean ζ over two features (the first within `limits`, if given);
    the others are those of recorded pairs."""
    if limits is None:
        xs = _grid(judged, first, _PLANE_POINTS)
    else:
        xs = np.linspace(*limits, _PLANE_POINTS)
    ys = _grid(judged, second, _PLANE_POINTS)
    pairs = _some(judged, _PLANE_PAIRS)
    n = len(pairs.actions)
    grid_y, grid_x = np.meshgrid(ys, xs, indexing="ij")
    settings = [(first, np.repeat(grid_x.ravel(), n)), (second, np.repeat(grid_y.ravel(), n))]
    zeta = _zeta(constraint, pairs, settings, grid_x.size).reshape(*grid_x.shape, n)
    return Plane((judged.names[first], judged.names[second]), xs, ys, zeta.mean(axis=-1))


def _zeta(
    constraint: LearnedConstraint, pairs: Pairs, settings: list[tuple[int, FloatArray]], copies: int
) -> FloatArray:
    """ζ of `copies` copies of the pairs, features set to the values given (copy by copy)."""
    observations = np.tile(pairs.observations, (copies, 1))
    actions = np.tile(pairs.actions, (copies, *(1,) * (pairs.actions.ndim - 1)))
    moved = Pairs(observations=observations, actions=actions)
    for feature, values in settings:
        moved = with_feature(constraint.features, moved, feature, values)
    return constraint.feasibility(moved.observations, moved.actions)


def _grid(judged: Judged, feature: int, points: int) -> FloatArray:
    """The range of the data, a little wider."""
    low = float(judged.values[:, feature].min())
    high = float(judged.values[:, feature].max())
    # A feature that never changes has a range of 0, and still gets an axis of some width.
    margin = 0.1 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, points)


def _some(judged: Judged, count: int) -> Pairs:
    chosen = balanced_indices(judged.forbidden, count, np.random.default_rng(0))
    return Pairs(
        observations=judged.pairs.observations[chosen], actions=judged.pairs.actions[chosen]
    )
