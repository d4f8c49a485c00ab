"""The backward step: move zeta towards what the demonstrations obey and the samples do
not (Eqs. 8, 10-12, Alg. 1).

`backward_step` maps a `ConstraintState` and (D, S) to the next one. All B updates run inside one
jitted call, traced once per shape. Zeta moves from θ̄, the parameters at entry, at most as far as
the KL limits allow (fidelity F5, F13).
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from icrl.config import BackwardConfig, KLUnit
from icrl.constraint.features import Features, extract
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Params, init_params, log_feasibility, logits, to_numpy
from icrl.constraint.objective import LossInfo, Objective, Steps, loss, mean_length
from icrl.constraint.weights import (
    effective_sample_size,
    kl_new_old,
    kl_old_new,
    log_trajectory_weights,
)
from icrl.errors import InputError
from icrl.types import THRESHOLD, AnyArray, CostFunction, FloatArray, Trajectories

MAX_HALVINGS = 30
"""A step shortened this often is 1e-9 of itself: below float32's resolution of the parameters."""


class ConstraintState(NamedTuple):
    """What is carried from round to round."""

    params: Params
    """θ"""
    opt_state: Any
    """Adam's moments."""
    rounds_done: int
    """Backward steps made; decays the step size."""
    updates_done: int
    """Gradient steps made in all of them."""


class BackwardInfo(NamedTuple):
    """What one backward step did; all but the gradient is measured after its last update."""

    loss: float
    gain: float
    """Data term of the loss, per step."""
    cost_demos: float
    """Mean of 1 - ζ over demonstrated steps."""
    cost_samples: float
    """Mean of 1 - ζ over sampled steps."""
    kl_old_new: float
    """KL(old || new) on S, in the unit of the limits (`kl_unit`)."""
    kl_new_old: float
    """KL(new || old) on S, in the unit of the limits (`kl_unit`)."""
    effective_sample_size: float
    """How many trajectories S is worth under trajectory weights."""
    gradient_norm: float
    """Norm of the last gradient."""
    updates_made: int
    stopped_early: bool
    """A KL limit ended the updates before B."""
    step_shortened: bool
    """The last update was shortened to keep the KL limits."""


class _Loop(NamedTuple):
    """What the loop over updates carries."""

    params: Params
    opt_state: Any
    gradient_norm: jax.Array
    updates_made: jax.Array
    step_shortened: jax.Array


def init_constraint(
    rng: np.random.Generator, features: Features, config: BackwardConfig
) -> ConstraintState:
    """A fresh zeta over `features`: about σ(initial_bias) everywhere."""
    # Only the last bias moves: σ(initial_bias) everywhere at first, with the variation of a fresh
    # network around it.
    fresh = init_params(rng, features.num_features, config.hidden)
    last = fresh[-1]._replace(bias=fresh[-1].bias + np.float32(config.initial_bias))
    params: Params = jax.tree.map(jnp.asarray, (*fresh[:-1], last))
    return ConstraintState(params, _optimizer().init(params), rounds_done=0, updates_done=0)


