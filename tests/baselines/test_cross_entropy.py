"""The loss of both neural baselines, worked out by hand; and the bonus that GAIL makes of ζ."""

import jax
import jax.numpy as jnp
import numpy as np

from icrl.baselines.binary_classifier import cross_entropy
from icrl.baselines.gail_constraint import log_feasibility_bonus
from icrl.config import BackwardConfig
from icrl.constraint.network import Layer
from icrl.constraint.objective import Steps

CONFIG = BackwardConfig(hidden=(1,))


def steps(inputs, mask):
    """[N, T] inputs of one feature, as zeta sees them."""
    values = jnp.asarray(inputs, jnp.float32)[..., None]
    return Steps(inputs=values, mask=jnp.asarray(mask), old_log_zeta=jnp.zeros(values.shape[:2]))


def params(weight, bias):
    """ζ = σ(weight · x + bias): one layer, no hidden one."""
    return (Layer(jnp.array([[weight]], jnp.float32), jnp.array([bias], jnp.float32)),)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_by_hand():
    """Demonstrated x = 1, 2; sampled x = −1: ζ = σ(x)."""
    demos = steps([[1.0, 2.0]], [[True, True]])
    samples = steps([[-1.0]], [[True]])
    found, info = cross_entropy(params(1.0, 0.0), demos, samples, jnp.ones(1), CONFIG)
    # −[log σ(1) + log σ(2)]/2 − log(1 − σ(−1)), and 1 − σ(−1) = σ(1)
    expected = -(np.log(sigmoid(1)) + np.log(sigmoid(2))) / 2 - np.log(sigmoid(1))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(info.gain, -expected, rtol=1e-6)
    np.testing.assert_allclose(info.cost_demos, 1 - (sigmoid(1) + sigmoid(2)) / 2, rtol=1e-5)
    np.testing.assert_allclose(info.cost_samples, 1 - sigmoid(-1), rtol=1e-5)


def test_a_zeta_that_tells_nothing_apart_pays_two_logs_of_two():
    same = steps([[0.0]], [[True]])
    found, _ = cross_entropy(params(0.0, 0.0), same, same, jnp.ones(1), CONFIG)
    np.testing.assert_allclose(found, 2 * np.log(2), rtol=1e-6)


def test_padding_counts_for_nothing():
    short = steps([[1.0]], [[True]])
    padded = steps([[1.0, 1e6]], [[True, False]])
    samples = steps([[-1.0]], [[True]])
    first, _ = cross_entropy(params(1.0, 0.0), short, samples, jnp.ones(1), CONFIG)
    second, _ = cross_entropy(params(1.0, 0.0), padded, samples, jnp.ones(1), CONFIG)
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_descending_it_raises_zeta_on_demonstrations_and_lowers_it_on_samples():
    demos = steps([[1.0]], [[True]])
    samples = steps([[-1.0]], [[True]])

    def objective(theta):
        return cross_entropy(theta, demos, samples, jnp.ones(1), CONFIG)[0]

    slope = jax.grad(objective)(params(0.0, 0.0))
    # d/dw: −(1 − σ(0))·1 on the demonstration, σ(0)·(−1) on the sample:
    # −1 in all; the biases cancel
    np.testing.assert_allclose(slope[0][0], [[-1.0]], rtol=1e-6)
    np.testing.assert_allclose(slope[0][1], [0.0], atol=1e-7)


def test_the_bonus_is_log_zeta_and_never_less_than_minus_ten():
    def cost(observations, actions):
        return np.array([0.0, 0.5, 1.0])

    bonus = log_feasibility_bonus(cost)(np.zeros((3, 1)), np.zeros(3))
    np.testing.assert_allclose(bonus, [0.0, np.log(0.5), np.log(5e-5)])
