"""A courier on a plane: it walks from stop to stop and is paid for every metre that it comes
nearer.

How many stops it makes in an episode is a matter of how straight it goes: what is in the way costs
time.
"""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks.shapes.shape_env import ShapeEnv
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray

Place = tuple[float, float]
Area = tuple[Place, Place]
"""(lower left corner, upper right corner)."""

DIRECTIONS = ("north", "south", "east", "west")
_UNIT_MOVES = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
"""Of the four directions, and of a ride, whose direction is that of the stop."""


@dataclass(frozen=True, kw_only=True)
class Distractors:
    """Features that have nothing to do with anything: each has a mean and a spread of its own."""

    white: tuple[Place, ...] = (
        (0.0, 1.0),
        (50.0, 10.0),
        (1013.0, 8.0),
        (-3.0, 0.2),
        (0.5, 0.3),
        (200.0, 90.0),
    )
    """(mean, spread): drawn anew in every step."""
    constant: tuple[Place, ...] = ((10.0, 4.0), (0.0, 25.0), (1.0, 0.5), (300.0, 120.0))
    """(mean, spread): drawn once for each episode."""
    walks: tuple[Place, ...] = (
        (0.0, 0.1),
        (20.0, 0.5),
        (100.0, 5.0),
        (-40.0, 2.0),
        (7.0, 0.05),
        (0.0, 30.0),
    )
    """(start, spread of a step): a random walk from the start."""

    @property
    def names(self) -> tuple[str, ...]:
        """White noise first, then constants, then walks."""
        kinds = (("white", self.white), ("constant", self.constant), ("walk", self.walks))
        return tuple(f"{kind}_{index}" for kind, members in kinds for index in range(len(members)))

    def draw(self, rng: np.random.Generator, steps: int) -> FloatArray:
        """Those of one episode: [steps, number]."""
        white = np.array(self.white)
        constant = np.array(self.constant)
        walks = np.array(self.walks)
        noise = white[:, 0] + white[:, 1] * rng.standard_normal((steps, len(white)))
        fixed = constant[:, 0] + constant[:, 1] * rng.standard_normal(len(constant))
        changes = walks[:, 1] * rng.standard_normal((steps, len(walks)))
        wandering = walks[:, 0] + np.cumsum(changes, axis=0)
        return np.concatenate([noise, np.tile(fixed, (steps, 1)), wandering], axis=1)


