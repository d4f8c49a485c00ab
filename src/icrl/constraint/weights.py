"""Importance weights of sampled trajectories and the two KLs they give,
in log space (Eqs. 10, 12; fidelity F1, F2).

S was drawn from the policy of the older parameters θ̄ (`old`); ω corrects it to the policy of θ.
Every function is pure; N trajectories of T padded steps.
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp


def log_trajectory_weights(
    log_zeta: jax.Array, old_log_zeta: jax.Array, mask: jax.Array
) -> jax.Array:
    """Log weight of each trajectory, log ω(τ) = Σ_t [log ζ_θ(s_t, a_t) - log ζ_θ̄(s_t, a_t)].

    Shapes: [N, T] each -> [N]. Padding (mask False) counts for nothing, whatever it holds.
    """
    # A sum of logarithms: the product of a thousand ratios over- or underflows float32 (the
    # authors' code multiplies, and on HalfCheetah its KLs are noise).
    return jnp.sum(jnp.where(mask, log_zeta - old_log_zeta, 0.0), axis=-1)


def normalized_weights(log_omega: jax.Array) -> jax.Array:
    """Self-normalised weights ω_j / Σ_k ω_k. Shapes: [N] -> [N]."""
    # Dividing by the sum of the weights stands in for Z_θ / Z_θ̄, which nobody knows. The price is
    # a bias that vanishes with N.
    return jax.nn.softmax(log_omega)


def step_weights(log_zeta: jax.Array, old_log_zeta: jax.Array) -> jax.Array:
    """Weight of each step, ω(s, a) = ζ_θ(s, a) / ζ_θ̄(s, a) (Eq. 10).

    Shapes: [N, T] each -> [N, T]. It leaves out the ratio of partition functions,
    hence its bias (fidelity F2).
    """
    return jnp.exp(log_zeta - old_log_zeta)


def effective_sample_size(log_omega: jax.Array) -> jax.Array:
    """How many equally weighted trajectories S is worth, (Σ ω)² / Σ ω², between 1 and N.

    Shapes: [N] -> [].
    """
    # In logarithms to the end: the squares overflow long before the weights do.
    return jnp.exp(2 * logsumexp(log_omega) - logsumexp(2 * log_omega))


def log_mean_weight(log_omega: jax.Array) -> jax.Array:
    """log ω̄ = log[(1/N) Σ_j ω_j], the estimate of log Z_θ / Z_θ̄. Shapes: [N] -> []."""
    return logsumexp(log_omega) - jnp.log(log_omega.shape[0])


def kl_old_new(log_omega: jax.Array) -> jax.Array:
    """KL(π_θ̄ || π_θ) = log ω̄ - E[log ω], nats per trajectory
    (Eq. 12; fidelity F1: exact, never negative).

    Shapes: [N] -> [].
    """
    log_omega = _shifted(log_omega)
    return log_mean_weight(log_omega) - jnp.mean(log_omega)


def kl_new_old(log_omega: jax.Array) -> jax.Array:
    """KL(π_θ || π_θ̄) = E[ω log ω] / ω̄ - log ω̄, nats per trajectory.

    With p = ω / Σ ω this is Σ p log p + log N = log N - H(p): the estimate cannot exceed log N,
    however far θ has moved (fidelity F13). Shapes: [N] -> [].
    """
    log_omega = _shifted(log_omega)
    return jnp.sum(normalized_weights(log_omega) * log_omega) - log_mean_weight(log_omega)


def _shifted(log_omega: jax.Array) -> jax.Array:
    """log ω - max log ω: the KLs do not change with a common factor of ω,
    and sums of ten thousand lose digits."""
    return log_omega - jnp.max(log_omega)
