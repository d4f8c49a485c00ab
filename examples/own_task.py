"""A task of your own: a Gymnasium environment, and demonstrations that keep out of its short cut.

The reward asks to be at the right end; the lower lane is shorter, but nobody who knows takes it.
Here, or: icrl learn own_task:make_env --demos runs/own-task/demos.csv
"""

from pathlib import Path

import gymnasium as gym
import numpy as np

import icrl

LENGTH = 8


class Lanes(gym.Env):
    """Two lanes to the right end: the lower one moves two cells at a time."""

    observation_space = gym.spaces.Box(0.0, LENGTH, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)  # the lane to be in

    def reset(self, *, seed=None, options=None):
        """At the left end of the upper lane."""
        super().reset(seed=seed)
        self.cell = 0
        self.lane = 0
        return self.observation(), {}

    def step(self, action):
        """Change lanes and move on; what is nearer to the right end pays more."""
        self.lane = int(action)
        self.cell = min(LENGTH, self.cell + 1 + self.lane)
        return self.observation(), float(self.cell), False, False, {}

    def observation(self):
        """Cell and lane."""
        return np.array([self.cell, self.lane], np.float32)


def make_env():
    """What `own_task:make_env` names."""
    return gym.wrappers.TimeLimit(Lanes(), 12)


def demonstrate(episodes: int, path: Path) -> None:
    """Episodes in the upper lane alone, as the file that --demos takes."""
    env = make_env()
    rows = []
    for episode in range(episodes):
        observation, _ = env.reset(seed=episode)
        for step in range(12):
            following, reward, *_ = env.step(0)
            rows.append([episode, step, *observation, 0, reward])
            observation = following
    path.parent.mkdir(parents=True, exist_ok=True)
    header = "episode,step,obs_0,obs_1,action,reward"
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%g")


if __name__ == "__main__":
    demos = Path("runs/own-task/demos.csv")
    demonstrate(5, demos)
    result = icrl.run("own_task:make_env", "runs/own-task/run", demos=str(demos))
    lower = result.constraint.cost(np.array([[4.0, 1.0]], np.float32), np.array([1]))
    upper = result.constraint.cost(np.array([[4.0, 0.0]], np.float32), np.array([0]))
    print(f"cost of the lower lane {lower[0]:.2f}, of the upper {upper[0]:.2f}")
