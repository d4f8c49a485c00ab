"""The columns of demonstrations: ranges and coverage by hand."""

import gymnasium as gym
import numpy as np
import pytest

from icrl.demos import columns
from icrl.demos.columns import COVERAGE_BINS, describe_columns
from icrl.demos.dataset import Demonstrations
from icrl.tasks.task import Task
from icrl.types import Trajectories


def shown(observations, actions, lengths=None):
    """One episode of these rows, or several; actions are choices."""
    observations = np.asarray(observations, np.float64)
    if observations.ndim == 2:
        observations = observations[None]
    actions = np.reshape(actions, observations.shape[:2])
    if lengths is None:
        lengths = np.full(len(observations), observations.shape[1])
    trajectories = Trajectories(
        observations=observations,
        actions=actions,
        rewards=np.zeros(observations.shape[:2]),
        lengths=np.asarray(lengths),
    )
    return Demonstrations(trajectories=trajectories, discrete=True, card={})


def task_of(low, high):
    def no_env(num_envs):
        raise AssertionError("describing must not simulate")

    return Task(
        name="line",
        make_env=no_env,
        observation_space=gym.spaces.Box(low, high, (1,), np.float64),
        action_space=gym.spaces.Discrete(2),
        observation_names=("x",),
        action_names=("left", "right"),
        horizon=4,
        description="",
    )


def test_coverage_is_of_the_task_s_bounds_where_they_are_finite():
    demos = shown([[0.0], [1.0], [2.0], [10.0]], [0, 0, 1, 0])
    # of [0, 10] in 20 bins: bins 0, 2, 4, 19
    assert describe_columns(demos, None)[0].coverage == 4 / COVERAGE_BINS
    # of [0, 100]: 0 and 1 and 2 lie in the first bin, 10 in the third
    assert describe_columns(demos, task_of(0.0, 100.0))[0].coverage == 2 / COVERAGE_BINS
    # bounds without end say nothing: as without a task
    assert describe_columns(demos, task_of(-np.inf, np.inf))[0].coverage == 4 / COVERAGE_BINS


def test_choices_are_shares_also_of_those_never_taken():
    demos = shown([[0.0], [1.0], [2.0], [3.0]], [0, 0, 0, 0])
    left, right = describe_columns(demos, task_of(0.0, 3.0))[1:]
    assert (left.name, left.mean, left.indicator) == ("left", 1.0, True)
    assert (right.name, right.high) == ("right", 0.0)


def test_padding_does_not_count():
    rows = [[[1.0], [2.0]], [[3.0], [99.0]]]
    demos = shown(rows, [[0, 0], [0, 0]], lengths=[2, 1])
    column = describe_columns(demos, None)[0]
    assert (column.low, column.high, column.mean) == (1.0, 3.0, 2.0)


def test_columns_near_the_largest_float_do_not_overflow():
    largest = np.finfo(np.float64).max
    demos = shown([[-largest], [largest], [largest], [largest]], [0, 0, 0, 0])
    column = describe_columns(demos, None)[0]
    assert column.mean == pytest.approx(largest / 2)
    assert column.coverage == 2 / COVERAGE_BINS


@pytest.mark.parametrize("rows_at_once", [1, 2, 2**13])
def test_rows_of_one_one_are_states_unless_it_is_always_the_same(monkeypatch, rows_at_once):
    monkeypatch.setattr(columns, "_ROWS_AT_ONCE", rows_at_once)
    states = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    first, second = describe_columns(shown(states, [0, 0, 0, 0]), None)[:2]
    assert (first.indicator, first.mean, second.mean) == (True, 0.75, 0.25)
    still = describe_columns(shown([[1.0, 0.0]] * 4, [0, 0, 0, 0]), None)
    assert not still[0].indicator
    assert still[0].constant
    two = describe_columns(shown([[1.0, 1.0], *states[1:]], [0, 0, 0, 0]), None)
    assert not two[0].indicator
