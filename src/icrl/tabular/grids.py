"""Worlds to draw: grid worlds from text, and LapGridWorld (Section 4.1) in tabular form."""

import numpy as np

from icrl.errors import InputError
from icrl.tabular.mdp import TabularMDP, successor_transitions
from icrl.types import AnyArray, IntArray

MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
"""Action name -> (row step, column step)."""
DIAGONAL_MOVES = {
    "up-left": (-1, -1),
    "up-right": (-1, 1),
    "down-left": (1, -1),
    "down-right": (1, 1),
}

WALL = "#"
FLOOR = "."
START = "S"
GOAL = "G"

LAP_CELLS = 40
LAP_COINS = (5, 15, 25, 35)
LAP_COIN_REWARD = 3.0
LAP_HORIZON = 200

GATES = """
S........
#x#x###.#
.........
#.####x##
.........
##x####.#
.........
#.####x##
........G
"""
"""9 x 9, five forbidden states `x`: lanes joined by doors, the gates `x` are shortcuts. The way
through the doors passes both sides of every gate, so an expert who never uses one tells it apart
from its neighbours."""

LANES = """
###S#G###
###.x.###
###.x.###
###.x.###
###.x.###
###.x.###
###.#.###
###.#.###
###...###
"""
"""9 x 9, five forbidden states side by side (a shape that a smooth ζ(x, y) can take): two
lanes, each `x` a shorter way than the one below it, and one long way round that passes both
sides of all of them."""

GRID_HORIZON = 50
GRID_GOAL_REWARD = 50.0
"""For `GATES` and `LANES`. It must outweigh the entropy of wandering: in `GATES` the MaxEnt expert
(β = 1) reaches the goal with probability 0.88; with a goal reward of 30 it is 0.002, and no
demonstration would speak of the last gate."""


def grid_from_text(
    text: str,
    *,
    horizon: int,
    step_reward: float = -1.0,
    goal_reward: float = 0.0,
    slip: float = 0.0,
    diagonal: bool = False,
) -> TabularMDP:
    """A grid world drawn as text; one state per cell that is not a wall, numbered in reading order.

    `#` wall, `.` floor, `S` start (several: uniform), `G` goal (absorbing; staying pays 0),
    `1`-`9` floor that costs that much more to enter, a lower-case letter floor that
    `marked_states` finds again.

    Each step outside a goal pays `step_reward`, entering a goal `goal_reward` on top. A move into a
    wall or the edge stays in place. With probability `slip` the move is replaced by one drawn
    uniformly from all moves.
    """
    rows = _parse(text)
    if not 0.0 <= slip <= 1.0:
        raise InputError(f"slip must be a probability in [0, 1], got {slip}.")
    if diagonal:
        moves = {**MOVES, **DIAGONAL_MOVES}
    else:
        moves = MOVES
    cells = _cells(rows)
    symbols = np.array([rows[r][c] for r, c in cells])
    successors = _successors(cells, symbols, list(moves.values()))

    enter_cost = np.array([float(symbol) if symbol.isdigit() else 0.0 for symbol in symbols])
    at_goal = symbols == GOAL
    # A bump stays in place: it does not enter the cell again, so it pays the step alone.
    entered = successors != np.arange(len(cells))[:, None]
    gain = goal_reward * at_goal[successors] - enter_cost[successors]
    intended_reward = np.where(at_goal[:, None], 0.0, step_reward + gain * entered)  # [S, A]
    starts = symbols == START

    intended = successor_transitions(successors)
    return TabularMDP(
        # Slipping changes the move and with it what is paid: both are means over the same moves.
        transitions=(1.0 - slip) * intended + slip * np.mean(intended, axis=1, keepdims=True),
        reward=(1.0 - slip) * intended_reward
        + slip * np.mean(intended_reward, axis=1, keepdims=True),
        start=starts / np.sum(starts),
        horizon=horizon,
        # x is the column and y the row, counted downwards as they are drawn.
        observations=np.array([(c, r) for r, c in cells], dtype=np.float64),
        observation_names=("x", "y"),
        state_names=tuple(f"row {r} column {c}" for r, c in cells),
        action_names=tuple(moves),
    )


def marked_states(text: str, mark: str) -> tuple[int, ...]:
    """The states of `grid_from_text(text)` whose cell shows `mark`:
    how a caller keeps a truth apart from the MDP."""
    rows = _parse(text)
    return tuple(i for i, (r, c) in enumerate(_cells(rows)) if rows[r][c] == mark)


def lap_grid(horizon: int = LAP_HORIZON) -> TabularMDP:
    """LapGridWorld: 40 cells in a ring, clockwise or anticlockwise,
    +3 on entering cells 5, 15, 25 and 35."""
    cell = np.arange(LAP_CELLS)
    successors = np.stack([(cell + 1) % LAP_CELLS, (cell - 1) % LAP_CELLS], axis=1)  # [S, 2]
    return TabularMDP(
        transitions=successor_transitions(successors),
        reward=LAP_COIN_REWARD * np.isin(successors, LAP_COINS),
        start=np.eye(LAP_CELLS)[0],
        horizon=horizon,
        # [S, 1], as the task shows it: demonstrations are looked up among these rows.
        observations=(2.0 * cell / (LAP_CELLS - 1) - 1.0)[:, None],
        observation_names=("cell",),
        state_names=tuple(f"cell {c}" for c in cell),
        action_names=("clockwise", "anticlockwise"),
    )


def _parse(text: str) -> list[str]:
    """The rows of a drawing, checked."""
    rows = [line.strip() for line in text.strip().splitlines()]
    if rows in ([], [""]):
        raise InputError("the grid is empty: draw at least one row, with S where episodes start.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"row {number} of the grid has {len(row)} cells, row 1 has {len(rows[0])}: draw a "
                "rectangle (fill the gaps with '#')."
            )
        for column, symbol in enumerate(row, start=1):
            if not (
                symbol in WALL + FLOOR + START + GOAL
                or (symbol.isascii() and (symbol.islower() or symbol in "123456789"))
            ):
                raise InputError(
                    f"row {number}, column {column} of the grid is {symbol!r}: expected '#' "
                    "(wall), '.' (floor), 'S' (start), 'G' (goal), '1' to '9' (cost) or a "
                    "lower-case letter (marked floor)."
                )
    if not any(START in row for row in rows):
        raise InputError(
            f"the grid of {len(rows)} rows has no start: put an 'S' where episodes start."
        )
    return rows


def _cells(rows: list[str]) -> list[tuple[int, int]]:
    """(row, column) of every cell that is not a wall, in reading order."""
    return [(r, c) for r, row in enumerate(rows) for c, symbol in enumerate(row) if symbol != WALL]


def _successors(
    cells: list[tuple[int, int]], symbols: AnyArray, moves: list[tuple[int, int]]
) -> IntArray:
    """[S, A]: where each move leads; walls, edges and goals stay in place."""
    index = {cell: i for i, cell in enumerate(cells)}
    successors = np.empty((len(cells), len(moves)), dtype=np.int64)
    for state, (r, c) in enumerate(cells):
        for action, (dr, dc) in enumerate(moves):
            stays = symbols[state] == GOAL
            if stays:
                successors[state, action] = state
            else:
                successors[state, action] = index.get((r + dr, c + dc), state)
    return successors
