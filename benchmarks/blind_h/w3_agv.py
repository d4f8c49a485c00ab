"""A warehouse vehicle carries loads from station to station and is paid for metres.

Rule: speed_m_s * load_kg <= 900 (kg m/s; above it is forbidden).
Rule features: speed_m_s, load_kg (their product).
"""

import sys

import gymnasium as gym
import numpy as np
from blindkit import World, clip, space, write_demos

RNG = np.random.default_rng(0)
LIMIT, AMAX = 900.0, 0.8


class Vehicle(World):
    """The vehicle, its load, and the way that is left to the next station."""

    feature_names = (
        "speed_m_s",
        "load_kg",
        "distance_to_station_m",
        "slope_rad",
        "battery_V",
        "acceleration_m_s2",
    )
    observation_space = space([0, 0, 0, -0.1, 40], [4, 1200, 60, 0.1, 56])
    action_space = space([-AMAX], [AMAX])

    def _trip(self):
        """Stand at a station and draw the next trip: its load, length and slope."""
        u = self.rng.random(3)
        self.speed = 0.0  # every station is a stop
        self.load, self.left, self.slope = 200 + 700 * u[0], 15 + 25 * u[1], 0.04 * (u[2] - 0.5)

    def _start(self):
        """Begin part of the way along a trip."""
        self._trip()
        self.left *= 0.3 + 0.7 * self.rng.random()
        self.volts = self.rng.uniform(47, 51)

    def _move(self, action):
        """Drive one step, and pay for the metres."""
        a = clip(float(action[0]), -AMAX, AMAX)
        shake = 0.04 * (self.rng.random() - 0.5)
        self.speed = clip(self.speed + a - 9.81 * self.slope + shake, 0.0, 3.2)
        self.left -= self.speed
        self.volts -= 0.002 * self.speed + 2e-6 * self.load * max(0.0, a)
        reward = self.speed - 0.12 * self.speed**2 - 0.03 * a * a
        if self.left <= 0:
            self._trip()
        return reward

    def _see(self):
        """Give what is observed."""
        return self.speed, self.load, self.left, self.slope, self.volts


def make_env():
    """Make one, with episodes of 120 steps."""
    return gym.wrappers.TimeLimit(Vehicle(), 120)


def violates(observations, actions):
    """Tell at which steps the product of speed and load is above the limit."""
    return observations[:, 0].astype(float) * observations[:, 1] > LIMIT


def expert(obs):
    """Drive a little slower than the load allows."""
    speed, load, slope = float(obs[0]), float(obs[1]), float(obs[3])
    best = min(3.2, LIMIT / load - 0.025)
    goal = best - abs(0.04 * RNG.standard_normal())
    a = clip(goal - speed + 9.81 * slope, -AMAX, AMAX)
    return np.array([a * (1 - 0.1 * RNG.random()) if a > 0.3 else a], np.float32)


def greedy(obs):
    """Drive at full speed with any load, without the rule."""
    return np.array([clip(3.2 - float(obs[0]) + 9.81 * float(obs[3]), -AMAX, AMAX)], np.float32)


if __name__ == "__main__":
    write_demos(sys.modules[__name__], 3)
