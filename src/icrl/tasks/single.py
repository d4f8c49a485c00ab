"""`SingleEnv`: one environment of ours as a plain `gymnasium.Env`,
for the tools and libraries that expect one."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.errors import InputError
from icrl.tasks.batched import BatchedEnv
from icrl.types import AnyArray


class SingleEnv(gym.Env[AnyArray, AnyArray]):
    """A `BatchedEnv` of one, without its leading axis;
    the horizon is part of it, so it needs no `TimeLimit`."""

    def __init__(self, batched: BatchedEnv) -> None:
        if batched.num_envs != 1 or batched.autoreset_mode is not AutoresetMode.DISABLED:
            raise InputError(
                "expected one environment that is reset by its caller, got "
                f"num_envs={batched.num_envs} with {batched.autoreset_mode}: make it with "
                "task.make_env(1)."
            )
        self.batched = batched
        self.observation_space = batched.single_observation_space
        self.action_space = batched.single_action_space
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
        self.render_mode = "rgb_array"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Start an episode: observation [o] and an empty info."""
        # Gymnasium's checker looks for the generator that this seeds, though ours has its own.
        super().reset(seed=seed)
        observations, _ = self.batched.reset(seed=seed)
        return observations[0], {}

    def step(self, action: AnyArray) -> tuple[AnyArray, float, bool, bool, dict[str, Any]]:
        """One step: observation [o], reward, terminated, truncated,
        info (names without the vector env's masks)."""
        observations, rewards, terminated, truncated, infos = self.batched.step(
            np.asarray(action)[None]
        )
        info = {name: values[0] for name, values in infos.items() if not name.startswith("_")}
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> AnyArray:
        """An RGB image."""
        return self.batched.render_env(0)

    def close(self) -> None:
        """Release what the simulator holds."""
        self.batched.close()
