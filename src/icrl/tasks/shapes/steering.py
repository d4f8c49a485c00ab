"""How to get somewhere without going through something: the geometry of the scripted experts, for E
agents at once."""

import numpy as np

from icrl.types import BoolArray, FloatArray


def round_disc(
    places: FloatArray, goals: FloatArray, centre: FloatArray, radius: FloatArray, side: FloatArray
) -> FloatArray:
    """Where to head for [E, 2]: the goal, or past the disc in the way, on its north (`side` 1) or
    south (−1).

    Outside the disc along the tangent, θ ± asin(radius / distance); inside along the circle and
    outwards.
    """
    ahead = goals - places
    to_centre = centre - places
    share = _dot(to_centre, ahead) / np.maximum(_dot(ahead, ahead), 1e-12)
    nearest = places + np.clip(share, 0.0, 1.0)[:, None] * ahead - centre
    blocked = np.sqrt(_dot(nearest, nearest)) < radius
    distance = np.maximum(np.sqrt(_dot(to_centre, to_centre)), 1e-9)
    turn = side * np.where(ahead[:, 0] >= 0, 1.0, -1.0)
    angle = np.arctan2(to_centre[:, 1], to_centre[:, 0])
    # inside, a quarter turn leads along the circle; a little more leads out of it
    outwards = np.pi / 2 + 1.5 * np.maximum(radius - distance, 0.0) / radius
    opening = np.where(distance > radius, np.arcsin(np.minimum(radius / distance, 1.0)), outwards)
    tangent = angle + turn * opening
    reach = np.sqrt(_dot(ahead, ahead))
    past = places + reach[:, None] * np.stack([np.cos(tangent), np.sin(tangent)], axis=1)
    return np.where(blocked[:, None], past, goals)


def round_box(
    places: FloatArray,
    goals: FloatArray,
    box: tuple[FloatArray, FloatArray],
    margin: FloatArray,
    side: FloatArray,
) -> FloatArray:
    """Where to head for [E, 2]: the goal, or a corner that leads past the box (low [2], high [2]).

    Corners stand off by the margin [E]. Of the goal, the far and the near corner on the north
    (`side` 1) or south (−1), it is the first to which a straight line keeps off by 0.4 of it.
    """
    away = margin[:, None]
    low = box[0] - away  # [E, 2]
    high = box[1] + away
    inner_low = box[0] - 0.4 * away
    inner_high = box[1] + 0.4 * away
    eastwards = goals[:, 0] >= places[:, 0]
    north = np.where(side > 0, high[:, 1], low[:, 1])
    far = np.stack([np.where(eastwards, high[:, 0], low[:, 0]), north], axis=1)
    near = np.stack([np.where(eastwards, low[:, 0], high[:, 0]), north], axis=1)
    heading = np.where(crosses_box(places, far, inner_low, inner_high)[:, None], near, far)
    heading = np.where(crosses_box(places, goals, inner_low, inner_high)[:, None], heading, goals)
    # who was pushed too near walks away from the side that is nearest
    depth = np.concatenate([places - inner_low, inner_high - places], axis=1)  # [E, 4]
    inside = np.all(depth > 0, axis=1, keepdims=True)
    ways_out = np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    out = places + (depth.min(axis=1) + margin)[:, None] * ways_out[depth.argmin(axis=1)]
    return np.where(inside, out, heading)


def crosses_box(
    starts: FloatArray,
    ends: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> BoolArray:
    """[E]: the straight line from start to end [E, 2] enters the box.

    Between each pair of opposite sides lies a share of the line: all these shares must meet.
    """
    way = ends - starts
    # A line along an axis would be divided by 0.
    way = np.where(np.abs(way) < 1e-9, 1e-9, way)
    first = (low - starts) / way
    second = (high - starts) / way
    enter = np.minimum(first, second).max(axis=1)
    leave = np.maximum(first, second).min(axis=1)
    return np.asarray((enter < leave) & (leave > 0.0) & (enter < 1.0))


def _dot(left: FloatArray, right: FloatArray) -> FloatArray:
    """[E, 2] twice -> [E]."""
    return np.asarray((left * right).sum(axis=1))
