"""The script of a carrier on a grid. Which cells it does not enter is given to it: no rule is
written here."""

from collections.abc import Collection

import numpy as np

from icrl.tasks.shapes.grids import Cell, Grid
from icrl.tasks.shapes.habits import Habits, Script
from icrl.types import AnyArray, FloatArray, IntArray

_WHIM = 2.0
"""Whims beyond this many standard deviations (one step in twenty) are followed: any open cell will
do."""


def steps_to_goal(grid: Grid, closed: Collection[Cell]) -> IntArray:
    """[cells]: how many steps it takes to the goal without entering a closed cell; many where there
    is no way."""
    many = grid.side**2 + 1
    closed_cells = [grid.number(cell) for cell in closed]
    steps = np.full(grid.side**2, many)
    steps[grid.number(grid.goal)] = 0
    # No shortest way is longer than there are cells.
    for _ in range(grid.side**2):
        through = steps.copy()
        through[closed_cells] = many
        better = np.minimum(steps, through[grid.neighbours()].min(axis=1) + 1)
        if np.array_equal(better, steps):
            break
        steps = better
    steps[closed_cells] = many
    return steps


def carrier(grid: Grid, closed: Collection[Cell]) -> Script:
    """A shortest way, of which there are many: which one is a whim of each step, with a habit of
    the episode."""
    steps = steps_to_goal(grid, closed)
    ahead = steps[grid.neighbours()]  # [cells, actions]
    is_open = ahead <= grid.side**2
    habit = np.array([1.0, -1.0, 0.0, 0.0])  # up rather than down, or the reverse

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        cells = np.asarray(seen).argmax(axis=1)
        liking = 0.5 * tremble + 0.5 * habits.side[:, None] * habit
        shortest = ahead[cells] == ahead[cells].min(axis=1, keepdims=True)
        whim = (np.abs(tremble[:, :1]) > _WHIM) & is_open[cells]
        return np.asarray(np.where(shortest | whim, liking, -np.inf).argmax(axis=1))

    return act
