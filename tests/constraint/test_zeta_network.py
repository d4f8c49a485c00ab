"""Zeta is one MLP in two namespaces, and its logarithm never overflows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles
from icrl.config import Activation
from icrl.constraint.network import Layer, init_params, log_feasibility, logits


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("hidden", [(4,), (5, 3)])
def test_both_namespaces_equal_the_slow_twin(
    activation: Activation, hidden: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    params = init_params(rng, 3, hidden)
    inputs = rng.normal(size=(2, 4, 3)).astype(np.float32)
    slow = np.array([[oracles.logit(params, x, activation) for x in row] for row in inputs])
    np.testing.assert_allclose(logits(params, inputs, activation), slow, rtol=1e-5, atol=1e-6)
    with jax.numpy_rank_promotion("raise"):
        fast = logits(jax.tree.map(jnp.asarray, params), jnp.asarray(inputs), activation, jnp)
    np.testing.assert_allclose(np.asarray(fast), slow, rtol=1e-5, atol=1e-6)


def test_logit_by_hand() -> None:
    # x = (1, 2); relu(1·1 + 2·1 - 1, 1·1 - 2·2 + 0) = relu(2, -3) = (2, 0); 3·2 + 5·0 + 0.5 = 6.5
    params = (
        Layer(np.array([[1.0, 1.0], [1.0, -2.0]]), np.array([-1.0, 0.0])),
        Layer(np.array([[3.0], [5.0]]), np.array([0.5])),
    )
    assert float(logits(params, np.array([1.0, 2.0]), Activation.relu)) == 6.5


def test_fresh_parameters_are_bounded_by_the_fan_in_and_fill_it() -> None:
    params = init_params(np.random.default_rng(0), 16, (400,))
    weight, bias = params[0]
    assert weight.shape == (16, 400)
    assert weight.dtype == np.float32
    # U(-1/4, 1/4) has deviation 0.25 / √3 = 0.1443
    assert np.abs(weight).max() <= 0.25
    assert np.abs(bias).max() <= 0.25
    assert np.std(weight) == pytest.approx(0.25 / np.sqrt(3), rel=0.05)
    assert np.abs(params[1].weight).max() <= 1 / 20


def test_log_feasibility_is_finite_far_out_and_exact_near_zero() -> None:
    x = np.array([-1000.0, -30.0, -1.0, 0.0, 1.0, 30.0, 1000.0])
    slow = [oracles.log_sigmoid(v) for v in x]
    np.testing.assert_allclose(log_feasibility(x), slow, rtol=1e-12)
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            np.asarray(log_feasibility(jnp.asarray(x), jnp)), slow, rtol=1e-12
        )
        # d log σ(x) / dx = 1 - σ(x): 1 far left, 1/2 at 0, 0 far right
        slope = jax.vmap(jax.grad(lambda v: log_feasibility(v, jnp)))(
            jnp.array([-1000.0, 0.0, 1000.0])
        )
    np.testing.assert_allclose(np.asarray(slope), [1.0, 0.5, 0.0])
