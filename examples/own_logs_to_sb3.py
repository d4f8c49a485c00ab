"""From your logs to a constraint, to a Stable-Baselines3 agent that respects
it (needs the extra `sb3`).

The world is Gymnasium's Acrobot; the logs are of an expert that never pushes to the left (see
`make_acrobot_logs.py`). Nobody tells the learner: it is given the environment and the logs. Run
`python examples/own_logs_to_sb3.py`.
"""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import icrl

ENV = "Acrobot-v1"
LOGS = Path(__file__).parent / "data" / "acrobot_logs.csv"


def learn():
    """The constraint behind the logs."""
    task = icrl.make_task(ENV)
    config = replace(icrl.preset("default", ENV), steps=300_000)  # the whole: 2,000,000
    return icrl.learn_constraint(task, icrl.load_demos(LOGS), config, seed=0)


def train(make_env):
    """Stable-Baselines3's PPO, with scaled rewards."""
    envs = VecNormalize(make_vec_env(make_env, n_envs=16), norm_obs=False)
    return PPO(
        "MlpPolicy", envs, n_steps=128, batch_size=256, learning_rate=1e-3, device="cpu", seed=0
    ).learn(60_000)


def judge(agent, episodes=20):
    """Mean length of an episode (fewer steps are better),
    and the share of its pushes that go left."""
    env, lengths, pushes = gym.make(ENV), [], []
    for seed in range(episodes):
        observation, ended, lengths = env.reset(seed=seed)[0], False, [*lengths, 0]
        while not ended:
            pushes.append(int(agent.predict(observation, deterministic=True)[0]))
            observation, _, terminated, truncated, _ = env.step(pushes[-1])
            ended, lengths[-1] = terminated or truncated, lengths[-1] + 1
    return (
        f"swings up in {np.mean(lengths):.0f} steps, pushes left in "
        f"{np.mean(np.equal(pushes, 0)):.1%} of them"
    )


if __name__ == "__main__":
    constraint = learn()
    constraint.save("acrobot_constraint")
    print("without the constraint:", judge(train(lambda: gym.make(ENV))))
    feasible = train(lambda: icrl.PenalisedReward(gym.make(ENV), constraint, weight=2.0, hard=True))
    print("under the constraint:  ", judge(feasible))
