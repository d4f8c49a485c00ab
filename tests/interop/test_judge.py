"""A constraint at the columns of an environment: found by name, or by place where nobody names."""

import gymnasium as gym
import numpy as np
import pytest

from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Layer
from icrl.errors import InputError
from icrl.interop.judge import judge_for, judge_for_spaces

BOX = gym.spaces.Box(-10, 10, (2,), np.float32)
PUSH = gym.spaces.Box(-1, 1, (1,), np.float32)


def constraint_on(names, column):
    """ζ = σ(−10 x) of one observation called x: x > 0 is forbidden."""
    weight = np.array([[-10.0]], np.float32)
    features = Features(
        names=(names[column],),
        columns=(column,),
        lower=(-10.0,),
        upper=(10.0,),
        num_observations=len(names),
        num_actions=1,
        discrete=False,
    )
    return LearnedConstraint(features=features, params=(Layer(weight, np.zeros(1, np.float32)),))


CONSTRAINT = constraint_on(("x", "y"), 0)


def test_by_name_the_column_is_found_wherever_it_is():
    judge = judge_for_spaces(BOX, PUSH, CONSTRAINT, ("y", "x"))
    costs = judge.cost(np.array([[5.0, -5.0], [-5.0, 5.0]]), np.zeros((2, 1)))
    assert costs == pytest.approx([0.0, 1.0], abs=1e-6)


def test_without_names_columns_are_those_of_old_if_the_sizes_agree():
    judge = judge_for_spaces(BOX, PUSH, CONSTRAINT)
    assert judge.cost(np.array([5.0, -5.0]), np.zeros(1)) == pytest.approx(1.0, abs=1e-6)
    wide = gym.spaces.Box(-10, 10, (3,), np.float32)
    with pytest.raises(InputError, match="3 observations"):
        judge_for_spaces(wide, PUSH, CONSTRAINT)


def test_a_hard_judge_says_0_or_1():
    judge = judge_for_spaces(BOX, PUSH, CONSTRAINT, hard=True)
    costs = judge.cost(np.array([[0.01, 0.0], [-0.01, 0.0]]), np.zeros((2, 1)))
    assert costs.tolist() == [1.0, 0.0]


def test_a_number_of_a_discrete_space_becomes_one_hot():
    states = gym.spaces.Discrete(3, start=1)
    names = ("state[1]", "state[2]", "state[3]")
    judge = judge_for_spaces(states, PUSH, constraint_on(names, 1))
    assert judge.encode([1, 3]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert judge.cost(np.array(2), np.zeros(1)) > 0.99


def test_a_vector_of_environments_is_refused_with_advice():
    vector = gym.make_vec("CartPole-v1", num_envs=2)
    with pytest.raises(InputError, match="wrap each environment before it is vectorised"):
        judge_for(vector, CONSTRAINT)
    vector.close()
