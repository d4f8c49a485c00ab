"""An even sample of a region's box: what ζ says where nobody need have been.

The box is the range of the recorded data along each axis of numbers, as far as the region's grid
reaches. Of a cosine and a sine it is the circle that they lie on.
"""

import itertools

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.explain.shapes import turning
from icrl.types import BoolArray, FloatArray

POINTS = 6_000


def even_sample(
    constraint: LearnedConstraint, values: FloatArray, seed: int = 0
) -> tuple[FloatArray, BoolArray]:
    """[m, d] places of the box that `values` [n, d] span, and [m]: forbidden there.

    Features beyond the region's axes are 0: it does not look at them.
    """
    assert constraint.region is not None
    rng = np.random.default_rng(seed)
    places = np.zeros((POINTS, values.shape[1]))
    for axis in constraint.region.axes:
        if axis.categorical:
            taken = rng.integers(0, len(axis.columns), POINTS)
            places[np.arange(POINTS), np.array(axis.columns)[taken]] = 1.0
            continue
        column = values[:, axis.columns[0]]
        low = max(float(axis.nodes[0]), float(column.min()))
        # As far as the grid reaches: beyond it a region only repeats its edge.
        high = min(float(axis.nodes[-1]), float(column.max()))
        places[:, axis.columns[0]] = rng.uniform(low, max(low, high), POINTS)
    # Drawn one by one they would fill a square, of which only the rim of the circle can be.
    for cosine, sine in _circles(constraint):
        angle = rng.uniform(0.0, 2.0 * np.pi, POINTS)
        places[:, cosine] = np.cos(angle)
        places[:, sine] = np.sin(angle)
    return places, forbidden_at(constraint, places)


def _circles(constraint: LearnedConstraint) -> list[tuple[int, int]]:
    """Pairs of features that are cosine and sine of one angle."""
    assert constraint.region is not None
    names = constraint.features.names
    numbers = [axis.columns[0] for axis in constraint.region.axes if not axis.categorical]
    pairs = itertools.permutations(numbers, 2)
    return [
        (first, second)
        for first, second in pairs
        if turning(names[first], names[second]) is not None
    ]


def forbidden_at(constraint: LearnedConstraint, values: FloatArray) -> BoolArray:
    """[n, d] -> [n]: the region is infeasible there."""
    assert constraint.region is not None
    zeta = 1.0 / (1.0 + np.exp(-constraint.region.logits(values)))
    return np.asarray(zeta < constraint.threshold)
