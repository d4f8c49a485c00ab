"""The policy's distributions: closed forms, integrals, samples."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icrl.agent.distributions import (
    categorical_entropy,
    categorical_log_prob,
    gaussian_entropy,
    gaussian_log_prob,
    log_softmax,
    sample_categorical,
    sample_gaussian,
)

logits = st.lists(st.floats(-30, 30), min_size=2, max_size=5).map(np.array)


def test_gaussian_by_hand():
    # μ = (0, 1), σ = (1, 2), a = (1, 3): both are one deviation away
    # log π = −½[1 + 0 + log 2π] − ½[1 + 2 log 2 + log 2π] = −1 − log 2 − log 2π
    value = gaussian_log_prob(
        np.array([[0.0, 1.0]]), np.array([0.0, math.log(2)]), np.array([[1.0, 3.0]]), np
    )
    assert value[0] == pytest.approx(-1 - math.log(2) - math.log(2 * math.pi), rel=1e-12)
    # H = Σ ½ log 2πeσ² = log 2πe + log 2
    entropy = gaussian_entropy(np.array([0.0, math.log(2)]), np)
    assert entropy == pytest.approx(math.log(2 * math.pi * math.e) + math.log(2), rel=1e-12)


@given(mean=st.floats(-2, 2), log_std=st.floats(-1, 1))
def test_gaussian_density_integrates_to_one_and_its_entropy_is_the_mean_surprise(mean, log_std):
    grid = np.linspace(mean - 10 * math.exp(log_std), mean + 10 * math.exp(log_std), 4001)
    log_density = gaussian_log_prob(
        np.full((4001, 1), mean), np.array([log_std]), grid[:, None], np
    )
    assert np.trapezoid(np.exp(log_density), grid) == pytest.approx(1.0, abs=1e-9)
    surprise = np.trapezoid(-np.exp(log_density) * log_density, grid)
    assert gaussian_entropy(np.array([log_std]), np) == pytest.approx(surprise, abs=1e-7)


@given(values=logits, shift=st.floats(-1000, 1000))
def test_categorical_sums_to_one_and_ignores_a_common_shift(values, shift):
    log_p = log_softmax(values, np)
    assert np.exp(log_p).sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(log_softmax(values + shift, np), log_p, atol=1e-9)
    assert categorical_entropy(values, np) == pytest.approx(
        -np.sum(np.exp(log_p) * log_p), rel=1e-12
    )
    assert -1e-12 <= categorical_entropy(values, np) <= math.log(len(values)) + 1e-12


def test_categorical_by_hand():
    # logits (0, log 3): p = (1/4, 3/4); H = ¼ log 4 + ¾ log 4/3
    pair = np.array([[0.0, math.log(3)]] * 2)
    np.testing.assert_allclose(
        categorical_log_prob(pair, np.array([0, 1]), np), np.log([0.25, 0.75]), rtol=1e-12
    )
    assert categorical_entropy(pair, np)[0] == pytest.approx(
        0.25 * math.log(4) + 0.75 * math.log(4 / 3), rel=1e-12
    )


def test_numpy_and_jax_say_the_same():
    rng = np.random.default_rng(0)
    mean, actions, log_std = rng.normal(size=(7, 3)), rng.normal(size=(7, 3)), rng.normal(size=3)
    choices = rng.integers(0, 3, 7)
    with jax.enable_x64(True):
        for ours, theirs in (
            (
                gaussian_log_prob(mean, log_std, actions, np),
                gaussian_log_prob(mean, jnp.asarray(log_std), actions, jnp),
            ),
            (gaussian_entropy(log_std, np), gaussian_entropy(jnp.asarray(log_std), jnp)),
            (
                categorical_log_prob(mean, choices, np),
                categorical_log_prob(jnp.asarray(mean), choices, jnp),
            ),
            (categorical_entropy(mean, np), categorical_entropy(jnp.asarray(mean), jnp)),
        ):
            np.testing.assert_allclose(theirs, ours, rtol=1e-12)


def test_leading_axes_are_batches():
    rng = np.random.default_rng(1)
    mean, actions, log_std = (
        rng.normal(size=(2, 3, 4)),
        rng.normal(size=(2, 3, 4)),
        rng.normal(size=4),
    )
    batched = gaussian_log_prob(mean, log_std, actions, np)
    assert batched.shape == (2, 3)
    for i, j in itertools.product(range(2), range(3)):
        alone = gaussian_log_prob(mean[i, j], log_std, actions[i, j], np)
        assert alone == pytest.approx(batched[i, j], rel=1e-12)


def test_samples_have_the_right_shares():
    rng = np.random.default_rng(2)
    num = 40_000
    choices = sample_categorical(rng, np.log(np.tile([0.2, 0.5, 0.3], (num, 1))).astype(np.float32))
    shares = np.bincount(choices, minlength=3) / num
    # the deviation of a share is √(p(1−p)/n) ≤ 0.0025: five of them
    np.testing.assert_allclose(shares, [0.2, 0.5, 0.3], atol=0.0125)
    assert choices.dtype == np.int64
    actions = sample_gaussian(
        rng, np.full((num, 1), 3.0, np.float32), np.array([math.log(0.5)], np.float32)
    )
    assert actions.mean() == pytest.approx(3.0, abs=5 * 0.5 / math.sqrt(num))
    assert actions.std() == pytest.approx(0.5, rel=5 / math.sqrt(2 * num))
    assert actions.dtype == np.float32


@pytest.mark.parametrize("certain", [0, 1, 2])
def test_a_certain_choice_is_always_made(certain):
    sure = np.full((1000, 3), -200.0, np.float32)
    sure[:, certain] = 200.0
    assert set(sample_categorical(np.random.default_rng(3), sure).tolist()) == {certain}
