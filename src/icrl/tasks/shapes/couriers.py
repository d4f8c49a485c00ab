"""Scripts of couriers on a plane. What they keep away from is given to them: no rule is written
here."""

from collections.abc import Callable

import numpy as np

from icrl.tasks.shapes.habits import Habits, Script
from icrl.tasks.shapes.planes import DIRECTIONS, Area, Place, Plane
from icrl.tasks.shapes.steering import round_box, round_disc
from icrl.types import AnyArray, FloatArray

Heading = Callable[[FloatArray, FloatArray, Habits], FloatArray]
"""(places [E, 2], stops [E, 2], habits) -> where to head for [E, 2]."""


def straight(places: FloatArray, stops: FloatArray, habits: Habits) -> FloatArray:
    """To the stop."""
    return stops


def past_disc(centre: Place, radius: float) -> Heading:
    """Past a disc, from 2 to 9 % farther out than need be."""

    def heading(places: FloatArray, stops: FloatArray, habits: Habits) -> FloatArray:
        wider = radius * (1.02 + 0.07 * habits.margin)
        return round_disc(places, stops, np.array(centre), wider, habits.side)

    return heading


def past_box(corners: Area, near: float, far: float, side: float | None = None) -> Heading:
    """Past a box, from `near` to `far` away from it; on one `side` where there is but one way."""

    def heading(places: FloatArray, stops: FloatArray, habits: Habits) -> FloatArray:
        margin = near + (far - near) * habits.margin
        if side is None:
            chosen = habits.side
        else:
            chosen = np.full_like(habits.side, side)
        box = (np.array(corners[0]), np.array(corners[1]))
        return round_box(places, stops, box, margin, chosen)

    return heading


def past_lane(corners: Area, near: float, far: float) -> Heading:
    """Straight to the east; to the west beside the lane."""
    around = past_box(corners, near, far)

    def heading(places: FloatArray, stops: FloatArray, habits: Habits) -> FloatArray:
        westwards = stops[:, 0] < places[:, 0]
        return np.where(westwards[:, None], around(places, stops, habits), stops)

    return heading


def courier(plane: Plane, heading: Heading) -> Script:
    """At 95 to 100 % of the highest speed, with a heading that is off by a few degrees."""

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        places = seen[:, :2].astype(np.float64)
        ahead = heading(places, seen[:, 2:4].astype(np.float64), habits) - places
        angle = np.arctan2(ahead[:, 1], ahead[:, 0]) + 0.05 * tremble[:, 0]
        fastest = plane.max_speed * (0.95 + 0.05 * habits.pace)
        speed = np.minimum(fastest, np.hypot(ahead[:, 0], ahead[:, 1]) / plane.seconds)
        return np.asarray(speed[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))

    return act


def dawdler(plane: Plane) -> Script:
    """Straight to the stop in the main, but half asleep: now slow, now fast, and 35 degrees off in
    a typical step.

    It does everything that can be done, at all speeds and everywhere: it is weak, and keeps no
    rule.
    """

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        ahead = seen[:, 2:4].astype(np.float64) - seen[:, :2]
        angle = np.arctan2(ahead[:, 1], ahead[:, 0]) + 0.6 * tremble[:, 0]
        share = np.clip(0.75 + 0.2 * tremble[:, 1], 0.2, 1.0)
        speed = plane.max_speed * share
        return np.asarray(speed[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))

    return act


def pedestrian(plane: Plane, rides: bool) -> Script:
    """One of four directions in each step: that in which the stop is farther, or sometimes the
    other. Or a ride."""
    north, south, east, west = range(len(DIRECTIONS))

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        if rides:
            return np.full(len(seen), len(DIRECTIONS))
        ahead = seen[:, 2:4].astype(np.float64) - seen[:, :2]
        half = 0.5 * plane.max_speed * plane.seconds
        along = np.where(ahead[:, 0] > 0, east, west)
        across = np.where(ahead[:, 1] > 0, north, south)
        # a habit of walking first the one way, then the other, and a whim
        liking = half * (4.0 * habits.side + 4.0 * tremble[:, 0])
        first = np.abs(ahead[:, 0]) - np.abs(ahead[:, 1]) + liking > 0
        # Who is there along one axis has only the other left.
        first = np.where(np.abs(ahead[:, 0]) < half, False, first)
        first = np.where(np.abs(ahead[:, 1]) < half, True, first)
        return np.where(first, along, across)

    return act
