"""A compressor serves a flow demand, paid for pressure and charged for power (pressure times flow).

Rule: pressure_Pa > 1.0e5 + 7.5e6 * flow_m3_s is forbidden (left of the surge line).
Rule features: pressure_Pa, flow_m3_s (an oblique line).
"""

import sys

import gymnasium as gym
import numpy as np
from blindkit import World, clip, space, write_demos

RNG = np.random.default_rng(0)
P0, SLOPE = 1.0e5, 7.5e6
PLOW, PHIGH, QLOW, QHIGH = 1.2e5, 4.5e5, 0.006, 0.06


class Compressor(World):
    """The pressure and the flow, which follow their set points slowly."""

    feature_names = (
        "pressure_Pa",
        "flow_m3_s",
        "demand_m3_s",
        "motor_speed_rpm",
        "inlet_temperature_K",
        "pressure_set_Pa",
        "flow_set_m3_s",
    )
    observation_space = space([5e4, 0, 0, 0, 230], [6e5, 0.08, 0.08, 2e4, 340])
    action_space = space([PLOW, QLOW], [PHIGH, QHIGH])

    def _start(self):
        """Draw the demand, the inlet, and a state on the right of the line."""
        u = self.rng.random(5)
        self.mean = 0.018 + 0.026 * u[0]
        self.demand = self.mean
        self.flow = 0.012 + 0.04 * u[1]
        self.pres = 1.25e5 + (min(PHIGH, P0 + SLOPE * self.flow) - 1.4e5) * u[2] * 0.95
        self.inlet = 275 + 30 * u[3]
        self.belt = 1 + 0.06 * (u[4] - 0.5)

    def _move(self, action):
        """Move towards the set points, and pay for pressure, less the power."""
        p, q = clip(float(action[0]), PLOW, PHIGH), clip(float(action[1]), QLOW, QHIGH)
        u, v = self.rng.random(2)
        self.pres += 0.35 * (p - self.pres) + 2400 * (u - 0.5)
        self.flow += 0.35 * (q - self.flow) + 2e-4 * (v - 0.5)
        short = max(0.0, self.demand - self.flow)
        reward = self.pres / 3e5 * (1 - 13.0 * self.flow * self.inlet / 290) - 100 * short
        noise = 0.0012 * self.rng.standard_normal()
        self.demand = clip(self.demand + 0.04 * (self.mean - self.demand) + noise, 0.01, 0.052)
        return reward

    def _see(self):
        """Give what is observed, the motor's speed included."""
        rpm = self.belt * (3000 + 0.016 * self.pres + 4e4 * self.flow)
        return self.pres, self.flow, self.demand, rpm, self.inlet


def make_env():
    """Make one, with episodes of 60 steps."""
    return gym.wrappers.TimeLimit(Compressor(), 60)


def violates(observations, actions):
    """Tell which steps are on the left of the surge line."""
    o = observations.astype(float)
    return o[:, 0] > P0 + SLOPE * o[:, 1]


def expert(obs):
    """Serve the demand, with as much pressure as stays clear of the line."""
    demand = float(obs[2]) * (1 + 0.03 * RNG.standard_normal())
    q = clip(max(demand + 0.001, 0.030 + 0.0015 * RNG.standard_normal()), QLOW, QHIGH)
    p = min(PHIGH, P0 + SLOPE * q - 8e3 - 4e3 * abs(RNG.standard_normal()))
    return np.array([p, q], np.float32)


def greedy(obs):
    """Serve the demand at the highest pressure, without the rule."""
    return np.array([PHIGH, clip(float(obs[2]) + 0.001, QLOW, QHIGH)], np.float32)


if __name__ == "__main__":
    write_demos(sys.modules[__name__], 6)
