"""A vehicle on a circuit: paid for the way that it makes, or for what it sprays while it makes
it."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.errors import InputError
from icrl.tasks.shapes.shape_env import ShapeEnv
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Tank:
    """What the vehicle burns: a litre at rest lasts long, one at full speed does not."""

    name: str
    at_start: tuple[float, float]
    """Litres in it when an episode starts: least, most."""
    idle: float
    """Litres burnt in a step at rest."""
    full_speed: float
    """Litres more at the highest speed; in between with the square of the speed."""


@dataclass(frozen=True, kw_only=True)
class Sprayer:
    """A second action: how much is sprayed. It pays by the litre, and in proportion to the
    speed."""

    name: str
    max_flow: float


@dataclass(frozen=True, kw_only=True)
class Road:
    """A circuit and a vehicle: v' = v + a, within [0, max_speed]; s' = s + dt · v'."""

    horizon: int
    length: float
    """Of the circuit."""
    max_speed: float
    """In `speed_name`'s unit."""
    acceleration: float
    """Most that the speed changes in a step, in the same unit; braking is as strong."""
    step: float
    """Way made in a step at speed 1, in the circuit's unit."""
    pay: float
    """For a unit of the way; with a sprayer: for a unit of flow at the highest speed in one
    step."""
    place_names: tuple[str, ...]
    """One name: the way from the zero of the circuit. Two names: cosine and sine of its angle."""
    speed_name: str
    action_name: str
    start_speed: tuple[float, float]
    tank: Tank | None = None
    sprayer: Sprayer | None = None

    def __post_init__(self) -> None:
        """Validate."""
        if len(self.place_names) not in (1, 2):
            raise InputError(f"expected one or two place_names, got {self.place_names}.")

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Place, speed, and the tank where there is one."""
        if self.tank is None:
            return (*self.place_names, self.speed_name)
        return (*self.place_names, self.speed_name, self.tank.name)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The change of speed, and the flow where there is a sprayer."""
        if self.sprayer is None:
            return (self.action_name,)
        return (self.action_name, self.sprayer.name)

    @property
    def observation_space(self) -> gym.spaces.Box:
        """The circuit, the speeds, what can be in the tank."""
        low = [-1.0, -1.0, 0.0]
        high = [1.0, 1.0, self.max_speed]
        if len(self.place_names) == 1:
            low = [0.0, 0.0]
            high = [self.length, self.max_speed]
        if self.tank is not None:
            low.append(0.0)
            high.append(self.tank.at_start[1])
        return gym.spaces.Box(
            np.array(low, np.float32),
            np.array(high, np.float32),
            dtype=np.float32,
        )

    @property
    def action_space(self) -> gym.spaces.Box:
        """Braking and accelerating, and the flow."""
        low = [-self.acceleration]
        high = [self.acceleration]
        if self.sprayer is not None:
            low.append(0.0)
            high.append(self.sprayer.max_flow)
        return gym.spaces.Box(
            np.array(low, np.float32),
            np.array(high, np.float32),
            dtype=np.float32,
        )

    def make_env(self, num_envs: int, autoreset_mode: AutoresetMode) -> "RoadEnv":
        """E vehicles."""
        return RoadEnv(self, num_envs, autoreset_mode)


class RoadEnv(ShapeEnv):
    """E vehicles, each on a circuit of its own."""

    def __init__(self, road: Road, num_envs: int, autoreset_mode: AutoresetMode) -> None:
        super().__init__(road, num_envs, autoreset_mode)
        self.road = road
        self.places: FloatArray = np.zeros(num_envs)
        """[E]: from the zero of the circuit."""
        self.speeds: FloatArray = np.zeros(num_envs)
        self.litres: FloatArray = np.zeros(num_envs)

    def begin(self, indices: IntArray) -> None:
        """Anywhere on the circuit, at a low speed."""
        for i in indices:
            self.places[i] = self.rngs[i].uniform(0.0, self.road.length)
            self.speeds[i] = self.rngs[i].uniform(*self.road.start_speed)
            if self.road.tank is not None:
                self.litres[i] = self.rngs[i].uniform(*self.road.tank.at_start)

    def move(self, actions: AnyArray) -> tuple[FloatArray, BoolArray]:
        """Change the speed, then drive."""
        road = self.road
        self.speeds = np.minimum(np.maximum(self.speeds + actions[:, 0], 0.0), road.max_speed)
        way = road.step * self.speeds
        self.places = (self.places + way) % road.length
        share = self.speeds / road.max_speed
        if road.tank is not None:
            burnt = road.tank.idle + road.tank.full_speed * share * share
            self.litres = np.maximum(self.litres - burnt, 0.0)
        if road.sprayer is not None:
            return road.pay * actions[:, 1] * share, self.nobody.copy()
        return road.pay * way, self.nobody.copy()

    def look(self, time: IntArray) -> FloatArray:
        """Place, speed, tank."""
        columns = [self.places, self.speeds]
        if len(self.road.place_names) == 2:
            # A cosine and a sine have no seam: a rule about a part of the circuit may lie across
            # its zero.
            angle = 2.0 * np.pi * self.places / self.road.length
            columns = [np.cos(angle), np.sin(angle), self.speeds]
        if self.road.tank is not None:
            columns.append(self.litres)
        return np.stack(columns, axis=1)
