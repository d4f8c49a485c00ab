"""Worlds drawn as text, LapGridWorld, validation, and the conversion of trajectories."""

import dataclasses

import numpy as np
import pytest

from icrl.errors import InputError
from icrl.tabular.grids import grid_from_text, lap_grid, marked_states
from icrl.tabular.maxent import sample_walks, solve
from icrl.tabular.mdp import TabularMDP, successor_transitions
from icrl.tabular.walks import Walks, to_trajectories, to_walks

ROOM = """
S.2
.#x
..G
"""
UP, DOWN, LEFT, RIGHT = range(4)


def test_a_drawing_becomes_the_world_it_shows() -> None:
    mdp = grid_from_text(ROOM, horizon=6, goal_reward=10.0)
    # Reading order without the wall: 0 S, 1 ., 2 '2', 3 ., 4 x, 5 ., 6 ., 7 G.
    assert mdp.num_states == 8
    assert mdp.deterministic
    assert mdp.action_names == ("up", "down", "left", "right")
    successors = mdp.successors[:, :, 0]
    assert successors[0].tolist() == [0, 3, 0, 1]
    assert successors[1, DOWN] == 1  # the wall
    assert successors[7].tolist() == [7, 7, 7, 7]  # the goal keeps
    assert mdp.reward[1, RIGHT] == -3.0  # a step, and the cost 2 of the cell entered
    assert mdp.reward[2, RIGHT] == -1.0  # a bump does not enter it again
    assert mdp.reward[4, DOWN] == 9.0
    assert np.all(mdp.reward[7] == 0.0)
    assert mdp.start.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert marked_states(ROOM, "x") == (4,)
    assert mdp.state_names[4] == "row 1 column 2"
    assert mdp.observations[4].tolist() == [2.0, 1.0]


def test_slip_and_diagonals() -> None:
    mdp = grid_from_text("S.\n..", horizon=3, slip=0.4)
    # From the corner: up and left bump, down leads to 2, right to 1;
    # each with 0.4/4, the chosen one 0.6 more.
    assert mdp.transitions[0, RIGHT] == pytest.approx([0.2, 0.7, 0.1, 0.0])
    assert not mdp.deterministic
    assert np.exp(mdp.successor_log_probs).sum(axis=2) == pytest.approx(np.ones((4, 4)))
    diagonal = grid_from_text("S.\n..", horizon=3, diagonal=True)
    assert diagonal.successors[0, diagonal.action_names.index("down-right"), 0] == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "grid is empty"),
        ("S..\n..", "row 2 of the grid has 2 cells, row 1 has 3"),
        ("S.?\n...", r"row 1, column 3 of the grid is '\?'"),
        ("S0", "row 1, column 2 of the grid is '0'"),
        ("..\n.G", "has no start"),
    ],
)
def test_bad_drawings_say_where(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        grid_from_text(text, horizon=5)


def test_slip_must_be_a_probability() -> None:
    with pytest.raises(InputError, match=r"slip must be a probability in \[0, 1\], got 1.5"):
        grid_from_text("S.", horizon=5, slip=1.5)


def test_lap_grid_pays_on_entering_coins() -> None:
    mdp = lap_grid()
    assert (mdp.num_states, mdp.num_actions, mdp.horizon) == (40, 2, 200)
    assert np.argwhere(mdp.reward == 3.0).tolist() == [
        [4, 0],
        [6, 1],
        [14, 0],
        [16, 1],
        [24, 0],
        [26, 1],
        [34, 0],
        [36, 1],
    ]
    assert mdp.successors[[0, 39], :, 0].tolist() == [[1, 39], [0, 38]]


def changed(mdp: TabularMDP, name: str, value: object) -> TabularMDP:
    fields = {field.name: getattr(mdp, field.name) for field in dataclasses.fields(mdp)}
    return TabularMDP(**{**fields, name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("transitions", np.ones((3, 2, 4)), r"shape \[S, A, S\].*got \[3, 2, 4\]"),
        ("transitions", np.full((40, 2, 40), 0.5), "transitions must sum to 1 at index"),
        ("transitions", np.full((40, 2, 40), -1.0), "transitions must hold probabilities >= 0"),
        ("reward", np.ones((40, 3)), r"reward must have shape \[40, 2\].*got \[40, 3\]"),
        ("reward", np.full((40, 2), -np.inf), "reward must be finite, but 80 of 80"),
        ("start", np.zeros(40), "start must sum to 1, got 0"),
        ("horizon", 0, "horizon must be a whole number >= 1, got 0"),
        ("observations", np.zeros((40, 1)), "40 states share 1 distinct rows"),
        ("action_names", ("one",), r"action_names must have shape \[2\].*got \[1\]"),
    ],
)
def test_a_broken_mdp_is_an_error(name: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        changed(lap_grid(), name, value)


def test_successors_must_exist() -> None:
    with pytest.raises(InputError, match="successors must be states 0 to 1, got 0 to 2"):
        successor_transitions(np.array([[0], [2]]))


def test_walks_survive_the_round_trip() -> None:
    mdp = grid_from_text(ROOM, horizon=6, slip=0.2)
    walks = sample_walks(mdp, solve(mdp, np.zeros(mdp.reward.shape)), 7, np.random.default_rng(0))
    trajectories = to_trajectories(mdp, walks)
    assert trajectories.observations.shape == (7, 6, 2)
    assert trajectories.returns == pytest.approx(
        mdp.reward[walks.states, walks.actions].sum(axis=1)
    )
    back = to_walks(mdp, trajectories)
    assert np.array_equal(back.states, walks.states)
    assert np.array_equal(back.actions, walks.actions)


def test_foreign_trajectories_are_errors() -> None:
    mdp = lap_grid(horizon=3)
    good = to_trajectories(mdp, Walks(states=np.array([[0, 1, 2]]), actions=np.array([[0, 0, 0]])))
    assert to_walks(mdp, good).states.tolist() == [[0, 1, 2]]
    for change, message in (
        (
            {"lengths": np.array([2])},
            r"1 of 1 trajectories do not last the horizon of 3 steps \(number 0 has 2\)",
        ),
        ({"observations": good.observations + 0.02}, "away from the nearest of the 40 states"),
        ({"observations": good.observations + np.nan}, "away from the nearest of the 40 states"),
        (
            {"observations": np.repeat(good.observations, 2, axis=2)},
            "observe 2 numbers, the MDP shows 1",
        ),
        ({"actions": good.actions + 2}, "whole numbers 0 to 1"),
        ({"actions": good.actions + 0.5}, "whole numbers 0 to 1"),
        ({"actions": good.actions + 1}, "goes from cell 0 to cell 1 by anticlockwise at step 0"),
        (
            {"observations": good.observations[:, ::-1]},
            "demonstration 0 starts in cell 2, where the MDP never starts",
        ),
    ):
        with pytest.raises(InputError, match=message):
            to_walks(mdp, dataclasses.replace(good, **change))
    with pytest.raises(InputError, match=r"shape \[N, T\] with N, T >= 1, got \[3\]"):
        Walks(states=np.zeros(3, dtype=int), actions=np.zeros(3, dtype=int))
