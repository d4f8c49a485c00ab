"""Running moments, scaling and the return whose deviation scales rewards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from icrl.agent.normalizer import (
    discounted_returns,
    init_moments,
    normalize,
    on_one_scale,
    reward_scale,
    update_moments,
)

numbers = st.floats(-1e3, 1e3)
batches = st.lists(
    st.integers(1, 6).flatmap(lambda n: arrays(np.float64, (n, 2), elements=numbers)),
    min_size=1,
    max_size=5,
)


def merged(parts):
    moments = init_moments((2,))
    for part in parts:
        moments = update_moments(moments, part)
    return moments


@given(parts=batches)
def test_moments_are_those_of_all_data_together(parts):
    moments, together = merged(parts), np.concatenate(parts)
    # the prior counts for 1e-4 of a row of mean 0 and variance 1:
    # numpy's moments with that row as a weight
    weights = np.append(np.ones(len(together)), 1e-4)
    rows = np.vstack([together, np.zeros((1, 2))])
    mean = np.average(rows, axis=0, weights=weights)
    variance = np.average((rows - mean) ** 2, axis=0, weights=weights) + 1e-4 / weights.sum()
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.variance, variance, rtol=1e-9, atol=1e-9)
    assert moments.num_seen == pytest.approx(len(together) + 1e-4)


@given(parts=batches, seed=st.integers(0, 1000))
def test_order_does_not_matter(parts, seed):
    order = np.random.default_rng(seed).permutation(len(parts))
    straight, shuffled = merged(parts), merged([parts[i][::-1] for i in order])
    np.testing.assert_allclose(shuffled.mean, straight.mean, atol=1e-8)
    np.testing.assert_allclose(shuffled.variance, straight.variance, rtol=1e-8, atol=1e-8)


def test_enough_data_drowns_the_prior():
    data = np.random.default_rng(0).normal([5.0, -2.0], [3.0, 0.1], size=(10_000, 2))
    moments = merged([data])
    np.testing.assert_allclose(moments.mean, data.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(moments.variance, data.var(axis=0), rtol=1e-4)


def test_scaling_by_hand_and_its_clip():
    moments = init_moments((2,))._replace(
        mean=np.array([1.0, 10.0]), variance=np.array([4.0, 0.25])
    )
    # (5 − 1)/2 = 2, (9 − 10)/0.5 = −2; (101 − 1)/2 = 50 is clipped to 10,
    # (0 − 10)/0.5 = −20 to −10
    scaled = normalize(moments, np.array([[5.0, 9.0], [101.0, 0.0]], np.float32))
    np.testing.assert_allclose(scaled, [[2.0, -2.0], [10.0, -10.0]], atol=1e-5)
    assert scaled.dtype == np.float32


@given(values=arrays(np.float32, (3, 4, 2), elements=st.floats(-100, 100, width=32)))
def test_leading_axes_are_batches(values):
    moments = init_moments((2,))._replace(mean=np.array([1.0, -3.0]), variance=np.array([4.0, 9.0]))
    np.testing.assert_array_equal(
        normalize(moments, values)[1, 2], normalize(moments, values[1, 2][None])[0]
    )


def test_nothing_seen_scales_nothing():
    values = np.array([[0.5, -3.0]], np.float32)
    np.testing.assert_allclose(normalize(init_moments((2,)), values), values, rtol=1e-6)
    assert reward_scale(init_moments(())) == pytest.approx(1.0)


def test_what_never_varies_stays_finite():
    moments = merged([np.full((100, 2), 7.0)])
    assert np.isfinite(normalize(moments, np.full((1, 2), 7.0, np.float32))).all()
    assert normalize(moments, np.full((1, 2), 8.0, np.float32)).max() == 10.0


def test_returns_by_hand():
    # γ = ½, carried 4: G₀ = 2 + 1 = 3, G₁ = 1.5 + 2 = 3.5 (ends), G₂ = 3, G₃ = 1.5 + 4 = 5.5
    rewards, ended = (
        np.array([[1.0], [2.0], [3.0], [4.0]]),
        np.array([[False], [True], [False], [False]]),
    )
    returns = discounted_returns(rewards, ended, np.array([4.0]), 0.5)
    assert returns[:, 0].tolist() == [3.0, 3.5, 3.0, 5.5]


@given(seed=st.integers(0, 1000), cut=st.integers(1, 9))
def test_returns_carry_over_from_one_rollout_to_the_next(seed, cut):
    rng = np.random.default_rng(seed)
    rewards, ended = rng.normal(size=(10, 3)), rng.random((10, 3)) < 0.2
    whole = discounted_returns(rewards, ended, np.zeros(3), 0.9)
    first = discounted_returns(rewards[:cut], ended[:cut], np.zeros(3), 0.9)
    carried = np.where(ended[cut - 1], 0.0, first[-1])
    second = discounted_returns(rewards[cut:], ended[cut:], carried, 0.9)
    np.testing.assert_allclose(np.concatenate([first, second]), whole, atol=1e-12)


def test_on_one_scale_differences_survive():
    # a place from 0 to 100 and a goal from 90 to 110: one unit, so the same number divides both
    rng = np.random.default_rng(0)
    seen = np.stack([rng.uniform(0, 100, 500), rng.uniform(90, 110, 500)], axis=1)
    moments = on_one_scale(update_moments(init_moments((2,)), seen))
    there = normalize(moments, np.array([[100.0, 100.0], [70.0, 90.0]]))
    assert there[0, 0] == there[0, 1]
    assert there[1, 1] - there[1, 0] == pytest.approx(there[0, 0] * 0.2, rel=1e-3)
    assert 4.0 < there[0, 0] < 6.0
