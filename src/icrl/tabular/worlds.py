"""The tabular forms of our tasks: an MDP, how its demonstrations become walks,
and what may be forbidden in it.

**Bridges.** The plane is cut into squares of the longest step (12 x 9), water left out; the
nine moves are those of a chess king, or to stay. A step of the plane never passes over a
square, so every continuous demonstration *is* a walk of this MDP: the move of a step is the
difference of two squares.

What is lost is the position inside a square, and how hard the agent pushed (a short step and a
blocked one both stay). Arriving at the goal ends an episode of the plane; in the MDP the goal holds
the agent and pays 1 for each step left, which is the same return. The moves have no exact
counterpart among actions (dx, dy), so only squares can be found forbidden.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from icrl.errors import InputError
from icrl.tabular.grids import lap_grid
from icrl.tabular.hypotheses import Hypothesis, all_hypotheses
from icrl.tabular.mdp import TabularMDP, successor_transitions
from icrl.tabular.walks import Walks, checked_walks, to_walks
from icrl.tasks import bridges_map as plane
from icrl.types import AnyArray, FloatArray, IntArray, Trajectories

SQUARE = plane.MAX_STEP
COLUMNS = round(plane.WIDTH / SQUARE)
ROWS = round(plane.HEIGHT / SQUARE)
KING_MOVES = tuple(itertools.product((-1, 0, 1), (-1, 0, 1)))
"""(columns, rows) of each move; number 4 is to stay."""
STAY = KING_MOVES.index((0, 0))
BRIDGES_BETA = 5.0
"""Inverse temperature of a walker who has learned to walk well: arriving a step earlier is worth e⁵
(a return of 1 less). At β = 1 one step is worth less than the freedom of nine moves, log 9, and the
model would stroll about."""


@dataclass(frozen=True, kw_only=True)
class TabularForm:
    """A task as a small world."""

    mdp: TabularMDP
    to_walks: Callable[[Trajectories], Walks]
    """The task's trajectories in this world."""
    hypotheses: tuple[Hypothesis, ...]
    """What may be forbidden."""
    beta: float
    """Inverse temperature of the demonstrator."""

    @property
    def sees_actions(self) -> bool:
        """An action, or a pair, may be forbidden: the MDP's actions are those of the task."""
        return any(hypothesis.action is not None for hypothesis in self.hypotheses)


def lap_grid_form() -> TabularForm:
    """LapGridWorld, exactly."""
    mdp = lap_grid()
    return TabularForm(
        mdp=mdp, to_walks=lambda t: to_walks(mdp, t), hypotheses=all_hypotheses(mdp), beta=1.0
    )


def bridges_form() -> TabularForm:
    """The plane of the two bridges on a grid; see the module's docstring."""
    mdp = bridges_grid()
    hypotheses = all_hypotheses(mdp, actions=False, pairs=False)
    return TabularForm(
        mdp=mdp, to_walks=lambda t: bridges_walks(mdp, t), hypotheses=hypotheses, beta=BRIDGES_BETA
    )


TABULAR_FORMS: dict[str, Callable[[], TabularForm]] = {
    "lap-grid": lap_grid_form,
    "bridges": bridges_form,
}


def tabular_form(task: str) -> TabularForm:
    """The tabular form of a task, for those that have one."""
    if task not in TABULAR_FORMS:
        raise InputError(
            f"task {task!r} has no tabular form, which the method 'greedy' needs; these tasks have "
            f"one: {', '.join(sorted(TABULAR_FORMS))}. Use another --method for it."
        )
    return TABULAR_FORMS[task]()


def square_of(positions: AnyArray) -> IntArray:
    """(column, row) of the square that holds a position, from the bottom left.
    [..., 2] -> [..., 2]."""
    low = np.array([-plane.WIDTH / 2, -plane.HEIGHT / 2])
    index = np.floor((np.asarray(positions, np.float64) - low) / SQUARE).astype(np.int64)
    # The far edge belongs to the last square.
    return np.asarray(np.clip(index, 0, [COLUMNS - 1, ROWS - 1]))


