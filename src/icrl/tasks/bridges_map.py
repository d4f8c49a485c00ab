"""The plane of the two bridges (the paper's first figure): where land is, how one moves, what a place pays.

It knows nothing of the constraint, so that the tabular form of the world may be built from it.
"""

import numpy as np

from icrl.types import AnyArray, BoolArray, FloatArray

WIDTH, HEIGHT = 8.0, 6.0
"""The plane is |x| <= 4, |y| <= 3."""
RIVER = (-1.0, 1.0)
"""Water from bottom to top between these x, except under the bridges."""
LOWER_BRIDGE = (-2.5, -1.5)
"""From bottom to top, in y: the short way."""
UPPER_BRIDGE = (0.5, 2.0)
START = (-2.75, -1.75)
START_SPREAD = 0.25
"""An episode starts anywhere in the square of this half-width around `START`."""
GOAL = (2.75, -1.75)
MAX_STEP = 0.5
"""An action of 1 moves this far along its axis."""
CLOSENESS_SCALE = 1.5
HORIZON = 60


def is_land(positions: AnyArray) -> BoolArray:
    """Where one can stand: not in the water. [..., 2] -> [...]."""
    x, y = positions[..., 0], positions[..., 1]
    over_river = (x > RIVER[0]) & (x < RIVER[1])
    on_bridge = np.zeros(np.shape(x), np.bool_)
    for low, high in (LOWER_BRIDGE, UPPER_BRIDGE):
        on_bridge |= (y >= low) & (y <= high)
    return np.asarray(~over_river | on_bridge)


def move(positions: FloatArray, actions: FloatArray) -> FloatArray:
    """s' = s + 0.5 a, a in [-1, 1]², kept inside the plane; if that is water, s' = s. [..., 2], [..., 2] -> [..., 2]."""
    corner = np.array([WIDTH / 2, HEIGHT / 2])
    aim = np.clip(positions + MAX_STEP * np.clip(actions, -1.0, 1.0), -corner, corner)
    return np.asarray(np.where(is_land(aim)[..., None], aim, positions))


def closeness(positions: AnyArray) -> FloatArray:
    """r(s') = exp(−|s' − goal| / 1.5), as the crow flies. [..., 2] -> [...].

    On the long way round it first falls (waiting at the water pays more than walking to the upper bridge), but it is
    steep only near the goal: whoever has been there once knows where to go.
    """
    distance = np.hypot(positions[..., 0] - GOAL[0], positions[..., 1] - GOAL[1])
    return np.asarray(np.exp(-distance / CLOSENESS_SCALE))
