"""ζ over any two of its features, for those who want to choose them: each an axis of numbers or of
choices."""

from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.explain.judged import Judged, balanced_indices, with_feature
from icrl.types import FloatArray, IntArray, Pairs

_PAIRS = 16
_POINTS = 33
"""Recorded pairs that all other features are taken from; points on an axis of numbers."""


class Axis(NamedTuple):
    """A feature, or all choices of a discrete action as one."""

    name: str
    features: IntArray
    """[1], or [c]: the columns of the choices"""
    values: FloatArray
    """[k]: what the feature is set to; 0..c-1 for choices"""
    choices: tuple[str, ...]
    """Names of the choices; empty for numbers"""

    def of(self, judged: Judged) -> FloatArray:
        """[n]: where the pairs lie on the axis."""
        if self.choices:
            return np.asarray(np.argmax(judged.values[:, self.features], axis=1), np.float64)
        return np.asarray(judged.values[:, self.features[0]])


def axes_of(judged: Judged, ordered: list[int], most: int) -> list[Axis]:
    """The first features of `ordered` as axes; the choices of an action, however many, are one."""
    axes: list[Axis] = []
    chosen = np.flatnonzero(judged.choices)
    for feature in ordered:
        if judged.choices[feature]:
            # Choices exclude each other: as axes of their own they would show pairs that cannot be.
            if any(axis.choices for axis in axes):
                continue
            names = tuple(judged.names[choice] for choice in chosen)
            axes.append(Axis("action", chosen, np.arange(len(chosen), dtype=np.float64), names))
        else:
            axes.append(
                Axis(
                    judged.names[feature], np.array([feature]), _grid(judged.values[:, feature]), ()
                )
            )
    return axes[:most]


def zeta_over(
    constraint: LearnedConstraint, judged: Judged, first: Axis, second: Axis
) -> FloatArray:
    """[k (second), k (first)]: mean ζ over recorded pairs with both features set."""
    pairs = _some(judged)
    n = len(pairs.actions)
    grid_y, grid_x = np.meshgrid(second.values, first.values, indexing="ij")
    moved = Pairs(
        observations=np.tile(pairs.observations, (grid_x.size, 1)),
        actions=np.tile(pairs.actions, (grid_x.size, *(1,) * (pairs.actions.ndim - 1))),
    )
    for axis, values in ((first, grid_x), (second, grid_y)):
        moved = _with(constraint, moved, axis, np.repeat(values.ravel(), n))
    zeta = constraint.feasibility(moved.observations, moved.actions)
    return np.asarray(zeta.reshape(*grid_x.shape, n).mean(axis=-1))


def _with(constraint: LearnedConstraint, pairs: Pairs, axis: Axis, values: FloatArray) -> Pairs:
    """The pairs with the axis set to `values` [n]."""
    if not axis.choices:
        return with_feature(constraint.features, pairs, int(axis.features[0]), values)
    for number, feature in enumerate(axis.features):
        pairs = with_feature(
            constraint.features, pairs, int(feature), (values == number).astype(np.float64)
        )
    return pairs


def _grid(values: FloatArray) -> FloatArray:
    """The range of the data, a little wider."""
    low = float(values.min())
    high = float(values.max())
    # A feature that never changes has a range of 0, and still gets an axis of some width.
    margin = 0.1 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, _POINTS)


def _some(judged: Judged) -> Pairs:
    # The seed is fixed: the same run gives the same page, to the byte.
    chosen = balanced_indices(judged.forbidden, _PAIRS, np.random.default_rng(0))
    return Pairs(
        observations=judged.pairs.observations[chosen], actions=judged.pairs.actions[chosen]
    )