def land_squares() -> IntArray:
    """[S, 2]: (column, row) of every square that is not water, row by row from the bottom."""
    squares = np.array([(c, r) for r in range(ROWS) for c in range(COLUMNS)])
    return np.asarray(squares[plane.is_land(centre_of(squares))])


def centre_of(squares: IntArray) -> FloatArray:
    """The middle of a square. [..., 2] -> [..., 2]."""
    return np.asarray((squares + 0.5) * SQUARE - np.array([plane.WIDTH / 2, plane.HEIGHT / 2]))


def bridges_grid() -> TabularMDP:
    """The plane as a `TabularMDP`: r(s, a) is the closeness of the successor's middle."""
    squares = land_squares()
    # -1: water, which has no state
    number = np.full((COLUMNS, ROWS), -1)
    number[squares[:, 0], squares[:, 1]] = np.arange(len(squares))
    # [S, 9, 2]
    aims = np.clip(squares[:, None, :] + np.array(KING_MOVES), 0, [COLUMNS - 1, ROWS - 1])
    aimed = number[aims[..., 0], aims[..., 1]]
    own = np.arange(len(squares))[:, None]
    centres = centre_of(squares)
    held = plane.at_goal(centres)[:, None]
    successors = np.where((aimed < 0) | held, own, aimed)
    starts = _start_shares(squares)
    return TabularMDP(
        transitions=successor_transitions(successors),
        reward=plane.closeness(centres)[successors],
        start=starts / np.sum(starts),
        horizon=plane.HORIZON,
        observations=centres,
        observation_names=("x", "y"),
        state_names=tuple(f"({x:g}, {y:g})" for x, y in centres),
        action_names=tuple(f"({dx}, {dy})" for dx, dy in KING_MOVES),
    )


def bridges_walks(mdp: TabularMDP, trajectories: Trajectories) -> Walks:
    """Continuous trajectories as walks: squares visited, moves between them;
    whoever has arrived stays."""
    squares = land_squares()
    number = np.full((COLUMNS, ROWS), -1)
    number[squares[:, 0], squares[:, 1]] = np.arange(len(squares))
    move_number = {move: index for index, move in enumerate(KING_MOVES)}
    states = np.zeros((trajectories.num_trajectories, mdp.horizon), np.int64)
    actions = np.full(states.shape, STAY)
    for walk, (positions, pushes, length) in enumerate(
        zip(trajectories.observations, trajectories.actions, trajectories.lengths, strict=True)
    ):
        steps = min(int(length), mdp.horizon)
        # The state after the last step is not recorded: the plane itself says where it led.
        end = plane.move(
            np.asarray(positions[steps - 1], np.float64), np.asarray(pushes[steps - 1], np.float64)
        )
        visited = square_of(np.concatenate([positions[:steps], end[None]]))  # [steps + 1, 2]
        states[walk, :steps] = number[visited[:-1, 0], visited[:-1, 1]]
        states[walk, steps:] = number[tuple(visited[-1])]
        for step, difference in enumerate(np.diff(visited, axis=0)):
            actions[walk, step] = _move_number(move_number, walk, step, difference)
    if np.any(states < 0):
        walk, step = (int(i) for i in np.argwhere(states < 0)[0])
        raise InputError(
            f"demonstration {walk} stands in the water at step {step}: it is not from this plane."
        )
    return checked_walks(mdp, Walks(states=states, actions=actions))


def _move_number(
    numbers: dict[tuple[int, int], int], walk: int, step: int, difference: IntArray
) -> int:
    """Which king's move a difference of squares is."""
    dx, dy = (int(d) for d in difference)
    if (dx, dy) not in numbers:
        raise InputError(
            f"demonstration {walk} moves by {dx} columns and {dy} rows at step {step}: a step of "
            f"the plane passes at most one square of size {SQUARE:g}, so it is not from this "
            "plane."
        )
    return numbers[dx, dy]


def _start_shares(squares: IntArray) -> FloatArray:
    """[S]: how much of the square in which episodes start lies in each square of the grid."""
    centres = centre_of(squares)
    reach = SQUARE / 2 + plane.START_SPREAD
    # [S, 2]
    overlap = np.clip(reach - np.abs(centres - np.array(plane.START)), 0.0, 2 * plane.START_SPREAD)
    return np.asarray(np.prod(overlap, axis=1))
