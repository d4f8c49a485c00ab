"""The policy update: hand arithmetic of its parts,
and the whole of it against a slow twin with finite differences."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles_agent
from icrl.agent.networks import NetworkShape
from icrl.agent.ppo_lagrangian import (
    Batch,
    Minibatch,
    _prepare,
    clipped_surrogate,
    combined_advantages,
    ppo_loss,
    update_policy,
)
from icrl.agent.state import make_optimizer
from icrl.config import Respect
from plain_settings import plain_forward

STEPS, ENVS = 6, 2


def tiny(respect=Respect.lagrangian, **changes):
    settings = {
        "num_envs": ENVS,
        "rollout_steps": STEPS,
        "minibatch": 4,
        "epochs": 2,
        "hidden": (3,),
        "clip": 0.05,
    }
    settings |= {
        "entropy_bonus": 0.02,
        "choice_bonus": 0.03,
        "target_kl": None,
        "learning_rate": 0.05,
        "gamma": 0.9,
        "gae_lambda": 0.8,
    }
    settings |= {"cost_gamma": 0.7, "cost_gae_lambda": 0.6, "adam_epsilon": 1e-3}
    return plain_forward(respect=respect, **(settings | changes))


def tiny_shape(config, discrete, hidden=(3,)):
    return NetworkShape(2, 2, discrete, hidden, 2 if config.respect is Respect.lagrangian else 1)


def random_batch(shape, seed=0):
    rng = np.random.default_rng(seed)
    terminated = rng.random((STEPS, ENVS)) < 0.25
    truncated = (rng.random((STEPS, ENVS)) < 0.25) & ~terminated
    terminated[2, 0], truncated[3, 1], terminated[3, 1] = True, True, False
    truncated[2, 0] = False
    bootstrapped = truncated.copy()
    bootstrapped[-1] |= ~terminated[-1]
    actions = (
        rng.integers(0, 2, (STEPS, ENVS)) if shape.discrete else rng.normal(size=(STEPS, ENVS, 2))
    )
    return Batch(
        observations=rng.normal(size=(STEPS, ENVS, 2)),
        actions=actions,
        rewards=rng.normal(size=(STEPS, ENVS)),
        costs=rng.random((STEPS, ENVS)),
        terminated=terminated.astype(np.float64),
        truncated=truncated.astype(np.float64),
        bootstrap=np.where(bootstrapped, rng.normal(size=(shape.num_critics, STEPS, ENVS)), 0.0),
        bootstrapped=bootstrapped,
    )


jitted_prepare = jax.jit(_prepare, static_argnames=("shape", "config"))
jitted_loss = jax.jit(
    jax.value_and_grad(ppo_loss, has_aux=True), static_argnames=("shape", "config")
)

CASES = list(itertools.product([Respect.lagrangian, Respect.terminate], [True, False]))


def test_surrogate_by_hand():
    # ε = 0.2. ratio 1.5, Â = 2: min(3, 1.2·2 = 2.4) = 2.4: a good action gets no credit beyond 1 +
    # ε ratio 0.5, Â = 2: min(1, 0.8·2 = 1.6) = 1;  ratio 1.5, Â = −2: min(−3, −2.4) = −3 ratio 0.5,
    # Â = −2: min(−1, −1.6) = −1.6: a bad action made rare gets no more credit
    log_ratio, advantages = np.log([1.5, 0.5, 1.5, 0.5]), np.array([2.0, 2.0, -2.0, -2.0])
    with jax.enable_x64(True):
        pairs = zip(log_ratio[:, None], advantages[:, None], strict=True)
        each = [
            float(clipped_surrogate(ratio, jnp.zeros(1), advantage, 0.2))
            for ratio, advantage in pairs
        ]
        together = float(clipped_surrogate(log_ratio, jnp.zeros(4), advantages, 0.2))
        slopes = jax.grad(lambda x: clipped_surrogate(x, jnp.zeros(4), advantages, 0.2))(log_ratio)
    np.testing.assert_allclose(each, [-2.4, -1.0, 3.0, 1.6], rtol=1e-12)
    assert together == pytest.approx((-2.4 - 1.0 + 3.0 + 1.6) / 4, rel=1e-12)
    # the clipped ones have no slope; the others −ρÂ/4: −0.25 and 0.75
    np.testing.assert_allclose(slopes, [0.0, -0.25, 0.75, 0.0], atol=1e-12)


def test_combined_advantage_by_hand():
    rewards, costs = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 3.0])
    # Â_r: mean 2, deviation √(2/3): (−1.2247, 0, 1.2247); Â_c − mean = (−1, −1, 2); λ = 3
    # (−1.2247 + 3)/4 = 0.4438,  (0 + 3)/4 = 0.75,  (1.2247 − 6)/4 = −1.1938
    with jax.enable_x64(True):
        combined = combined_advantages(rewards, costs, 3.0, tiny())
        scaled = combined_advantages(rewards, costs, 3.0, tiny(scale_cost_advantages=True))
        alone = combined_advantages(rewards, costs, 3.0, tiny(Respect.terminate))
    np.testing.assert_allclose(combined, [0.443814, 0.75, -1.193814], atol=1e-6)
    # deviation of the costs √2: (−0.7071, −0.7071, 1.4142):
    # (−1.2247 + 2.1213)/4 = 0.2241, 0.5303, −0.7545
    np.testing.assert_allclose(scaled, [0.224144, 0.530330, -0.754474], atol=1e-6)
    np.testing.assert_allclose(alone, [-1.224745, 0.0, 1.224745], atol=1e-6)


@given(seed=st.integers(0, 1000))
def test_without_a_multiplier_costs_do_not_matter_and_with_a_huge_one_rewards_do_not(seed):
    rewards, costs = np.random.default_rng(seed).normal(size=(2, 5))
    with jax.enable_x64(True):
        none = combined_advantages(rewards, costs, 0.0, tiny())
        huge = combined_advantages(rewards, costs, 1e9, tiny())
    np.testing.assert_allclose(none, (rewards - rewards.mean()) / rewards.std(), atol=1e-6)
    np.testing.assert_allclose(huge, costs.mean() - costs, atol=1e-6)


@pytest.mark.parametrize(("respect", "discrete"), CASES)
def test_rows_and_loss_equal_the_slow_twin_and_the_gradient_its_differences(respect, discrete):
    config = tiny(respect)
    shape = tiny_shape(config, discrete)
    rng = np.random.default_rng(3)
    old, new = 0.5 * rng.normal(size=(2, shape.num_params))
    batch = random_batch(shape)
    slow, slow_stds = oracles_agent.prepare(old, batch, 1.7, shape, config)
    with jax.enable_x64(True):
        rows, stds = jitted_prepare(old, batch, np.float64(1.7), shape=shape, config=config)
        for name, field in (
            ("log_prob", rows.log_probs),
            ("advantage", rows.advantages),
            ("targets", rows.targets),
        ):
            np.testing.assert_allclose(field, [row[name] for row in slow], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(rows.observations, [row["observation"] for row in slow])
        np.testing.assert_allclose(stds, slow_stds, rtol=1e-9)
        (loss, terms), gradient = jitted_loss(new, rows, shape=shape, config=config)
    slow_loss, slow_terms = oracles_agent.ppo_loss(new, slow, shape, config)
    assert float(loss) == pytest.approx(slow_loss, rel=1e-9)
    np.testing.assert_allclose(terms, slow_terms, rtol=1e-9)
    # the policies differ, so ratios are clipped and the KL is not trivially zero
    assert slow_terms[3] > 0.01
    np.testing.assert_allclose(
        gradient, oracles_agent.loss_gradient(new, slow, shape, config), rtol=1e-5, atol=1e-7
    )


def both_updates(config, discrete):
    """Parameters before, those after and what is told of it, and all that the slow twin says."""
    shape = tiny_shape(config, discrete)
    params = 0.5 * np.random.default_rng(4).normal(size=shape.num_params)
    batch = random_batch(shape, seed=5)
    permutations = np.random.default_rng(6).permuted(np.tile(np.arange(12), (2, 1)), axis=1)
    with jax.enable_x64(True):
        start = make_optimizer(config).init(jnp.asarray(params))
        new, _, info = update_policy(
            params, start, batch, permutations, np.float64(0.8), shape, config
        )
    slow = oracles_agent.update_policy(params, batch, permutations, 0.8, shape, config)
    return params, new, info, slow


@pytest.mark.parametrize(("respect", "discrete"), [CASES[0], CASES[3]])
def test_a_whole_update_equals_the_slow_twin(respect, discrete):
    params, new, info, (slow, terms, made) = both_updates(tiny(respect), discrete)
    np.testing.assert_allclose(new, slow, atol=1e-6)
    assert np.abs(slow - params).max() > 0.1  # six steps of up to 0.05
    np.testing.assert_allclose(
        [info.policy_loss, info.value_loss, info.entropy, info.kl], terms, rtol=1e-4
    )
    assert (made, float(info.epochs)) == (6, 2.0)


def test_an_update_stops_once_the_policy_has_moved_far_enough():
    _, new, info, (slow, terms, made) = both_updates(tiny(target_kl=1e-3), discrete=True)
    assert made == 3  # one whole pass of two
    assert float(info.epochs) == pytest.approx(made / 3)
    assert float(info.kl) > 1.5e-3
    np.testing.assert_allclose(float(info.kl), terms[3], rtol=1e-4)
    np.testing.assert_allclose(new, slow, atol=1e-6)


@given(seed=st.integers(0, 1000))
def test_the_order_of_rows_in_a_minibatch_does_not_matter(seed):
    config = tiny()
    shape = tiny_shape(config, discrete=False)
    rng = np.random.default_rng(seed)
    flat, order = rng.normal(size=shape.num_params), rng.permutation(5)
    rows = Minibatch(
        rng.normal(size=(5, 2)),
        rng.normal(size=(5, 2)),
        rng.normal(size=5),
        rng.normal(size=5),
        rng.normal(size=(5, 2)),
    )
    with jax.enable_x64(True):
        (straight, terms), gradient = jitted_loss(flat, rows, shape=shape, config=config)
        shuffled = Minibatch(*(a[order] for a in rows))
        (permuted, permuted_terms), permuted_gradient = jitted_loss(
            flat, shuffled, shape=shape, config=config
        )
    assert float(permuted) == pytest.approx(float(straight), rel=1e-9)
    np.testing.assert_allclose(permuted_terms, terms, rtol=1e-9)
    np.testing.assert_allclose(permuted_gradient, gradient, rtol=1e-9, atol=1e-9)


def test_at_the_old_policy_the_ratio_is_one():
    config = tiny()
    shape = tiny_shape(config, discrete=True)
    params, batch = (
        0.5 * np.random.default_rng(4).normal(size=shape.num_params),
        random_batch(shape),
    )
    with jax.enable_x64(True):
        rows, _ = jitted_prepare(params, batch, np.float64(1.0), shape=shape, config=config)
        (_, terms), _ = jitted_loss(params, rows, shape=shape, config=config)
    assert float(terms[3]) == pytest.approx(0.0, abs=1e-12)
    assert float(terms[0]) == pytest.approx(
        -float(np.mean(np.asarray(rows.advantages))), abs=1e-12
    )  # centred: both are 0