@dataclass(frozen=True, kw_only=True)
class Plane:
    """A map, the stops on it, how fast one goes and what it pays. Lengths are in `unit`, speeds in
    `unit` a second."""

    unit: str
    horizon: int
    low: Place
    high: Place
    """Corners of the map: nobody leaves it."""
    stops: tuple[Area, ...]
    """An episode starts in the first area; the stops are drawn from the others and the first in
    turn."""
    max_speed: float
    seconds: float
    """Of one step."""
    reach: float
    """Nearer than this, one has arrived, and the next stop is told."""
    pay: float
    """For each unit of length nearer to the stop."""
    cost: float = 0.0
    """Of each step."""
    legs: int | None = None
    """The episode ends after so many stops; None: it goes on."""
    noise: float = 0.0
    """Standard deviation of a push in every step, along each axis."""
    ride_speed: float | None = None
    """Then actions are choices: four directions at `max_speed`, and a ride straight to the stop.
    None: a velocity."""
    distractors: Distractors | None = None

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Place and stop, then the distractors."""
        own = tuple(f"{name}_{self.unit}" for name in ("east", "north", "stop_east", "stop_north"))
        if self.distractors is None:
            return own
        return own + self.distractors.names

    @property
    def action_names(self) -> tuple[str, ...]:
        """Two components of the velocity, or the choices."""
        if self.ride_speed is not None:
            return (*DIRECTIONS, "ride")
        return (f"velocity_east_{self.unit}_per_s", f"velocity_north_{self.unit}_per_s")

    @property
    def observation_space(self) -> gym.spaces.Box:
        """The map, twice; distractors have no bounds."""
        others = len(self.observation_names) - 4
        low = np.concatenate([self.low, self.low, np.full(others, -np.inf)])
        high = np.concatenate([self.high, self.high, np.full(others, np.inf)])
        return gym.spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)

    @property
    def action_space(self) -> gym.spaces.Box | gym.spaces.Discrete:
        """Velocities up to the highest speed along each axis, or choices."""
        if self.ride_speed is not None:
            return gym.spaces.Discrete(len(self.action_names))
        return gym.spaces.Box(-self.max_speed, self.max_speed, (2,), np.float32)

    def make_env(self, num_envs: int, autoreset_mode: AutoresetMode) -> "PlaneEnv":
        """E couriers."""
        return PlaneEnv(self, num_envs, autoreset_mode)


class PlaneEnv(ShapeEnv):
    """E couriers on the plane."""

    planar = True

    def __init__(self, plane: Plane, num_envs: int, autoreset_mode: AutoresetMode) -> None:
        super().__init__(plane, num_envs, autoreset_mode)
        self.plane = plane
        self.positions: FloatArray = np.zeros((num_envs, 2))
        self.stops: FloatArray = np.zeros((num_envs, plane.horizon + 2, 2))
        """[E, T + 2, 2]: where the episode starts, and every stop that it could reach."""
        self.arrivals: IntArray = np.zeros(num_envs, np.int64)
        self.pushes: FloatArray = np.zeros((num_envs, plane.horizon, 2))
        others = len(self.names) - 4
        self.distractors: FloatArray = np.zeros((num_envs, plane.horizon + 1, others))
        areas = np.array(plane.stops)  # [areas, 2 corners, 2]
        # Areas in turn, one stop for each step that there could be.
        turns = np.arange(plane.horizon + 2) % len(areas)
        self._lower: FloatArray = areas[turns, 0]
        self._upper: FloatArray = areas[turns, 1]

    def begin(self, indices: IntArray) -> None:
        """Somewhere in the first area; all stops, pushes and distractors are drawn now."""
        self.arrivals[indices] = 0
        # All that chance decides is drawn here, each environment from its own generator: an episode
        # does not depend on what is done in it, nor on its neighbours.
        for i in indices:
            self.stops[i] = self.rngs[i].uniform(self._lower, self._upper)
            if self.plane.noise > 0:
                self.pushes[i] = self.plane.noise * self.rngs[i].standard_normal((self.horizon, 2))
            if self.plane.distractors is not None:
                self.distractors[i] = self.plane.distractors.draw(self.rngs[i], self.horizon + 1)
        self.positions[indices] = self.stops[indices, 0]

    def move(self, actions: AnyArray) -> tuple[FloatArray, BoolArray]:
        """Walk; pay is for what one came nearer; who has arrived is told the next stop."""
        plane = self.plane
        stops = self.stops[self.everyone, self.arrivals + 1]
        before = stops - self.positions
        distance = np.sqrt((before * before).sum(axis=1))
        moved = self.positions + self._displacement(actions, before, distance)
        if plane.noise > 0:
            moved += self.pushes[self.everyone, self.elapsed]
        self.positions = np.minimum(np.maximum(moved, plane.low), plane.high)
        after = stops - self.positions
        left = np.sqrt((after * after).sum(axis=1))
        arrived = left < plane.reach
        self.arrivals += arrived
        rewards = plane.pay * (distance - left) - plane.cost
        if plane.legs is None:
            return rewards, self.nobody.copy()
        return rewards, self.arrivals >= plane.legs

    def look(self, time: IntArray) -> FloatArray:
        """Place, stop, distractors."""
        stops = self.stops[self.everyone, self.arrivals + 1]
        return np.concatenate(
            [self.positions, stops, self.distractors[self.everyone, time]],
            axis=1,
        )

    def _displacement(
        self,
        actions: AnyArray,
        ahead: FloatArray,
        distance: FloatArray,
    ) -> FloatArray:
        """[E, 2] of one step, before pushes; nobody is faster than the highest speed in any
        direction."""
        plane = self.plane
        if plane.ride_speed is None:
            speed = np.sqrt((actions * actions).sum(axis=1))
            # By the length of the velocity, not by its components: diagonals would be faster.
            slower = plane.max_speed / np.maximum(speed, plane.max_speed)
            return np.asarray(plane.seconds * actions * slower[:, None])
        steps = plane.max_speed * plane.seconds * _UNIT_MOVES[actions]
        # A ride ends at the stop: it never overshoots.
        ride = np.minimum(plane.ride_speed * plane.seconds, distance)
        rides = (actions == len(DIRECTIONS)) * ride / np.maximum(distance, 1e-9)
        return np.asarray(steps + rides[:, None] * ahead)
