"""The stacked networks: the flat vector, NumPy against JAX against the slow twin,
the initial weights."""

import itertools

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oracles_agent
from icrl.agent.networks import (
    NetworkShape,
    apply_networks,
    apply_policy,
    init_params,
    network_shape,
    policy_layers,
    unflatten,
)

SHAPES = [
    NetworkShape(3, 2, discrete, hidden, num_critics)
    for discrete, (hidden, num_critics) in itertools.product(
        [False, True], [((5,), 1), ((4, 3, 5), 2)]
    )
]


jitted_networks = jax.jit(apply_networks, static_argnames=("shape", "xp"))


def random_flat(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape.num_params).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_flat_vector_is_its_blocks_in_order(shape):
    flat = random_flat(shape)
    blocks = unflatten(flat, shape)
    assert {name: block.shape for name, block in blocks.items()} == shape.sections()
    np.testing.assert_array_equal(
        np.concatenate([block.ravel() for block in blocks.values()]), flat
    )
    assert ("log_std" in blocks) is not shape.discrete


@pytest.mark.parametrize("shape", SHAPES)
def test_numpy_jax_the_policy_alone_and_the_slow_twin_agree(shape):
    flat, observations = (
        random_flat(shape),
        np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32),
    )
    ours, jaxs = (
        apply_networks(flat, observations, shape, np),
        jitted_networks(flat, observations, shape, jnp),
    )
    assert ours.values.shape == (shape.num_critics, 4)
    for array, twin in zip(ours, jaxs, strict=True):
        np.testing.assert_allclose(array, twin, atol=2e-5)
    np.testing.assert_allclose(
        apply_policy(policy_layers(flat, shape), observations), ours.policy, atol=2e-5
    )
    for row, observation in enumerate(observations):
        np.testing.assert_allclose(
            ours.policy[row], oracles_agent.network_output(flat, observation, shape, 0), atol=2e-5
        )
        for critic in range(shape.num_critics):
            slow = oracles_agent.network_output(flat, observation, shape, 1 + critic)[0]
            assert ours.values[critic, row] == pytest.approx(slow, abs=2e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_do_not_see_each_other(shape):
    flat, observations = (
        random_flat(shape),
        np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32),
    )
    order = np.random.default_rng(2).permutation(6)
    straight, permuted = (
        apply_networks(flat, rows, shape, np) for rows in (observations, observations[order])
    )
    np.testing.assert_allclose(permuted.policy, straight.policy[order], atol=1e-6)
    np.testing.assert_allclose(permuted.values, straight.values[:, order], atol=1e-6)


def test_the_networks_share_no_weights():
    shape = NetworkShape(3, 2, False, (6, 4), 2)
    observations = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    flat = random_flat(shape)
    before = apply_networks(flat, observations, shape, np)
    blocks = unflatten(flat, shape)  # views: writing to them writes to the vector
    blocks["w0"][:, 6:12] += 1.0  # the reward critic's columns
    blocks["b1"][1] += 1.0
    after = apply_networks(flat, observations, shape, np)
    np.testing.assert_array_equal(after.policy, before.policy)
    np.testing.assert_array_equal(after.values[1], before.values[1])
    assert np.abs(after.values[0] - before.values[0]).max() > 1e-3


def test_initial_weights_are_orthogonal_with_their_gains():
    shape = NetworkShape(3, 2, False, (8, 8), 2)
    blocks = unflatten(init_params(np.random.default_rng(0), shape, -0.7), shape)
    for network in range(3):
        first = blocks["w0"][:, 8 * network : 8 * network + 8]
        np.testing.assert_allclose(first @ first.T, 2 * np.eye(3), atol=1e-5)
        second = blocks["w1"][network]
        np.testing.assert_allclose(second.T @ second, 2 * np.eye(8), atol=1e-5)
    np.testing.assert_allclose(
        blocks["policy_w"].T @ blocks["policy_w"], 1e-4 * np.eye(2), atol=1e-8
    )
    np.testing.assert_allclose(np.linalg.norm(blocks["critic_w"], axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(blocks["log_std"], -0.7, rtol=1e-6)
    assert all(not blocks[name].any() for name in ("b0", "b1", "policy_b", "critic_b"))
    assert blocks["w0"].dtype == np.float32


def test_a_fresh_policy_is_nearly_uniform():
    shape = NetworkShape(4, 3, True, (64, 64), 1)
    flat = init_params(np.random.default_rng(0), shape, 0.0)
    observations = np.random.default_rng(1).normal(size=(100, 4)).astype(np.float32)
    assert np.abs(apply_policy(policy_layers(flat, shape), observations)).max() < 0.2


def test_sizes_come_from_the_spaces():
    box, choices = gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(3)
    assert network_shape(box, choices, (8,), 1) == NetworkShape(4, 3, True, (8,), 1)
    assert network_shape(box, gym.spaces.Box(-1, 1, (2,)), (8,), 2) == NetworkShape(
        4, 2, False, (8,), 2
    )
    # 4·16 + 16 (first layers of two networks) + 8·3 + 3 (policy) + 8 + 1 (critic) = 116
    assert network_shape(box, choices, (8,), 1).num_params == 116