def backward_step(
    state: ConstraintState,
    demos: Trajectories,
    samples: Trajectories,
    features: Features,
    config: BackwardConfig,
    sample_weights: FloatArray | None = None,
    objective: Objective = loss,
) -> tuple[ConstraintState, BackwardInfo]:
    """Up to B Adam steps on the objective, from θ̄ = `state.params`.

    A step that breaks a KL limit is cut, and is the last. `sample_weights` [N_S] >= 0 say how much
    evidence each sampled trajectory is (None: 1 each; 0: none at all).
    """
    demo_steps = _as_steps(demos, features, "demonstrations")
    sample_steps = _as_steps(samples, features, "samples")
    weights = _check_weights(sample_weights, samples.num_trajectories)
    # By rounds, not by updates: how many updates a round makes depends on the KL limits, and the
    # schedule should not. The authors' code decays so on the bodies (preset `authors`).
    learning_rate = np.float32(config.learning_rate * config.learning_rate_decay**state.rounds_done)
    end, total, parts, measures = _run_updates(
        params=state.params,
        opt_state=state.opt_state,
        learning_rate=learning_rate,
        demos=demo_steps,
        samples=sample_steps,
        sample_weights=weights,
        config=config,
        objective=objective,
    )
    updates_made = int(end.updates_made)
    info = BackwardInfo(
        loss=float(total),
        **{name: float(value) for name, value in parts._asdict().items()},
        **{name: float(value) for name, value in measures.items()},
        gradient_norm=float(end.gradient_norm),
        updates_made=updates_made,
        stopped_early=bool(end.step_shortened) and updates_made < config.updates,
        step_shortened=bool(end.step_shortened),
    )
    # A zeta of NaN would answer without an error, and by no rule: no comparison with NaN is true,
    # neither "allowed" nor "forbidden".
    if not (math.isfinite(info.loss) and math.isfinite(info.gradient_norm)):
        raise InputError(
            f"the backward step diverged: loss {info.loss}, gradient norm {info.gradient_norm} "
            f"after {updates_made} updates (learning rate {learning_rate:g}, weights "
            f"{config.weights}). Check that the data are finite; lower backward.learning_rate, or "
            "use backward.weights none."
        )
    return ConstraintState(
        end.params, end.opt_state, state.rounds_done + 1, state.updates_done + updates_made
    ), info


def constraint_cost(
    state: ConstraintState, features: Features, config: BackwardConfig
) -> CostFunction:
    """The cost 1 - ζ_θ of raw pairs, in NumPy:
    observations [..., o], actions [..., a] (or [...]) -> [...]."""
    # Copied out of JAX once, not at every call: agents ask for the cost at every step.
    params = to_numpy(state.params)
    activation = config.activation

    def cost(observations: AnyArray, actions: AnyArray) -> FloatArray:
        logit = logits(params, extract(features, observations, actions), activation)
        return np.asarray(0.5 - 0.5 * np.tanh(0.5 * logit))  # = σ(-logit), without overflow

    return cost


def freeze(
    state: ConstraintState,
    features: Features,
    config: BackwardConfig,
    card: dict[str, Any],
    threshold: float = THRESHOLD,
) -> LearnedConstraint:
    """The artefact: zeta as it is now, with its provenance `card`; it needs no jax."""
    return LearnedConstraint(
        features=features,
        params=to_numpy(state.params),
        activation=config.activation,
        threshold=threshold,
        card=card,
    )


def check_limits(config: BackwardConfig, num_samples: int, horizon: int = 1) -> None:
    """Raise `InputError` if a KL limit can never fire with `num_samples`
    trajectories (fidelity F13).

    KL(new || old) <= log N on N samples, and both KLs are 0 on one. Per step the cap is log N /
    horizon, for trajectories as long as `horizon`.
    """
    # log N nats per trajectory is the most that N samples can show; per step it is shared among as
    # many steps as an episode has at most.
    if config.kl_unit is KLUnit.step:
        length = horizon
        unit = "per step"
    else:
        length = 1
        unit = "per trajectory"
    if config.max_kl_old_new is not None and num_samples == 1:
        raise InputError(
            f"backward.max_kl_old_new = {config.max_kl_old_new:g} can never fire: both KLs are "
            "always 0 on 1 sampled trajectory. Use 2 or more samples (num_samples), or no limit "
            "(None)."
        )
    limit = config.max_kl_new_old
    cap = math.log(num_samples) / length
    if limit is None or limit < cap:
        return
    # e^20 samples (half a billion) is no advice
    if limit * length < 20:
        more = f"at least {math.floor(math.exp(limit * length)) + 1} samples (num_samples), "
    else:
        more = ""
    if num_samples > 1:
        lower = f"a limit below {cap:.3g}, or "
    else:
        lower = ""
    raise InputError(
        f"backward.max_kl_new_old = {limit:g} {unit} can never fire: KL(new || old) estimated from "
        f"{num_samples} sampled trajectories cannot exceed {cap:.4g} {unit} (log "
        f"{num_samples}{f' / {length} steps' if length > 1 else ''}). Use {more}{lower}no limit "
        "(None)."
    )


