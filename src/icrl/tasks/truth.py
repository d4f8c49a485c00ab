"""The true constraints: the only place where they are written down.

Nothing that learns imports this module.

Each function takes raw pairs (s, a): observations [..., o], actions [..., a] (or [...] when
discrete), and returns [...] booleans: True where the pair is forbidden.
"""

import numpy as np

from icrl.tasks.bridges_map import LOWER_BRIDGE, RIVER
from icrl.types import AnyArray, BoolArray

WALL_X = -3.0
"""Position of the wall in HalfCheetah, Ant and Point (paper, section 4)."""

ANTICLOCKWISE = 1
"""The forbidden action of LapGridWorld (0 is clockwise)."""


def half_cheetah_wall(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """x ≤ −3, where x is the first observation: the position of the torso."""
    return _behind_wall(observations)


def ant_wall(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """x ≤ −3, where x is the first observation: the position of the torso."""
    return _behind_wall(observations)


def point_wall(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """x ≤ −3, where x is the first observation."""
    return _behind_wall(observations)


def lap_grid_anticlockwise(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """a = anticlockwise, wherever the agent is."""
    return np.asarray(np.asarray(actions) == ANTICLOCKWISE)


def bridges_lion(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """(x, y) on the lower bridge: −2 < x < 2 and −3.5 ≤ y ≤ −1.5."""
    x = np.asarray(observations)[..., 0]
    y = np.asarray(observations)[..., 1]
    (left, right), (low, high) = RIVER, LOWER_BRIDGE
    return np.asarray((x > left) & (x < right) & (y >= low) & (y <= high))


def _behind_wall(observations: AnyArray) -> BoolArray:
    return np.asarray(np.asarray(observations)[..., 0] <= WALL_X)
