"""Scripted experts: they know the rule, keep it, and otherwise do what pays. Nothing that learns imports this module.

Each has habits that nobody is told of: a side, a margin, a pace, drawn for every episode, and a hand that trembles.
Without its rule (`lawful=False`) the same script is a reference for what breaking the rule pays.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from icrl.tasks.shapes import truth
from icrl.tasks.shapes.planes import Plane
from icrl.tasks.shapes.roads import Road
from icrl.tasks.shapes.setpoints import Machine
from icrl.tasks.shapes.steering import round_box, round_disc
from icrl.tasks.shapes.worlds import WORLDS
from icrl.types import AnyArray, FloatArray


class Habits(NamedTuple):
    """What differs between E episodes of one expert."""

    side: FloatArray
    """[E]: 1 or −1."""
    margin: FloatArray
    """[E] in [0, 1]: how far it keeps from the boundary."""
    pace: FloatArray
    """[E] in [0, 1]."""
    tremble: FloatArray
    """[T, E, a]: standard normal, one for each component of each action."""


Script = Callable[[FloatArray, FloatArray, Habits], AnyArray]
"""(observations [E, o], tremble of this step [E, a], habits) -> actions."""


def draw_habits(rngs: list[np.random.Generator], horizon: int, width: int) -> Habits:
    """The habits of E episodes, each from a generator of its own."""
    return Habits(
        side=np.array([rng.choice([-1.0, 1.0]) for rng in rngs]),
        margin=np.array([rng.uniform() for rng in rngs]),
        pace=np.array([rng.uniform() for rng in rngs]),
        tremble=np.stack([rng.standard_normal((horizon, width)) for rng in rngs], axis=1),
    )


def find_script(name: str, lawful: bool = True) -> Script:
    """The script of a world; without the rule where not `lawful`."""
    physics = WORLDS[name].physics
    if isinstance(physics, Plane):
        heading = HEADINGS.get(name, straight)
        return partial(_walk, physics, heading if lawful else straight)
    if isinstance(physics, Road):
        return partial(ROADS[name], physics, lawful)
    assert isinstance(physics, Machine)
    return partial(MACHINES[name], physics, lawful)


# --- couriers on a plane


Heading = Callable[[FloatArray, FloatArray, Habits], FloatArray]
"""(places [E, 2], stops [E, 2], habits) -> where to head for [E, 2]."""


def straight(places: FloatArray, stops: FloatArray, habits: Habits) -> FloatArray:
    """To the stop."""
    return stops


def past_disc(centre: tuple[float, float], radius: float) -> Heading:
    """Past a disc, from 2 to 9 % farther out than need be."""

    def heading(places: FloatArray, stops: FloatArray, habits: Habits) -> FloatArray:
        wider = radius * (1.02 + 0.07 * habits.margin)
        return round_disc(places, stops, np.array(centre), wider, habits.side)

    return heading


def past_box(corners: truth.Box, near: float, far: float, side: float | None = None) -> Heading:
    """Past a box, from `near` to `far` away from it; on one `side` where there is but one way."""

    def heading(places: FloatArray, stops: FloatArray, habits: Habits) -> FloatArray:
        wider = (near + (far - near) * habits.margin)[:, None]
        chosen = habits.side if side is None else np.full_like(habits.side, side)
        return round_box(
            places, stops, np.array(corners[0]) - wider, np.array(corners[1]) + wider, chosen
        )

    return heading


def past_lane(places: FloatArray, stops: FloatArray, habits: Habits) -> FloatArray:
    """Straight to the east; to the west beside the lane."""
    beside = past_box(truth.LANE, 1.5, 5.0)(places, stops, habits)
    return np.where((stops[:, 0] < places[:, 0])[:, None], beside, stops)


HEADINGS: dict[str, Heading] = {
    "disc": past_disc(truth.DISC_CENTRE, truth.DISC_RADIUS),
    "gate": past_box(truth.GATE_BLOCK, 0.06, 0.3, side=1.0),
    "one-way": past_lane,
}


def _walk(
    plane: Plane, heading: Heading, seen: FloatArray, tremble: FloatArray, habits: Habits
) -> FloatArray:
    """At 95 to 100 % of the highest speed, with a heading that is off by a few degrees."""
    places = seen[:, :2].astype(np.float64)
    ahead = heading(places, seen[:, 2:4].astype(np.float64), habits) - places
    angle = np.arctan2(ahead[:, 1], ahead[:, 0]) + 0.05 * tremble[:, 0]
    fastest = plane.max_speed * (0.95 + 0.05 * habits.pace)
    speed = np.minimum(fastest, np.hypot(ahead[:, 0], ahead[:, 1]) / plane.seconds)
    return np.asarray(speed[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))


# --- machines that follow demands


def _follow(
    machine: Machine, wanted: FloatArray, seen: FloatArray, tremble: FloatArray, pace: FloatArray
) -> FloatArray:
    """Straight towards the wanted values [E, d], as fast as the slowest quantity allows."""
    rates = np.array([quantity.rate for quantity in machine.quantities])
    change = (wanted - seen[:, : len(rates)]) / machine.seconds
    slower = np.maximum((np.abs(change) / rates).max(axis=1, keepdims=True), 1.0)
    return np.asarray(change / slower * (0.94 + 0.06 * pace)[:, None] + 0.02 * rates * tremble)


def _demanded(machine: Machine, seen: FloatArray) -> FloatArray:
    return np.asarray(seen[:, len(machine.quantities) :], np.float64)


def _pumps(
    machine: Machine, lawful: bool, seen: FloatArray, tremble: FloatArray, habits: Habits
) -> FloatArray:
    """The nearest flows that are allowed, in the measure that pays: q − scale² w (w·q − limit)₊ / |scale w|²."""
    wanted = _demanded(machine, seen)
    if lawful:
        scales = np.array([quantity.scale for quantity in machine.quantities])
        weights = np.array(truth.DIAGONAL_WEIGHTS)
        excess = np.maximum(
            wanted @ weights - truth.DIAGONAL_LIMIT + 1.2 + 4.0 * habits.margin, 0.0
        )
        wanted = wanted - excess[:, None] * scales**2 * weights / np.sum((scales * weights) ** 2)
    return _follow(machine, wanted, seen, tremble, habits.pace)


def _beam(
    machine: Machine, lawful: bool, seen: FloatArray, tremble: FloatArray, habits: Habits
) -> FloatArray:
    """As far as is allowed."""
    wanted = _demanded(machine, seen)
    if lawful:
        most = (truth.TUBE_LIMIT - 0.8 - 2.5 * habits.margin)[:, None]
        wanted = np.clip(wanted, -most, most)
    return _follow(machine, wanted, seen, tremble, habits.pace)


def _engine(
    machine: Machine, lawful: bool, seen: FloatArray, tremble: FloatArray, habits: Habits
) -> FloatArray:
    """As much of each as is allowed."""
    wanted = _demanded(machine, seen)
    if lawful:
        most = np.array(truth.WALLS) * (0.99 - 0.04 * habits.margin)[:, None]
        wanted = np.minimum(wanted, most)
    return _follow(machine, wanted, seen, tremble, habits.pace)


def _lift(
    machine: Machine, lawful: bool, seen: FloatArray, tremble: FloatArray, habits: Habits
) -> FloatArray:
    """As fast as is allowed."""
    velocity = _follow(machine, _demanded(machine, seen), seen, tremble, habits.pace)
    if lawful:
        most = (truth.LIFT_LIMIT * (0.99 - 0.04 * habits.margin))[:, None]
        velocity = np.clip(velocity, -most, most) - 0.02 * np.abs(tremble) * np.sign(velocity)
    return velocity


MACHINES: dict[str, Callable[[Machine, bool, FloatArray, FloatArray, Habits], FloatArray]] = {
    "diagonal": _pumps,
    "tube": _beam,
    "two-walls": _engine,
    "action-limit": _lift,
}


# --- vehicles on a circuit


def _brake_in_time(
    road: Road, zone: tuple[float, float], limit: FloatArray, place: FloatArray, speed: FloatArray
) -> FloatArray:
    """The highest speed [E] for the next step with which the limit can be kept in the zone, which is still ahead."""
    choices = speed[:, None] + road.acceleration * np.linspace(-1.0, 1.0, 41)  # [E, 41]
    choices = np.clip(choices, 0.0, road.max_speed)
    next_place = (place[:, None] + road.step * choices) % road.length
    in_zone = (next_place >= zone[0]) & (next_place <= zone[1])
    ahead = np.where(in_zone, 0.0, (zone[0] - next_place) % road.length)
    over = np.maximum(choices - limit[:, None], 0.0)
    brakes = np.ceil(over / (0.9 * road.acceleration))
    # the way that braking takes: the sum of all speeds until the limit is met
    way = road.step * brakes * (choices - 0.45 * road.acceleration * (brakes + 1))
    fine = (over == 0.0) | (way < ahead)
    return np.asarray(np.where(fine, choices, choices.min(axis=1, keepdims=True)).max(axis=1))


def _drive(
    zone: tuple[float, float],
    limit: float,
    road: Road,
    lawful: bool,
    seen: FloatArray,
    tremble: FloatArray,
    habits: Habits,
) -> FloatArray:
    """As fast as it goes, and in time as slow as it must be."""
    place, speed = _place_and_speed(road, seen)
    wanted = np.full(len(seen), road.max_speed)
    if lawful:
        wanted = _brake_in_time(road, zone, limit * (0.98 - 0.05 * habits.margin), place, speed)
    wanted = np.minimum(wanted, road.max_speed * (0.95 + 0.05 * habits.pace))
    change = np.clip(wanted - speed, -road.acceleration, road.acceleration)
    slack = 0.03 * road.acceleration * np.abs(tremble[:, 0])
    return np.asarray((change - slack)[:, None])


def _place_and_speed(road: Road, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
    """[E] each, from the observations."""
    seen = seen.astype(np.float64)
    if len(road.place_names) == 1:
        return seen[:, 0], seen[:, 1]
    angle = np.arctan2(seen[:, 1], seen[:, 0]) % (2.0 * np.pi)
    return angle * road.length / (2.0 * np.pi), seen[:, 2]


def _spray(
    road: Road, lawful: bool, seen: FloatArray, tremble: FloatArray, habits: Habits
) -> FloatArray:
    """At full speed, and as much as is allowed."""
    assert road.sprayer is not None
    place, speed = _place_and_speed(road, seen)
    change = np.clip(road.max_speed - speed, -road.acceleration, road.acceleration)
    flow = np.full(len(seen), road.sprayer.max_flow) * (0.96 + 0.04 * habits.pace)
    if lawful:
        in_zone = (place >= truth.SPRAY_ZONE[0]) & (place <= truth.SPRAY_ZONE[1])
        flow = np.where(in_zone, truth.SPRAY_LIMIT * (0.98 - 0.08 * habits.margin), flow)
    flow = flow * (1.0 - 0.02 * np.abs(tremble[:, 1]))
    return np.stack([change - 0.05 * np.abs(tremble[:, 0]), flow], axis=1)


_RING = WORLDS["zone-speed"].physics
assert isinstance(_RING, Road)
_RING_ZONE = (
    truth.RING_ZONE[0] / (2 * np.pi) * _RING.length,
    truth.RING_ZONE[1] / (2 * np.pi) * _RING.length,
)

ROADS: dict[str, Callable[[Road, bool, FloatArray, FloatArray, Habits], FloatArray]] = {
    "zone-speed": partial(_drive, _RING_ZONE, truth.RING_LIMIT),
    "zone-action": _spray,
}
