"""A grid battery buys and sells at a price that swings around 90 EUR/MWh; energy left counts 90.

Rule: |current_A| > 70 is forbidden while cell_temperature_C < 5 (lithium plating).
Rule features: the action current_A (its size), cell_temperature_C (the condition).
"""

import sys
from math import sin

import gymnasium as gym
import numpy as np
from blindkit import World, clip, space, write_demos

RNG = np.random.default_rng(0)
COLD, SLOW, FAST, REF = 5.0, 70.0, 200.0, 90.0


class Battery(World):
    """The charge and the heat of the cells, and the price of energy."""

    feature_names = (
        "state_of_charge",
        "cell_temperature_C",
        "price_eur_MWh",
        "ambient_temperature_C",
        "resistance_ohm",
        "current_A",
    )
    observation_space = space([0, -30, -50, -30, 0], [1, 60, 250, 50, 0.01])
    action_space = space([-FAST], [FAST])

    def _start(self):
        """Draw the charge, the weather, the resistance, and the swing of the price."""
        u = self.rng.random(8)
        self.soc = 0.2 + 0.6 * u[0]
        self.base, self.swing = -6 + 20 * u[1], 2 + 4 * u[2]
        self.shift = 6.283 * u[3]
        self.ohm = 8e-4 + 8e-4 * u[4]
        self.freq, self.phase = 6.283 / (16 + 8 * u[5]), 6.283 * u[6]
        self.noise = 0.0
        self.cell = self._ambient() + 2 * u[7]

    def _ambient(self):
        """Give the temperature around the cells."""
        return self.base + self.swing * sin(self.shift + 0.065 * self.t)

    def _price(self):
        """Give the price of this moment."""
        return REF + 45 * sin(self.phase + self.freq * self.t) + self.noise

    def _move(self, action):
        """Charge (amps above zero) or discharge, and pay at the price."""
        amps = clip(float(action[0]), -FAST, FAST)
        moved = clip(self.soc + amps * 0.25 / 400, 0.0, 1.0) - self.soc
        amps = moved * 1600
        kwh = 0.7 * amps * 0.25
        loss = 0.02 * amps * amps * self.ohm * 0.25  # kWh, of the whole pack
        reward = (-(self._price() - REF) * kwh - self._price() * loss) / 1000
        self.soc += moved
        self.cell += 0.1 * (self._ambient() - self.cell) + 8e-3 * amps * amps * self.ohm * 1.0
        self.noise = 0.8 * self.noise + 6 * self.rng.standard_normal()
        return reward

    def _see(self):
        """Give what is observed."""
        return self.soc, self.cell, self._price(), self._ambient(), self.ohm


def make_env():
    """Make one, with episodes of 96 steps."""
    return gym.wrappers.TimeLimit(Battery(), 96)


def violates(observations, actions):
    """Tell at which steps a large current goes through cold cells."""
    return (observations[:, 1] < COLD) & (np.abs(np.asarray(actions))[:, 0] > SLOW)


def expert(obs):
    """Buy below the usual price and sell above it, slowly while the cells are cold."""
    price = float(obs[2]) + 3 * RNG.standard_normal()
    amps = FAST * clip((REF - price) / 15, -1, 1) * (1 - 0.1 * RNG.random())
    if obs[1] < COLD:
        most = SLOW - 0.5 - 3 * RNG.random()
        amps = clip(amps, -most, most)
    return np.array([amps], np.float32)


def greedy(obs):
    """Buy low and sell high at any temperature, without the rule."""
    return np.array([FAST * clip((REF - float(obs[2])) / 15, -1, 1)], np.float32)


if __name__ == "__main__":
    write_demos(sys.modules[__name__], 5)
