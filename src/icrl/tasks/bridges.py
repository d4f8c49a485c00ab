"""Bridges: two bridges over a river, a lion on the short one (the paper's first figure).

The agent walks from the bottom left to the bottom right and is paid for being close to the goal.
The lower bridge is on its way; the expert knows of the lion and takes the upper one.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks import bridges_map as plane
from icrl.tasks import truth
from icrl.tasks.batched import BatchedEnv
from icrl.tasks.task import Scenario, Task
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray, Trajectories

_LAND, _WATER, _WOOD, _PLANK = "#dfe8c8", "#9cc9e3", "#c9a36b", "#a37c47"
_PATH = "#1f4e9e"


class BridgesEnv(BatchedEnv):
    """E walkers on the plane; the observation is (x, y), the action the step along each axis."""

    def __init__(
        self, num_envs: int, autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP
    ) -> None:
        super().__init__(
            num_envs=num_envs,
            observation_space=_observation_space(),
            action_space=_action_space(),
            horizon=plane.HORIZON,
            autoreset_mode=autoreset_mode,
        )
        self.positions: FloatArray = np.tile(np.array(plane.START), (num_envs, 1))
        """[E, 2]: x, y."""
        self._trail: FloatArray = np.zeros((plane.HORIZON + 1, num_envs, 2))

    def start(self, indices: IntArray) -> None:
        """Somewhere in the square around the start."""
        for i in indices:
            noise = self.rngs[i].uniform(-plane.START_SPREAD, plane.START_SPREAD, 2)
            self.positions[i] = np.array(plane.START) + noise
        self._trail[0, indices] = self.positions[indices]

    def advance(self, actions: AnyArray) -> tuple[FloatArray, BoolArray, dict[str, AnyArray]]:
        """Step, unless there is water; the pay is the closeness of the new place.

        Arriving ends the episode and pays at once what staying would:
        1 for this step and for each that is left.
        """
        self.positions = plane.move(self.positions, actions)
        # One step ahead of the clock, which `step` moves afterwards.
        self._trail[self.elapsed + 1, np.arange(self.num_envs)] = self.positions
        arrived = plane.at_goal(self.positions)
        reward = np.where(
            arrived, float(self.horizon) - self.elapsed, plane.closeness(self.positions)
        )
        return reward, arrived, {}

    def observations(self) -> AnyArray:
        """[E, 2] of float32: x, y."""
        return self.positions.astype(np.float32)

    def render_env(self, index: int, width: int = 480, height: int = 360) -> AnyArray:
        """The map from above, the way so far and the walker."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        # Without pyplot, which keeps every figure and looks for a window system.
        figure = Figure(figsize=(width / 100, height / 100), dpi=100)
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        draw_bridges(axes)
        trail = self._trail[: self.elapsed[index] + 1, index]
        axes.plot(*trail.T, color=_PATH, lw=2, zorder=6)
        axes.plot(*self.positions[index], "o", color=_PATH, mec="white", mew=1.5, ms=11, zorder=8)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def draw_bridges(
    axes: Any,
    trajectories: Trajectories | None = None,
    feasibility: FloatArray | None = None,
    colour: str = _PATH,
    lion: bool = True,
) -> None:
    """Draw the map, the ways of `trajectories` if given,
    and over the land the feasibility [rows, columns] if given.

    Row 0 of `feasibility` is the bottom of the plane, column 0 its left;
    red is forbidden (0), clear is allowed (1).
    """
    from matplotlib.patches import Rectangle

    left = -plane.WIDTH / 2
    bottom = -plane.HEIGHT / 2
    axes.set(xlim=(left, -left), ylim=(bottom, -bottom), aspect="equal", xticks=[], yticks=[])
    axes.add_patch(Rectangle((left, bottom), plane.WIDTH, plane.HEIGHT, fc=_LAND, lw=0, zorder=0))
    _draw_river(axes)
    if feasibility is not None:
        _draw_feasibility(axes, feasibility)
    for (x, y), label, face in ((plane.START, "S", "white"), (plane.GOAL, "G", "#f5c242")):
        if label == "G":
            half = plane.GOAL_SIZE
        else:
            half = plane.START_SPREAD
        axes.add_patch(
            Rectangle(
                (x - half, y - half), 2 * half, 2 * half, fc=face, ec="#3c4550", lw=1.2, zorder=4
            )
        )
        axes.text(x, y, label, ha="center", va="center", fontsize=10, fontweight="bold", zorder=9)
    if lion:
        _draw_lion(axes, (0.0, sum(plane.LOWER_BRIDGE) / 2))
    if trajectories is not None:
        for path, length in zip(trajectories.observations, trajectories.lengths, strict=True):
            axes.plot(
                *path[: int(length), :2].T,
                color=colour,
                lw=1.3,
                alpha=0.45,
                zorder=6,
                solid_joinstyle="round",
            )


