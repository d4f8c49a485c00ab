"""A peer for `icrl bench throughput --peers`:
Stable-Baselines3's PPO on the same HalfCheetah, used its usual way."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym

from icrl.config import ForwardConfig
from icrl.errors import InputError

HOW_TO_INSTALL = (
    "Stable-Baselines3 or PyTorch is not installed. PyTorch first, from the index that has its CPU "
    "build: pip install 'icrl[sb3]'"
)


def half_cheetah() -> gym.Env[Any, Any]:
    """Gymnasium's HalfCheetah-v5 with our observation (x included)
    and reward (speed in either direction)."""
    import mujoco
    from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv

    # MuJoCo's note on an old attribute, once per environment
    mujoco.set_mju_user_warning(lambda message: None)
    env = HalfCheetahEnv(exclude_current_positions_from_observation=False)
    return gym.wrappers.TimeLimit(_KeepSpeed(env), 1000)


class _KeepSpeed(gym.Wrapper[Any, Any, Any, Any]):
    """r = |x' − x| / dt − 0.1 |a|²."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step with the reward replaced."""
        observation, _, terminated, truncated, info = self.env.step(action)
        return (
            observation,
            abs(info["x_velocity"]) + info["reward_ctrl"],
            terminated,
            truncated,
            info,
        )


def stable_baselines_meter(config: ForwardConfig, subprocesses: bool) -> Callable[[], int]:
    """PPO with our batch, minibatch, epochs, networks and normalisation,
    on one torch thread, which is its best."""
    try:
        import torch
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import (
            DummyVecEnv,
            SubprocVecEnv,
            VecEnv,
            VecNormalize,
        )
    except ImportError as error:
        raise InputError(f"{HOW_TO_INSTALL} ({error})") from error

    torch.set_num_threads(1)
    makers = [half_cheetah] * config.num_envs
    vector: VecEnv
    if subprocesses:
        # Forked before JAX has threads: these meters are made first (`PEERS`).
        vector = SubprocVecEnv(makers, start_method="fork")
    else:
        vector = DummyVecEnv(makers)
    model = PPO(
        "MlpPolicy",
        VecNormalize(vector),
        n_steps=config.rollout_steps,
        batch_size=config.minibatch,
        n_epochs=config.epochs,
        learning_rate=config.learning_rate,
        policy_kwargs={"net_arch": list(config.hidden)},
        device="cpu",
        seed=0,
    )
    return partial(_learn_one_rollout, model, config.num_envs * config.rollout_steps)


def _learn_one_rollout(model: Any, steps: int) -> int:
    model.learn(steps, reset_num_timesteps=False)
    return steps
