"""Shared by the eight blind worlds: an environment, rolling it out, and writing demonstrations.

The files of demonstrations are as own_environment.md asks.
"""

from pathlib import Path

import gymnasium as gym
import numpy as np


class World(gym.Env):
    """Scalars inside, float32 observations outside; subclasses fill in _start, _move and _see."""

    def reset(self, *, seed=None, options=None):
        """Begin an episode."""
        super().reset(seed=seed)
        self.rng = self.np_random
        self.t = 0
        self._start()
        return self._observe(), {}

    def step(self, action):
        """Move once; no world ends an episode of itself."""
        reward = self._move(action)
        self.t += 1
        return self._observe(), float(reward), False, False, {}

    def _observe(self):
        """Give what is seen as an array."""
        return np.array(self._see(), np.float32)


def space(lows, highs):
    """Make a box between these limits."""
    return gym.spaces.Box(np.array(lows, np.float32), np.array(highs, np.float32), dtype=np.float32)


def clip(x, lo, hi):
    """Give the number between these limits that is nearest to x."""
    return lo if x < lo else hi if x > hi else x


def rollout(module, policy, episodes, seed):
    """Give observations [T, o], actions [T, ...] and rewards [T] of each episode, in a list."""
    env = module.make_env()
    module.RNG = np.random.default_rng(seed)
    return [_episode(env, policy, seed + k) for k in range(episodes)]


def _episode(env, policy, seed):
    """Give the observations, actions and rewards of one episode."""
    observations, actions, rewards, over = [], [], [], False
    obs, _ = env.reset(seed=seed)
    while not over:
        action = policy(obs)
        observations.append(obs)
        actions.append(action)
        obs, reward, terminated, truncated, _ = env.step(action)
        rewards.append(reward)
        over = terminated or truncated
    return np.array(observations), np.array(actions), np.array(rewards)


def _padded(arrays):
    """Stack arrays of several lengths, with zeros after the shorter ones."""
    longest = max(len(array) for array in arrays)
    full = np.zeros((len(arrays), longest, *arrays[0].shape[1:]), arrays[0].dtype)
    for row, array in zip(full, arrays, strict=True):
        row[: len(array)] = array
    return full


def write_demos(module, number, episodes=20, seed=70_000):
    """Write episodes of the module's expert to `demos/`, under the world's number."""
    runs = rollout(module, module.expert, episodes, seed)
    observations, actions, rewards = zip(*runs, strict=True)
    path = Path(__file__).parent / "demos" / f"w{number}.npz"
    path.parent.mkdir(exist_ok=True)
    np.savez(
        path,
        observations=_padded(observations),
        actions=_padded(actions),
        rewards=_padded(rewards).astype(np.float32),
        lengths=np.array([len(row) for row in rewards]),
    )
    print(f"{path}: {episodes} episodes, mean return {np.mean([r.sum() for r in rewards]):.2f}")
