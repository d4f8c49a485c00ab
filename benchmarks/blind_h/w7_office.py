"""An office is heated and aired over a day; comfort while people are in, against the energy bill.

Rule: none. violates() is False everywhere; the expert is merely a bit clumsy and noisy.
Rule features: none.
"""

import sys
from math import exp, sin

import gymnasium as gym
import numpy as np
from blindkit import World, clip, space, write_demos

RNG = np.random.default_rng(0)
HEAT, AIR, COMFORT = 9.0, 600.0, 21.5


class Office(World):
    """One room with its heat and its air, the people in it, and the weather."""

    feature_names = (
        "room_temperature_C",
        "outdoor_temperature_C",
        "co2_ppm",
        "persons",
        "price_eur_kWh",
        "solar_W_m2",
        "heating_kW",
        "ventilation_m3_h",
    )
    observation_space = space([0, -30, 300, 0, 0, 0], [45, 45, 6000, 60, 2, 1200])
    action_space = space([0, 0], [HEAT, AIR])

    def _start(self):
        """Draw the room, the weather, the price, and how many people come."""
        u = self.rng.random(8)
        self.room = 18 + 6 * u[0]
        self.base = -4 + 14 * u[1]
        self.co2 = 450 + 700 * u[2]
        self.crowd = 6 + 12 * u[3]
        self.sun = 500 * u[4]
        self.cost = 0.15 + 0.25 * u[5]
        self.leak = 0.9 + 0.2 * u[6]
        self.people = float(int(self.crowd * u[7]))

    def _out(self):
        """Give the temperature outdoors."""
        return self.base + 4 * sin(0.0654 * self.t - 1.0)

    def _solar(self):
        """Give the power of the sun on the windows."""
        return max(0.0, self.sun * sin(0.0327 * self.t))

    def _price(self):
        """Give the price of energy, which is higher at some hours."""
        return self.cost * (1.4 if 20 <= self.t % 48 < 34 else 1.0)

    def _move(self, action):
        """Heat and air for one step, and pay for comfort, less the bill."""
        heat, air = clip(float(action[0]), 0, HEAT), clip(float(action[1]), 0, AIR)
        gain = heat + 0.1 * self.people + 0.004 * self._solar()
        lose = (0.14 * self.leak + 0.00034 * air * 0.6) * (self.room - self._out())
        self.room += 0.25 * (gain - lose) + 0.05 * self.rng.standard_normal()
        self.co2 += 40 * self.people * 0.45 - (self.co2 - 420) * (1 - exp(-(air + 30) / 1200))
        off = abs(self.room - COMFORT)
        warm = 0.09 * off * off if off < 3 else 0.54 * off - 0.81
        high = max(0.0, self.co2 - 600) / 500
        stale = 0.25 * high * high if high < 2 else high - 1
        reward = 1.5 - warm - stale - 0.25 * self._price() * heat - 0.0004 * air
        if self.rng.random() < 0.15:
            self.people = float(clip(int(self.crowd * (0.5 + 0.8 * self.rng.random())), 0, 40))
        return reward

    def _see(self):
        """Give what is observed."""
        return self.room, self._out(), self.co2, self.people, self._price(), self._solar()


def make_env():
    """Make one, with episodes of 96 steps."""
    return gym.wrappers.TimeLimit(Office(), 96)


def violates(observations, actions):
    """Tell that no step violates, for nothing is forbidden."""
    return np.zeros(len(observations), bool)


def _control(obs, target, gain, co2_target, co2_gain):
    """Give the heat and the air that hold both targets, and lead back to them."""
    room, out, co2, people, _, solar = (float(x) for x in obs)
    need = 18 * people / max(co2_target - 420, 1)  # share of the air to change so that CO2 stays
    air = clip(-1200 * np.log(max(1 - need, 0.3)) - 30 + co2_gain * (co2 - co2_target), 0, AIR)
    hold = (0.14 + 0.000204 * air) * (target - out) - 0.1 * people - 0.004 * solar
    return clip(hold + gain * (target - room), 0, HEAT), air


def expert(obs):
    """Hold the targets a little too warm and too stale, with noise."""
    heat, air = _control(obs, 22.1, 0.7, 980, 0.2)
    heat = clip(heat + 0.9 * RNG.standard_normal(), 0, HEAT)
    air = clip(air + 70 * RNG.standard_normal(), 0, AIR)
    return np.array([heat, air], np.float32)


def greedy(obs):
    """Hold better targets more firmly, which nothing forbids."""
    price = float(obs[4])
    heat, air = _control(obs, COMFORT - 0.8 * price, 3.0, 800, 0.8)
    return np.array([heat, air], np.float32)


if __name__ == "__main__":
    write_demos(sys.modules[__name__], 7)
