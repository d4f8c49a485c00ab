"""The loss of the backward step: slow twins, hand arithmetic, invariances."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles
from icrl.config import Activation, BackwardConfig, Weights
from icrl.constraint.network import Params, init_params
from icrl.constraint.objective import (
    Steps,
    log_likelihood_gain,
    loss,
    masked_mean,
    mean_length,
    sample_evidence,
)

fast_loss = jax.jit(loss, static_argnums=4)
fast_gradient = jax.jit(jax.grad(loss, has_aux=True), static_argnums=4)


def steps(
    rng: np.random.Generator, old: Params, n: int, t: int, activation: Activation = Activation.tanh
) -> Steps:
    inputs = rng.normal(size=(n, t, 3))
    mask = np.arange(t)[None, :] < rng.integers(1, t + 1, n)[:, None]
    return Steps(inputs, mask, oracles.log_zeta(old, inputs, activation))


def on_jax(tree: Any) -> Any:
    """As float64 (inside `enable_x64`)."""
    return jax.tree.map(
        lambda x: jnp.asarray(x) if np.asarray(x).dtype == bool else jnp.asarray(x, jnp.float64),
        tree,
    )


def make(
    seed: int, activation: Activation = Activation.tanh
) -> tuple[Params, Steps, Steps, np.ndarray]:
    rng = np.random.default_rng(seed)
    old, new = init_params(rng, 3, (4,)), init_params(rng, 3, (4,))
    demos, samples = steps(rng, old, 3, 5, activation), steps(rng, old, 4, 6, activation)
    return new, demos, samples, np.array([1.0, 0.0, 0.5, 2.0])


@pytest.mark.parametrize(
    ("weights", "activation"),
    [*((weights, Activation.tanh) for weights in Weights), (Weights.none, Activation.relu)],
)
def test_loss_equals_its_slow_twin(weights: Weights, activation: Activation) -> None:
    config = BackwardConfig(weights=weights, activation=activation, hidden=(4,))
    for seed in range(3):
        params, demos, samples, w = make(seed, activation)
        slow = oracles.loss(params, demos, samples, w, config)
        with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
            fast, _ = fast_loss(*on_jax((params, demos, samples, w)), config)
        assert float(fast) == pytest.approx(slow, rel=1e-6)


@pytest.mark.parametrize("weights", [Weights.trajectory, Weights.none])
def test_gradient_equals_central_differences_of_the_slow_twin(weights: Weights) -> None:
    config = BackwardConfig(weights=weights, hidden=(4,))
    params, demos, samples, w = make(7)
    slow = oracles.numerical_gradient(lambda p: oracles.loss(p, demos, samples, w, config), params)
    with jax.enable_x64(True):
        fast, _ = fast_gradient(*on_jax((params, demos, samples, w)), config)
    for a, b in zip(jax.tree.leaves(fast), slow, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, atol=2e-5)


@pytest.mark.parametrize("weights", [Weights.trajectory, Weights.step])
def test_padding_and_order_change_nothing(weights: Weights) -> None:
    config = BackwardConfig(weights=weights, hidden=(4,))
    params, demos, samples, w = make(3)

    def pad(s: Steps) -> Steps:
        extra = ((0, 0), (0, 3))
        return Steps(
            np.pad(s.inputs, (*extra, (0, 0)), constant_values=9.0),
            np.pad(s.mask, extra),
            np.pad(s.old_log_zeta, extra, constant_values=-7.0),
        )

    order = np.array([2, 0, 3, 1])
    with jax.enable_x64(True):
        base, _ = fast_loss(*on_jax((params, demos, samples, w)), config)
        padded, _ = fast_loss(*on_jax((params, pad(demos), pad(samples), w)), config)
        shuffled = Steps(samples.inputs[order], samples.mask[order], samples.old_log_zeta[order])
        permuted, _ = fast_loss(*on_jax((params, demos, shuffled, w[order])), config)
    assert float(padded) == pytest.approx(float(base), rel=1e-12)
    assert float(permuted) == pytest.approx(float(base), rel=1e-12)


def test_gain_by_hand() -> None:
    # mean of demo log ω = (log 2 + log 8) / 2 = log 4; ω on S = (1, 3), weights (1, 1): ω̄ = 2;
    # gain = log 4 - log 2
    demo, sample = jnp.log(jnp.array([2.0, 8.0])), jnp.log(jnp.array([1.0, 3.0]))
    assert float(log_likelihood_gain(demo, sample, jnp.ones(2))) == pytest.approx(
        math.log(2), rel=1e-6
    )
    # weights (1, 0) leave only ω = 1: gain = log 4 - log 1;
    # and the share, not the size, of a weight counts
    assert float(log_likelihood_gain(demo, sample, jnp.array([0.3, 0.0]))) == pytest.approx(
        math.log(4), rel=1e-6
    )


def test_a_small_weight_is_evidence_too() -> None:
    # only ω = 3 counts, with a weight of a tenth: ω̄ = 3, gain = log 4 - log 3
    demo, sample = jnp.log(jnp.array([2.0, 8.0])), jnp.log(jnp.array([1.0, 3.0]))
    assert float(log_likelihood_gain(demo, sample, jnp.array([0.0, 0.1]))) == pytest.approx(
        math.log(4 / 3), rel=1e-6
    )


def test_means_over_real_steps_by_hand() -> None:
    values = jnp.array([[3.0, 5.0], [7.0, 9.0]])
    mask = jnp.array([[True, False], [True, True]])
    assert float(masked_mean(values, mask)) == pytest.approx((3 + 7 + 9) / 3)
    one, none = mask & jnp.array([[True], [False]]), jnp.zeros((2, 2), bool)
    assert float(masked_mean(values, one)) == 3.0
    assert float(masked_mean(values, none)) == 0.0  # not 0 / 0
    assert float(mean_length(jnp.array([[True, True, False], [True, False, False]]))) == 1.5


def test_without_evidence_the_samples_say_nothing_and_gradients_stay_finite() -> None:
    demo, sample = jnp.array([0.5]), jnp.array([-1.0, 2.0])
    value, slope = jax.value_and_grad(lambda s: log_likelihood_gain(demo, s, jnp.zeros(2)))(sample)
    assert float(value) == pytest.approx(0.5)
    np.testing.assert_array_equal(np.asarray(slope), [0.0, 0.0])


def test_sample_evidence_by_hand() -> None:
    # log ζ = [[-1, -3], [-2, pad]], w = (1, 0.5): (-1 + -3 + 0.5 · -2) / 3 real steps = -5/3
    log_zeta = jnp.array([[-1.0, -3.0], [-2.0, 0.0]])
    mask = jnp.array([[True, True], [True, False]])
    w = jnp.array([1.0, 0.5])
    config = BackwardConfig()
    assert float(sample_evidence(log_zeta, log_zeta, mask, w, config)) == pytest.approx(-5 / 3)
    # weights.step with ζ̄ twice as small: ω = 2 everywhere, so twice that;
    # its ω is not differentiated
    config = BackwardConfig(weights=Weights.step)
    old = log_zeta - math.log(2)
    value, slope = jax.value_and_grad(sample_evidence)(log_zeta, old, mask, w, config)
    assert float(value) == pytest.approx(-10 / 3, rel=1e-6)
    # 2 w / 3 on real steps, 0 on padding
    np.testing.assert_allclose(np.asarray(slope), [[2 / 3, 2 / 3], [1 / 3, 0.0]], rtol=1e-6)


def test_the_regulariser_sees_samples_without_evidence() -> None:
    params, demos, samples, _ = make(1)
    config = BackwardConfig(hidden=(4,))
    with jax.enable_x64(True):
        args = on_jax((params, demos, samples))
        _, silent = fast_loss(*args, jnp.zeros(4), config)
        _, heard = fast_loss(*args, jnp.ones(4), config)
    assert float(silent.cost_samples) == float(heard.cost_samples) > 0
    # without evidence only the demonstrations count: the mean of log ζ over their steps
    log_zeta = oracles.log_zeta(params, demos.inputs, config.activation)
    assert float(silent.gain) == pytest.approx(log_zeta[demos.mask].mean(), rel=1e-6)
    assert float(heard.gain) != float(silent.gain)
