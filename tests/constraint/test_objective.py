"""The loss of the backward step: slow twins, hand arithmetic, invariances."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles
from icrl.config import Activation, BackwardConfig, Weights
from icrl.constraint.network import Layer, Params, init_params
from icrl.constraint.objective import (
    Innocents,
    Steps,
    feature_use,
    floored,
    log_likelihood_gain,
    loss,
    roughness,
    sample_evidence,
    tail_count,
    worst_demo_steps,
)

FULL = {"sample_floor": -0.8, "demo_tail": 0.7, "demo_tail_share": 0.3, "smoothness": 0.2}

fast_loss = jax.jit(loss, static_argnums=(5, 6))
fast_gradient = jax.jit(jax.grad(loss, has_aux=True), static_argnums=(5, 6))


def steps(rng: np.random.Generator, old: Params, n: int, t: int, activation: Activation = Activation.tanh) -> Steps:
    inputs = rng.normal(size=(n, t, 3))
    mask = np.arange(t)[None, :] < rng.integers(1, t + 1, n)[:, None]
    return Steps(inputs, mask, oracles.log_zeta(old, inputs, activation))


def on_jax(tree: Any) -> Any:
    """As float64 (inside `enable_x64`)."""
    return jax.tree.map(lambda x: jnp.asarray(x) if np.asarray(x).dtype == bool else jnp.asarray(x, jnp.float64), tree)


def make(seed: int, activation: Activation = Activation.tanh) -> tuple[Params, Steps, Steps, np.ndarray]:
    rng = np.random.default_rng(seed)
    old, new = init_params(rng, 3, (4,)), init_params(rng, 3, (4,))
    demos, samples = steps(rng, old, 3, 5, activation), steps(rng, old, 4, 6, activation)
    return new, demos, samples, np.array([1.0, 0.0, 0.5, 2.0])


@pytest.mark.parametrize(
    ("weights", "activation"),
    [*((weights, Activation.tanh) for weights in Weights), (Weights.none, Activation.relu)],
)
def test_loss_equals_its_slow_twin(weights: Weights, activation: Activation) -> None:
    config = BackwardConfig(weights=weights, activation=activation, hidden=(4,), **FULL)
    for seed in range(3):
        params, demos, samples, w = make(seed, activation)
        slow = oracles.loss(params, demos, samples, w, config, 2)
        with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
            fast, info = fast_loss(*on_jax((params, demos, samples, None, w)), config, 2)
        assert float(fast) == pytest.approx(slow, rel=1e-6)
        assert float(info.demo_tail) > 0
        assert float(info.smoothness) > 0


@pytest.mark.parametrize("weights", [Weights.trajectory, Weights.none])
def test_gradient_equals_central_differences_of_the_slow_twin(weights: Weights) -> None:
    config = BackwardConfig(weights=weights, hidden=(4,), **FULL)
    params, demos, samples, w = make(7)
    slow = oracles.numerical_gradient(lambda p: oracles.loss(p, demos, samples, w, config, 2), params)
    with jax.enable_x64(True):
        fast, _ = fast_gradient(*on_jax((params, demos, samples, None, w)), config, 2)
    for a, b in zip(jax.tree.leaves(fast), slow, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, atol=2e-5)


@pytest.mark.parametrize("weights", [Weights.trajectory, Weights.step])
def test_padding_and_order_change_nothing(weights: Weights) -> None:
    config = BackwardConfig(weights=weights, hidden=(4,), **FULL)
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
        base, _ = fast_loss(*on_jax((params, demos, samples, None, w)), config, 2)
        padded, _ = fast_loss(*on_jax((params, pad(demos), pad(samples), None, w)), config, 2)
        shuffled = Steps(samples.inputs[order], samples.mask[order], samples.old_log_zeta[order])
        permuted, _ = fast_loss(*on_jax((params, demos, shuffled, None, w[order])), config, 2)
    assert float(padded) == pytest.approx(float(base), rel=1e-12)
    assert float(permuted) == pytest.approx(float(base), rel=1e-12)


def test_gain_by_hand() -> None:
    # mean of demo log ω = (log 2 + log 8) / 2 = log 4; ω on S = (1, 3), weights (1, 1): ω̄ = 2; gain = log 4 - log 2
    demo, sample = jnp.log(jnp.array([2.0, 8.0])), jnp.log(jnp.array([1.0, 3.0]))
    assert float(log_likelihood_gain(demo, sample, jnp.ones(2))) == pytest.approx(math.log(2), rel=1e-6)
    # weights (1, 0) leave only ω = 1: gain = log 4 - log 1; and the share, not the size, of a weight counts
    assert float(log_likelihood_gain(demo, sample, jnp.array([0.3, 0.0]))) == pytest.approx(math.log(4), rel=1e-6)


def test_without_evidence_the_samples_say_nothing_and_gradients_stay_finite() -> None:
    demo, sample = jnp.array([0.5]), jnp.array([-1.0, 2.0])
    value, slope = jax.value_and_grad(lambda s: log_likelihood_gain(demo, s, jnp.zeros(2)))(sample)
    assert float(value) == pytest.approx(0.5)
    np.testing.assert_array_equal(np.asarray(slope), [0.0, 0.0])


def test_sample_evidence_by_hand() -> None:
    # log ζ = [[-1, -5], [-2, pad]], floor -3, w = (1, 0.5): (-1 + -3 + 0.5 · -2) / 3 real steps = -5/3
    log_zeta, mask = jnp.array([[-1.0, -5.0], [-2.0, 0.0]]), jnp.array([[True, True], [True, False]])
    w = jnp.array([1.0, 0.5])
    config = BackwardConfig(sample_floor=-3.0)
    assert float(sample_evidence(log_zeta, log_zeta, mask, w, config)) == pytest.approx(-5 / 3)
    # weights.step with ζ̄ twice as small: ω = 2 everywhere, so twice that; its ω is not differentiated
    config = BackwardConfig(sample_floor=-3.0, weights=Weights.step)
    old = log_zeta - math.log(2)
    value, slope = jax.value_and_grad(sample_evidence)(log_zeta, old, mask, w, config)
    assert float(value) == pytest.approx(-10 / 3, rel=1e-6)
    # 2 w / 3 on real steps above the floor, 0 on the floored step and on padding
    np.testing.assert_allclose(np.asarray(slope), [[2 / 3, 0.0], [1 / 3, 0.0]], rtol=1e-6)


def test_the_regulariser_sees_samples_without_evidence() -> None:
    params, demos, samples, _ = make(1)
    config = BackwardConfig(hidden=(4,))
    with jax.enable_x64(True):
        args = (*on_jax((params, demos, samples)), None)
        _, silent = fast_loss(*args, jnp.zeros(4), config, 1)
        _, heard = fast_loss(*args, jnp.ones(4), config, 1)
    assert float(silent.cost_samples) == float(heard.cost_samples) > 0
    assert float(silent.gain) != float(heard.gain)


def test_worst_demo_steps_by_hand() -> None:
    # real losses 1, 4, 2; the padded 99 is not real; the two worst: (4 + 2) / 2 = 3
    log_zeta, mask = -jnp.array([[1.0, 4.0], [2.0, 99.0]]), jnp.array([[True, True], [True, False]])
    assert float(worst_demo_steps(log_zeta, mask, 2)) == 3.0
    slope = jax.grad(worst_demo_steps)(log_zeta, mask, 2)
    np.testing.assert_array_equal(np.asarray(slope), [[0.0, -0.5], [-0.5, 0.0]])


@pytest.mark.parametrize(
    ("num_steps", "share", "count"), [(10_000, 0.05, 500), (30, 0.1, 3), (3, 0.05, 1), (7, 1.0, 7)]
)
def test_tail_count(num_steps: int, share: float, count: int) -> None:
    assert tail_count(num_steps, share) == count


def test_floor_is_off_by_default() -> None:
    log_zeta = jnp.array([[-5.0, -1.0]])
    np.testing.assert_array_equal(np.asarray(floored(log_zeta, None)), [[-5.0, -1.0]])
    np.testing.assert_array_equal(np.asarray(floored(log_zeta, -3.0)), [[-3.0, -1.0]])


def test_roughness_counts_every_real_step_once() -> None:
    params, demos, samples, _ = make(5)
    every = [(s, i) for s in (demos, samples) for i in np.ndindex(*s.mask.shape) if s.mask[i]]
    slow = np.mean([oracles.squared_input_gradient(params, s.inputs[i], Activation.tanh) for s, i in every])
    with jax.enable_x64(True):
        fast = jax.jit(roughness, static_argnums=3)(*on_jax((params, demos, samples)), Activation.tanh)
    assert float(fast) == pytest.approx(slow, rel=1e-6)


def test_feature_use_counts_deviations_times_norms() -> None:
    # inputs (0, 0) and (4, 1): deviations 2 and 1/2; rows (3, 4) and (0, 2) of the first layer: norms 5 and 2
    # Σ = 2 · 5 + 1/2 · 2 = 11
    inputs = jnp.array([[[0.0, 0.0]], [[4.0, 1.0]]])
    one = Steps(inputs[:1], jnp.ones((1, 1), bool), jnp.zeros((1, 1)))
    two = Steps(inputs[1:], jnp.ones((1, 1), bool), jnp.zeros((1, 1)))
    params = (Layer(jnp.array([[3.0, 4.0], [0.0, 2.0]]), jnp.zeros(2)), Layer(jnp.ones((2, 1)), jnp.zeros(1)))
    assert float(feature_use(params, one, two, None)) == pytest.approx(11.0, rel=1e-6)
    padded = Steps(jnp.full((1, 3, 2), 99.0), jnp.zeros((1, 3), bool), jnp.zeros((1, 3)))  # nothing real: no effect
    assert float(feature_use(params, one, two, Innocents(padded, jnp.ones(())))) == pytest.approx(11.0, rel=1e-6)


def test_presumption_is_minus_log_zeta_of_the_innocent() -> None:
    # a zeta of 1/2 everywhere: −log ½ = log 2 = 0.6931 on real steps, whatever the padding holds
    params = (Layer(jnp.zeros((1, 2)), jnp.zeros(2)), Layer(jnp.zeros((2, 1)), jnp.zeros(1)))
    steps = Steps(jnp.ones((1, 2, 1)), jnp.array([[True, False]]), jnp.full((1, 2), jnp.log(0.5)))
    config = BackwardConfig(sparsity=0.0)
    without, _ = loss(params, steps, steps, None, jnp.ones(1), config, 1)
    with_innocents, info = loss(params, steps, steps, Innocents(steps, jnp.asarray(2.0)), jnp.ones(1), config, 1)
    assert float(info.presumption) == pytest.approx(0.6931, abs=1e-4)
    assert float(with_innocents - without) == pytest.approx(2 * 0.6931, abs=1e-4)
