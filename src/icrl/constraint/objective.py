"""The loss of the backward step: minus the demonstrations' log-likelihood, plus what keeps zeta
near 1 (Eqs. 7, 8, 10, 11: gradient, regulariser, weights).

All terms are means per step (fidelity F3), so that the data and the regulariser have one scale
whatever the horizon: the data terms are divided by the mean length of the trajectories that they
sum over.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from icrl.config import BackwardConfig, Weights
from icrl.constraint.network import Params, log_feasibility, logits
from icrl.constraint.weights import log_trajectory_weights, step_weights


class Steps(NamedTuple):
    """The pairs (s_t, a_t) of N padded trajectories, as zeta sees them."""

    inputs: jax.Array
    """[N, T, f]"""
    mask: jax.Array
    """[N, T]: True on real steps"""
    old_log_zeta: jax.Array
    """[N, T]: log ζ_θ̄"""


class LossInfo(NamedTuple):
    """The parts of the loss, before their weights; scalars."""

    gain: jax.Array
    """Data term, per step: the larger, the likelier the demonstrations."""
    cost_demos: jax.Array
    """Mean of 1 - ζ over demonstrated steps."""
    cost_samples: jax.Array
    """Mean of 1 - ζ over sampled steps."""


Objective = Callable[
    [Params, Steps, Steps, jax.Array, BackwardConfig],
    tuple[jax.Array, LossInfo],
]
"""What a backward step descends: (θ, demos, samples, sample_weights [N_S], config) -> (loss, its
parts)."""


def masked_mean(values: jax.Array, mask: jax.Array) -> jax.Array:
    """Mean over real steps, Σ m x / Σ m. Shapes: [N, T] each -> []."""
    # `where`, not a product with the mask: padding may be NaN, and 0 · NaN is NaN.
    return jnp.sum(jnp.where(mask, values, 0.0)) / jnp.maximum(jnp.sum(mask), 1)


def mean_length(mask: jax.Array) -> jax.Array:
    """Mean number of real steps of a trajectory. Shapes: [N, T] -> []."""
    return jnp.sum(mask) / mask.shape[0]


def log_likelihood_gain(
    demo_log_omega: jax.Array,
    sample_log_omega: jax.Array,
    sample_weights: jax.Array,
) -> jax.Array:
    """L(θ) - L(θ̄) = mean_D[log ζ_θ(τ) - log ζ_θ̄(τ)] - log ω̄.

    On S, ω̄ = Σ_j w_j ω(τ_j) / Σ_j w_j. The gradient is the self-normalised importance-weighted
    gradient of Eq. 7; at θ = θ̄ the value is 0. Evidence weights w share out the one unit of weight
    that S has; if all are 0, S says nothing and its term is 0. Shapes: [N_D], [N_S], [N_S] -> [].
    """
    # log Z_θ / Z_θ̄ is estimated from S. Without evidence there is no estimate, and only the
    # demonstrations' own term is left.
    has_evidence = jnp.sum(sample_weights) > 0
    # the ones keep the gradient finite
    w = jnp.where(has_evidence, sample_weights, jnp.ones_like(sample_weights))
    log_omega_bar = logsumexp(sample_log_omega, b=w) - jnp.log(jnp.sum(w))
    return jnp.mean(demo_log_omega) - jnp.where(has_evidence, log_omega_bar, 0.0)


def sample_evidence(
    log_zeta: jax.Array,
    old_log_zeta: jax.Array,
    mask: jax.Array,
    sample_weights: jax.Array,
    config: BackwardConfig,
) -> jax.Array:
    """What S holds against itself: Σ_j w_j Σ_t ω(s_t, a_t) log ζ(s_t, a_t) / Σ_j T_j  (Eq. 11).

    ω is 1 for `Weights.none`, and for `Weights.step` the paper's ratio, not differentiated, not
    normalised. Shapes: [N, T] three times, [N] -> [].
    """
    values = log_zeta
    # Not differentiated: the weights say how likely a step is under the newer policy. Were they
    # part of what is descended, zeta could lower the loss by changing what the samples count.
    if config.weights is Weights.step:
        values = jax.lax.stop_gradient(step_weights(log_zeta, old_log_zeta)) * values
    return masked_mean(sample_weights[:, None] * values, mask)


def loss(
    params: Params,
    demos: Steps,
    samples: Steps,
    sample_weights: jax.Array,
    config: BackwardConfig,
) -> tuple[jax.Array, LossInfo]:
    """-gain + δ (mean_D[1 - ζ] + mean_S[1 - ζ]).

    The gain is, by `config.weights`,
      trajectory: [L(θ) - L(θ̄)] / mean length of D (one length, so that the gradient stays that of
                  the likelihood),
      step, none: mean over steps of D of log ζ, minus `sample_evidence`.
    The regulariser sees all samples, whatever their evidence weight.
    Shapes: sample_weights [N_S] -> [], info.
    """
    # log ζ straight from the logit: log of a sigmoid that has rounded to 0 would be -inf.
    demo_log_zeta = log_feasibility(logits(params, demos.inputs, config.activation, jnp), jnp)
    sample_log_zeta = log_feasibility(logits(params, samples.inputs, config.activation, jnp), jnp)
    if config.weights is Weights.trajectory:
        # The exact likelihood, whose gradient is Eq. 7: trajectories are weighed whole.
        gain = log_likelihood_gain(
            log_trajectory_weights(demo_log_zeta, demos.old_log_zeta, demos.mask),
            log_trajectory_weights(sample_log_zeta, samples.old_log_zeta, samples.mask),
            sample_weights,
        ) / mean_length(demos.mask)
    else:
        # The paper's form (Eq. 11): each step is weighed by itself, which leaves out the ratio of
        # partition functions (fidelity F2).
        against = sample_evidence(
            sample_log_zeta,
            samples.old_log_zeta,
            samples.mask,
            sample_weights,
            config,
        )
        gain = masked_mean(demo_log_zeta, demos.mask) - against
    info = LossInfo(
        gain=gain,
        # 1 - ζ as -expm1(log ζ): near ζ = 1 the difference itself would lose its digits.
        cost_demos=masked_mean(-jnp.expm1(demo_log_zeta), demos.mask),
        cost_samples=masked_mean(-jnp.expm1(sample_log_zeta), samples.mask),
    )
    return -gain + config.sparsity * (info.cost_demos + info.cost_samples), info
