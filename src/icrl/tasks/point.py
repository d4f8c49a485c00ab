"""Point: a kinematic robot paid for circling clockwise,
to which the Ant's constraint is transferred (Section 4.2)."""

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.errors import InputError
from icrl.tasks import truth
from icrl.tasks.batched import BatchedEnv
from icrl.tasks.task import Scenario, Task
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray

HORIZON = 150
MAX_ACTION = 0.25
RADIUS = 10.0
"""Of the circle on which moving pays most."""
SIZE = 40.0
"""The plane is |x|, |y| <= SIZE."""
OBSERVATION_NAMES = ("x", "y", "cos_heading", "sin_heading")
ACTION_NAMES = ("advance", "turn")


def move(pose: FloatArray, actions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Turn, then advance. pose = (x, y, φ) [E, 3], actions = (advance, turn)
    [E, 2] -> new pose [E, 3], reward [E].

    φ' = φ + a₁, dx = cos(φ') a₀, dy = sin(φ') a₀, x' = clip(x + dx), y' = clip(y + dy),
    r = (y' dx − x' dy) / (1 + |√(x'² + y'²) − 10|): clockwise motion is positive.
    """
    heading = pose[:, 2] + actions[:, 1]
    dx = np.cos(heading) * actions[:, 0]
    dy = np.sin(heading) * actions[:, 0]
    x = np.clip(pose[:, 0] + dx, -SIZE, SIZE)
    y = np.clip(pose[:, 1] + dy, -SIZE, SIZE)
    reward = (y * dx - x * dy) / (1.0 + np.abs(np.hypot(x, y) - RADIUS))
    return np.stack((x, y, heading), axis=1), reward


def reward_of(observations: AnyArray, actions: AnyArray, next_observations: AnyArray) -> FloatArray:
    """The reward of `move`, which depends on (s, a) alone. [n, 4], [n, 2], [n, 4] -> [n]."""
    x, y, cos_heading, sin_heading = np.asarray(observations, np.float64).T
    pose = np.stack((x, y, np.arctan2(sin_heading, cos_heading)), axis=1)
    _, reward = move(pose, np.asarray(actions, np.float64))
    return reward


class PointEnv(BatchedEnv):
    """E points; each starts at the origin, heading along x."""

    def __init__(
        self,
        num_envs: int,
        *,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
        horizon: int = HORIZON,
    ) -> None:
        super().__init__(
            num_envs=num_envs,
            observation_space=_observation_space(),
            action_space=_action_space(),
            horizon=horizon,
            autoreset_mode=autoreset_mode,
        )
        self.pose: FloatArray = np.zeros((num_envs, 3))
        """[E, 3]: x, y, heading."""
        self._trail: FloatArray = np.zeros((horizon + 1, num_envs, 2))

    def start(self, indices: IntArray) -> None:
        """Back to the origin; nothing is random."""
        # All in one place, and the reward leads away from it: hence `cut_is_end` (decision 0015).
        self.pose[indices] = 0.0

    def advance(self, actions: AnyArray) -> tuple[FloatArray, BoolArray, dict[str, AnyArray]]:
        """`move`; episodes never terminate."""
        self.pose, reward = move(self.pose, actions)
        self._trail[self.elapsed + 1, np.arange(self.num_envs)] = self.pose[:, :2]
        return reward, np.zeros(self.num_envs, dtype=np.bool_), {}

    def observations(self) -> AnyArray:
        """[E, 4] of float32: x, y, cos(heading), sin(heading)."""
        x, y, heading = self.pose.T
        # By cosine and sine: the heading itself grows without bound, and 0 and 2π are one.
        return np.stack((x, y, np.cos(heading), np.sin(heading)), axis=1).astype(np.float32)

    def render_env(self, index: int, width: int = 480, height: int = 480) -> AnyArray:
        """Seen from above: the circle, what lies behind the wall in red, the way so far in blue."""
        from PIL import Image, ImageDraw

        if not 0 <= index < self.num_envs:
            raise InputError(f"expected an environment index in [0, {self.num_envs}), got {index}.")
        trail = self._trail[: self.elapsed[index] + 1, index]
        # Wide enough for the whole trail: an agent that runs off is seen running off.
        extent = max(RADIUS * 1.3, float(np.abs(trail).max()) * 1.1)
        scale = min(width, height) / (2 * extent)

        def pixel(x: float, y: float) -> tuple[float, float]:
            return width / 2 + scale * x, height / 2 - scale * y

        def disc(x: float, y: float, radius: float) -> list[tuple[float, float]]:
            return [pixel(x - radius, y + radius), pixel(x + radius, y - radius)]

        image = Image.new("RGB", (width, height), "white")
        draw = ImageDraw.Draw(image)
        wall = pixel(truth.WALL_X, 0.0)[0]
        draw.rectangle([(0, 0), (wall, height)], fill=(250, 215, 215))
        draw.line([(wall, 0), (wall, height)], fill=(217, 26, 26), width=3)
        draw.ellipse(disc(0.0, 0.0, RADIUS), outline=(150, 150, 150), width=2)
        if len(trail) > 1:
            draw.line([pixel(*xy) for xy in trail.tolist()], fill=(40, 90, 200), width=2)
        x, y, heading = self.pose[index].tolist()
        draw.ellipse(disc(x, y, 0.45), fill=(20, 40, 120))
        draw.line(
            [pixel(x, y), pixel(x + np.cos(heading), y + np.sin(heading))],
            fill=(20, 40, 120),
            width=3,
        )
        return np.asarray(image).copy()


def point() -> Scenario:
    """The scenario `point`."""
    task = Task(
        name="point",
        make_env=lambda num_envs: PointEnv(num_envs, autoreset_mode=AutoresetMode.DISABLED),
        observation_space=_observation_space(),
        action_space=_action_space(),
        observation_names=OBSERVATION_NAMES,
        action_names=ACTION_NAMES,
        horizon=HORIZON,
        description="A point on a plane, paid for moving clockwise around a circle of radius 10.",
        reward_of=reward_of,
    )
    return Scenario(
        task=task, violates=truth.point_wall, constraint="x <= -3 is forbidden", demos="point.npz"
    )


def _observation_space() -> gym.spaces.Box:
    bound = np.array([SIZE, SIZE, 1.0, 1.0], dtype=np.float32)
    return gym.spaces.Box(-bound, bound, dtype=np.float32)


def _action_space() -> gym.spaces.Box:
    return gym.spaces.Box(-MAX_ACTION, MAX_ACTION, (len(ACTION_NAMES),), np.float32)
