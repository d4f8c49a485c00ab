"""LapGridWorld: 40 cells on the border of an 11 x 11 grid, coins on four of them, two actions (Section 4.1).

The intended behaviour is to sail round clockwise, one coin every ten steps. The cheat is to step off a coin and on again.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks import truth
from icrl.tasks.batched import BatchedEnv
from icrl.tasks.task import Scenario, Task
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray

SIDE = 11
NUM_CELLS = 40
COINS = (5, 15, 25, 35)
COIN_REWARD = 3.0
HORIZON = 200
ACTIONS = ("clockwise", "anticlockwise")
MOVES = np.array([1, -1])
"""Change of cell of each action."""


def cell_to_observation(cells: IntArray) -> FloatArray:
    """The cell's number scaled to [-1, 1]; [...] -> [..., 1]."""
    return np.asarray(2.0 * cells[..., None] / (NUM_CELLS - 1) - 1.0, np.float32)


def observation_to_cell(observations: AnyArray) -> IntArray:
    """The inverse of `cell_to_observation`; [..., 1] -> [...]."""
    return np.asarray(np.rint((observations[..., 0] + 1.0) * (NUM_CELLS - 1) / 2.0), np.int64)


def cell_position(cell: int) -> tuple[int, int]:
    """(column, row) on the grid: cell 0 is the top left corner, numbers rise clockwise, row 0 is the top."""
    side, offset = divmod(cell, SIDE - 1)
    last = SIDE - 1
    return [(offset, 0), (last, offset), (last - offset, last), (0, last - offset)][side]


class LapGridEnv(BatchedEnv):
    """All laps at once: the state is one integer per environment; deterministic."""

    def __init__(self, num_envs: int, autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP) -> None:
        super().__init__(
            num_envs=num_envs,
            observation_space=gym.spaces.Box(-1.0, 1.0, (1,), np.float32),
            action_space=gym.spaces.Discrete(len(ACTIONS)),
            horizon=HORIZON,
            autoreset_mode=autoreset_mode,
        )
        self.cells: IntArray = np.zeros(num_envs, np.int64)
        self._pays = np.isin(np.arange(NUM_CELLS), COINS)

    def start(self, indices: IntArray) -> None:
        """Every lap starts in cell 0."""
        self.cells[indices] = 0

    def advance(self, actions: AnyArray) -> tuple[FloatArray, BoolArray, dict[str, AnyArray]]:
        """Move to the neighbouring cell; a coin pays each time it is entered. Laps never terminate."""
        self.cells = (self.cells + MOVES[actions]) % NUM_CELLS
        return self._pays[self.cells] * COIN_REWARD, np.zeros(self.num_envs, np.bool_), {}

    def observations(self) -> AnyArray:
        """[E, 1]."""
        return cell_to_observation(self.cells)

    def render_env(self, index: int, width: int = 480, height: int = 360) -> AnyArray:
        """The track, the coins and the agent as an RGB image."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width / 100, height / 100), dpi=100)
        canvas = FigureCanvasAgg(figure)
        draw_lap_grid(figure.add_axes((0, 0, 1, 1)), agent_cell=int(self.cells[index]))
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def draw_lap_grid(axes: Any, agent_cell: int | None = None, feasibility: FloatArray | None = None) -> None:
    """Draw the track with its coins, the agent if given, and the feasibility [40, 2] of each (cell, direction) if given.

    Each direction is an arrow out of its cell: green where allowed (1), red where forbidden (0).
    """
    from matplotlib import colormaps
    from matplotlib.patches import Circle, FancyBboxPatch

    axes.set(xlim=(-0.8, SIDE - 0.2), ylim=(SIDE - 0.2, -0.8), aspect="equal")
    axes.set_axis_off()
    for cell in range(NUM_CELLS):
        column, row = cell_position(cell)
        box = FancyBboxPatch(
            (column - 0.44, row - 0.44), 0.88, 0.88, boxstyle="round,pad=0,rounding_size=0.12", fc="#eef2f6", ec="#c3ccd6"
        )
        axes.add_patch(box)
        if cell in COINS:
            axes.add_patch(Circle((column, row), 0.3, fc="#f5c242", ec="#b8860b", zorder=2))
            axes.text(column, row, "$", ha="center", va="center", fontsize=9, color="#7a5600", zorder=3)
    if feasibility is not None:
        shades = colormaps["RdYlGn"]
        for cell in range(NUM_CELLS):
            for action, move in enumerate(MOVES):
                _draw_arrow(axes, cell, (cell + int(move)) % NUM_CELLS, 0.13, shades(float(feasibility[cell, action])))
    if agent_cell is not None:
        column, row = cell_position(agent_cell)
        axes.add_patch(Circle((column, row), 0.26, fc="#2563c9", ec="white", lw=1.5, zorder=4))
    column, row = cell_position(0)
    axes.text(column - 0.05, row - 0.62, "start", ha="center", va="center", fontsize=8, color="#5b6675")


def _draw_arrow(axes: Any, cell: int, target: int, shift: float, colour: Any) -> None:
    """An arrow from a cell's centre towards its neighbour, shifted to the right of its direction."""
    (x, y), (to_x, to_y) = cell_position(cell), cell_position(target)
    dx, dy = to_x - x, to_y - y
    start = (x - dy * shift * 1.4, y + dx * shift * 1.4)
    axes.annotate(
        "",
        xy=(start[0] + 0.46 * dx, start[1] + 0.46 * dy),
        xytext=start,
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.8, "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0},
        zorder=3,
    )


def make_env(num_envs: int) -> LapGridEnv:
    """The task's vector environment; the caller resets it."""
    return LapGridEnv(num_envs, AutoresetMode.DISABLED)


def lap_grid() -> Scenario:
    """LapGridWorld and its unwritten rule: never sail anticlockwise."""
    task = Task(
        name="lap-grid",
        make_env=make_env,
        observation_space=gym.spaces.Box(-1.0, 1.0, (1,), np.float32),
        action_space=gym.spaces.Discrete(len(ACTIONS)),
        observation_names=("cell",),
        action_names=ACTIONS,
        horizon=HORIZON,
        description="sail round a track of 40 cells; each coin entered pays 3",
    )
    return Scenario(
        task=task,
        violates=truth.lap_grid_anticlockwise,
        constraint="the anticlockwise action is forbidden",
        violation_reward=-1.0,
        demos="lap-grid.npz",
    )
