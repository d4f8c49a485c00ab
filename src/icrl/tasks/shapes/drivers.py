"""Scripts of drivers on a circuit. Where they must be slow, or frugal, is given to them: no rule is
written here."""

from typing import NamedTuple

import numpy as np

from icrl.tasks.shapes.habits import Habits, Script
from icrl.tasks.shapes.roads import Road
from icrl.types import AnyArray, FloatArray


class Zone(NamedTuple):
    """A piece of the circuit and what is limited there."""

    first: float
    last: float
    limit: float


def driver(road: Road, zone: Zone | None) -> Script:
    """As fast as it goes, and in time as slow as it must be."""

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        place, speed = _place_and_speed(road, seen)
        wanted = np.full(len(seen), road.max_speed)
        if zone is not None:
            limit = zone.limit * (0.98 - 0.05 * habits.margin)
            wanted = _brake_in_time(road, zone, limit, place, speed)
        wanted = np.minimum(wanted, road.max_speed * (0.95 + 0.05 * habits.pace))
        change = np.clip(wanted - speed, -road.acceleration, road.acceleration)
        # Only ever downwards: a hand that trembles must not break the limit.
        slack = 0.03 * road.acceleration * np.abs(tremble[:, 0])
        return np.asarray((change - slack)[:, None])

    return act


def sprayer(road: Road, zone: Zone | None) -> Script:
    """At full speed, and as much as is allowed."""
    assert road.sprayer is not None
    max_flow = road.sprayer.max_flow

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        place, speed = _place_and_speed(road, seen)
        change = np.clip(road.max_speed - speed, -road.acceleration, road.acceleration)
        flow = np.full(len(seen), max_flow) * (0.96 + 0.04 * habits.pace)
        if zone is not None:
            in_zone = (place >= zone.first) & (place <= zone.last)
            flow = np.where(in_zone, zone.limit * (0.98 - 0.08 * habits.margin), flow)
        flow = flow * (1.0 - 0.02 * np.abs(tremble[:, 1]))
        return np.stack([change - 0.05 * np.abs(tremble[:, 0]), flow], axis=1)

    return act


def _brake_in_time(
    road: Road,
    zone: Zone,
    limit: FloatArray,
    place: FloatArray,
    speed: FloatArray,
) -> FloatArray:
    """The highest speed [E] for the next step after which the limit can still be kept in the
    zone."""
    choices = speed[:, None] + road.acceleration * np.linspace(-1.0, 1.0, 41)  # [E, 41]
    choices = np.clip(choices, 0.0, road.max_speed)
    next_place = (place[:, None] + road.step * choices) % road.length
    in_zone = (next_place >= zone.first) & (next_place <= zone.last)
    ahead = np.where(in_zone, 0.0, (zone.first - next_place) % road.length)
    over = np.maximum(choices - limit[:, None], 0.0)
    brakes = np.ceil(over / (0.9 * road.acceleration))
    # the way that braking takes: the sum of all speeds until the limit is met
    way = road.step * brakes * (choices - 0.45 * road.acceleration * (brakes + 1))
    fine = (over == 0.0) | (way < ahead)
    return np.asarray(np.where(fine, choices, choices.min(axis=1, keepdims=True)).max(axis=1))


def _place_and_speed(road: Road, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
    """[E] each, from the observations."""
    seen = seen.astype(np.float64)
    if len(road.place_names) == 1:
        return seen[:, 0], seen[:, 1]
    angle = np.arctan2(seen[:, 1], seen[:, 0]) % (2.0 * np.pi)
    return angle * road.length / (2.0 * np.pi), seen[:, 2]
