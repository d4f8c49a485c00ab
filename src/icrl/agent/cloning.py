"""What an agent may learn from demonstrations before and while it learns from reward:
a clone, and a pull towards it.

A cloned agent stays feasible for a long time whatever the constraint says. So it may be handed out,
but that it is feasible says nothing for a constraint (docs/decisions/0016).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from icrl.agent.eyes import clone_of_few
from icrl.agent.foresight import Moves, learned
from icrl.agent.imitation import (
    BATCH,
    CHECK_EVERY,
    MOST_STEPS,
    STEPS_AT_ONCE,
    Imitation,
    Shown,
    imitate,
    no_moments,
    shown_steps,
)
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
from icrl.types import FloatArray, Trajectories

Array = Any

_PULL_RATE = 3e-4
_FORESIGHT_LOOKS = 10
"""So many times as many steps for the shield's model of what follows from actions."""
_LOG_STD_RANGE = (-2.0, -0.5)
"""The expert's own spread decides the noise, within these."""


@span("update")
def clone(
    rng: np.random.Generator,
    agent: AgentState,
    demos: Trajectories,
    has_rewards: bool,
    task: Task,
    config: ForwardConfig,
    earned: Callable[[AgentState], float] | None = None,
) -> AgentState:
    """The agent as a clone of the demonstrations: normalisers, policy and noise are theirs;
    critics are untouched.

    `earned` plays a clone and tells what it earned: that decides which features it sees.
    """
    shown = shown_steps(demos, task)
    # Moments of the demonstrations alone: what a fresh agent has seen is nothing yet, and a clone
    # must see its inputs on the scale on which it learned them.
    moments = update_moments(init_moments(shown.observations.shape[1:]), shown.observations)
    inputs = shown.observations
    if config.normalize_observations:
        inputs = normalize(moments, inputs)
    # They stay: moved moments would move the policy, by more than any update of it (decision
    # 0023: a clone that earned 0.72 of the demonstrations fell to 0.17 within five updates).
    agent = dataclasses.replace(agent, observation_moments=settled(moments))

    theirs = float(np.mean(demos.returns))

    def tried(imitation: Imitation) -> float:
        assert earned is not None
        played = earned(dataclasses.replace(agent, params=imitation.params, sees=imitation.seen))
        # of a negative return: 1 less by as much as it is worse
        return 1.0 + (played - theirs) / max(abs(theirs), 1e-9)

    share = None
    if earned is not None and has_rewards:
        share = tried
    best = clone_of_few(rng, agent, inputs, shown, share)
    params = best.params
    if not agent.shape.discrete:
        params = _with_noise_of(params, inputs * best.seen, shown, agent.shape)
    agent = dataclasses.replace(
        agent,
        params=params,
        optimizer=fresh_moments(make_optimizer(config), params),
        sees=best.seen,
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
    every = max(1, len(rows) // MOST_STEPS)
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
            CHECK_EVERY,
        )
    return dataclasses.replace(agent, foresight=foresight)


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
    order = rng.integers(0, len(shown.observations), (STEPS_AT_ONCE, BATCH))
    inputs = shown.observations[order]
    if config.normalize_observations:
        inputs = normalize(agent.input_moments, inputs)
    params, _ = imitate(
        agent.params,
        no_moments(agent.params),
        inputs,
        shown.actions[order],
        np.float32(_PULL_RATE * share),
        agent.shape,
    )
    return dataclasses.replace(agent, params=params)
