"""Ant and the wall, and the Ant with two dead legs to which its constraint is transferred
(paper, sections 4 and 5); ours is the one that starts with its back to where it walks."""

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks import truth
from icrl.tasks.mujoco_batch import (
    Control,
    InitialState,
    MujocoBatchEnv,
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
HORIZON = 500
JOINTS = ("hip_1", "ankle_1", "hip_2", "ankle_2", "hip_3", "ankle_3", "hip_4", "ankle_4")
OBSERVATION_NAMES = (
    *("x", "y", "z", "qw", "qx", "qy", "qz", *JOINTS),
    *("vx", "vy", "vz", "wx", "wy", "wz", *(f"v_{joint}" for joint in JOINTS)),
)
NUM_POSITIONS = 15
"""The first of the observations; the others are velocities."""
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
    # A copy: the caller's array is what the update learns from.
    applied = actions.copy()
    # The model calls one of them front: both stand at x = −0.2, behind a body that looks along x.
    applied[:, 4:] = 0.0
    return applied


def _control(broken: bool) -> Control | None:
    if broken:
        return break_two_legs
    return None


def turned(start: InitialState) -> InitialState:
    """The same starts, turned about the vertical by half a turn: q' = (0, 0, 0, 1) q.

    (qw, qx, qy, qz) -> (−qz, −qy, qx, qw). The ground is flat and the reward knows no direction, so
    whatever a body does from the one start it can do mirrored through the origin from the other.
    """

    def initial_state(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        qpos, qvel = start(rng)
        w, x, y, z = qpos[3:7]
        qpos[3:7] = (-z, -y, x, w)
        return qpos, qvel

    return initial_state


def make_ant(
    num_envs: int,
    *,
    broken: bool = False,
    backwards: bool = False,
    num_threads: int | None = None,
    autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    horizon: int = HORIZON,
) -> MujocoBatchEnv:
    """Ants on Gymnasium's own model; the observation is all of qpos (x, y first) and qvel.

    backwards: they start turned by half a turn.
    """
    model = gymnasium_model("ant.xml")
    start = noisy_start(model, 0.1)
    return MujocoBatchEnv(
        model,
        num_envs,
        observe=observe_all,
        reward=reward,
        initial_state=turned(start) if backwards else start,
        control=_control(broken),
        frame_skip=FRAME_SKIP,
        horizon=horizon,
        num_threads=num_threads,
        autoreset_mode=autoreset_mode,
        camera=Camera(distance=6.0, elevation=-25.0),
        decorate=lambda scene: add_wall(scene, truth.WALL_X, half_width=8.0, height=1.0),
    )


def ant_wall() -> Scenario:
    """The scenario `ant-wall`."""
    return _scenario(
        "ant-wall",
        "Ant, paid for its distance from the origin.",
        demos="ant-wall.npz",
    )


def ant_broken() -> Scenario:
    """The scenario `ant-broken`."""
    return _scenario(
        "ant-broken",
        "Ant with two dead legs, paid for its distance from the origin.",
        broken=True,
    )


def ant_broken_turned() -> Scenario:
    """The scenario `ant-broken-turned`, which is ours: body, reward and wall of `ant-broken`.

    Both dead legs are behind the torso, so this body walks the way it looks. In `ant-broken` that
    is away from the wall, and nobody needs to know of it; here it is through the wall.
    """
    return _scenario(
        "ant-broken-turned",
        "Ant with two dead legs that starts facing left, paid for its distance from the origin.",
        broken=True,
        backwards=True,
    )


def _scenario(
    name: str,
    description: str,
    *,
    broken: bool = False,
    backwards: bool = False,
    demos: str | None = None,
) -> Scenario:
    task = Task(
        name=name,
        make_env=lambda num_envs: make_ant(
            num_envs,
            broken=broken,
            backwards=backwards,
            autoreset_mode=AutoresetMode.DISABLED,
        ),
        observation_space=gym.spaces.Box(-np.inf, np.inf, (len(OBSERVATION_NAMES),), np.float32),
        action_space=gym.spaces.Box(-1.0, 1.0, (len(ACTION_NAMES),), np.float32),
        observation_names=OBSERVATION_NAMES,
        action_names=ACTION_NAMES,
        horizon=HORIZON,
        description=description,
        reward_of=reward_of_all(reward, NUM_POSITIONS, _control(broken)),
    )
    return Scenario(
        task=task, violates=truth.ant_wall, constraint="x <= -3 is forbidden", demos=demos
    )
