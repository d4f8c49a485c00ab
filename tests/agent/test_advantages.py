"""Generalised advantages: limits, ends, hand arithmetic, the slow twin."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles_agent
from icrl.agent.advantages import generalized_advantages

fast_gae = jax.jit(generalized_advantages)  # compiled once per shape, not once per example


def columns(*values):
    """Each list becomes [T, 1]."""
    return tuple(np.asarray(v, np.float64)[:, None] for v in values)


def advantages(rewards, values, next_values, terminated, truncated, gamma, lam):
    with jax.enable_x64(True):
        args = columns(rewards, values, next_values, terminated, truncated)
        return np.asarray(fast_gae(*args, gamma, lam))[:, 0]


def test_three_steps_by_hand():
    # γ = 0.5, λ = 0.5, so γλ = 0.25; the last step is followed by a state of value 4
    # δ₂ = 3 + 0.5·4 − 2 = 3,   δ₁ = 2 + 0.5·2 − 1 = 2,   δ₀ = 1 + 0.5·1 − 1 = 0.5
    # A₂ = 3,   A₁ = 2 + 0.25·3 = 2.75,   A₀ = 0.5 + 0.25·2.75 = 1.1875
    result = advantages([1, 2, 3], [1, 1, 2], [1, 2, 4], [0, 0, 0], [0, 0, 0], 0.5, 0.5)
    np.testing.assert_allclose(result, [1.1875, 2.75, 3.0], rtol=1e-12)


def test_a_terminated_step_is_followed_by_nothing():
    # as above, but the second step terminates: δ₁ = 2 − 1 = 1 = A₁;  A₀ = 0.5 + 0.25·1 = 0.75
    result = advantages([1, 2, 3], [1, 1, 2], [1, 2, 4], [0, 1, 0], [0, 0, 0], 0.5, 0.5)
    np.testing.assert_allclose(result, [0.75, 1.0, 3.0], rtol=1e-12)


def test_a_truncated_step_is_followed_by_the_value_it_was_cut_at():
    # as above, but the second step is cut in a state of value 6: δ₁ = 2 + 0.5·6 − 1 = 4 = A₁;
    # A₀ = 0.5 + 0.25·4 = 1.5
    result = advantages([1, 2, 3], [1, 1, 2], [1, 6, 4], [0, 0, 0], [0, 1, 0], 0.5, 0.5)
    np.testing.assert_allclose(result, [1.5, 4.0, 3.0], rtol=1e-12)


def test_one_step_is_enough():
    # δ = 1 + 0.5·4 − 2 = 1; and NumPy's arrays are, unlike JAX's, not read beyond their end
    one = [np.full((1, 1), value) for value in (1.0, 2.0, 4.0, 0.0, 0.0)]
    assert float(generalized_advantages(*one, 0.5, 0.5)[0, 0]) == 1.0


def random_rollout(seed, steps, num_envs):
    rng = np.random.default_rng(seed)
    rewards, values, next_values = rng.normal(size=(3, steps, num_envs))
    terminated = rng.random((steps, num_envs)) < 0.2
    truncated = (rng.random((steps, num_envs)) < 0.2) & ~terminated
    ends = (terminated.astype(np.float64), truncated.astype(np.float64))
    # between ends, the value of the next state is the next row's
    inner = ~(terminated | truncated)[:-1]
    next_values[:-1] = np.where(inner, values[1:], next_values[:-1])
    return rewards, values, next_values, *ends


seeds = st.integers(0, 2**31)


@given(
    seed=seeds,
    steps=st.sampled_from([1, 9]),
    num_envs=st.sampled_from([1, 3]),
    gamma=st.floats(0, 1),
    lam=st.floats(0, 1),
)
def test_equals_the_slow_twin(seed, steps, num_envs, gamma, lam):
    rollout = random_rollout(seed, steps, num_envs)
    with jax.enable_x64(True):
        fast = np.asarray(fast_gae(*rollout, gamma, lam))
    for e in range(num_envs):
        slow = oracles_agent.gae(*(array[:, e] for array in rollout), gamma, lam)
        np.testing.assert_allclose(fast[:, e], slow, rtol=1e-9, atol=1e-9)


@given(seed=seeds, gamma=st.floats(0, 1))
def test_without_a_trace_it_is_the_td_error(seed, gamma):
    rewards, values, next_values, terminated, truncated = random_rollout(seed, 8, 2)
    with jax.enable_x64(True):
        fast = fast_gae(rewards, values, next_values, terminated, truncated, gamma, 0.0)
    np.testing.assert_allclose(
        fast, rewards + gamma * next_values * (1 - terminated) - values, atol=1e-12
    )


@given(seed=seeds, gamma=st.floats(0, 1))
def test_with_a_full_trace_it_is_the_discounted_return_minus_the_value(seed, gamma):
    rewards, values, next_values, terminated, truncated = random_rollout(seed, 8, 1)
    with jax.enable_x64(True):
        fast = np.asarray(fast_gae(rewards, values, next_values, terminated, truncated, gamma, 1.0))
    following = next_values[-1, 0]
    for t in reversed(range(8)):
        if terminated[t, 0]:
            following = 0.0
        elif truncated[t, 0]:
            following = next_values[t, 0]
        following = rewards[t, 0] + gamma * following
        assert fast[t, 0] == pytest.approx(following - values[t, 0], abs=1e-9)


@given(seed=seeds)
def test_environments_do_not_see_each_other(seed):
    rollout = random_rollout(seed, 6, 4)
    order = np.random.default_rng(seed).permutation(4)
    with jax.enable_x64(True):
        straight = np.asarray(fast_gae(*rollout, 0.9, 0.8))
        permuted = np.asarray(fast_gae(*(a[:, order] for a in rollout), 0.9, 0.8))
    np.testing.assert_array_equal(straight[:, order], permuted)


@given(seed=seeds)
def test_what_follows_an_end_does_not_matter(seed):
    rewards, values, next_values, terminated, truncated = random_rollout(seed, 6, 1)
    terminated[2], truncated[2] = 1.0, 0.0
    with jax.enable_x64(True):
        before = np.asarray(fast_gae(rewards, values, next_values, terminated, truncated, 0.9, 0.9))
        rewards[3:] += 100.0
        next_values[2:] += 50.0
        after = np.asarray(fast_gae(rewards, values, next_values, terminated, truncated, 0.9, 0.9))
    np.testing.assert_array_equal(before[:3], after[:3])
    assert abs(after[3, 0] - before[3, 0]) > 1
