"""Scripted experts: they know the rule, keep it, and otherwise do what pays. Nothing that learns
imports this module.

Each has habits that nobody is told of: a side, a margin, a pace, drawn for every episode, and a
hand that trembles. Without its rule the same script is a reference for what breaking the rule pays.
"""

from typing import NamedTuple

import numpy as np

from icrl.tasks.shapes import truth, worlds
from icrl.tasks.shapes.couriers import (
    Heading,
    courier,
    dawdler,
    past_box,
    past_disc,
    past_lane,
    pedestrian,
    straight,
)
from icrl.tasks.shapes.drivers import Zone, driver, sprayer
from icrl.tasks.shapes.habits import Script
from icrl.tasks.shapes.operators import (
    Wish,
    as_demanded,
    below,
    below_line,
    gentle_operator,
    not_all_above,
    operator,
    plant_operator,
    within,
)
from icrl.tasks.shapes.planes import Plane
from icrl.tasks.shapes.setpoints import Machine
from icrl.tasks.shapes.walkers import carrier


class Pair(NamedTuple):
    """The expert of a world, and the same script without the rule."""

    expert: Script
    free: Script


def _courier(plane: Plane, heading: Heading) -> Pair:
    return Pair(courier(plane, heading), courier(plane, straight))


def _operator(machine: Machine, wish: Wish) -> Pair:
    return Pair(operator(machine, wish), operator(machine, as_demanded))


_RING = Zone(
    first=truth.RING_ZONE[0] / (2 * np.pi) * worlds.ZONE_SPEED.length,
    last=truth.RING_ZONE[1] / (2 * np.pi) * worlds.ZONE_SPEED.length,
    limit=truth.RING_LIMIT,
)
_FIELD = Zone(*truth.SPRAY_ZONE, limit=truth.SPRAY_LIMIT)
_TOWN = Zone(*truth.TOWN, limit=truth.TOWN_LIMIT)

EXPERTS: dict[str, Pair] = {
    "disc": _courier(worlds.DISC, past_disc(truth.DISC_CENTRE, truth.DISC_RADIUS)),
    "gate": _courier(worlds.GATE, past_box(truth.GATE_BLOCK, 0.08, 0.3, side=1.0)),
    "diagonal": _operator(
        worlds.DIAGONAL,
        below_line(worlds.DIAGONAL, truth.DIAGONAL_WEIGHTS, truth.DIAGONAL_LIMIT),
    ),
    "tube": _operator(worlds.TUBE, within(truth.TUBE_LIMIT)),
    "two-walls": _operator(worlds.TWO_WALLS, below(truth.WALLS)),
    "zone-speed": Pair(driver(worlds.ZONE_SPEED, _RING), driver(worlds.ZONE_SPEED, None)),
    "zone-action": Pair(sprayer(worlds.ZONE_ACTION, _FIELD), sprayer(worlds.ZONE_ACTION, None)),
    "one-way": _courier(worlds.ONE_WAY, past_lane(truth.LANE, 1.5, 5.0)),
    "action-limit": Pair(
        gentle_operator(worlds.ACTION_LIMIT, truth.LIFT_LIMIT),
        operator(worlds.ACTION_LIMIT, as_demanded),
    ),
    "never-action": Pair(
        pedestrian(worlds.NEVER_ACTION, rides=False),
        pedestrian(worlds.NEVER_ACTION, rides=True),
    ),
    "octant": _operator(worlds.OCTANT, not_all_above(worlds.OCTANT, truth.OCTANT_CORNER)),
    "blocked-cells": Pair(
        carrier(worlds.BLOCKED_CELLS, truth.BLOCKED),
        carrier(worlds.BLOCKED_CELLS, ()),
    ),
    "plant": Pair(plant_operator(worlds.PLANT, truth.HOTTEST), plant_operator(worlds.PLANT, None)),
    "distractors": _courier(worlds.DISTRACTORS, past_disc(truth.POND_CENTRE, truth.POND_RADIUS)),
    "noise": _courier(worlds.NOISE, past_box(truth.REEF, 18.0, 38.0)),
    "fuel-meter": Pair(driver(worlds.FUEL_METER, _TOWN), driver(worlds.FUEL_METER, None)),
    "no-rule": _courier(worlds.NO_RULE, straight),
    "weak-expert": Pair(dawdler(worlds.WEAK_EXPERT), courier(worlds.WEAK_EXPERT, straight)),
}


def find_script(name: str, keep_rule: bool = True) -> Script:
    """The script of a world; without the rule where not `keep_rule`."""
    if keep_rule:
        return EXPERTS[name].expert
    return EXPERTS[name].free