def padded_length(length: int) -> int:
    """`length` rounded up to 2^k or 1.5 · 2^k,
    so that trajectories of changing length share a few compiled shapes."""
    # At most a third of the rows are padding, and lengths up to 1,000 have about twenty shapes.
    power: int = 1 << max(length - 1, 0).bit_length()
    if power >= 4 and length <= power * 3 // 4:
        return power * 3 // 4
    return power


def _optimizer() -> Any:
    """Adam's direction; the step size is applied by hand, because it changes with the round."""
    return optax.scale_by_adam()


def _norm(tree: Params) -> jax.Array:
    """Euclidean norm of all parameters together. -> []."""
    return jnp.sqrt(sum((jnp.sum(jnp.square(x)) for x in jax.tree.leaves(tree)), jnp.zeros(())))


def _as_steps(trajectories: Trajectories, features: Features, name: str) -> Steps:
    """Zeta's inputs and their mask, padded to a shared length;
    `old_log_zeta` is filled in by the jitted part."""
    if trajectories.num_steps == 0:
        raise InputError(
            f"the backward step needs {name}, got {trajectories.num_trajectories} trajectories of "
            "0 steps."
        )
    # The arrays that a jitted function is given decide whether it is compiled anew, and compiling
    # takes longer than the step itself: lengths are rounded up to a few (`padded_length`).
    mask = trajectories.mask
    inputs = extract(features, trajectories.observations, trajectories.actions)  # [N, T, f]
    # padding may hold anything, also NaN
    inputs = np.where(mask[:, :, None], inputs, np.float32(0))
    if not np.isfinite(inputs).all():
        bad = np.argwhere(~np.isfinite(inputs))
        j, t, feature = (int(i) for i in bad[0])
        raise InputError(
            f"{name}: {len(bad)} values that zeta looks at are not finite, the first is "
            f"{features.names[feature]!r} in trajectory {j} at step {t}. Remove such trajectories "
            "or repair them."
        )
    extra = padded_length(mask.shape[1]) - mask.shape[1]
    mask = np.pad(mask, ((0, 0), (0, extra)))
    inputs = np.pad(inputs, ((0, 0), (0, extra), (0, 0)))
    return Steps(jnp.asarray(inputs), jnp.asarray(mask), jnp.zeros(mask.shape))


