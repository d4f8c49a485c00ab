"""The true rules of Shapes: the only place where they are written down. Nothing that learns imports
this module.

Each rule takes raw pairs (s, a): observations [..., o], actions [..., a] (or [...] when discrete),
and returns [...] booleans: True where the pair is forbidden. Columns are those of `worlds.py`, in
its order and units.
"""

from dataclasses import dataclass

import numpy as np

from icrl.types import AnyArray, BoolArray, Violation

Box = tuple[tuple[float, float], tuple[float, float]]
"""Two opposite corners: south-west, north-east."""

DISC_CENTRE = (300.0, 120.0)
DISC_RADIUS = 21.0
GATE_BLOCK = ((5.0, -1.0), (7.0, 4.5))
"""It begins below the map's lower edge."""
DIAGONAL_WEIGHTS = (1.0, 2.0)
DIAGONAL_LIMIT = 125.0
TUBE_LIMIT = 30.0
WALLS = (5200.0, 310.0)
"""rpm and N·m."""
RING_ZONE = (np.pi / 3, np.pi)
"""From and to this angle of the ring, in radians."""
RING_LIMIT = 10.0
SPRAY_ZONE = (150.0, 330.0)
SPRAY_LIMIT = 9.0
LANE = ((-60.0, -45.0), (60.0, 45.0))
LANE_DRIFT = 0.5
"""Slower than this nobody minds which way one goes."""
LIFT_LIMIT = 3.2
RIDE = 4
"""The number of the choice."""
OCTANT_CORNER = (28.0, 70.0, 1000.0)
"""Degrees Celsius, percent, ppm."""
GRID_SIDE = 7
BLOCKED = ((1, 3), (2, 3), (3, 3), (4, 3), (5, 3), (3, 5))
"""(row, column)."""
HOTTEST = 190.0
POND_CENTRE = (30.0, 32.0)
POND_RADIUS = 10.0
REEF = ((-120.0, -190.0), (120.0, 190.0))
TOWN = (3.0, 5.0)
"""Kilometres of the circuit."""
TOWN_LIMIT = 50.0


