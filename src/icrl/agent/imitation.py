"""Imitation: a policy that does what demonstrations show, as far as the features it sees tell."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from icrl.agent.distributions import log_softmax
from icrl.agent.networks import NetworkShape, apply_blocks, unflatten
from icrl.agent.state import AgentState, action_unit
from icrl.tasks.task import Task
from icrl.types import AnyArray, BoolArray, FloatArray, Trajectories

Array = Any

BATCH = 256
CHECK_EVERY = 200
"""Gradient steps between two looks at what was held out."""
STEPS_AT_ONCE = 10
"""Of a pull, and of a clone: one program serves both."""
_LEARNING_RATE = 1e-3
_MOST_CHECKS = 20
_PATIENCE = 4
"""Looks without progress after which the clone is done."""
_SMOOTHING = 0.05
"""Share of a discrete label that is spread over all choices,
so that the clone can still be surprised."""
_HOLD_OUT_EVERY = 5
MOST_STEPS = 50_000
"""Demonstrated steps beyond this many are thinned: they say no more."""


class Shown(NamedTuple):
    """Demonstrated pairs as a policy could have made them."""

    observations: FloatArray
    """[n, o] raw"""
    actions: AnyArray
    """[n, a] in the policy's unit, or [n] integers"""
    held_out: BoolArray
    """[n]: kept aside to see when to stop"""


def shown_steps(demos: Trajectories, task: Task) -> Shown:
    """The steps of demonstrations, every fifth episode held out
    (of fewer than five, every fifth step)."""
    rows, times = np.nonzero(demos.mask)
    every = max(1, len(rows) // MOST_STEPS)
    rows = rows[::every]
    times = times[::every]
    actions = np.asarray(demos.actions[rows, times])
    unit = action_unit(task.action_space)
    if unit is not None:
        actions = ((actions - unit.centre) / unit.scale).astype(np.float32)
    # Whole episodes where there are enough: steps of one episode resemble each other, and would
    # tell too good a story of what was held out.
    if demos.num_trajectories >= _HOLD_OUT_EVERY:
        counted = rows
    else:
        counted = np.arange(len(rows))
    held_out = counted % _HOLD_OUT_EVERY == 0
    return Shown(np.asarray(demos.observations[rows, times], np.float32), actions, held_out)


def imitation_loss(policy: Array, actions: Array, discrete: bool, xp: Any) -> Array:
    """mean (μ − a)², or the cross-entropy with smoothed labels;
    policy [B, a], actions [B, a] or [B] -> scalar."""
    if not discrete:
        return xp.mean((policy - actions) ** 2)
    choices = policy.shape[-1]
    chosen = (actions[:, None] == xp.arange(choices)[None]).astype(xp.float32)
    labels = chosen * (1.0 - _SMOOTHING) + _SMOOTHING / choices
    return -xp.mean(xp.sum(labels * log_softmax(policy, xp), axis=-1))


_ADAM = optax.scale_by_adam()


def no_moments(params: Array) -> optax.ScaleByAdamState:
    """Adam's before its first step."""
    nothing = np.zeros(params.shape, np.float32)
    return optax.ScaleByAdamState(np.zeros((), np.int32), nothing, nothing)


@partial(jax.jit, static_argnames=("shape",))
def imitate(
    params: Array, moments: Any, inputs: Array, actions: Array, rate: Array, shape: NetworkShape
) -> tuple[Array, Any]:
    """Adam steps of size `rate` on the imitation loss, one for each batch;
    inputs [k, B, o], actions [k, B, a] or [k, B]."""

    def loss(flat: Array, seen: Array, done: Array) -> Array:
        policy = apply_blocks(unflatten(flat, shape), seen, shape, jnp).policy
        return imitation_loss(policy, done, shape.discrete, jnp)

    def step(
        carry: tuple[Array, Any], batch: tuple[Array, Array]
    ) -> tuple[tuple[Array, Any], None]:
        flat, state = carry
        change, state = _ADAM.update(jax.grad(loss)(flat, *batch), state)
        return (flat - rate * change, state), None

    carried, _ = jax.lax.scan(step, (params, moments), (inputs, actions))
    return carried


class Imitation(NamedTuple):
    """A policy that imitates, from some of the features."""

    params: FloatArray
    error: float
    """On what was held out."""
    seen: FloatArray
    """[o]: 1 for features that it sees, 0 for the others"""


def best_imitation(
    rng: np.random.Generator,
    agent: AgentState,
    inputs: FloatArray,
    shown: Shown,
    seen: FloatArray,
) -> Imitation:
    """Parameters after imitating until what was held out is matched no better."""
    inputs = inputs * seen  # scaled: a feature that is not seen is at its mean
    learned_from = np.flatnonzero(~shown.held_out)
    params = agent.params
    best = np.asarray(params)
    lowest = np.inf
    without_progress = 0
    for _ in range(_MOST_CHECKS):
        order = learned_from[rng.integers(0, len(learned_from), (CHECK_EVERY, BATCH))]
        moments = no_moments(params)
        for rows in order.reshape(-1, STEPS_AT_ONCE, BATCH):
            params, moments = imitate(
                params,
                moments,
                inputs[rows],
                shown.actions[rows],
                np.float32(_LEARNING_RATE),
                agent.shape,
            )
        error = held_out_error(
            params, inputs[shown.held_out], shown.actions[shown.held_out], agent.shape
        )
        # Progress of a thousandth is none: else a clone would be trained for as long as noise goes
        # down.
        if error < 0.999 * lowest:
            best = np.array(params)
            lowest = error
            without_progress = 0
        else:
            without_progress += 1
        if without_progress >= _PATIENCE:
            break
    return Imitation(best, lowest, seen)


def held_out_error(
    params: Array, inputs: FloatArray, actions: AnyArray, shape: NetworkShape
) -> float:
    """The imitation loss of some steps."""
    policy = apply_blocks(unflatten(np.asarray(params), shape), inputs, shape, np).policy
    return float(imitation_loss(policy, actions, shape.discrete, np))
