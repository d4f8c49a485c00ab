"""A grid of cells: a carrier brings one parcel after the other to the same cell. What is seen is
the cell, one-hot."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks.shapes.shape_env import ShapeEnv
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray

Cell = tuple[int, int]
"""(row, column); row 0 is the top."""

ACTIONS = ("up", "down", "left", "right")
MOVES = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])


@dataclass(frozen=True, kw_only=True)
class Grid:
    """`side` × `side` cells; who reaches the goal is paid and starts again in one of the cells
    `starts`."""

    side: int
    horizon: int
    goal: Cell
    starts: tuple[Cell, ...]
    pay: float

    @property
    def observation_names(self) -> tuple[str, ...]:
        """One per cell, row by row."""
        numbers = range(self.side)
        return tuple(f"cell_{row}_{column}" for row in numbers for column in numbers)

    @property
    def action_names(self) -> tuple[str, ...]:
        """One per direction."""
        return ACTIONS

    @property
    def observation_space(self) -> gym.spaces.Box:
        """One-hot."""
        return gym.spaces.Box(0.0, 1.0, (self.side**2,), np.float32)

    @property
    def action_space(self) -> gym.spaces.Discrete:
        """Four directions."""
        return gym.spaces.Discrete(len(ACTIONS))

    def make_env(self, num_envs: int, autoreset_mode: AutoresetMode) -> "GridEnv":
        """E carriers."""
        return GridEnv(self, num_envs, autoreset_mode)

    def number(self, cell: Cell) -> int:
        """Of a cell, counted row by row."""
        return cell[0] * self.side + cell[1]

    def neighbours(self) -> IntArray:
        """[cells, actions]: the cell that an action leads to; at the edge one stays."""
        rows, columns = np.divmod(np.arange(self.side**2), self.side)
        places = np.stack([rows, columns], axis=1)[:, None, :] + MOVES  # [cells, actions, 2]
        places = np.clip(places, 0, self.side - 1)
        return np.asarray(places[..., 0] * self.side + places[..., 1])


class GridEnv(ShapeEnv):
    """E carriers, each on a grid of its own."""

    def __init__(self, grid: Grid, num_envs: int, autoreset_mode: AutoresetMode) -> None:
        super().__init__(grid, num_envs, autoreset_mode)
        self.grid = grid
        self.cells: IntArray = np.zeros(num_envs, np.int64)
        self.parcels: IntArray = np.zeros((num_envs, grid.horizon + 1), np.int64)
        """[E, T + 1]: the cell in which a parcel lies that is fetched at this time."""
        self._starts: IntArray = np.array([grid.number(cell) for cell in grid.starts])
        self._goal = grid.number(grid.goal)
        self._next: IntArray = grid.neighbours()
        self._one_hot: FloatArray = np.eye(grid.side**2, dtype=np.float32)

    def begin(self, indices: IntArray) -> None:
        """In one of the cells where parcels lie; all others of the episode are drawn now."""
        for i in indices:
            # As many as there are steps: nobody can fetch more.
            self.parcels[i] = self.rngs[i].choice(self._starts, self.horizon + 1)
        self.cells[indices] = self.parcels[indices, 0]

    def move(self, actions: AnyArray) -> tuple[FloatArray, BoolArray]:
        """To the neighbouring cell; a parcel at the goal pays, and the next is fetched at once."""
        cells = self._next[self.cells, actions]
        arrived = cells == self._goal
        self.cells = np.where(arrived, self.parcels[self.everyone, self.elapsed + 1], cells)
        return self.grid.pay * arrived, self.nobody.copy()

    def look(self, time: IntArray) -> FloatArray:
        """The cell, one-hot."""
        return self._one_hot[self.cells]

    def render_env(self, index: int, width: int = 480, height: int = 360) -> AnyArray:
        """The grid, the goal and the carrier."""
        from icrl.tasks.shapes.pictures import draw_grid

        row, column = divmod(int(self.cells[index]), self.grid.side)
        return draw_grid(self.grid.side, self.grid.goal, (row, column), width, height)