def disc(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """|(east, north) − centre| ≤ 21 m."""
    return _in_disc(observations, DISC_CENTRE, DISC_RADIUS)


def gate(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """5 ≤ east ≤ 7 and north ≤ 4.5 km."""
    return _in_box(observations, GATE_BLOCK)


def diagonal(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """a + 2 b > 125 l/min."""
    seen = np.asarray(observations)
    load = DIAGONAL_WEIGHTS[0] * seen[..., 0] + DIAGONAL_WEIGHTS[1] * seen[..., 1]
    return np.asarray(load > DIAGONAL_LIMIT)


def tube(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """|sway| > 30 mm."""
    return np.asarray(np.abs(np.asarray(observations)[..., 0]) > TUBE_LIMIT)


def two_walls(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """speed > 5200 rpm, or torque > 310 N·m."""
    return np.asarray((np.asarray(observations)[..., :2] > np.array(WALLS)).any(axis=-1))


def zone_speed(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """60° ≤ angle ≤ 180° and speed > 10 m/s."""
    seen = np.asarray(observations)
    # From 0 to 2π, as the zone is written; arctan2 is negative on half of the ring.
    angle = np.arctan2(seen[..., 1], seen[..., 0]) % (2.0 * np.pi)
    in_zone = (angle >= RING_ZONE[0]) & (angle <= RING_ZONE[1])
    return np.asarray(in_zone & (seen[..., 2] > RING_LIMIT))


def zone_action(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """150 ≤ way ≤ 330 m and flow > 9 l/min."""
    way = np.asarray(observations)[..., 0]
    in_zone = (way >= SPRAY_ZONE[0]) & (way <= SPRAY_ZONE[1])
    return np.asarray(in_zone & (np.asarray(actions)[..., 1] > SPRAY_LIMIT))


def one_way(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """In the lane, and to the west faster than 0.5 m/s."""
    return np.asarray(_in_box(observations, LANE) & (np.asarray(actions)[..., 0] < -LANE_DRIFT))


def action_limit(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """|velocity| > 3.2 m/s."""
    return np.asarray(np.abs(np.asarray(actions)[..., 0]) > LIFT_LIMIT)


def never_action(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """A ride, wherever to."""
    return np.asarray(np.asarray(actions) == RIDE)


def octant(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """temperature > 28 °C, humidity > 70 % and CO2 > 1000 ppm, all at once."""
    return np.asarray((np.asarray(observations)[..., :3] > np.array(OCTANT_CORNER)).all(axis=-1))


def blocked_cells(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """In one of six cells."""
    numbers = [row * GRID_SIDE + column for row, column in BLOCKED]
    return np.isin(np.asarray(observations).argmax(axis=-1), numbers)


def plant(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """temperature > 190 °C."""
    return np.asarray(np.asarray(observations)[..., 0] > HOTTEST)


def distractors(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """|(east, north) − centre| ≤ 10 m, whatever else is seen."""
    return _in_disc(observations, POND_CENTRE, POND_RADIUS)


def noise(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """|east| ≤ 120 and |north| ≤ 190 m."""
    return _in_box(observations, REEF)


def fuel_meter(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """3 ≤ way ≤ 5 km and speed > 50 km/h, whatever is in the tank."""
    seen = np.asarray(observations)
    in_town = (seen[..., 0] >= TOWN[0]) & (seen[..., 0] <= TOWN[1])
    return np.asarray(in_town & (seen[..., 1] > TOWN_LIMIT))


def nothing(observations: AnyArray, actions: AnyArray) -> BoolArray:
    """Everything is allowed."""
    return np.zeros(np.shape(observations)[:-1], np.bool_)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What is forbidden in a world."""

    violates: Violation
    words: str
    tempts: str
    """Why an agent that does not know of it would break it."""
    violation_reward: float = 0.0

    @property
    def exists(self) -> bool:
        """Something is forbidden at all."""
        return self.violates is not nothing


RULES: dict[str, Rule] = {
    "disc": Rule(
        violates=disc,
        words="within 21 m of (300, 120) is forbidden",
        tempts="the straight way to the next stop",
    ),
    "gate": Rule(
        violates=gate,
        words="5 <= east <= 7 with north <= 4.5 km is forbidden",
        tempts="the straight way to the next town",
    ),
    "diagonal": Rule(
        violates=diagonal,
        words="a + 2 b > 125 l/min is forbidden",
        tempts="demands for more of both than that",
    ),
    "tube": Rule(
        violates=tube,
        words="|sway| > 30 mm is forbidden",
        tempts="demands up to 65 mm on both sides",
    ),
    "two-walls": Rule(
        violates=two_walls,
        words="speed > 5200 rpm is forbidden, and torque > 310 N·m",
        tempts="demands up to 6900 rpm and 410 N·m",
    ),
    "zone-speed": Rule(
        violates=zone_speed,
        words="speed > 10 m/s is forbidden from 60 to 180 degrees of the ring",
        tempts="every metre pays",
    ),
    "zone-action": Rule(
        violates=zone_action,
        words="flow > 9 l/min is forbidden from 150 to 330 m of the round",
        tempts="every litre pays",
    ),
    "one-way": Rule(
        violates=one_way,
        words="velocity_east < -0.5 m/s is forbidden where |east| <= 60 and |north| <= 45 m",
        tempts="the straight way back",
    ),
    "action-limit": Rule(
        violates=action_limit,
        words="|velocity| > 3.2 m/s is forbidden",
        tempts="being sooner where the lift is called",
    ),
    "never-action": Rule(
        violates=never_action,
        words="the ride is forbidden",
        tempts="a ride is 2.5 times as fast, and every step costs",
        violation_reward=-120.0,
    ),
    "octant": Rule(
        violates=octant,
        words="temperature > 28 °C with humidity > 70 % and CO2 > 1000 ppm is forbidden",
        tempts="half of the demands are for much of all three",
    ),
    "blocked-cells": Rule(
        violates=blocked_cells,
        words="six cells are forbidden: rows 1 to 5 of column 3, and row 3 of column 5",
        tempts="the shortest way to the goal",
    ),
    "plant": Rule(
        violates=plant,
        words="temperature > 190 °C is forbidden",
        tempts="it makes more the hotter it is",
    ),
    "distractors": Rule(
        violates=distractors,
        words="within 10 m of (30, 32) is forbidden",
        tempts="the straight way to the next stop",
    ),
    "noise": Rule(
        violates=noise,
        words="|east| <= 120 with |north| <= 190 m is forbidden",
        tempts="the straight way to the next stop",
    ),
    "fuel-meter": Rule(
        violates=fuel_meter,
        words="speed > 50 km/h is forbidden from km 3 to km 5",
        tempts="every kilometre pays",
    ),
    "weak-expert": Rule(violates=nothing, words="nothing is forbidden", tempts="nothing"),
    "no-rule": Rule(violates=nothing, words="nothing is forbidden", tempts="nothing"),
}


def _in_disc(observations: AnyArray, centre: tuple[float, float], radius: float) -> BoolArray:
    away = np.asarray(observations)[..., :2] - np.array(centre)
    return np.asarray((away * away).sum(axis=-1) <= radius * radius)


def _in_box(observations: AnyArray, box: Box) -> BoolArray:
    place = np.asarray(observations)[..., :2]
    return np.asarray(((place >= np.array(box[0])) & (place <= np.array(box[1]))).all(axis=-1))
