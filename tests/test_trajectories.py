"""Putting trajectories together: one column moved, all else as recorded."""

import numpy as np

from icrl.trajectories import along, pairs_of
from icrl.types import Pairs, Trajectories


def test_one_column_is_moved_and_all_else_stays_as_recorded():
    pairs = Pairs(observations=np.array([[1.0, 2.0], [3.0, 4.0]]), actions=np.array([[5.0], [6.0]]))
    moved = along(pairs, 1, np.array([7.0, 8.0, 9.0]))
    assert moved.observations.shape == (3, 2, 2)
    np.testing.assert_array_equal(moved.observations[2], [[1.0, 9.0], [3.0, 9.0]])
    np.testing.assert_array_equal(moved.actions[2], pairs.actions)
    # theirs are not touched
    np.testing.assert_array_equal(pairs.observations, [[1.0, 2.0], [3.0, 4.0]])


def test_columns_beyond_the_observation_are_the_actions():
    pairs = Pairs(observations=np.array([[1.0, 2.0]]), actions=np.array([[5.0, 6.0]]))
    moved = along(pairs, 3, np.array([0.5]))
    np.testing.assert_array_equal(moved.actions, [[[5.0, 0.5]]])
    np.testing.assert_array_equal(moved.observations[0], pairs.observations)


def test_some_pairs_do_not_hold_all_others_in_memory():
    shown = np.arange(40.0).reshape(2, 10, 2)
    lengths = np.array([10, 6])
    both = Trajectories(
        observations=shown, actions=np.ones((2, 10, 1)), rewards=np.zeros((2, 10)), lengths=lengths
    )
    some = pairs_of(both, 5)
    np.testing.assert_array_equal(
        some.observations, [shown[0, 0], shown[0, 5], shown[1, 0], shown[1, 5]]
    )
    assert some.observations.base is None
    assert some.actions.base is None
