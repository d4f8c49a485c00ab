"""Importance weights and KLs: identities, hand arithmetic, slow twins."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import oracles
from icrl.constraint.weights import (
    effective_sample_size,
    kl_new_old,
    kl_old_new,
    log_trajectory_weights,
    normalized_weights,
    step_weights,
)

LOG_OMEGAS = arrays(np.float64, st.sampled_from([1, 2, 5]), elements=st.floats(-40, 40))
LOG_ZETAS = arrays(np.float64, (3, 4), elements=st.floats(-30, 0))


@jax.jit
def all_measures(log_omega: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    return kl_old_new(log_omega), kl_new_old(log_omega), effective_sample_size(log_omega)


def random_mask(seed: int) -> np.ndarray:
    return np.arange(4)[None, :] < np.random.default_rng(seed).integers(1, 5, 3)[:, None]


def test_weights_and_kls_by_hand() -> None:
    # ω = (1, 3): ω̄ = 2; shares (1/4, 3/4); ESS = (1 + 3)² / (1 + 9) = 1.6
    # KL(old || new) = log 2 - (log 1 + log 3) / 2 = 0.14384
    # KL(new || old) = (0 + 3 log 3) / 2 / 2 - log 2 = 0.13081
    with jax.enable_x64(True):
        log_omega = jnp.log(jnp.array([1.0, 3.0]))
        np.testing.assert_allclose(np.asarray(normalized_weights(log_omega)), [0.25, 0.75])
        assert float(effective_sample_size(log_omega)) == pytest.approx(1.6)
        assert float(kl_old_new(log_omega)) == pytest.approx(math.log(2) - math.log(3) / 2)
        assert float(kl_new_old(log_omega)) == pytest.approx(0.75 * math.log(3) - math.log(2))


def test_trajectory_weight_by_hand() -> None:
    # two real steps, 0.5 / 0.25 and 0.5 / 1: log ω = log 2 - log 2 = 0;
    # the padded third step is ignored
    new, old = jnp.log(jnp.array([[0.5, 0.5, 0.9]])), jnp.log(jnp.array([[0.25, 1.0, 0.1]]))
    mask = jnp.array([[True, True, False]])
    assert float(log_trajectory_weights(new, old, mask)[0]) == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(np.asarray(step_weights(new, old))[0, :2], [2.0, 0.5], rtol=1e-6)


@settings(deadline=None, max_examples=40)
@given(LOG_ZETAS, st.integers(0, 20))
def test_nothing_moved_means_weights_one_and_kls_zero(log_zeta: np.ndarray, seed: int) -> None:
    with jax.enable_x64(True):
        log_omega = log_trajectory_weights(
            jnp.asarray(log_zeta), jnp.asarray(log_zeta), jnp.asarray(random_mask(seed))
        )
        assert np.all(np.asarray(log_omega) == 0)
        assert np.all(np.asarray(step_weights(jnp.asarray(log_zeta), jnp.asarray(log_zeta))) == 1)
        assert float(kl_old_new(log_omega)) == pytest.approx(0, abs=1e-12)
        assert float(kl_new_old(log_omega)) == pytest.approx(0, abs=1e-12)
        assert float(effective_sample_size(log_omega)) == pytest.approx(3)


@settings(deadline=None, max_examples=60)
@given(LOG_OMEGAS)
def test_kls_are_bounded_and_equal_their_slow_twins(log_omega: np.ndarray) -> None:
    n = len(log_omega)
    with jax.enable_x64(True):
        forward, reverse, ess = (float(value) for value in all_measures(jnp.asarray(log_omega)))
    assert forward >= -1e-12
    assert -1e-12 <= reverse <= math.log(n) + 1e-12  # fidelity F13
    assert 1 - 1e-9 <= ess <= n + 1e-9
    assert forward == pytest.approx(oracles.kl_old_new(log_omega), rel=1e-9, abs=1e-9)
    assert reverse == pytest.approx(oracles.kl_new_old(log_omega), rel=1e-9, abs=1e-9)
    assert ess == pytest.approx(oracles.effective_sample_size(log_omega), rel=1e-9)


@settings(deadline=None, max_examples=40)
@given(LOG_ZETAS, LOG_ZETAS, st.integers(0, 20))
def test_trajectory_weights_equal_their_slow_twin_and_ignore_padding(
    new: np.ndarray, old: np.ndarray, seed: int
) -> None:
    mask = random_mask(seed)
    slow = oracles.log_trajectory_weights(new, old, mask)
    dirty = np.where(mask, new, np.nan)
    with jax.enable_x64(True):
        fast = log_trajectory_weights(jnp.asarray(dirty), jnp.asarray(old), jnp.asarray(mask))
        shares = normalized_weights(fast)
    np.testing.assert_allclose(np.asarray(fast), slow, atol=1e-9)
    np.testing.assert_allclose(np.asarray(shares), oracles.normalized_weights(slow), atol=1e-9)


def test_the_reverse_kl_saturates_at_log_n_however_far_zeta_moves() -> None:
    log_omega = jnp.array([0.0, -1e4, -2e4, -3e4])
    assert float(kl_new_old(log_omega)) == pytest.approx(math.log(4), rel=1e-5)
    assert float(kl_old_new(log_omega)) > 1e4


def test_kls_do_not_lose_digits_to_a_common_factor() -> None:
    log_omega = np.array([0.0, 0.25, 0.5], np.float32)
    shifted = jnp.asarray(log_omega - np.float32(16384))  # exact in float32
    assert float(kl_new_old(shifted)) == pytest.approx(
        oracles.kl_new_old(log_omega.tolist()), abs=1e-6
    )
    assert float(kl_old_new(shifted)) == pytest.approx(
        oracles.kl_old_new(log_omega.tolist()), abs=1e-6
    )
