"""In a world small enough to list every trajectory,
the estimates equal the exact MaxEnt quantities.

3 states, 2 actions, horizon 4, deterministic: 16 trajectories, π_θ(τ) = exp(r(τ)) ζ_θ(τ) / Z_θ.
Rewards are logarithms of integers and ζ_θ̄ is in quarters, so π_θ̄ has integer odds and a finite S
holds each trajectory exactly as often as it should.
"""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import oracles
from icrl.config import Activation, BackwardConfig, Weights
from icrl.constraint.network import init_params, log_feasibility
from icrl.constraint.objective import Steps, log_likelihood_gain, loss, sample_evidence
from icrl.constraint.weights import kl_new_old, kl_old_new, log_trajectory_weights

Array = np.ndarray[Any, Any]
HORIZON = 4
NEXT = np.array([[1, 2], [0, 2], [2, 0]])
EXP_REWARD = np.array([[1, 2], [2, 1], [1, 3]])
OLD_QUARTERS = np.array([[2, 1], [3, 1], [1, 2]])
OLD_THETA = np.log(OLD_QUARTERS / (4 - OLD_QUARTERS))
TABLES = arrays(np.float64, (3, 2), elements=st.floats(-3, 3))


def enumerate_world() -> tuple[Array, Array]:
    """States and actions [16, 4] of every trajectory."""
    states, actions = [], []
    for choice in itertools.product((0, 1), repeat=HORIZON):
        state, visited = 0, []
        for action in choice:
            visited.append(state)
            state = int(NEXT[state, action])
        states.append(visited)
        actions.append(choice)
    return np.array(states), np.array(actions)


STATES, ACTIONS = enumerate_world()
MASK = np.ones(STATES.shape, bool)
# odds of π_θ̄: Π_t exp(r) · (4 ζ_θ̄), integers
COUNTS = np.prod(EXP_REWARD[STATES, ACTIONS] * OLD_QUARTERS[STATES, ACTIONS], axis=1)
SAMPLES = np.repeat(np.arange(16), COUNTS)
DEMOS = np.array([3, 3, 6, 12])


def table_log_zeta(theta: Array) -> Array:
    return -np.logaddexp(0, -theta)


def exact_policy(log_zeta: Array) -> Array:
    """π_θ of the 16 trajectories, given log ζ [16, 4]."""
    score = np.sum(np.log(EXP_REWARD[STATES, ACTIONS]) + log_zeta, axis=1)
    return np.exp(score - np.logaddexp.reduce(score))


def exact_log_likelihood(log_zeta: Array) -> float:
    """mean_D log π_θ(τ)."""
    return float(np.mean(np.log(exact_policy(log_zeta))[DEMOS]))


def finite_differences(theta: Array) -> Array:
    """∂L/∂θ of the exact log-likelihood."""
    gradient = np.zeros_like(theta)
    for i in np.ndindex(*theta.shape):
        nudge = np.zeros_like(theta)
        nudge[i] = 1e-6
        up, down = table_log_zeta(theta + nudge), table_log_zeta(theta - nudge)
        difference = exact_log_likelihood(up[STATES, ACTIONS]) - exact_log_likelihood(
            down[STATES, ACTIONS]
        )
        gradient[i] = difference / 2e-6
    return gradient


def log_omega(theta: Any, which: Array) -> Any:
    new = log_feasibility(theta, jnp)[STATES[which], ACTIONS[which]]
    old = jnp.asarray(table_log_zeta(OLD_THETA))[STATES[which], ACTIONS[which]]
    return log_trajectory_weights(new, old, jnp.asarray(MASK[which]))


@jax.jit
def estimates(theta: Any) -> tuple[Any, Any]:
    on_samples = log_omega(theta, SAMPLES)
    return kl_old_new(on_samples), kl_new_old(on_samples)


network_gradient = jax.jit(jax.grad(loss, has_aux=True), static_argnums=4)


@jax.jit
@jax.value_and_grad
def gain_and_gradient(theta: Any) -> Any:
    return log_likelihood_gain(
        log_omega(theta, DEMOS), log_omega(theta, SAMPLES), jnp.ones(len(SAMPLES))
    )


def test_the_samples_hold_each_trajectory_as_often_as_the_old_policy_draws_it() -> None:
    frequencies = np.bincount(SAMPLES, minlength=16) / len(SAMPLES)
    np.testing.assert_allclose(
        frequencies, exact_policy(table_log_zeta(OLD_THETA)[STATES, ACTIONS]), rtol=1e-12
    )


