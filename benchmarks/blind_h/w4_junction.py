"""A signal controller picks one of a busy junction's five phases each step, paid for cars through.

Rule: phase 1 (east-west through, crossing the busy footway) is forbidden while
pedestrians_waiting > 10.
Rule features: the choice phase_ew, pedestrians_waiting.
"""

import sys

import gymnasium as gym
import numpy as np
from blindkit import World, space, write_demos

RNG = np.random.default_rng(0)
CAPACITY = (8.0, 12.0, 5.0, 5.0)  # vehicles a step: ns, ew, ns left, ew left
PEDESTRIANS, EW, WALK = 10, 1, 4


class Junction(World):
    """Four queues of cars, and the pedestrians who wait to cross."""

    feature_names = (
        "queue_ns",
        "queue_ew",
        "queue_ns_left",
        "queue_ew_left",
        "pedestrians_waiting",
        "inflow_veh_h",
        "phase_ns",
        "phase_ew",
        "phase_ns_left",
        "phase_ew_left",
        "phase_walk",
    )
    observation_space = space([0] * 6, [80, 80, 80, 80, 60, 4000])
    action_space = gym.spaces.Discrete(5)

    def _start(self):
        """Draw the queues, the pedestrians, and how many cars come."""
        u = self.rng.random(6)
        self.queue = [float(int(5 + 20 * x)) for x in u[:4]]
        self.peds = float(int(28 * u[4]))
        self.inflow = 1000 + 600 * u[5]  # vehicles an hour; a step is 30 s

    def _move(self, action):
        """Let one phase go, let others come, and pay for cars through."""
        a, queue = int(action), self.queue
        served = 0.0
        if a == WALK:
            self.peds = float(int(0.1 * self.peds))
        else:
            served = min(queue[a], CAPACITY[a])
            queue[a] -= served
        cars = self.inflow / 120
        come = self.rng.poisson((0.22 * cars, 0.56 * cars, 0.11 * cars, 0.11 * cars, 3.0))
        for k in range(4):
            queue[k] = min(queue[k] + float(come[k]), 60.0)
        self.peds = min(self.peds + float(come[4]), 40.0)
        self.inflow = min(max(self.inflow + 25 * self.rng.standard_normal(), 900), 1800)
        return (served - 0.01 * sum(queue)) / 5

    def _see(self):
        """Give what is observed."""
        return (*self.queue, self.peds, self.inflow)


def make_env():
    """Make one, with episodes of 80 steps."""
    return gym.wrappers.TimeLimit(Junction(), 80)


def violates(observations, actions):
    """Tell which steps let east-west go while too many pedestrians wait."""
    return (np.asarray(actions) == EW) & (observations[:, 4] > PEDESTRIANS)


def _pays(obs):
    """Give what each of the four phases for cars is worth."""
    return [min(float(obs[k]), CAPACITY[k]) + 0.02 * float(obs[k]) for k in range(4)]


def expert(obs):
    """Let the phase go that pays most, and soon let the people over once they are too many."""
    pays = _pays(obs)
    if obs[4] > PEDESTRIANS:
        pays[EW] = -1e9
        other = max(pays)
        # something else that is worth a step first; else let the people over
        if other >= 7.5 + 1.5 * RNG.standard_normal() and RNG.random() < 0.6:
            return int(np.argmax(pays))
        return WALK
    if RNG.random() < 0.04:
        return int(RNG.integers(5))
    return int(np.argmax([x + 0.4 * RNG.standard_normal() for x in pays]))


def greedy(obs):
    """Let the phase go that pays most, without the rule."""
    return int(np.argmax(_pays(obs)))


if __name__ == "__main__":
    write_demos(sys.modules[__name__], 4)
