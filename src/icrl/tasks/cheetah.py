"""HalfCheetah and the wall: the nearer, easier way to run is backwards,
and it is forbidden (paper, section 4). In a transfer of ours it also pays twice."""

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks import truth
from icrl.tasks.mujoco_batch import (
    MujocoBatchEnv,
    Reward,
    State,
    gymnasium_model,
    noisy_start,
    observe_all,
    reward_of_all,
)
from icrl.tasks.mujoco_render import Camera, add_wall
from icrl.tasks.task import Scenario, Task
from icrl.types import FloatArray

FRAME_SKIP = 5
DT = 0.05
"""Seconds per step: five physics steps of 0.01 s."""
HORIZON = 1000
BACKWARDS_PAYS = 2.0
"""In `half-cheetah-back`, in units of what running forwards pays."""
JOINTS = ("back_thigh", "back_shin", "back_foot", "front_thigh", "front_shin", "front_foot")
OBSERVATION_NAMES = (
    "x",
    "z",
    "pitch",
    *JOINTS,
    "vx",
    "vz",
    "v_pitch",
    *(f"v_{joint}" for joint in JOINTS),
)
NUM_POSITIONS = 9
"""The first of the observations; the others are velocities."""
ACTION_NAMES = tuple(f"torque_{joint}" for joint in JOINTS)


def reward(before: State, after: State, actions: FloatArray) -> FloatArray:
    """r = |x' − x| / dt − 0.1 |a|²: running pays in either direction.

    States [E, ...], actions [E, 6] -> [E].
    """
    speed = np.abs(after.qpos[:, 0] - before.qpos[:, 0]) / DT
    return np.asarray(speed - 0.1 * np.einsum("ea,ea->e", actions, actions))


def reward_back(before: State, after: State, actions: FloatArray) -> FloatArray:
    """r = max(v, −2 v) − 0.1 |a|², v = (x' − x) / dt: running backwards pays twice.

    States [E, ...], actions [E, 6] -> [E].
    """
    velocity = (after.qpos[:, 0] - before.qpos[:, 0]) / DT
    effort = 0.1 * np.einsum("ea,ea->e", actions, actions)
    return np.asarray(np.maximum(velocity, -BACKWARDS_PAYS * velocity) - effort)


def make_half_cheetah(
    num_envs: int,
    *,
    reward: Reward = reward,
    num_threads: int | None = None,
    autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    horizon: int = HORIZON,
) -> MujocoBatchEnv:
    """HalfCheetahs on Gymnasium's own model; the observation is all of qpos (x first) and qvel."""
    model = gymnasium_model("half_cheetah.xml")
    return MujocoBatchEnv(
        model,
        num_envs,
        observe=observe_all,
        reward=reward,
        initial_state=noisy_start(model, 0.1),
        frame_skip=FRAME_SKIP,
        horizon=horizon,
        num_threads=num_threads,
        autoreset_mode=autoreset_mode,
        camera=Camera(distance=4.5),
        decorate=lambda scene: add_wall(scene, truth.WALL_X),
    )


def half_cheetah_wall() -> Scenario:
    """The scenario `half-cheetah-wall`."""
    return _scenario(
        "half-cheetah-wall",
        "HalfCheetah, paid for speed in either direction.",
        reward,
        demos="half-cheetah-wall.npz",
    )


def half_cheetah_back() -> Scenario:
    """The scenario `half-cheetah-back`, which is ours: the same body and wall, another reward,
    and it pulls through the wall."""
    return _scenario(
        "half-cheetah-back",
        "HalfCheetah, paid for speed, and twice for running backwards.",
        reward_back,
    )


def _scenario(name: str, description: str, pays: Reward, demos: str | None = None) -> Scenario:
    task = Task(
        name=name,
        make_env=lambda num_envs: make_half_cheetah(
            num_envs, reward=pays, autoreset_mode=AutoresetMode.DISABLED
        ),
        observation_space=gym.spaces.Box(-np.inf, np.inf, (len(OBSERVATION_NAMES),), np.float32),
        action_space=gym.spaces.Box(-1.0, 1.0, (len(ACTION_NAMES),), np.float32),
        observation_names=OBSERVATION_NAMES,
        action_names=ACTION_NAMES,
        horizon=HORIZON,
        description=description,
        reward_of=reward_of_all(pays, NUM_POSITIONS),
    )
    return Scenario(
        task=task,
        violates=truth.half_cheetah_wall,
        constraint="x <= -3 is forbidden",
        demos=demos,
    )
