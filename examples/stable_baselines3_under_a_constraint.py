"""Stable-Baselines3's PPO under a learned constraint:
every infeasible step is fined (needs the extra `sb3`).

LapGridWorld pays for every coin that is stepped on. Left alone, an agent steps on and off one coin
for ever; the demonstration sails round. Its rule is read off by greedy inference, in seconds
(`icrl.load_constraint` would do as well); a fine that exceeds what a coin pays makes it binding.
Run it without flags; it takes a minute.
"""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

import icrl
from icrl.baselines.greedy import learn_greedy
from icrl.tasks.single import SingleEnv

STEPS = 40_000


def main() -> None:
    """Learn the constraint, then train without it and under it, and compare."""
    task = icrl.make_task("lap-grid")
    constraint, _ = learn_greedy(task, icrl.load_demos(icrl.shipped_demos("lap-grid.npz")))

    def free() -> gym.Env[Any, Any]:
        return SingleEnv(task.make_env(1))

    def bound() -> gym.Env[Any, Any]:
        return icrl.PenalisedReward(free(), constraint, weight=6.0, hard=True)  # a coin pays 3

    for name, make_env in (("without", free), ("under", bound)):
        total, cost = judge(train(make_env), icrl.CostInInfo(free(), constraint, hard=True))
        print(
            f"{name:>7} the constraint: return {total:5.1f}, {cost:.1%} of the steps are infeasible"
        )


def train(make_env: Callable[[], gym.Env[Any, Any]]) -> PPO:
    """PPO with its usual settings; the environments are wrapped before they are put together."""
    envs = make_vec_env(make_env, n_envs=8)
    agent = PPO("MlpPolicy", envs, n_steps=256, batch_size=256, device="cpu", seed=0)
    return agent.learn(STEPS)


def judge(agent: PPO, env: gym.Env[Any, Any], episodes: int = 5) -> tuple[float, float]:
    """Mean return, and the share of steps that cost something,
    over stochastic episodes that nothing cuts short."""
    returns, costs = [], []
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        returns.append(0.0)
        ended = False
        while not ended:
            action, _ = agent.predict(observation)
            observation, reward, terminated, truncated, info = env.step(action)
            returns[-1] += float(reward)
            costs.append(info["cost"])
            ended = terminated or truncated
    return float(np.mean(returns)), float(np.mean(costs))


if __name__ == "__main__":
    main()