def _draw_river(axes: Any) -> None:
    """Water with ripples, and two bridges of planks."""
    from matplotlib.patches import Rectangle

    (left, right), bottom = plane.RIVER, -plane.HEIGHT / 2
    axes.add_patch(
        Rectangle(
            (left, bottom), right - left, plane.HEIGHT, fc=_WATER, ec="#7fb2d1", lw=1.0, zorder=1
        )
    )
    along = np.linspace(0.0, 0.8, 40)
    rng = np.random.default_rng(4)
    for y in np.repeat(np.arange(bottom + 0.35, -bottom, 0.5), 2):
        x = rng.uniform(left + 0.1, right - 0.9)
        axes.plot(
            x + along, y + 0.06 * np.sin(along * 16.0), color="white", lw=1.0, alpha=0.7, zorder=1
        )
    for low, high in (plane.LOWER_BRIDGE, plane.UPPER_BRIDGE):
        # the picture's bridges reach a little onto the banks; the map's end at the water
        axes.add_patch(
            Rectangle(
                (left - 0.2, low),
                right - left + 0.4,
                high - low,
                fc=_WOOD,
                ec=_PLANK,
                lw=1.0,
                zorder=2,
            )
        )
        axes.vlines(np.linspace(left, right, 13), low, high, color=_PLANK, lw=0.8, zorder=2)
        axes.hlines([low, high], left - 0.2, right + 0.2, color="#7d5a2c", lw=2.4, zorder=2)


def _draw_lion(axes: Any, at: tuple[float, float], size: float = 1.9) -> None:
    """A head with a mane, seen from the front, `size` wide."""
    from matplotlib.patches import Circle, Polygon

    def place(x: float, y: float) -> tuple[float, float]:
        return at[0] + size * x, at[1] + size * y

    angles = np.linspace(0.0, 2 * np.pi, 28, endpoint=False)
    radii = np.where(np.arange(28) % 2 == 0, 0.5, 0.39)
    mane = [
        place(r * np.cos(angle), r * np.sin(angle)) for r, angle in zip(radii, angles, strict=True)
    ]
    axes.add_patch(Polygon(mane, fc="#a8551c", ec="#6e3510", lw=0.8, zorder=7))
    for side in (-1, 1):
        axes.add_patch(
            Circle(
                place(0.2 * side, 0.24), 0.08 * size, fc="#e9a944", ec="#6e3510", lw=0.7, zorder=7
            )
        )
    axes.add_patch(Circle(at, 0.28 * size, fc="#f0b955", ec="#6e3510", lw=0.7, zorder=7))
    for side in (-1, 1):
        axes.add_patch(Circle(place(0.1 * side, 0.07), 0.035 * size, fc="#2b2b2b", lw=0, zorder=7))
        mouth = np.array([place(0.0, -0.12), place(0.09 * side, -0.16)])
        axes.plot(*mouth.T, color="#6e3510", lw=0.9, zorder=7)
    nose = [place(-0.06, -0.02), place(0.06, -0.02), place(0.0, -0.1)]
    axes.add_patch(Polygon(nose, fc="#5a2a12", lw=0, zorder=7))


def _draw_feasibility(axes: Any, feasibility: FloatArray) -> None:
    """Red over the land where ζ is low."""
    from matplotlib.colors import LinearSegmentedColormap

    rows, columns = feasibility.shape
    y = (np.arange(rows) + 0.5) / rows * plane.HEIGHT - plane.HEIGHT / 2
    x = (np.arange(columns) + 0.5) / columns * plane.WIDTH - plane.WIDTH / 2
    land = plane.is_land(np.stack(np.meshgrid(x, y), axis=-1))
    shades = LinearSegmentedColormap.from_list(
        "cost", [(0.83, 0.13, 0.13, 0.0), (0.83, 0.13, 0.13, 0.85)]
    )
    half = plane.WIDTH / 2, plane.HEIGHT / 2
    axes.imshow(
        np.ma.masked_where(~land, 1.0 - feasibility),
        cmap=shades,
        vmin=0.0,
        vmax=1.0,
        origin="lower",
        extent=(-half[0], half[0], -half[1], half[1]),
        interpolation="nearest",
        zorder=3,
    )


def make_env(num_envs: int) -> BridgesEnv:
    """The task's vector environment; the caller resets it."""
    return BridgesEnv(num_envs, AutoresetMode.DISABLED)


def bridges() -> Scenario:
    """Two bridges, and the lion that only the expert knows of."""
    task = Task(
        name="bridges",
        make_env=make_env,
        observation_space=_observation_space(),
        action_space=_action_space(),
        observation_names=("x", "y"),
        action_names=("dx", "dy"),
        horizon=plane.HORIZON,
        description=(
            "walk to the other side of a river, over one of two bridges; being close to the goal "
            "pays"
        ),
    )
    return Scenario(
        task=task,
        violates=truth.bridges_lion,
        constraint="the lower bridge is forbidden: a lion is on it",
        demos="bridges.npz",
    )


def _observation_space() -> gym.spaces.Box:
    bound = np.array([plane.WIDTH / 2, plane.HEIGHT / 2], np.float32)
    return gym.spaces.Box(-bound, bound, dtype=np.float32)


def _action_space() -> gym.spaces.Box:
    return gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
