"""What an agent may learn from demonstrations before and while it learns from reward:
a clone, and a pull towards it.

A cloned agent stays feasible for a long time whatever the constraint says. So it may be handed out,
but that it is feasible says nothing for a constraint (docs/decisions/0016).
"""

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from icrl.agent.distributions import log_softmax
from icrl.agent.foresight import Moves, learned
from icrl.agent.moments import fresh_moments
from icrl.agent.networks import NetworkShape, apply_blocks, flatten, unflatten
from icrl.agent.normalizer import (
    discounted_returns,
    init_moments,
    normalize,
    settled,
    update_moments,
)
from icrl.agent.state import AgentState, action_unit, make_optimizer
from icrl.config import ForwardConfig
from icrl.spans import span
from icrl.tasks.task import Task
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray, Trajectories

Array = Any

_BATCH = 256
_LEARNING_RATE = 1e-3
_CHECK_EVERY = 200
"""Gradient steps between two looks at what was held out."""
_MOST_CHECKS = 20
_PULL_STEPS = 10
"""Imitation steps after each policy update."""
_PULL_RATE = 3e-4
_FORESIGHT_LOOKS = 10
"""So many times as many steps for the shield's model of what follows from actions."""
_PATIENCE = 4
"""Looks without progress after which the clone is done."""
_TAKEN_AWAY = (0.5, 0.25)
"""Shares of its features that a clone may do without, tried in turn."""
_SMOOTHING = 0.05
"""Share of a discrete label that is spread over all choices,
so that the clone can still be surprised."""
_LOG_STD_RANGE = (-2.0, -0.5)
"""The expert's own spread decides the noise, within these."""
_HOLD_OUT_EVERY = 5
_MOST_STEPS = 50_000
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
    every = max(1, len(rows) // _MOST_STEPS)
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


def _no_moments(params: Array) -> optax.ScaleByAdamState:
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


@span("update")
def clone(
    rng: np.random.Generator,
    agent: AgentState,
    demos: Trajectories,
    has_rewards: bool,
    task: Task,
    config: ForwardConfig,
) -> AgentState:
    """The agent as a clone of the demonstrations: normalisers, policy and noise are theirs;
    critics are untouched."""
    shown = shown_steps(demos, task)
    # Moments of the demonstrations alone: what a fresh agent has seen is nothing yet, and a clone
    # must see its inputs on the scale on which it learned them.
    moments = update_moments(init_moments(shown.observations.shape[1:]), shown.observations)
    inputs = shown.observations
    if config.normalize_observations:
        inputs = normalize(moments, inputs)
    params, sees = _clone_of_few(rng, agent, inputs, shown)
    inputs = inputs * sees
    if not agent.shape.discrete:
        params = _with_noise_of(params, inputs, shown, agent.shape)
    agent = dataclasses.replace(
        agent,
        params=params,
        optimizer=fresh_moments(make_optimizer(config), params),
        # They stay: moved moments would move the policy, by more than any update of it (decision
        # 0023: a clone that earned 0.72 of the demonstrations fell to 0.17 within five updates).
        observation_moments=settled(moments),
        sees=sees,
    )
    # Its shield would otherwise be blind until the first rollout, and clones are measured before
    # they are trained at all (decision 0021).
    agent = foreseeing(rng, agent, demos, task)
    if not has_rewards:
        return agent
    # [T, N]: as a rollout has it
    rewards = (demos.rewards * demos.mask).T
    nothing = np.zeros(rewards.shape, np.bool_)
    returns = discounted_returns(rewards, nothing, np.zeros(rewards.shape[1]), config.gamma).T[
        demos.mask
    ]
    # A forced end has a price from the first update on, though no rollout has shown a bad life yet.
    lowest = float(np.quantile(demos.rewards[demos.mask], 0.01))
    return dataclasses.replace(
        agent,
        return_moments=update_moments(init_moments(()), returns),
        lowest_reward=min(0.0, lowest),
    )


def foreseeing(
    rng: np.random.Generator, agent: AgentState, seen: Trajectories, task: Task
) -> AgentState:
    """The agent whose shield knows what follows from actions,
    as far as these trajectories show it."""
    foresight = agent.foresight
    # Of the last step of an episode nobody knows what followed.
    rows, times = np.nonzero(seen.mask[:, 1:])
    if foresight is None or len(rows) == 0:
        return agent
    every = max(1, len(rows) // _MOST_STEPS)
    rows = rows[::every]
    times = times[::every]
    moves = Moves(
        seen.observations[rows, times],
        seen.actions[rows, times],
        seen.observations[rows, times + 1],
    )
    unit = action_unit(task.action_space)
    for _ in range(_FORESIGHT_LOOKS):
        foresight = learned(
            rng,
            foresight,
            moves,
            agent.observation_moments,
            unit,
            agent.shape.num_actions,
            _CHECK_EVERY,
        )
    return dataclasses.replace(agent, foresight=foresight)


class _Imitation(NamedTuple):
    """A policy that imitates, from some of the features."""

    params: FloatArray
    error: float
    """On what was held out."""
    seen: FloatArray
    """[o]: 1 for features that it sees, 0 for the others"""


def _clone_of_few(
    rng: np.random.Generator, agent: AgentState, inputs: FloatArray, shown: Shown
) -> tuple[FloatArray, FloatArray]:
    """Parameters of the best clone, and the features that it sees: none it does better without.

    Few demonstrations and many features that mean nothing: a clone learns them by heart. So those
    that it misses least are taken away, and it is made anew, until that does not help any more.
    """
    # What never changed says nothing of what was done, and its scale is not known.
    changed = (np.ptp(shown.observations, axis=0) > 0).astype(np.float32)
    best = _best_clone(rng, agent, inputs, shown, changed)
    fewer: _Imitation | None = best
    while fewer is not None:
        best = fewer
        fewer = _clone_of_fewer(rng, agent, inputs, shown, best)
    return _blind(best.params, best.seen, agent.shape), best.seen


def _clone_of_fewer(
    rng: np.random.Generator,
    agent: AgentState,
    inputs: FloatArray,
    shown: Shown,
    clone: _Imitation,
) -> _Imitation | None:
    """A clone without some features that does no worse; None: there is none."""
    order = _least_missed_first(rng, agent, inputs, shown, clone)
    for share in _TAKEN_AWAY:
        number = int(share * len(order))
        if number == 0:
            continue
        seen = clone.seen.copy()
        seen[order[:number]] = 0.0
        fewer = _best_clone(rng, agent, inputs, shown, seen)
        if fewer.error <= clone.error:
            return fewer
    return None


def _least_missed_first(
    rng: np.random.Generator,
    agent: AgentState,
    inputs: FloatArray,
    shown: Shown,
    clone: _Imitation,
) -> IntArray:
    """The features that a clone sees, by how much worse it does where one of them is shuffled."""
    features = np.flatnonzero(clone.seen)
    held_out = inputs[shown.held_out] * clone.seen
    missed = []
    for feature in features:
        shuffled = held_out.copy()
        shuffled[:, feature] = rng.permutation(shuffled[:, feature])
        missed.append(
            _held_out_error(clone.params, shuffled, shown.actions[shown.held_out], agent.shape)
        )
    return np.asarray(features[np.argsort(missed)])


def _blind(params: FloatArray, seen: FloatArray, shape: NetworkShape) -> FloatArray:
    """The same networks, the policy's first layer without weights for features it does not see."""
    blocks = {name: np.array(block) for name, block in unflatten(params, shape).items()}
    # Networks are stacked, and the policy is the first of them.
    blocks["w0"][:, : shape.hidden[0]] *= seen[:, None]
    return np.asarray(flatten(blocks, shape, np))


def _best_clone(
    rng: np.random.Generator,
    agent: AgentState,
    inputs: FloatArray,
    shown: Shown,
    seen: FloatArray,
) -> _Imitation:
    """Parameters after imitating until what was held out is matched no better."""
    inputs = inputs * seen  # scaled: a feature that is not seen is at its mean
    learned_from = np.flatnonzero(~shown.held_out)
    params = agent.params
    best = np.asarray(params)
    lowest = np.inf
    without_progress = 0
    for _ in range(_MOST_CHECKS):
        order = learned_from[rng.integers(0, len(learned_from), (_CHECK_EVERY, _BATCH))]
        moments = _no_moments(params)
        # as many steps at a time as a pull has, so that one program serves both
        for rows in order.reshape(-1, _PULL_STEPS, _BATCH):
            params, moments = imitate(
                params,
                moments,
                inputs[rows],
                shown.actions[rows],
                np.float32(_LEARNING_RATE),
                agent.shape,
            )
        error = _held_out_error(
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
    return _Imitation(best, lowest, seen)


def _held_out_error(
    params: Array, inputs: FloatArray, actions: AnyArray, shape: NetworkShape
) -> float:
    policy = apply_blocks(unflatten(np.asarray(params), shape), inputs, shape, np).policy
    return float(imitation_loss(policy, actions, shape.discrete, np))


def _with_noise_of(
    params: FloatArray, inputs: FloatArray, shown: Shown, shape: NetworkShape
) -> FloatArray:
    """The same policy with the deviation of what it leaves unexplained."""
    blocks = {name: np.array(block) for name, block in unflatten(params, shape).items()}
    policy = apply_blocks(blocks, inputs, shape, np).policy
    # Within bounds: a scripted expert is matched so well that a clone would explore nothing, and a
    # clone that explains little would be all noise.
    residual = np.sqrt(np.mean((policy - shown.actions) ** 2, axis=0))
    blocks["log_std"] = np.clip(np.log(residual + 1e-6), *_LOG_STD_RANGE).astype(np.float32)
    return np.asarray(flatten(blocks, shape, np))


def with_policy_of(params: Array, source: Array, shape: NetworkShape) -> FloatArray:
    """Critics of `params`, policy of `source`."""
    blocks = {name: np.array(block) for name, block in unflatten(np.asarray(params), shape).items()}
    kept = unflatten(np.asarray(source), shape)
    # Networks are stacked, and the policy is the first of them.
    first = shape.hidden[0]
    blocks["w0"][:, :first] = kept["w0"][:, :first]
    blocks["b0"][:first] = kept["b0"][:first]
    for layer in range(1, len(shape.hidden)):
        blocks[f"w{layer}"][0] = kept[f"w{layer}"][0]
        blocks[f"b{layer}"][0] = kept[f"b{layer}"][0]
    for name in ("policy_w", "policy_b", "log_std"):
        if name in blocks:
            blocks[name] = kept[name]
    return np.asarray(flatten(blocks, shape, np))


@span("update")
def pulled(
    rng: np.random.Generator, agent: AgentState, shown: Shown, config: ForwardConfig, share: float
) -> AgentState:
    """The agent after a pull towards the demonstrations of so much of its full strength."""
    # Also what was held out: a pull has nothing to stop by.
    order = rng.integers(0, len(shown.observations), (_PULL_STEPS, _BATCH))
    inputs = shown.observations[order]
    if config.normalize_observations:
        inputs = normalize(agent.input_moments, inputs)
    params, _ = imitate(
        agent.params,
        _no_moments(agent.params),
        inputs,
        shown.actions[order],
        np.float32(_PULL_RATE * share),
        agent.shape,
    )
    return dataclasses.replace(agent, params=params)
