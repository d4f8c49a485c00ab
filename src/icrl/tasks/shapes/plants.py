"""A reactor: it makes more the hotter it is. Temperatures in degrees Celsius, the rest in
percent."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks.shapes.shape_env import ShapeEnv
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Plant:
    """A stirred tank with a heater and a cold feed.

    T' = T + inertia · (ambient + heating · heater − cooling · feed − T),
    k = fastest / (1 + exp(−(T' − half) / width)), c' = c + filling · feed/100 · (100 − c) − k c,
    r = price · k c − feed_cost · feed/100.
    """

    horizon: int
    inertia: float
    """Share of the way to its level that the temperature makes in a step."""
    heating: float
    """Degrees per percent of the heater."""
    cooling: float
    """Degrees per percent of the feed."""
    fastest: float
    """Share of the reactant that is used up in a step when it is very hot."""
    half: float
    """Temperature at which it is half as fast."""
    width: float
    filling: float
    price: float
    """Of one percent used up."""
    feed_cost: float
    """Of a step with all of the feed."""
    ambient: tuple[float, float]
    """Drawn for each episode: least, most."""
    observation_names: tuple[str, ...] = ("temperature_c", "concentration_percent", "ambient_c")
    action_names: tuple[str, ...] = ("heater_percent", "feed_percent")

    @property
    def observation_space(self) -> gym.spaces.Box:
        """No temperature above what the heater gives on the warmest day."""
        hottest = self.ambient[1] + 100.0 * self.heating
        low = np.array([-100.0, 0.0, self.ambient[0]], np.float32)
        high = np.array([hottest, 100.0, self.ambient[1]], np.float32)
        return gym.spaces.Box(low, high, dtype=np.float32)

    @property
    def action_space(self) -> gym.spaces.Box:
        """Heater and feed, in percent."""
        return gym.spaces.Box(0.0, 100.0, (2,), np.float32)

    def make_env(self, num_envs: int, autoreset_mode: AutoresetMode) -> "PlantEnv":
        """E reactors."""
        return PlantEnv(self, num_envs, autoreset_mode)


class PlantEnv(ShapeEnv):
    """E reactors; the weather differs from episode to episode."""

    def __init__(self, plant: Plant, num_envs: int, autoreset_mode: AutoresetMode) -> None:
        super().__init__(plant, num_envs, autoreset_mode)
        self.plant = plant
        self.state: FloatArray = np.zeros((num_envs, 3))
        """[E, 3]: temperature, concentration, ambient temperature."""

    def begin(self, indices: IntArray) -> None:
        """Lukewarm and partly filled."""
        coldest, warmest = self.plant.ambient
        for i in indices:
            self.state[i] = self.rngs[i].uniform([60.0, 20.0, coldest], [120.0, 60.0, warmest])

    def move(self, actions: AnyArray) -> tuple[FloatArray, BoolArray]:
        """Heat, feed, react."""
        plant = self.plant
        temperature, concentration, ambient = self.state.T
        heater, feed = actions.T
        level = ambient + plant.heating * heater - plant.cooling * feed
        temperature = temperature + plant.inertia * (level - temperature)
        speed = plant.fastest / (1.0 + np.exp(-(temperature - plant.half) / plant.width))
        used = speed * concentration
        filled = plant.filling * feed / 100.0 * (100.0 - concentration)
        concentration = concentration + filled - used
        self.state = np.stack([temperature, concentration, ambient], axis=1)
        rewards = plant.price * used - plant.feed_cost * feed / 100.0
        return rewards, self.nobody.copy()

    def look(self, time: IntArray) -> FloatArray:
        """All of the state."""
        return self.state
