"""Makes `data/acrobot_logs.csv`, the logs that `own_logs_to_sb3.py` starts from.

The expert swings the Acrobot up without ever pushing to the left: its own machine cannot. The logs
do not say so: they are observations, actions and rewards, as any machine would keep them.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import jax
import numpy as np

import icrl
from icrl.agent.forward_step import forward_step
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import init_agent, policy_of
from icrl.presets import expert

LOGS = Path(__file__).parent / "data" / "acrobot_logs.csv"
STEPS, EPISODES = 160_000, 10


def one_sided() -> gym.Env[Any, Any]:
    """The expert's machine: of the three choices (left, none, right) it has the last two."""
    return gym.wrappers.TransformAction(
        gym.make("Acrobot-v1"), lambda choice: choice + 1, gym.spaces.Discrete(2)
    )


def main() -> None:
    """Train the expert, let it act, and write what it did, in the actions of the whole machine."""
    task = icrl.task_from_env(one_sided)
    config = replace(expert(task.name)[0], steps=STEPS)
    agent = init_agent(np.random.default_rng(0), task, config)
    agent, _ = forward_step(
        jax.random.key(0), agent, task, task.make_env(config.num_envs), None, config
    )
    policy = policy_of(agent, task, config)
    found = sample_trajectories(
        np.random.default_rng(1), policy, task.make_env(EPISODES), task.horizon, seed=1
    )
    logged = replace(
        found,
        actions=found.actions + 1,
        observations=np.round(found.observations.astype(np.float64), 4),
    )
    icrl.save_demos(icrl.Demonstrations(trajectories=logged, discrete=True), LOGS)
    print(
        f"{EPISODES} episodes, {found.num_steps} steps, mean return {found.returns.mean():.1f}: "
        f"{LOGS.name}"
    )


if __name__ == "__main__":
    main()
