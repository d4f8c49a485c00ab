"""A small offshore wind turbine picks its rotor speed; best speed = 1.5 rpm per m/s of wind.

Rule: 12.5 < rotor_speed_rpm < 19.5 is forbidden while wave_height_m > 2.5 (tower resonance).
Rule features: rotor_speed_rpm (two-sided band), wave_height_m (the condition).
"""

import sys
from math import sin

import gymnasium as gym
import numpy as np
from blindkit import World, clip, space, write_demos

RNG = np.random.default_rng(0)
LOW, HIGH, WAVE, STEP = 12.5, 19.5, 2.5, 1.2


class Turbine(World):
    """The rotor, the wind it turns in, and the waves at its foot."""

    feature_names = (
        "wind_m_s",
        "rotor_speed_rpm",
        "wave_height_m",
        "torque_Nm",
        "speed_change_rpm",
    )
    observation_space = space([3, 5, 0, 0], [20, 28, 8, 4e5])
    action_space = space([-STEP], [STEP])

    def _start(self):
        """Draw the weather of the day and the speed that the rotor has."""
        u = self.rng.random(8)
        self.mean = 9.6 + 2.8 * u[0]
        self.wind = self.mean + 1.0 * (u[1] - 0.5)
        self.base, self.amp = 2.2 + 1.5 * u[2], 0.3 + 0.9 * u[3]
        self.freq, self.phase = 6.283 / (100 + 100 * u[4]), 6.283 * u[5]
        self.rpm = 7 + 5 * u[6] if u[7] < (0.9 if self.mean < 10.6 else 0.3) else 20 + 5 * u[6]
        self.torque = 0.0

    def _move(self, action):
        """Change the rotor's speed, and pay for the power."""
        self.rpm = clip(self.rpm + clip(float(action[0]), -STEP, STEP), 5.0, 28.0)
        off = (self.rpm - 1.5 * self.wind) / 7
        power = 150e3 * (self.wind / 10) ** 3 * max(0.0, 1 - off * off)
        self.torque = power / (0.10472 * self.rpm)
        gust = 0.15 * self.rng.standard_normal()
        self.wind = clip(self.wind + 0.05 * (self.mean - self.wind) + gust, 7, 14.5)
        return power / 150e3

    def _see(self):
        """Give what is observed, the waves of this moment included."""
        wave = self.base + self.amp * sin(self.phase + self.freq * self.t)
        return self.wind, self.rpm, wave, self.torque


def make_env():
    """Make one, with episodes of 100 steps."""
    return gym.wrappers.TimeLimit(Turbine(), 100)


def violates(observations, actions):
    """Tell which steps are in the band of the tower's resonance, in high waves."""
    rpm, wave = observations[:, 1], observations[:, 2]
    return (wave > WAVE) & (rpm > LOW) & (rpm < HIGH)


def expert(obs):
    """Follow the wind, and keep out of the band while the waves are high or soon may be."""
    wind, rpm, wave = float(obs[0]), float(obs[1]), float(obs[2])
    goal = 1.5 * wind + 0.3 * RNG.standard_normal()
    if wave > WAVE - 0.35:  # waves move at most 0.076 m a step, out of the band takes 3 to 4 steps
        if rpm < 0.5 * (LOW + HIGH):
            goal = min(goal, LOW - 0.05 - 0.3 * RNG.random())
        else:
            goal = max(goal, HIGH + 0.05 + 0.3 * RNG.random())
    return np.array([clip(goal - rpm, -STEP, STEP)], np.float32)


def greedy(obs):
    """Follow the wind alone, without the rule."""
    return np.array([clip(1.5 * float(obs[0]) - float(obs[1]), -STEP, STEP)], np.float32)


if __name__ == "__main__":
    write_demos(sys.modules[__name__], 1)
