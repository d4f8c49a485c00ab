"""What follows from an action: a small model of the simulator's next step,
learned beside the policy.

A rule about states cannot be kept by looking at the present pair alone: the step that breaks it was
made one step before. With a model the shield sees that step coming. The model is asked for nothing
else; where it does not explain a feature, the feature is taken to stay as it is.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from icrl.agent.ahead import LAYERS, ActionUnit, Ahead, model_inputs
from icrl.agent.moments import fresh_moments
from icrl.agent.normalizer import RunningMoments, init_moments, update_moments
from icrl.types import AnyArray, BoolArray, FloatArray

Array = Any

_HIDDEN = 64
_LEARNING_RATE = 3e-3
_BATCH = 256
_STEPS = 64
"""Gradient steps after each rollout."""
_FORGETTING = 0.2
_MOST = 0.9
"""Quantile of the errors that counts as their size:
rare jumps (a new goal, a wall) are not the rule."""
_HUBER = 0.3
_EXPLAINED = 0.5
"""A feature's changes are foretold where at most this share of their variance is unexplained."""


class Foresight(NamedTuple):
    """The model in training: Δs = w x + MLP(x) of x = (s, a), both scaled."""

    params: dict[str, Array]
    optimizer: Any
    changes: RunningMoments
    """Of Δs."""
    unexplained: FloatArray
    """[o]: share of the variance of Δs that the model left unexplained
    on what it had not seen yet"""
    spread: FloatArray
    """[o]: size of most of its errors there"""


def init_foresight(rng: np.random.Generator, num_observations: int, num_actions: int) -> Foresight:
    """A model that knows nothing."""
    width = num_observations + num_actions
    sizes = {
        "w0": (width, _HIDDEN),
        "b0": (_HIDDEN,),
        "w1": (_HIDDEN, num_observations),
        "b1": (num_observations,),
        "straight": (width, num_observations),
    }
    params: dict[str, Array] = {}
    for name, size in sizes.items():
        # All but the first layer begin at 0: the model begins by saying that nothing changes by
        # more than its mean, and is right about features that stay.
        scale = 0.0
        if name == "w0":
            scale = 1.0 / np.sqrt(size[0])
        params[name] = (scale * rng.standard_normal(size)).astype(np.float32)
    return Foresight(
        params=params,
        optimizer=fresh_moments(optax.adam(_LEARNING_RATE), params),
        changes=init_moments((num_observations,)),
        unexplained=np.ones(num_observations),
        spread=np.zeros(num_observations),
    )


class Moves(NamedTuple):
    """Steps that were seen."""

    observations: FloatArray
    """[n, o] raw"""
    actions: AnyArray
    """[n, a] in the environment's unit, or [n] choices"""
    next_observations: FloatArray
    """[n, o] raw"""


def learned(
    rng: np.random.Generator,
    foresight: Foresight,
    moves: Moves,
    moments: RunningMoments,
    unit: ActionUnit | None,
    num_actions: int,
    steps: int = _STEPS,
) -> Foresight:
    """The model after some gradient steps on what was just seen; `moments`: of observations."""
    changes = np.asarray(moves.next_observations - moves.observations, np.float64)
    inputs = model_inputs(moments, unit, num_actions, moves.observations, moves.actions)
    # Asked before it learns from these moves: its errors are those on what it has not seen.
    foretold = _model(
        foresight, moments, unit, num_actions, np.ones(changes.shape[1], np.bool_)
    ).changes(inputs)
    variance = np.maximum(np.var(changes, axis=0), 1e-12)
    errors = np.abs(foretold - changes)
    # At most 2: one rollout in which a feature hardly moves would be remembered for long.
    share = np.minimum(np.mean(errors**2, axis=0) / variance, 2.0)
    kept = 1.0 - _FORGETTING
    unexplained = kept * foresight.unexplained + _FORGETTING * share
    spread = kept * foresight.spread + _FORGETTING * np.quantile(errors, _MOST, axis=0)
    # Features in their own deviations: else the one with the largest unit has all of the loss.
    of_changes = update_moments(foresight.changes, changes)
    targets = (changes - of_changes.mean) / (np.sqrt(of_changes.variance) + 1e-12)
    order = rng.integers(0, len(inputs), (steps, _BATCH))
    # drawn here and not in the program, which would be compiled for every number of moves
    params, optimizer = _fit(
        foresight.params, foresight.optimizer, inputs[order], targets.astype(np.float32)[order]
    )
    return Foresight(params, optimizer, of_changes, unexplained, spread)


def in_use(
    foresight: Foresight, moments: RunningMoments, unit: ActionUnit | None, num_actions: int
) -> Ahead:
    """The model for acting: features that it does not explain stay as they are."""
    # A wrong forecast refuses actions for nothing; a feature that stays refuses none (decision
    # 0019).
    return _model(
        foresight, moments, unit, num_actions, np.asarray(foresight.unexplained <= _EXPLAINED)
    )


def _model(
    foresight: Foresight,
    moments: RunningMoments,
    unit: ActionUnit | None,
    num_actions: int,
    trusted: BoolArray,
) -> Ahead:
    scale = np.sqrt(foresight.changes.variance)
    return Ahead(
        moments=moments,
        unit=unit,
        num_actions=num_actions,
        layers=tuple(np.asarray(foresight.params[name]) for name in LAYERS),
        centre=np.where(trusted, foresight.changes.mean, 0.0).astype(np.float32),
        scale=np.where(trusted, scale, 0.0).astype(np.float32),
        spread=np.where(trusted, foresight.spread, 0.0).astype(np.float32),
    )


@partial(jax.jit)
def _fit(params: Array, optimizer: Any, inputs: Array, targets: Array) -> tuple[Array, Any]:
    """Adam on Huber's loss, which jumps pull little, one step for each batch;
    inputs [k, B, o + a], targets [k, B, o]."""
    adam = optax.adam(_LEARNING_RATE)

    def loss(p: Array, x: Array, changes: Array) -> Array:
        hidden = jax.nn.relu(x @ p["w0"] + p["b0"][None])
        outputs = hidden @ p["w1"] + p["b1"][None] + x @ p["straight"]
        return jnp.mean(optax.losses.huber_loss(outputs, changes, delta=_HUBER))

    def step(
        carry: tuple[Array, Any], batch: tuple[Array, Array]
    ) -> tuple[tuple[Array, Any], None]:
        p, state = carry
        change, state = adam.update(jax.grad(loss)(p, *batch), state)
        return (optax.apply_updates(p, change), state), None

    (params, optimizer), _ = jax.lax.scan(step, (params, optimizer), (inputs, targets))
    return params, optimizer
