"""Ant and the wall, and the Ant with two dead legs to which its constraint is transferred
(paper, sections 4 and 5)."""

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks import truth
from icrl.tasks.mujoco_batch import MujocoBatchEnv, State, gymnasium_model, noisy_start, observe_all
from icrl.tasks.mujoco_render import Camera, add_wall
from icrl.tasks.task import Scenario, Task
from icrl.types import FloatArray

FRAME_SKIP = 5
HORIZON = 500
JOINTS = ("hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3", "hip_4", "ankle_4")
OBSERVATION_NAMES = (
    *("x", "y", "z", "qw", "qx", "qy", "qz", *JOINTS),
    *("vx", "vy", "vz", "wx", "wy", "wz", *(f"v_{joint}" for joint in JOINTS)),
)
ACTION_NAMES = tuple(f"torque_{joint}" for joint in (*JOINTS[6:], *JOINTS[:6]))
"""The model's motors begin with the fourth leg."""


def reward(before: State, after: State, actions: FloatArray) -> FloatArray:
    """r = √(x'² + y'²) + 1[0.2 ≤ z' ≤ 1] − 0.5 |a|²: being far from the origin pays.

    Actions [E, 8] -> [E].
    """
    x = after.qpos[:, 0]
    y = after.qpos[:, 1]
    z = after.qpos[:, 2]
    healthy = (z >= 0.2) & (z <= 1.0)
    return np.asarray(
        np.sqrt(x * x + y * y) + healthy - 0.5 * np.einsum("ea,ea->e", actions, actions)
    )


def break_two_legs(actions: FloatArray) -> FloatArray:
    """Actions 4..7 become 0: the second and the third leg (front right, back left)
    are dead. [E, 8] -> [E, 8]."""
    applied = actions.copy()
    applied[:, 4:] = 0.0
    return applied


def make_ant(
    num_envs: int,
    *,
    broken: bool = False,
    num_threads: int | None = None,
    autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    horizon: int = HORIZON,
) -> MujocoBatchEnv:
    """Ants on Gymnasium's own model; the observation is all of qpos (x, y first) and qvel."""
    model = gymnasium_model("ant.xml")
    return MujocoBatchEnv(
        model,
        num_envs,
        observe=observe_all,
        reward=reward,
        initial_state=noisy_start(model, 0.1),
        control=break_two_legs if broken else None,
        frame_skip=FRAME_SKIP,
        horizon=horizon,
        num_threads=num_threads,
        autoreset_mode=autoreset_mode,
        camera=Camera(distance=6.0, elevation=-25.0),
        decorate=lambda scene: add_wall(scene, truth.WALL_X, half_width=8.0, height=1.0),
    )


def ant_wall() -> Scenario:
    """The scenario `ant-wall`."""
    return _scenario("ant-wall", False, "Ant, paid for its distance from the origin.")


def ant_broken() -> Scenario:
    """The scenario `ant-broken`."""
    return _scenario(
        "ant-broken", True, "Ant with two dead legs, paid for its distance from the origin."
    )


def _scenario(name: str, broken: bool, description: str) -> Scenario:
    task = Task(
        name=name,
        make_env=lambda num_envs: make_ant(
            num_envs, broken=broken, autoreset_mode=AutoresetMode.DISABLED
        ),
        observation_space=gym.spaces.Box(-np.inf, np.inf, (len(OBSERVATION_NAMES),), np.float32),
        action_space=gym.spaces.Box(-1.0, 1.0, (len(ACTION_NAMES),), np.float32),
        observation_names=OBSERVATION_NAMES,
        action_names=ACTION_NAMES,
        horizon=HORIZON,
        description=description,
    )
    if broken:
        demos = None
    else:
        demos = "ant-wall.npz"
    return Scenario(
        task=task, violates=truth.ant_wall, constraint="x <= -3 is forbidden", demos=demos
    )
