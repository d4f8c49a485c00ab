"""What a rule can be about: one-hot blocks are one axis, and rulers do not mind the unit."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icrl.search.axes import Axis, axis_values, dilated, make_axes, make_ruler

SEEDS = st.integers(0, 10_000)


def columns_by_name(axes):
    return {axis.name: axis.columns for axis in axes}


def test_every_number_is_an_axis_of_its_own():
    axes = make_axes(("x", "y"), ("push", "turn"), one_hot_states=False, discrete_actions=False)
    assert columns_by_name(axes) == {"x": (0,), "y": (1,), "push": (2,), "turn": (3,)}
    assert not any(axis.categorical for axis in axes)


def test_a_one_hot_block_is_one_axis():
    states = ("s0", "s1", "s2")
    axes = make_axes(states, ("left", "right"), one_hot_states=True, discrete_actions=True)
    assert columns_by_name(axes) == {"state": (0, 1, 2), "action": (3, 4)}
    assert all(axis.categorical for axis in axes)


def test_numbers_and_a_choice_live_side_by_side():
    axes = make_axes(("x", "y"), ("a", "b", "c"), one_hot_states=False, discrete_actions=True)
    assert columns_by_name(axes) == {"x": (0,), "y": (1,), "action": (2, 3, 4)}


def test_a_chosen_feature_brings_the_whole_axis_that_it_belongs_to():
    numbers = make_axes(("x", "y"), ("push",), False, False, chosen=("push", "x"))
    assert columns_by_name(numbers) == {"x": (0,), "push": (2,)}
    blocks = make_axes(("s0", "s1", "s2"), ("left", "right"), True, True, chosen=("s1",))
    assert columns_by_name(blocks) == {"state": (0, 1, 2)}


def test_values_of_numbers_are_the_numbers():
    axes = make_axes(("x", "y"), ("push",), one_hot_states=False, discrete_actions=False)
    observations = np.array([[[1.0, 2.0], [3.0, 4.0]]])  # [1, 2, 2]
    actions = np.array([[[0.5], [-0.5]]])
    values = axis_values(axes, observations, actions, discrete=False)
    np.testing.assert_array_equal(values, [[[1.0, 2.0, 0.5], [3.0, 4.0, -0.5]]])
    assert values.dtype == np.float64


def test_values_of_categories_are_their_numbers():
    states = ("s0", "s1", "s2")
    axes = make_axes(states, ("left", "right"), one_hot_states=True, discrete_actions=True)
    observations = np.eye(3, dtype=np.float32)[[2, 0, 1, 2]]
    values = axis_values(axes, observations, np.array([1, 0, 0, 1]), discrete=True)
    np.testing.assert_array_equal(values, [[2, 1], [0, 0], [1, 0], [2, 1]])


def test_values_of_some_axes_come_in_the_order_of_the_axes():
    axes = (Axis(name="push", columns=(3,)), Axis(name="y", columns=(1,)))
    observations = np.array([[10.0, 11.0]])
    values = axis_values(axes, observations, np.array([[20.0, 21.0]]), discrete=False)
    np.testing.assert_array_equal(values, [[21.0, 11.0]])  # column 3 of [10, 11, 20, 21]


def samples(seed, size=300):
    """Lumpy values, so that places and values are not proportional."""
    rng = np.random.default_rng(seed)
    shown = rng.normal(0.0, 1.0, size) ** 3
    return shown, rng.exponential(2.0, size // 2)


@given(SEEDS, st.sampled_from([0.0, 0.5, 1.0]))
def test_a_ruler_runs_from_0_to_1_and_always_rises(seed, even):
    shown, done = samples(seed)
    ruler = make_ruler(shown, done, even=even)
    assert not ruler.few
    places = ruler.measure(np.sort(np.concatenate([shown, done])))
    assert np.all(np.diff(places) >= 0)
    np.testing.assert_allclose(ruler.measure(ruler.values[[0, -1]]), [0.0, 1.0], atol=1e-12)
    # nearly all of the data lies on the ruler, and the ruler is not longer than the data
    assert np.mean((places >= 0) & (places <= 1)) > 0.9
    assert places[0] <= 0 <= 1 <= places[-1]


@given(SEEDS, st.sampled_from([0.5, 1.0]))
def test_values_at_is_the_inverse_of_measure_also_beyond_the_ends(seed, even):
    shown, done = samples(seed)
    ruler = make_ruler(shown, done, even=even)
    values = np.concatenate([shown, done, [-1e3, 1e3]])
    np.testing.assert_allclose(ruler.values_at(ruler.measure(values)), values, rtol=1e-9, atol=1e-9)
    places = np.linspace(-0.5, 1.5, 41)
    np.testing.assert_allclose(ruler.measure(ruler.values_at(places)), places, atol=1e-9)


@given(SEEDS, st.sampled_from([0.0, 0.5, 1.0]))
def test_another_unit_gives_the_same_places(seed, even):
    shown, done = samples(seed)
    metres = make_ruler(shown, done, even=even)
    other = make_ruler(1000 * shown + 7, 1000 * done + 7, even=even)
    values = np.linspace(-8, 12, 101)
    np.testing.assert_allclose(other.measure(1000 * values + 7), metres.measure(values), atol=1e-9)


def test_an_even_ruler_of_even_values_is_proportional():
    # 0, 1, ..., 100 on both sides, as much cut off at one end as at the other: 50 is in the middle
    values = np.arange(101.0)
    for even in (0.0, 0.5, 1.0):
        ruler = make_ruler(values, values, even=even)
        np.testing.assert_allclose(ruler.measure(np.array([50.0])), [0.5], atol=1e-9)
    length = 1 / (ruler.measure(np.array([51.0])) - ruler.measure(np.array([50.0])))
    assert 90 < length[0] <= 100  # a unit is one part of the middle 90 % at least
    beyond = ruler.measure(np.array([200.0, 300.0]))
    np.testing.assert_allclose(beyond[1] - beyond[0], 100 / length[0])  # it goes on evenly


def test_a_ruler_by_shares_gives_each_side_half():
    # 3,000 demonstrated steps in [0, 1], 60 of agents in [2, 3]: half of the ruler is for either
    rng = np.random.default_rng(0)
    ruler = make_ruler(rng.uniform(0, 1, 3000), rng.uniform(2, 3, 60), even=0.0)
    np.testing.assert_allclose(ruler.measure(np.array([1.0, 2.0])), [0.5, 0.5], atol=0.02)
    np.testing.assert_allclose(ruler.measure(np.array([0.5, 2.5])), [0.25, 0.75], atol=0.05)


def test_a_ruler_between_even_and_shares_is_half_of_each():
    rng = np.random.default_rng(0)
    shown = rng.uniform(0, 1, 3000) ** 3
    done = rng.uniform(0, 1, 60)
    values = np.linspace(0.1, 0.9, 9)
    shares, both, even = (make_ruler(shown, done, even=w).measure(values) for w in (0.0, 0.5, 1.0))
    np.testing.assert_allclose(both, (shares + even) / 2, atol=0.01)
    assert np.all(shares > even)  # the data are dense near 0: shares run ahead


def test_few_values_are_kept_as_they_are():
    ruler = make_ruler(np.repeat([5.0, -1.0], 50), np.repeat([2.0, 5.0], 50))
    assert ruler.few
    np.testing.assert_array_equal(ruler.values, [-1.0, 2.0, 5.0])
    # the nearest of the three, whatever lies beyond them
    places = ruler.measure(np.array([-9.0, 0.4, 0.6, 4.0, 99.0]))
    np.testing.assert_array_equal(places, [0, 0, 1, 2, 2])
    assert ruler.num_cells(4, 0.0) == ruler.num_cells(16, 0.5) == 3
    np.testing.assert_array_equal(ruler.cells(np.array([0.0, 2.0]), 16, 0.5), [0, 2])


def test_many_values_are_not_few():
    assert not make_ruler(np.linspace(0, 1, 500), np.linspace(0, 1, 500)).few


def test_categories_are_few_even_those_that_nobody_saw():
    ruler = make_ruler(np.array([0.0, 2.0]), np.array([2.0]), categories=5)
    assert ruler.few
    assert ruler.num_cells(4, 0.0) == 5
    np.testing.assert_array_equal(ruler.measure(np.arange(5.0)), np.arange(5))


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_cells_are_counted_along_the_ruler(shift):
    values = np.linspace(0, 1, 500)
    ruler = make_ruler(values, values)
    places = np.array([-0.3, 0.0, 0.26, 0.49, 0.51, 0.99, 1.0, 1.7])
    slow = []
    for place in places:
        inside = min(max(place, 0.0), 1.0)
        last = 3 if shift == 0 else 4  # moved cells are one more, the outer two cut
        slow.append(min(int(np.floor(inside * 4 + shift)), last))
    np.testing.assert_array_equal(ruler.cells(places, 4, shift), slow)
    assert ruler.num_cells(4, shift) == 4 + (shift > 0)


@given(SEEDS, st.integers(1, 3))
def test_dilation_equals_brute_force(seed, num_axes):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, num_axes))
    few = tuple(bool(name) for name in rng.integers(0, 2, num_axes))
    visited = rng.random(shape) < 0.15
    slow = np.zeros(shape, bool)
    for cell in np.ndindex(shape):
        steps = [(0,) if names else (-1, 0, 1) for names in few]
        for step in itertools.product(*steps):
            near = np.add(cell, step)
            if np.all(near >= 0) and np.all(near < shape) and visited[tuple(near)]:
                slow[cell] = True
    before = visited.copy()
    np.testing.assert_array_equal(dilated(visited, few), slow)
    np.testing.assert_array_equal(visited, before)  # what was given stays as it was
