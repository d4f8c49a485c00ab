"""Zeta sees what its features name, clipped, and finds it again by name in another task."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_data import box_task, discrete_task

import oracles
from icrl.constraint.features import extract, match, one_hot, select_features
from icrl.errors import InputError
from icrl.tasks.task import Task


def test_all_features_by_default_with_their_bounds() -> None:
    features = select_features(box_task(("x", "y"), ("push",), bound=0.25), None, 20.0)
    assert features.names == ("x", "y", "push")
    assert features.columns == (0, 1, 2)
    assert features.lower == (-20.0, -20.0, -0.25)
    assert features.upper == (20.0, 20.0, 0.25)


def test_one_hot_choices_are_bounded_by_zero_and_one() -> None:
    features = select_features(discrete_task(("x",), ("left", "right")), ("right", "x"), 5.0)
    assert features.columns == (2, 0)
    assert (features.lower, features.upper) == ((0.0, -5.0), (1.0, 5.0))


def test_unbounded_actions_are_clipped_like_observations() -> None:
    features = select_features(box_task(("x",), ("push",), bound=np.inf), None, 7.0)
    assert (features.lower[1], features.upper[1]) == (-7.0, 7.0)


def test_extract_by_hand() -> None:
    # task [x, y | left, right]; zeta sees (right, x); x is clipped to 2;
    # action 1 is "right" = [0, 1]
    features = select_features(discrete_task(("x", "y"), ("left", "right")), ("right", "x"), 2.0)
    inputs = extract(features, np.array([[3.0, 9.0], [-1.0, 9.0]]), np.array([1, 0]))
    np.testing.assert_array_equal(inputs, [[1.0, 2.0], [0.0, -1.0]])
    assert inputs.dtype == np.float32


@pytest.mark.parametrize("names", [None, ("y",), ("push", "x"), ("y", "pull", "x")])
@pytest.mark.parametrize("discrete", [False, True])
def test_extract_equals_its_slow_twin_in_both_namespaces(
    names: tuple[str, ...] | None, discrete: bool
) -> None:
    rng = np.random.default_rng(0)
    make = discrete_task if discrete else box_task
    features = select_features(make(("x", "y"), ("push", "pull")), names, 1.5)
    observations = rng.normal(0, 3, (2, 3, 2)).astype(np.float32)
    actions = (
        rng.integers(0, 2, (2, 3)) if discrete else rng.normal(0, 3, (2, 3, 2)).astype(np.float32)
    )
    slow = np.array(
        [
            [oracles.extract(features, observations[i, j], actions[i, j]) for j in range(3)]
            for i in range(2)
        ]
    )
    np.testing.assert_allclose(extract(features, observations, actions), slow, rtol=1e-6)
    with jax.numpy_rank_promotion("raise"):
        fast = extract(features, jnp.asarray(observations), jnp.asarray(actions), jnp)
    np.testing.assert_allclose(np.asarray(fast), slow, rtol=1e-6)
    assert fast.dtype == jnp.float32


def test_huge_values_are_clipped_without_overflow() -> None:
    features = select_features(box_task(("x",), ("push",)), ("x",), 20.0)
    assert extract(features, np.array([1e300]), np.array([0.0])).tolist() == [20.0]


def test_match_finds_features_by_name_and_keeps_the_trained_bounds() -> None:
    learned = select_features(box_task(("x", "y"), ("push",)), ("y", "x"), 20.0)
    matched = match(learned, discrete_task(("speed", "x", "y"), ("left", "right"), name="maze"))
    assert matched.names == ("y", "x")
    assert matched.columns == (2, 1)
    assert (matched.lower, matched.upper) == (learned.lower, learned.upper)
    assert (matched.num_observations, matched.num_actions, matched.discrete) == (3, 2, True)
    inputs = extract(matched, np.array([[7.0, 1.0, 2.0]]), np.array([0]))
    np.testing.assert_array_equal(inputs, [[2.0, 1.0]])


def test_match_names_what_is_missing_and_what_there_is() -> None:
    learned = select_features(box_task(("x_position",), ("push",)), ("x_position",), 20.0)
    with pytest.raises(
        InputError,
        match=r"looks at x_position, which task 'maze' does not have; it has x_pos, y_pos",
    ):
        match(learned, box_task(("x_pos", "y_pos"), ("push",), name="maze"))


def test_match_refuses_a_feature_of_another_kind() -> None:
    learned = select_features(discrete_task(("x",), ("push", "pull")), ("push",), 20.0)
    with pytest.raises(InputError, match=r"'push' was a discrete action .* is a continuous action"):
        match(learned, box_task(("x",), ("push",)))


def numbered(observations: int, actions: int, named: tuple[str, ...] = ()) -> Task:
    """A task whose features nobody named, or only its first observations."""
    seen = named or tuple(f"obs[{i}]" for i in range(observations))
    return discrete_task(
        seen, tuple(f"action[{i}]" for i in range(actions)), name=f"{observations}-{actions}"
    )


@pytest.mark.parametrize("names", [None, ("obs[0]",), ("action[1]",), ("action[0]", "obs[1]")])
@pytest.mark.parametrize("other", [(4, 3), (3, 2), (9, 9)])
def test_numbers_are_no_names_and_match_only_among_as_many(
    names: tuple[str, ...] | None, other: tuple[int, int]
) -> None:
    learned = select_features(numbered(4, 2), names, 20.0)
    assert match(learned, numbered(4, 2)) == learned
    wanted = (
        r"learned on 4 observations and 2 choices, task '\d-\d' has \d "
        r"observations.*\[\d\].*feature_names"
    )
    with pytest.raises(InputError, match=wanted):
        match(learned, numbered(*other))


def test_numbers_of_actions_of_another_kind_do_not_match() -> None:
    learned = select_features(numbered(1, 1), ("obs[0]",), 20.0)
    with pytest.raises(
        InputError,
        match="1 observations and 1 choices, task 'box' has 1 observations and 1 continuous",
    ):
        match(learned, box_task(("obs[0]",), ("action[0]",)))


def test_numbered_actions_beside_named_observations_ask_for_as_many_actions() -> None:
    learned = select_features(numbered(2, 2, ("x", "y")), ("y", "action[1]"), 20.0)
    assert match(learned, numbered(3, 2, ("speed", "x", "y"))).columns == (2, 4)
    with pytest.raises(
        InputError,
        match=r"has 2 observations and 3 choices, and action\[1\] are numbers, not names",
    ):
        match(learned, numbered(2, 3, ("x", "y")))


def test_states_by_their_numbers() -> None:
    assert one_hot(np.array([[5], [7]]), range(5, 8)).tolist() == [[[1, 0, 0]], [[0, 0, 1]]]
    assert one_hot(6, range(5, 8)).tolist() == [0, 1, 0]
    for wrong in (4, 8, -1, 6.0):
        with pytest.raises(InputError, match=r"expected states in 5\.\.7, got"):
            one_hot(wrong, range(5, 8))


def test_unknown_repeated_and_empty_names_are_refused() -> None:
    task = box_task(("x", "y"), ("push",))
    with pytest.raises(InputError, match="unknown feature of task 'box' 'z'"):
        select_features(task, ("x", "z"), 20.0)
    with pytest.raises(InputError, match="different feature names"):
        select_features(task, ("x", "x"), 20.0)
    with pytest.raises(InputError, match="uses a feature name twice"):
        select_features(box_task(("x", "push"), ("push",)), None, 20.0)


def test_discrete_actions_must_count_from_zero() -> None:
    task = discrete_task(("x",), ("left", "right"))
    object.__setattr__(task, "action_space", gym.spaces.Discrete(2, start=3))
    with pytest.raises(InputError, match="start = 3"):
        select_features(task, None, 20.0)
