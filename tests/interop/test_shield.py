"""The shield lets through what is feasible, and of nothing feasible the least bad."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from plain_worlds import Corridor, Rooms, line_constraint, push_constraint, room_constraint

from icrl.errors import InputError
from icrl.interop.shield import Shield

AT_ZERO, AT_TWO = np.array([7.0, 0.0]), np.array([7.0, 2.0])
PUSHES = np.array([[1.0], [0.4], [0.1], [-1.0]])
# beyond x = 1 the clipped x is 1: the logit is 25 − 20 − 20 push,
# so pushes above 0.25 are infeasible


def test_the_first_feasible_candidate_wins() -> None:
    shield = Shield(constraint=push_constraint())
    free, held = shield.first_feasible(AT_ZERO, PUSHES), shield.first_feasible(AT_TWO, PUSHES)
    assert (free.action, free.rank, free.feasible) == ([1.0], 0, True)
    assert (held.action, held.rank, held.feasible) == ([0.1], 2, True)
    np.testing.assert_allclose(held.feasibility, 1 / (1 + np.exp(-3.0)), rtol=1e-6)  # 25 − 20 − 2


def test_feasible_means_at_least_the_threshold_of_the_constraint() -> None:
    # at x >= 1 zeta of the pushes is σ(-15), σ(-3), σ(3), σ(5): about 0, 0.047, 0.953 and 0.993
    strict = Shield(constraint=replace(push_constraint(), threshold=0.99))
    lenient = Shield(constraint=replace(push_constraint(), threshold=0.04))
    assert strict.first_feasible(AT_TWO, PUSHES).rank == 3
    assert lenient.first_feasible(AT_TWO, PUSHES).rank == 1
    assert lenient.first_feasible(AT_TWO, PUSHES).feasible


def test_of_nothing_feasible_the_most_feasible() -> None:
    choice = Shield(constraint=push_constraint()).first_feasible(AT_TWO, PUSHES[[0, 1]])
    assert (choice.action, choice.rank, choice.feasible) == ([0.4], 1, False)


def test_the_most_feasible_of_all() -> None:
    choice = Shield(constraint=push_constraint()).most_feasible(AT_TWO, PUSHES)
    assert (choice.action, choice.rank) == ([-1.0], 3)
    # the action plays no part there
    tie = Shield(constraint=line_constraint()).most_feasible(AT_TWO, PUSHES)
    assert (tie.rank, tie.feasible) == (0, False)


def test_choices() -> None:
    choice = Shield(constraint=push_constraint(discrete=True)).first_feasible(
        AT_TWO, np.array([2, 1, 0])
    )
    assert (int(choice.action), choice.rank, choice.feasible) == (1, 1, True)


def test_a_policy_is_asked_until_it_says_something_feasible() -> None:
    proposals = iter(PUSHES)
    choice = Shield(constraint=push_constraint()).ask(AT_TWO, lambda observation: next(proposals))
    assert (choice.action, choice.rank, choice.feasible) == ([0.1], 2, True)
    assert next(proposals) == [-1.0]  # it was not asked again

    stubborn = itertools.cycle(PUSHES[:2])
    choice = Shield(constraint=push_constraint()).ask(
        AT_TWO, lambda observation: next(stubborn), num_candidates=5
    )
    assert (choice.action, choice.rank, choice.feasible) == ([0.4], 1, False)


def test_there_must_be_candidates() -> None:
    shield = Shield(constraint=push_constraint())
    with pytest.raises(InputError, match="one or more candidate"):
        shield.first_feasible(AT_TWO, np.zeros((0, 1)))
    with pytest.raises(InputError, match="num_candidates >= 1"):
        shield.ask(AT_TWO, lambda observation: PUSHES[0], num_candidates=0)


def test_a_state_is_given_by_its_number() -> None:
    shield = Shield.for_env(Rooms(), room_constraint())
    on = [shield.first_feasible(room, np.array([1, 0])).action for room in (5, 6, np.int64(7))]
    assert on == [1, 0, 1]
    # the policy is asked with the number
    assert shield.ask(6, lambda room: 7 - room).feasible is False
    # a vector still does
    assert shield.first_feasible(np.array([0.0, 1.0, 0.0]), np.array([1, 0])).rank == 1
    with pytest.raises(InputError, match=r"expected states in 5\.\.7, got .*4"):
        shield.first_feasible(4, np.array([0]))
    with pytest.raises(
        InputError,
        match=r"expected an observation \[3\], got 6: .*Shield\.for_env\(env, constraint\)",
    ):
        Shield(constraint=room_constraint()).first_feasible(6, np.array([0]))


def test_features_are_found_by_name() -> None:
    shield = Shield.for_env(Corridor(), line_constraint(), feature_names=("x", "other"))
    assert shield.first_feasible(AT_ZERO[::-1], PUSHES).feasible
    assert not shield.first_feasible(AT_TWO[::-1], PUSHES).feasible


@pytest.mark.parametrize("path", ["runs/constraint", Path("runs/constraint")])
def test_a_path_is_no_constraint(path: Any) -> None:
    with pytest.raises(
        InputError, match=r"got .*: load it first with icrl\.load_constraint\('runs/constraint'\)"
    ):
        Shield(constraint=cast(Any, path))


def test_the_nearest_feasible_action_lies_just_inside_the_boundary() -> None:
    shield = Shield(constraint=push_constraint())
    free = shield.nearest(AT_ZERO, [1.0], -1.0, 1.0)
    assert (free.action.tolist(), free.feasible, free.rank) == ([1.0], True, 0)
    held = shield.nearest(AT_TWO, [1.0], -1.0, 1.0)  # pushes above 0.25 are infeasible there
    assert held.feasible
    assert held.action[0] == pytest.approx(0.25, abs=0.03)
    with pytest.raises(InputError, match="finite bounds"):
        shield.nearest(AT_TWO, [1.0], -np.inf, np.inf)
