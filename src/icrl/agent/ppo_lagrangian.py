"""The policy update (Eq. 9): PPO with a Lagrange multiplier,
or on episodes that end where the constraint is broken."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from icrl.agent.advantages import generalized_advantages
from icrl.agent.distributions import (
    categorical_entropy,
    categorical_log_prob,
    gaussian_entropy,
    gaussian_log_prob,
)
from icrl.agent.networks import NetworkShape, Outputs, apply_blocks, flatten, unflatten
from icrl.agent.state import make_optimizer
from icrl.config import ForwardConfig, Respect

Array = Any


class Batch(NamedTuple):
    """One rollout as the update sees it: normalised observations, scaled rewards; [T, E, ...]."""

    observations: Array
    actions: Array
    rewards: Array
    costs: Array
    terminated: Array
    truncated: Array
    bootstrap: Array
    """[C, T, E]: values of the next state where it is not the next row
    (cut episodes, last row); 0 elsewhere"""
    bootstrapped: Array
    """[T, E]: where `bootstrap` is to be used"""


class Minibatch(NamedTuple):
    """Rows of a flattened batch."""

    observations: Array
    actions: Array
    log_probs: Array
    advantages: Array
    targets: Array
    """[B, C]"""


class UpdateInfo(NamedTuple):
    """What one policy update reports (scalars)."""

    policy_loss: Array
    value_loss: Array
    entropy: Array
    kl: Array
    """Approximate KL(old ‖ new), mean over the last pass."""
    epochs: Array
    advantage_std: Array
    cost_advantage_std: Array


def policy_terms(
    blocks: dict[str, Array], outputs: Outputs, actions: Array, shape: NetworkShape
) -> tuple[Array, Array]:
    """log π(a|s) [B] and the mean entropy of the policy (scalar)."""
    if shape.discrete:
        return categorical_log_prob(outputs.policy, actions, jnp), jnp.mean(
            categorical_entropy(outputs.policy, jnp)
        )
    log_std = blocks["log_std"]
    return gaussian_log_prob(outputs.policy, log_std, actions, jnp), gaussian_entropy(log_std, jnp)


def clipped_surrogate(
    log_probs: Array, old_log_probs: Array, advantages: Array, clip: float
) -> Array:
    """−mean min(ρ Â, clip(ρ, 1−ε, 1+ε) Â) with ρ = π/π_old; all [B] -> scalar."""
    # The smaller of the two is a pessimist: moving far is never rewarded, but moving back from too
    # far is.
    ratio = jnp.exp(log_probs - old_log_probs)
    clipped = jnp.clip(ratio, 1.0 - clip, 1.0 + clip)
    return -jnp.mean(jnp.minimum(ratio * advantages, clipped * advantages))


def combined_advantages(
    advantages: Array, cost_advantages: Array, multiplier: Array, config: ForwardConfig
) -> Array:
    """Â = (Â_r − λ Â_c)/(1 + λ): the gradient of the Lagrangian,
    rescaled so that λ changes direction, not step size.

    Â_r is standardised; Â_c is centred and, by choice, standardised (fidelity F12).
    """
    # 1e-8 matters where all advantages are equal: there is nothing to learn then, and 0/0 is
    # avoided.
    standardized = (advantages - jnp.mean(advantages)) / (jnp.std(advantages) + 1e-8)
    # Behind a shield, or where episodes end, what is forbidden shows in the rewards: no multiplier.
    if config.respect is not Respect.lagrangian:
        return standardized
    # Centred even where it is not scaled: a constant added to all costs must not push the policy
    # anywhere. Unscaled, as in the authors' code, small costs weigh little.
    centred = cost_advantages - jnp.mean(cost_advantages)
    if config.scale_cost_advantages:
        centred = centred / (jnp.std(cost_advantages) + 1e-8)
    return (standardized - multiplier * centred) / (1.0 + multiplier)


def entropy_weight(shape: NetworkShape, config: ForwardConfig) -> float:
    """1/β, by the kind of actions."""
    if shape.discrete:
        return config.entropy_bonus + config.choice_bonus
    return config.entropy_bonus


def ppo_loss(
    flat: Array, rows: Minibatch, shape: NetworkShape, config: ForwardConfig
) -> tuple[Array, Array]:
    """Surrogate + value errors − entropy bonus;
    the second result is [policy loss, value loss, entropy, KL].

    KL(old ‖ new) ≈ mean[(ρ − 1) − log ρ], which is ≥ 0.
    """
    return blocks_loss(unflatten(flat, shape), rows, shape, config)


def blocks_loss(
    blocks: dict[str, Array], rows: Minibatch, shape: NetworkShape, config: ForwardConfig
) -> tuple[Array, Array]:
    """`ppo_loss` of the parameters by name."""
    outputs = apply_blocks(blocks, rows.observations, shape, jnp)
    log_probs, entropy = policy_terms(blocks, outputs, rows.actions, shape)
    policy_loss = clipped_surrogate(log_probs, rows.log_probs, rows.advantages, config.clip)
    # Summed over critics, averaged over rows: a second critic does not halve the first one's step.
    value_loss = jnp.sum(jnp.mean((outputs.values - rows.targets.T) ** 2, axis=1))
    log_ratio = log_probs - rows.log_probs
    # expm1: for small moves ρ - 1 and log ρ agree in nearly all digits, and the plain form would
    # lose them.
    kl = jax.lax.stop_gradient(jnp.mean(jnp.expm1(log_ratio) - log_ratio))
    loss = policy_loss + config.value_weight * value_loss - entropy_weight(shape, config) * entropy
    return loss, jnp.stack([policy_loss, value_loss, entropy, kl])


def _prepare(
    params: Array, batch: Batch, multiplier: Array, shape: NetworkShape, config: ForwardConfig
) -> tuple[Minibatch, Array]:
    """Values, old log-probabilities, both GAEs and the combined advantage of a whole
    rollout, flattened to rows."""
    steps, num_envs = batch.rewards.shape
    flat_observations = batch.observations.reshape(steps * num_envs, -1)
    actions = batch.actions.reshape(steps * num_envs, *batch.actions.shape[2:])
    blocks = unflatten(params, shape)
    outputs = apply_blocks(blocks, flat_observations, shape, jnp)
    log_probs, _ = policy_terms(blocks, outputs, actions, shape)
    values = outputs.values.reshape(shape.num_critics, steps, num_envs)
    # The value of the next state is the next row's, but where that row begins another episode, or
    # there is none. There the value was taken when the rollout was made (`bootstrap`).
    shifted = jnp.concatenate([values[:, 1:], values[:, -1:]], axis=1)
    next_values = jnp.where(batch.bootstrapped[None], batch.bootstrap, shifted)
    ends = (batch.terminated, batch.truncated)
    advantages = generalized_advantages(
        batch.rewards, values[0], next_values[0], *ends, config.gamma, config.gae_lambda
    )
    per_critic = [advantages]
    if shape.num_critics == 2:
        per_critic.append(
            generalized_advantages(
                batch.costs,
                values[1],
                next_values[1],
                *ends,
                config.cost_gamma,
                config.cost_gae_lambda,
            )
        )
    # Critics learn returns, Â + V, from the values before this update, as the advantages do.
    targets = jnp.stack(per_critic) + values  # [C, T, E]
    combined = combined_advantages(advantages, per_critic[-1], multiplier, config)
    rows = Minibatch(
        flat_observations,
        actions,
        log_probs,
        combined.reshape(-1),
        targets.reshape(shape.num_critics, -1).T,
    )
    return rows, jnp.stack([jnp.std(advantages), jnp.std(per_critic[-1])])


@partial(jax.jit, static_argnames=("shape", "config"))
def update_policy(
    params: Array,
    optimizer: Any,
    batch: Batch,
    permutations: Array,
    multiplier: Array,
    shape: NetworkShape,
    config: ForwardConfig,
    learning_rate_share: Array | float = 1.0,
    heeds_kl: Array | bool = True,
) -> tuple[Array, Any, UpdateInfo]:
    """One PPO update from one rollout: up to `epochs` passes,
    stopped once KL > 1.5 × `target_kl`; one jitted call.

    Steps are those of Adam with `learning_rate_share` of the learning rate. `permutations`
    [epochs, T·E] orders the rows of each pass. The KL tested is the mean over the minibatches of a
    pass: a single one is too noisy a measure, and stops updates that should go on (decision 0007).
    Unless it `heeds_kl`, no pass is left out; an argument, so that one program serves both.
    """
    rows, stds = _prepare(params, batch, multiplier, shape, config)
    transformation = make_optimizer(config)
    # by block, not by the flat vector: the gradient of a slice is a padded vector, and adding up
    # nine of those costs a fifth of the update (docs/performance.md)
    loss_gradient = jax.grad(partial(blocks_loss, shape=shape, config=config), has_aux=True)
    if config.target_kl is None:
        limit = jnp.inf
    else:
        limit = 1.5 * config.target_kl

    per_epoch = batch.rewards.size // config.minibatch
    # [epochs · minibatches, rows of a minibatch]
    order = permutations.reshape(-1, config.minibatch)

    def gradient_step(
        carry: tuple[Array, Any, Array, Array, Array],
    ) -> tuple[Array, Any, Array, Array, Array]:
        flat, state, index, _, moved = carry
        minibatch = jax.tree.map(lambda a: a[order[index]], rows)
        gradient, terms = loss_gradient(unflatten(flat, shape), minibatch)
        change, state = transformation.update(flatten(gradient, shape, jnp), state)
        # KLs are added up over a pass, and the sum begins anew with each.
        moved = jnp.where(index % per_epoch == 0, 0.0, moved) + terms[3]
        return (
            optax.apply_updates(flat, learning_rate_share * change),
            state,
            index + 1,
            terms,
            moved,
        )

    def unfinished(carry: tuple[Array, Any, Array, Array, Array]) -> Array:
        _, _, index, _, moved = carry
        # Asked at the end of a pass alone. Before the first step `moved` is 0, so it never stops
        # there.
        too_far = (index % per_epoch == 0) & (moved / per_epoch > limit)
        return (index < config.epochs * per_epoch) & ~(too_far & heeds_kl)

    start = (params, optimizer, jnp.asarray(0), jnp.zeros(4), jnp.zeros(()))
    params, optimizer, made, terms, moved = jax.lax.while_loop(unfinished, gradient_step, start)
    epochs = made / per_epoch
    return (
        params,
        optimizer,
        UpdateInfo(terms[0], terms[1], terms[2], moved / per_epoch, epochs, stds[0], stds[1]),
    )
