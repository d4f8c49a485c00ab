"""The plane of the two bridges (the paper's first figure):
where land is, how one moves, what a place pays.

It knows nothing of the constraint, so that the tabular form of the world may be built from it.
"""

import numpy as np

from icrl.types import AnyArray, BoolArray, FloatArray

WIDTH, HEIGHT = 12.0, 9.0
"""The plane is |x| <= 6, |y| <= 4.5."""
RIVER = (-2.0, 2.0)
"""Water from bottom to top between these x, except under the bridges."""
LOWER_BRIDGE = (-3.5, -1.5)
"""From bottom to top, in y: the short way."""
UPPER_BRIDGE = (0.5, 2.5)
START = (-4.0, -2.5)
START_SPREAD = 0.5
"""An episode starts anywhere in the square of this half-width around `START`."""
GOAL = (4.0, -2.5)
GOAL_SIZE = 1.0
"""Half-width of the square that counts as the goal."""
MAX_STEP = 1.0
"""Along each axis, in one step."""
CLOSENESS_SCALE = 2.0
CLOSENESS_REWARD = 0.1
HORIZON = 60


def is_land(positions: AnyArray) -> BoolArray:
    """Where one can stand: not in the water. [..., 2] -> [...]."""
    x = positions[..., 0]
    y = positions[..., 1]
    over_river = (x > RIVER[0]) & (x < RIVER[1])
    on_bridge = np.zeros(np.shape(x), np.bool_)
    for low, high in (LOWER_BRIDGE, UPPER_BRIDGE):
        on_bridge |= (y >= low) & (y <= high)
    return np.asarray(~over_river | on_bridge)


def move(positions: FloatArray, actions: FloatArray) -> FloatArray:
    """s' = s + a, a in [-1, 1]², kept inside the plane; s' = s if that is water.
    [..., 2] twice -> [..., 2]."""
    corner = np.array([WIDTH / 2, HEIGHT / 2])
    aim = np.clip(positions + MAX_STEP * np.clip(actions, -1.0, 1.0), -corner, corner)
    return np.asarray(np.where(is_land(aim)[..., None], aim, positions))


def at_goal(positions: AnyArray) -> BoolArray:
    """Inside the square around the goal. [..., 2] -> [...]."""
    away = np.maximum(np.abs(positions[..., 0] - GOAL[0]), np.abs(positions[..., 1] - GOAL[1]))
    return np.asarray(away <= GOAL_SIZE)


def closeness(positions: AnyArray) -> FloatArray:
    """r(s') = 0.1 exp(−|s' − goal| / 2), as the crow flies; at the goal 1. [..., 2] -> [...].

    On the long way round closeness first falls: waiting at the water pays more than walking to the
    upper bridge. It is small beside the goal, so that lingering near the goal for ever (0.1 a step)
    is worth less than arriving.
    """
    distance = np.hypot(positions[..., 0] - GOAL[0], positions[..., 1] - GOAL[1])
    return np.where(at_goal(positions), 1.0, CLOSENESS_REWARD * np.exp(-distance / CLOSENESS_SCALE))