@settings(deadline=None, max_examples=30)
@given(TABLES)
def test_both_kls_are_exact(theta: Array) -> None:
    old = exact_policy(table_log_zeta(OLD_THETA)[STATES, ACTIONS])
    new = exact_policy(table_log_zeta(theta)[STATES, ACTIONS])
    with jax.enable_x64(True):
        forward, reverse = estimates(jnp.asarray(theta))
    assert float(forward) == pytest.approx(oracles.kl(old, new), abs=1e-9)
    assert float(reverse) == pytest.approx(oracles.kl(new, old), abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(TABLES)
def test_the_gain_and_its_gradient_are_those_of_the_exact_log_likelihood(theta: Array) -> None:
    new, old = (
        exact_log_likelihood(table_log_zeta(table)[STATES, ACTIONS]) for table in (theta, OLD_THETA)
    )
    with jax.enable_x64(True):
        value, gradient = gain_and_gradient(jnp.asarray(theta))
    assert float(value) == pytest.approx(new - old, abs=1e-9)
    np.testing.assert_allclose(np.asarray(gradient), finite_differences(theta), atol=1e-7)


def step_gradient(theta: Array) -> Array:
    """Gradient of the paper's Eq. 11 (per-step weights), in nats per trajectory."""

    def objective(table: Any) -> Any:
        log_zeta = log_feasibility(table, jnp)
        on_samples = log_zeta[STATES[SAMPLES], ACTIONS[SAMPLES]]
        old = jnp.asarray(table_log_zeta(OLD_THETA))[STATES[SAMPLES], ACTIONS[SAMPLES]]
        config, mask = BackwardConfig(weights=Weights.step), jnp.asarray(MASK[SAMPLES])
        against = sample_evidence(on_samples, old, mask, jnp.ones(len(SAMPLES)), config)
        return (
            jnp.mean(jnp.sum(log_zeta[STATES[DEMOS], ACTIONS[DEMOS]], axis=1)) - HORIZON * against
        )

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.grad(objective))(jnp.asarray(theta)))


def test_step_weights_are_exact_only_where_nothing_moved() -> None:
    """fidelity F2: per-step weights leave out Z_θ / Z_θ̄,
    so their gradient is biased away from θ̄."""
    np.testing.assert_allclose(step_gradient(OLD_THETA), finite_differences(OLD_THETA), atol=1e-7)
    moved = OLD_THETA + 2.0
    exact, biased = finite_differences(moved), step_gradient(moved)
    assert np.linalg.norm(biased - exact) > 0.5 * np.linalg.norm(exact)
    with jax.enable_x64(True):
        trajectory = np.asarray(gain_and_gradient(jnp.asarray(moved))[1])
    assert np.linalg.norm(trajectory - exact) < 1e-6 * np.linalg.norm(exact)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_loss_of_a_network_descends_the_exact_log_likelihood(seed: int) -> None:
    """With evidence weights π_θ̄(τ) on the listed trajectories,
    loss' gradient = -L'/T for zeta as an MLP."""
    rng = np.random.default_rng(seed)
    old_params, params = init_params(rng, 5, (4,)), init_params(rng, 5, (4,))
    inputs = np.concatenate([np.eye(3)[STATES], np.eye(2)[ACTIONS]], axis=-1)  # [16, 4, 5]
    old = oracles.log_zeta(old_params, inputs, Activation.tanh)
    samples, demos = Steps(inputs, MASK, old), Steps(inputs[DEMOS], MASK[DEMOS], old[DEMOS])
    slow = oracles.numerical_gradient(
        lambda p: -exact_log_likelihood(oracles.log_zeta(p, inputs, Activation.tanh)) / HORIZON,
        params,
    )
    config = BackwardConfig(weights=Weights.trajectory, sparsity=0.0)
    with jax.enable_x64(True):
        arguments = jax.tree.map(jnp.asarray, (params, demos, samples, exact_policy(old)))
        arguments = (jax.tree.map(lambda x: x.astype(jnp.float64), arguments[0]), *arguments[1:])
        gradient, _ = network_gradient(*arguments, config)
    for a, b in zip(jax.tree.leaves(gradient), slow, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, atol=1e-8)
