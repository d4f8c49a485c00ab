"""Generalised advantage estimation, once for rewards and once for costs."""

from typing import Any

import jax
import jax.numpy as jnp

Array = Any


def generalized_advantages(
    rewards: Array,
    values: Array,
    next_values: Array,
    terminated: Array,
    truncated: Array,
    gamma: float,
    gae_lambda: float,
) -> Array:
    """GAE over T steps of E environments; every argument [T, E] -> [T, E].

    δₜ = rₜ + γ V(sₜ₊₁)(1 − terminatedₜ) − V(sₜ)
    Âₜ = δₜ + γλ (1 − terminatedₜ)(1 − truncatedₜ) Âₜ₊₁

    Terminated is not truncated: a cut episode still bootstraps from the state it was cut in, and
    the last step of the rollout from the state that follows it (fidelity F8).
    """
    # After a true end nothing follows, so neither its value nor the next advantage counts. After a
    # cut the value counts, but the next row is another episode: its advantage must not leak in.
    alive = 1.0 - terminated
    deltas = rewards + gamma * next_values * alive - values
    decay = gamma * gae_lambda * alive * (1.0 - truncated)

    def backward(advantage: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, step_decay = step
        advantage = delta + step_decay * advantage
        return advantage, advantage

    # From the last step to the first: each advantage needs the one after it.
    _, advantages = jax.lax.scan(backward, jnp.zeros_like(deltas[0]), (deltas, decay), reverse=True)
    return advantages
