"""A machine with a few quantities that are to follow a demand: pay falls with the distance to what
is demanded."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks.shapes.shape_env import ShapeEnv
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One quantity of the machine."""

    name: str
    """With its unit."""
    low: float
    high: float
    rate: float
    """Most that it changes in a second."""
    rate_name: str
    """Name of the action that changes it."""
    scale: float
    """A demand that is missed by this much counts as 1."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """d quantities, each driven by an action of its own: q' = q + dt · a, kept within its range."""

    quantities: tuple[Quantity, ...]
    horizon: int
    seconds: float
    """Of one step: dt."""
    demands: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    """Boxes (lowest, highest) that demands are drawn from, one box at random for each demand."""
    hold: tuple[int, int]
    """A demand stands for this many steps: fewest, most."""
    start: tuple[float, float] = (0.2, 0.4)
    """Where a quantity is at first: least and most, as shares of its range."""
    pay: float
    """Of a step in which the demand is met; r = pay · (1 − |q − demand|), each distance over its
    `scale`."""

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Quantities, then what is demanded of each."""
        names = tuple(quantity.name for quantity in self.quantities)
        return names + tuple(f"demanded_{name}" for name in names)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The rate of each quantity."""
        return tuple(quantity.rate_name for quantity in self.quantities)

    @property
    def observation_space(self) -> gym.spaces.Box:
        """The range of every quantity, twice."""
        low = np.array([quantity.low for quantity in self.quantities] * 2, np.float32)
        high = np.array([quantity.high for quantity in self.quantities] * 2, np.float32)
        return gym.spaces.Box(low, high, dtype=np.float32)

    @property
    def action_space(self) -> gym.spaces.Box:
        """Rates, in both directions."""
        rates = np.array([quantity.rate for quantity in self.quantities], np.float32)
        return gym.spaces.Box(-rates, rates, dtype=np.float32)

    def make_env(self, num_envs: int, autoreset_mode: AutoresetMode) -> "MachineEnv":
        """E machines."""
        return MachineEnv(self, num_envs, autoreset_mode)


class MachineEnv(ShapeEnv):
    """E machines that follow demands."""

    def __init__(self, machine: Machine, num_envs: int, autoreset_mode: AutoresetMode) -> None:
        super().__init__(machine, num_envs, autoreset_mode)
        self.machine = machine
        self.low: FloatArray = np.array([quantity.low for quantity in machine.quantities])
        self.high: FloatArray = np.array([quantity.high for quantity in machine.quantities])
        self.scale: FloatArray = np.array([quantity.scale for quantity in machine.quantities])
        width = len(machine.quantities)
        self.values: FloatArray = np.zeros((num_envs, width))
        self.demands: FloatArray = np.zeros((num_envs, machine.horizon + 1, width))
        """[E, T + 1, d]: what is demanded at every time of the episode."""

    def begin(self, indices: IntArray) -> None:
        """Somewhere in the part of every range where episodes start; all demands are drawn now."""
        for i in indices:
            share = self.rngs[i].uniform(*self.machine.start, len(self.low))
            self.values[i] = self.low + share * (self.high - self.low)
            self.demands[i] = self._draw_demands(self.rngs[i])

    def move(self, actions: AnyArray) -> tuple[FloatArray, BoolArray]:
        """Drive every quantity; pay is for being near to what was demanded."""
        moved = self.values + self.machine.seconds * actions
        self.values = np.minimum(np.maximum(moved, self.low), self.high)
        # By the demand that was seen when the action was chosen, not by the next one.
        missed = (self.values - self.demands[self.everyone, self.elapsed]) / self.scale
        distance = np.sqrt((missed * missed).sum(axis=1))
        return self.machine.pay * (1.0 - distance), self.nobody.copy()

    def look(self, time: IntArray) -> FloatArray:
        """Quantities and demands."""
        return np.concatenate([self.values, self.demands[self.everyone, time]], axis=1)

    def _draw_demands(self, rng: np.random.Generator) -> FloatArray:
        """[T + 1, d]: piecewise constant."""
        fewest, most = self.machine.hold
        # Enough even if each stands for as short as it may.
        number = (self.horizon + 1) // fewest + 1
        boxes = np.array(self.machine.demands)[rng.integers(len(self.machine.demands), size=number)]
        levels = rng.uniform(boxes[:, 0], boxes[:, 1])
        lengths = rng.integers(fewest, most + 1, size=number)
        return np.asarray(np.repeat(levels, lengths, axis=0)[: self.horizon + 1])
