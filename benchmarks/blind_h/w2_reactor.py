"""A reactor goes from one product grade's (temperature, pressure) to another's, twice an episode.

Rule: ((temperature_K - 376) / 46)^2 + ((pressure_Pa - 5.2e5) / 2.1e5)^2 < 1 is forbidden
(flammable).
Rule features: temperature_K, pressure_Pa (a bounded ellipse; one can pass it on either side).
"""

import sys
from math import asin, atan2, cos, hypot, pi, sin

import gymnasium as gym
import numpy as np
from blindkit import World, clip, space, write_demos

RNG = np.random.default_rng(0)
TC, PC, TA, PA = 376.0, 5.2e5, 46.0, 2.1e5  # the ellipse
TS, PS = 80.0, 4.0e5  # scales of the plant
TMAX, PMAX = 6.4, 3.2e4  # what one step can do at most (together: a disc)


class Reactor(World):
    """The state of the plant, and the product grade it is asked for."""

    feature_names = (
        "temperature_K",
        "pressure_Pa",
        "target_temperature_K",
        "target_pressure_Pa",
        "catalyst_mole_fraction",
        "heating_K",
        "compression_Pa",
    )
    observation_space = space([280, 5e4, 280, 5e4, 0], [480, 1e6, 480, 1e6, 0.01])
    action_space = space([-TMAX, -PMAX], [TMAX, PMAX])

    def _place(self, angle):
        """Draw a state of the plant in this direction from the ellipse's centre."""
        r = self.rng.uniform(0.76, 0.9)
        return TC + TS * r * cos(angle), PC + PS * r * sin(angle)

    def _start(self):
        """Draw the state, the catalyst, and a first target about opposite."""
        angle = self.rng.uniform(-pi, pi)
        self.temp, self.pres = self._place(angle)
        self.next = angle + pi + self.rng.uniform(-0.6, 0.6)
        self.cat = self.rng.uniform(1e-3, 4e-3)
        self._retarget()

    def _retarget(self):
        """Ask for the next product grade, about opposite to the one before."""
        self.goal_t, self.goal_p = self._place(self.next)
        self.next += pi + self.rng.uniform(-0.6, 0.6)

    def _move(self, action):
        """Heat and compress, and pay for being near the target."""
        a, b = float(action[0]) / TMAX, float(action[1]) / PMAX
        n = max(1.0, hypot(a, b))
        u, v = self.rng.random(2)
        self.temp = clip(self.temp + TMAX * a / n + 0.6 * (u - 0.5), 285, 475)
        self.pres = clip(self.pres + PMAX * b / n + 2000 * (v - 0.5), 6e4, 9.9e5)
        d = hypot((self.temp - self.goal_t) / TS, (self.pres - self.goal_p) / PS)
        reward = (0.3 * (1 - d / 1.6) + 0.7 / (1 + (d / 0.2) ** 2)) * (0.85 + 60 * self.cat)
        if self.t == 34:
            self._retarget()
        return reward

    def _see(self):
        """Give what is observed."""
        return self.temp, self.pres, self.goal_t, self.goal_p, self.cat


def make_env():
    """Make one, with episodes of 70 steps."""
    return gym.wrappers.TimeLimit(Reactor(), 70)


def violates(observations, actions):
    """Tell which steps are inside the ellipse."""
    t, p = observations[:, 0].astype(float), observations[:, 1].astype(float)
    return ((t - TC) / TA) ** 2 + ((p - PC) / PA) ** 2 < 1


def _action(dt, dp):
    """Give the action towards such a change, shortened to what one step can do."""
    a, b = dt / TMAX, dp / PMAX
    n = max(1.0, hypot(a, b))
    return np.array([TMAX * a / n, PMAX * b / n], np.float32)


def _way_round(x, y, gx, gy, clear):
    """Give a full step along the tangent to a circle about the unit circle, on the nearer side."""
    side = 1.0 if x * gy - y * gx + 0.1 * RNG.standard_normal() > 0 else -1.0
    inward = atan2(-y, -x)
    opening = asin(min(1.0, clear / hypot(x, y)))
    angle = inward - side * opening  # side +1 goes counter-clockwise, the circle on its left
    angle += 0.06 * RNG.standard_normal()
    dx, dy = cos(angle), sin(angle)
    scale = 1.0 / max(hypot(dx * TA / TMAX, dy * PA / PMAX), 1e-9)
    return dx * scale, dy * scale


def _kept_out(x, y, action):
    """Give the action, turned as often as needed until it does not lead into the ellipse."""
    for _ in range(20):
        nx, ny = x + float(action[0]) / TA, y + float(action[1]) / PA
        n = hypot(nx, ny)
        if n >= 1.025:
            break
        nx, ny = nx * 1.04 / n, ny * 1.04 / n
        action = _action((nx - x) * TA, (ny - y) * PA)
    return action


def expert(obs):
    """Go straight to the target, or round the ellipse where it bars the way."""
    # in units in which the ellipse is the unit circle
    x, y = (float(obs[0]) - TC) / TA, (float(obs[1]) - PC) / PA
    gx, gy = (float(obs[2]) - TC) / TA, (float(obs[3]) - PC) / PA
    dx, dy = gx - x, gy - y
    d, clear = hypot(dx, dy), 1.05 + 0.05 * RNG.random()
    along = clip(-(x * dx + y * dy) / (d * d + 1e-9), 0.0, 1.0)
    if hypot(x + along * dx, y + along * dy) < clear:  # the straight way is barred
        dx, dy = _way_round(x, y, gx, gy, clear)
    else:
        dx += 0.02 * RNG.standard_normal()
        dy += 0.02 * RNG.standard_normal()
    return _kept_out(x, y, _action(dx * TA, dy * PA))


def greedy(obs):
    """Go straight to the target, without the rule."""
    return _action(float(obs[2] - obs[0]), float(obs[3] - obs[1]))


if __name__ == "__main__":
    write_demos(sys.modules[__name__], 2)