def _check_weights(sample_weights: FloatArray | None, num_samples: int) -> FloatArray:
    """Evidence weights [N_S] as float32."""
    if sample_weights is None:
        return np.ones(num_samples, np.float32)
    # A negative one could make the weighted mean of ω negative, which has no logarithm.
    weights = np.asarray(sample_weights, np.float32)
    if weights.shape != (num_samples,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InputError(
            f"expected one evidence weight >= 0 for each of {num_samples} sampled trajectories, "
            f"got shape {weights.shape} with values {np.array2string(weights, threshold=8)}."
        )
    return weights


def _log_zeta(params: Params, steps: Steps, config: BackwardConfig) -> jax.Array:
    """log ζ_θ of each step. -> [N, T]."""
    log_zeta: jax.Array = log_feasibility(logits(params, steps.inputs, config.activation, jnp), jnp)
    return log_zeta


def _measure(params: Params, samples: Steps, config: BackwardConfig) -> dict[str, jax.Array]:
    """Both KLs from θ̄ to θ on S, in the unit of the limits, and the effective sample size."""
    log_omega = log_trajectory_weights(
        _log_zeta(params, samples, config), samples.old_log_zeta, samples.mask
    )
    # KLs are of whole trajectories; per step they are divided by the mean length.
    length: jax.Array | float = 1.0
    if config.kl_unit is KLUnit.step:
        length = mean_length(samples.mask)
    return {
        "kl_old_new": kl_old_new(log_omega) / length,
        "kl_new_old": kl_new_old(log_omega) / length,
        "effective_sample_size": effective_sample_size(log_omega),
    }


def _within_limits(params: Params, samples: Steps, config: BackwardConfig) -> jax.Array:
    """Both KLs are at most their limits. -> [] bool."""
    measures = _measure(params, samples, config)
    within = jnp.asarray(True)
    if config.max_kl_old_new is not None:
        within &= measures["kl_old_new"] <= config.max_kl_old_new
    if config.max_kl_new_old is not None:
        within &= measures["kl_new_old"] <= config.max_kl_new_old
    return within


def _shorten(
    params: Params, step: Params, samples: Steps, config: BackwardConfig
) -> tuple[Params, jax.Array]:
    """θ + α Δ with the largest α in {1, 1/2, 1/4, ...} that keeps the limits, and whether α < 1.

    fidelity F5: undoing an overshooting step would mean no update at all, for one Adam step at
    the paper's rate overshoots its limit tenfold. If 30 halvings do not suffice, θ stays: it
    keeps the limits.
    """

    def at(halvings: jax.Array) -> Params:
        alpha = jnp.where(halvings > MAX_HALVINGS, 0.0, 0.5**halvings)
        moved: Params = jax.tree.map(
            lambda theta, delta: (theta + alpha * delta).astype(theta.dtype), params, step
        )
        return moved

    def overshoots(halvings: jax.Array) -> jax.Array:
        return (halvings <= MAX_HALVINGS) & ~_within_limits(at(halvings), samples, config)

    halvings = jax.lax.while_loop(overshoots, lambda n: n + 1, jnp.asarray(0))
    return at(halvings), halvings > 0


@partial(jax.jit, static_argnames=("config", "objective"))
def _run_updates(
    params: Params,
    opt_state: Any,
    learning_rate: jax.Array,
    demos: Steps,
    samples: Steps,
    sample_weights: jax.Array,
    config: BackwardConfig,
    objective: Objective,
) -> tuple[_Loop, jax.Array, LossInfo, dict[str, jax.Array]]:
    """The loop over updates; then loss, its parts and the KLs at the parameters it ends with."""
    # θ̄ is wherever this backward step begins. Its log ζ stays fixed while θ moves: weights and KLs
    # are measured from there, for S was drawn under it.
    demos = demos._replace(old_log_zeta=_log_zeta(params, demos, config))
    samples = samples._replace(old_log_zeta=_log_zeta(params, samples, config))
    has_limits = config.max_kl_old_new is not None or config.max_kl_new_old is not None

    def goes_on(loop: _Loop) -> jax.Array:
        # A shortened step ends at a limit; the next one would begin there and be shortened to
        # nothing.
        return (loop.updates_made < config.updates) & ~loop.step_shortened

    def update(loop: _Loop) -> _Loop:
        gradient, _ = jax.grad(objective, has_aux=True)(
            loop.params,
            demos,
            samples,
            sample_weights,
            config,
        )
        direction, opt_state = _optimizer().update(gradient, loop.opt_state)
        step = jax.tree.map(lambda d: -learning_rate * d, direction)
        # Decided while tracing: without limits, as in both neural baselines, nothing is measured in
        # the loop.
        if has_limits:
            moved, shortened = _shorten(loop.params, step, samples, config)
        else:
            moved = optax.apply_updates(loop.params, step)
            shortened = jnp.asarray(False)
        return _Loop(moved, opt_state, _norm(gradient), loop.updates_made + 1, shortened)

    start = _Loop(params, opt_state, jnp.zeros(()), jnp.asarray(0), jnp.asarray(False))
    end = jax.lax.while_loop(goes_on, update, start)
    # Once more after the last update: the loop knows the loss before each step only.
    total, parts = objective(end.params, demos, samples, sample_weights, config)
    return end, total, parts, _measure(end.params, samples, config)
