"""The loss of the backward step: minus the demonstrations' log-likelihood, plus what keeps zeta sane (Eqs. 8-11).

All terms are means per step (fidelity F3), so that the data, the regulariser and the optional parts have one scale
whatever the horizon: the data terms are divided by the mean length of the trajectories that they sum over.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from icrl.config import Activation, BackwardConfig, Weights
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


class Innocents(NamedTuple):
    """Steps that are presumed innocent, and how much so: an array, so that several strengths share one compilation."""

    steps: Steps
    presumption: jax.Array
    """[]"""


class LossInfo(NamedTuple):
    """The parts of the loss, before their weights; scalars."""

    gain: jax.Array
    """Data term, per step: the larger, the likelier the demonstrations."""
    cost_demos: jax.Array
    """Mean of 1 - ζ over demonstrated steps."""
    cost_samples: jax.Array
    """Mean of 1 - ζ over sampled steps."""
    demo_tail: jax.Array
    """Mean -log ζ of the worst demonstrated steps (0 when off)."""
    smoothness: jax.Array
    """Mean squared gradient of the logit in its inputs (0 when off)."""
    presumption: jax.Array
    """Mean -log ζ of the steps that are presumed innocent (0 when off)."""
    feature_use: jax.Array
    """How much ζ uses its inputs: the group lasso (0 when off)."""


Objective = Callable[
    [Params, Steps, Steps, Innocents | None, jax.Array, BackwardConfig, int], tuple[jax.Array, LossInfo]
]
"""What a backward step descends:
(θ, demos, samples, innocents, sample_weights [N_S], config, num_tail) -> (loss, its parts)."""


def masked_mean(values: jax.Array, mask: jax.Array) -> jax.Array:
    """Mean over real steps, Σ m x / Σ m. Shapes: [N, T] each -> []."""
    return jnp.sum(jnp.where(mask, values, 0.0)) / jnp.maximum(jnp.sum(mask), 1)


def mean_length(mask: jax.Array) -> jax.Array:
    """Mean number of real steps of a trajectory. Shapes: [N, T] -> []."""
    return jnp.sum(mask) / mask.shape[0]


def log_likelihood_gain(demo_log_omega: jax.Array, sample_log_omega: jax.Array, sample_weights: jax.Array) -> jax.Array:
    """L(θ) - L(θ̄) = mean_D[log ζ_θ(τ) - log ζ_θ̄(τ)] - log ω̄, with ω̄ = Σ_j w_j ω(τ_j) / Σ_j w_j over S.

    Its gradient is the self-normalised importance-weighted gradient of Eq. 8; at θ = θ̄ it is 0. Evidence weights
    w share out the one unit of weight that S has; if all are 0, S says nothing and its term is 0.
    Shapes: [N_D], [N_S], [N_S] -> [].
    """
    has_evidence = jnp.sum(sample_weights) > 0
    w = jnp.where(has_evidence, sample_weights, jnp.ones_like(sample_weights))  # keeps the gradient finite
    log_omega_bar = logsumexp(sample_log_omega, b=w) - jnp.log(jnp.sum(w))
    return jnp.mean(demo_log_omega) - jnp.where(has_evidence, log_omega_bar, 0.0)


def sample_evidence(
    log_zeta: jax.Array, old_log_zeta: jax.Array, mask: jax.Array, sample_weights: jax.Array, config: BackwardConfig
) -> jax.Array:
    """What S holds against itself: Σ_j w_j Σ_t ω(s_t, a_t) max(log ζ(s_t, a_t), floor) / Σ_j T_j  (Eq. 11).

    ω is 1 for `Weights.none`, and for `Weights.step` the paper's ratio, not differentiated, not normalised.
    Shapes: [N, T] three times, [N] -> [].
    """
    values = floored(log_zeta, config.sample_floor)
    if config.weights is Weights.step:
        values = jax.lax.stop_gradient(step_weights(log_zeta, old_log_zeta)) * values
    return masked_mean(sample_weights[:, None] * values, mask)


def floored(log_zeta: jax.Array, floor: float | None) -> jax.Array:
    """max(log ζ, floor): below the floor a sample pushes no further, so that logits stay finite. [N, T] -> [N, T]."""
    return log_zeta if floor is None else jnp.maximum(log_zeta, floor)


def worst_demo_steps(log_zeta: jax.Array, mask: jax.Array, count: int) -> jax.Array:
    """CVaR of -log ζ over demonstrated steps: the mean of its `count` largest values. Shapes: [N, T] each -> []."""
    losses = jnp.where(mask, -log_zeta, -jnp.inf).ravel()  # [N, T] -> [N * T]
    return jnp.mean(jax.lax.top_k(losses, count)[0])


def tail_count(num_steps: int, share: float) -> int:
    """How many of `num_steps` real steps make up the worst `share`: at least one."""
    return min(num_steps, max(1, round(share * num_steps)))


def squared_input_gradient(params: Params, inputs: jax.Array, activation: Activation) -> jax.Array:
    """|∂ logit(x) / ∂x|² at each input. Shapes: inputs [N, T, f] -> [N, T]."""
    gradient = jax.grad(lambda x: jnp.sum(logits(params, x, activation, jnp)))(inputs)
    return jnp.sum(jnp.square(gradient), axis=-1)


def roughness(params: Params, demos: Steps, samples: Steps, activation: Activation) -> jax.Array:
    """Mean of |∂ logit / ∂x|² over all real steps of D and S together. -> []."""
    total, count = jnp.zeros(()), jnp.zeros(())
    for steps in (demos, samples):
        squared = squared_input_gradient(params, steps.inputs, activation)
        total += jnp.sum(jnp.where(steps.mask, squared, 0.0))
        count += jnp.sum(steps.mask)
    return total / jnp.maximum(count, 1)


def feature_use(params: Params, demos: Steps, samples: Steps, innocents: Innocents | None) -> jax.Array:
    """Σ_f sd_f ‖W_f‖: the group lasso over the rows of ζ's first layer, each in units of its input's deviation. -> [].

    Deviations are over all real steps, so that the units a feature is measured in do not matter.
    """
    pools = [demos, samples] if innocents is None else [demos, samples, innocents.steps]
    inputs = jnp.concatenate([pool.inputs.reshape(-1, pool.inputs.shape[-1]) for pool in pools])  # [steps, f]
    mask = jnp.concatenate([pool.mask.ravel() for pool in pools])[:, None]
    count = jnp.sum(mask)
    mean = jnp.sum(jnp.where(mask, inputs, 0.0), axis=0, keepdims=True) / count
    deviation = jnp.sqrt(jnp.sum(jnp.where(mask, (inputs - mean) ** 2, 0.0), axis=0) / count)  # [f]
    norms = jnp.sqrt(jnp.sum(params[0].weight ** 2, axis=1) + 1e-8)  # the ε keeps the gradient finite at 0
    return jnp.sum(deviation * norms)


def loss(
    params: Params,
    demos: Steps,
    samples: Steps,
    innocents: Innocents | None,
    sample_weights: jax.Array,
    config: BackwardConfig,
    num_tail: int,
) -> tuple[jax.Array, LossInfo]:
    """-gain + δ (mean_D[1 - ζ] + mean_S[1 - ζ]) + demo_tail · CVaR_D[-log ζ] + smoothness · mean |∂ logit / ∂x|²
    + presumption · mean_I[-log ζ] (that of `innocents`, not of `config`) + feature_sparsity · Σ_f sd_f ‖W_f‖.

    The gain is, by `config.weights`,
      trajectory: [L(θ) - L(θ̄)] / mean length of D (one length, so that the gradient stays that of the likelihood;
                  `sample_floor` plays no part),
      step, none: mean over steps of D of log ζ, minus `sample_evidence`.
    The regulariser sees all samples, whatever their evidence weight. Shapes: sample_weights [N_S] -> [], info.
    """
    demo_log_zeta = log_feasibility(logits(params, demos.inputs, config.activation, jnp), jnp)
    sample_log_zeta = log_feasibility(logits(params, samples.inputs, config.activation, jnp), jnp)
    if config.weights is Weights.trajectory:
        demo_log_omega = log_trajectory_weights(demo_log_zeta, demos.old_log_zeta, demos.mask)
        sample_log_omega = log_trajectory_weights(sample_log_zeta, samples.old_log_zeta, samples.mask)
        gain = log_likelihood_gain(demo_log_omega, sample_log_omega, sample_weights) / mean_length(demos.mask)
    else:
        against = sample_evidence(sample_log_zeta, samples.old_log_zeta, samples.mask, sample_weights, config)
        gain = masked_mean(demo_log_zeta, demos.mask) - against
    off = jnp.zeros(())
    info = LossInfo(
        gain=gain,
        cost_demos=masked_mean(-jnp.expm1(demo_log_zeta), demos.mask),
        cost_samples=masked_mean(-jnp.expm1(sample_log_zeta), samples.mask),
        demo_tail=worst_demo_steps(demo_log_zeta, demos.mask, num_tail) if config.demo_tail > 0 else off,
        smoothness=roughness(params, demos, samples, config.activation) if config.smoothness > 0 else off,
        presumption=off if innocents is None else -_mean_log_zeta(params, innocents.steps, config),
        feature_use=feature_use(params, demos, samples, innocents) if config.feature_sparsity > 0 else off,
    )
    regulariser = config.sparsity * (info.cost_demos + info.cost_samples)
    shape = config.demo_tail * info.demo_tail + config.smoothness * info.smoothness
    presumption = off if innocents is None else innocents.presumption * info.presumption
    return -gain + regulariser + shape + presumption + config.feature_sparsity * info.feature_use, info


def _mean_log_zeta(params: Params, steps: Steps, config: BackwardConfig) -> jax.Array:
    return masked_mean(log_feasibility(logits(params, steps.inputs, config.activation, jnp), jnp), steps.mask)
