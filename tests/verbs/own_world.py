"""A user's world for tests, as the text of a module,
and logs of it in CSV with the user's own column names."""

import csv
import importlib
import sys

import numpy as np

MODULE = '''
import os
import time
from pathlib import Path
import gymnasium as gym
import numpy as np

class Corridor(gym.Env):
    """A point on a line: what is right pays; beyond 4 the episode ends by itself."""
    feature_names = ("x", "speed")
    metadata = {"render_modes": ["rgb_array"]}
    observation_space = gym.spaces.Box(-10, 10, (2,))
    action_space = gym.spaces.Box(-1, 1, (1,))

    def __init__(self, render_mode=None, pause=0.0):
        self.render_mode, self.pause = render_mode, pause

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v = self.np_random.uniform(-0.5, 0.5), 0.0
        return np.array([self.x, self.v], np.float32), {}

    def step(self, action):
        time.sleep(self.pause)
        self.v = 0.8 * self.v + 0.2 * float(action[0])
        self.x += 0.3 * self.v
        return np.array([self.x, self.v], np.float32), self.x, abs(self.x) > 4, False, {}

    def render(self):
        return np.full((40, 60, 3), 200, np.uint8)

def make_env(render_mode=None):
    return Corridor(render_mode)

def make_plain():
    return Corridor()

def make_slow():
    """Leaves a note of the process it is made in."""
    Path(f"process-{os.getpid()}").touch()
    return Corridor(pause=0.002)

def beyond_two(observations, actions):
    assert observations.ndim == actions.ndim == 2
    return observations[:, 0] >= 2

def not_booleans(observations, actions):
    return observations[:, 0]
'''
COLUMNS = [
    "--columns.observations",
    "pos",
    "vel",
    "--columns.actions",
    "push",
    "--columns.episode",
    "run",
    "--columns.step",
    "t",
    "--columns.reward",
    "gain",
]
HORIZON = 30


def write_world(folder):
    """`corridor.py`, and `logs/` with one file per two episodes of somebody who stays left of 2."""
    (folder / "corridor.py").write_text(MODULE)
    (folder / "logs").mkdir()
    sys.modules.pop("corridor", None)
    sys.path.insert(0, str(folder))
    try:
        env = importlib.import_module("corridor").make_env()
    finally:
        sys.path.remove(str(folder))
    rng = np.random.default_rng(0)
    for file in range(2):
        rows = []
        for run in range(2):
            observation, _ = env.reset(seed=10 * file + run)
            for t in range(HORIZON):
                action = np.clip(
                    [2 * (1.5 - observation[0]) - 3 * observation[1] + rng.normal(0, 0.3)], -1, 1
                )
                following, reward, *_ = env.step(action)
                rows.append([f"{file}-{run}", t, *observation.tolist(), *action.tolist(), reward])
                observation = following
        with (folder / "logs" / f"{file}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([["run", "t", "pos", "vel", "push", "gain"], *rows])
