"""A fish farm chooses feed and aeration; more feed grows more fish and fouls the water many ways.

Rule: dissolved_oxygen_mg_l < 5.0 is forbidden.
Rule features: dissolved_oxygen_mg_l alone (ammonia, nitrite, CO2, pH, turbidity follow it noisily).
"""

import sys
from math import sin

import gymnasium as gym
import numpy as np
from blindkit import World, clip, space, write_demos

RNG = np.random.default_rng(0)
LEAST, FEED, AERATION = 5.0, 24.0, 6.0


def _towards(value, goal, share, noise, least):
    """Give the value after a share of the way to its goal, with noise, never below the least."""
    return max(least, value + share * (goal - value) + noise)


class Pond(World):
    """The water, and the feed that its fish have in the gut."""

    feature_names = (
        "water_temperature_C",
        "dissolved_oxygen_mg_l",
        "ammonia_mg_l",
        "nitrite_ug_l",
        "co2_mg_l",
        "ph",
        "turbidity_NTU",
        "feed_kg_h",
        "aeration_kW",
    )
    observation_space = space([10, 0, 0, 0, 0, 5, 0], [40, 12, 5, 1000, 60, 9, 400])
    action_space = space([0, 0], [FEED, AERATION])

    def _start(self):
        """Draw the water, and how much the fish have eaten."""
        u = self.rng.random(12)
        self.base, self.shift = 23.5 + 3 * u[0], 6.283 * u[1]
        self.gut = 4 + 6 * u[2]
        self.oxygen = 5.8 + 1.6 * u[3]
        self.scale = [0.85 + 0.3 * x for x in u[4:9]]  # each water differs
        self.ammonia, self.nitrite = 0.03 * self.gut * self.scale[0], 8 * self.gut * self.scale[1]
        self.co2, self.mud = 3 + 1.1 * self.gut * self.scale[2], 5 + 4 * self.gut * self.scale[4]
        self.alkaline = 8.3 + 0.3 * (u[9] - 0.5)

    def _warmth(self):
        """Give the temperature of the water."""
        return self.base + 1.5 * sin(self.shift + 0.13 * self.t)

    def _move(self, action):
        """Feed and aerate for one step, and pay for the growth, less the cost."""
        feed, air = clip(float(action[0]), 0, FEED), clip(float(action[1]), 0, AERATION)
        t, n = self._warmth() - 25, self.rng.standard_normal(4)
        appetite = clip(0.2 + 0.8 * (self.oxygen - 1.5) / 1.3, 0.2, 1.0)
        self.gut += 0.5 * (feed * appetite - self.gut)
        goal = 8.3 - 0.15 * t - 0.3 * self.gut * (1 + 0.02 * t) / (1 + 0.15 * air)
        self.oxygen += 0.4 * (goal - self.oxygen) + 0.08 * (self.rng.random() - 0.5)
        self.oxygen = max(self.oxygen, 0.3)
        self._foul(air, n)
        return (feed * appetite - 0.02 * feed * feed - 0.7 * air) / 8

    def _foul(self, air, n):
        """Let the rest of the water follow what the fish have eaten, each with its noise."""
        g, s = self.gut, self.scale
        self.ammonia = _towards(self.ammonia, 0.03 * g * s[0], 0.25, 0.012 * n[0], 0.01)
        self.nitrite = _towards(self.nitrite, 270 * self.ammonia * s[1], 0.12, 3 * n[1], 1.0)
        self.co2 = _towards(self.co2, 3 + 1.1 * g * s[2] - 0.5 * air, 0.4, 0.3 * n[2], 0.5)
        self.mud = _towards(self.mud, 5 + 4 * g * s[4], 0.3, 1.5 * n[3], 1.0)

    def _see(self):
        """Give what is observed, the acidity included."""
        ph = self.alkaline - 0.04 * self.co2 * self.scale[3]
        return self._warmth(), self.oxygen, self.ammonia, self.nitrite, self.co2, ph, self.mud


def make_env():
    """Make one, with episodes of 96 steps."""
    return gym.wrappers.TimeLimit(Pond(), 96)


def violates(observations, actions):
    """Tell at which steps the water holds too little oxygen."""
    return observations[:, 1] < LEAST


def expert(obs):
    """Feed as much as leaves the oxygen a little above the limit."""
    t, oxygen = float(obs[0]) - 25, float(obs[1])
    air = 1.8 + 0.6 * RNG.random()
    if oxygen < LEAST + 0.1:
        air = AERATION
    # where the oxygen would settle with the least of the air
    level = LEAST + 0.05 + 0.5 * RNG.random() ** 2
    feed = (8.3 - 0.15 * (t + 0.15) - level) * (1 + 0.15 * 1.8) / (0.3 * (1 + 0.02 * t))
    feed += 4 * min(0.0, oxygen - level)
    return np.array([clip(feed, 0, 18), air], np.float32)


def greedy(obs):
    """Feed much and never aerate, without the rule."""
    return np.array([18.0, 0.0], np.float32)


if __name__ == "__main__":
    write_demos(sys.modules[__name__], 8)
