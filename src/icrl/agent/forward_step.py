"""`forward_step`: learn π^φ under the current cost (line 3 of Algorithm 1),
by rollouts and policy updates in turn."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from gymnasium.vector import VectorEnv

from icrl.agent.cloning import pulled, with_policy_of
from icrl.agent.foresight import Moves, learned
from icrl.agent.imitation import Shown
from icrl.agent.moments import fresh_moments
from icrl.agent.multiplier import multiplier_value, update_multiplier
from icrl.agent.networks import apply_networks
from icrl.agent.normalizer import discounted_returns, normalize, reward_scale, update_moments
from icrl.agent.ppo_lagrangian import Batch, update_policy
from icrl.agent.rollout import EnvStream, collect_rollout
from icrl.agent.shield import FORBIDDEN_ABOVE
from icrl.agent.state import AgentState, action_unit, make_optimizer, policy_of
from icrl.config import ForwardConfig, Respect
from icrl.interrupts import heed_interrupts
from icrl.spans import span
from icrl.tasks.task import Task
from icrl.types import CostFunction, FloatArray, Rollout

_REWARD_CLIP = 10.0
"""Scaled rewards are clipped to this (the value of VecNormalize, which the authors used)."""

_WHOLE = np.float32(1.0)
"""All of the learning rate."""


class ForwardInfo(NamedTuple):
    """Means over the policy updates of one forward step; counts are sums."""

    steps: int
    reward: float
    """Mean task reward per step."""
    cost: float
    """Mean cost 1 − ζ per step."""
    multiplier: float
    """λ after the last update."""
    stopped_episodes: int
    """Episodes ended because they broke the constraint."""
    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    epochs: float
    advantage_std: float
    cost_advantage_std: float


NOTHING_DONE = ForwardInfo(
    steps=0,
    reward=0.0,
    cost=0.0,
    multiplier=0.0,
    stopped_episodes=0,
    policy_loss=0.0,
    value_loss=0.0,
    entropy=0.0,
    kl=0.0,
    epochs=0.0,
    advantage_std=0.0,
    cost_advantage_std=0.0,
)
"""Of a round in which the agent was seen, and not trained."""


def num_updates(config: ForwardConfig) -> int:
    """Policy updates of one forward step."""
    # Rounded up: an agent has at least the steps that were asked for.
    return math.ceil(config.steps / (config.num_envs * config.rollout_steps))


def forward_steps(config: ForwardConfig) -> int:
    """Environment steps that one forward step really takes: whole rollouts."""
    return num_updates(config) * config.num_envs * config.rollout_steps


def generator(key: Any) -> np.random.Generator:
    """A NumPy generator seeded by a JAX key: acting happens in NumPy."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key), np.uint32).tolist())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pace:
    """How hard an agent is trained at this moment: where it is in its schedule."""

    learning_rate: float = 1.0
    """Share of the learning rate."""
    soft: float = 0.0
    """Share of the environments in which a forbidden step costs a little,
    instead of ending the episode."""
    pull: float = 0.0
    """Strength of the pull towards demonstrations, as a share of the full one."""
    critics_only: bool = False
    """The policy stays as it is."""


def steady(learning_rate: float) -> Callable[[int], Pace]:
    """The same share of the learning rate throughout a forward step."""

    def pace(_: int) -> Pace:
        return Pace(learning_rate=learning_rate)

    return pace


def forward_step(
    key: Any,
    agent: AgentState,
    task: Task,
    env: VectorEnv,
    cost: CostFunction | None,
    config: ForwardConfig,
    bonus: CostFunction | None = None,
    on_update: Callable[[int], None] | None = None,
    updates: int | None = None,
    pace: Callable[[int], Pace] = lambda _: Pace(),
    shown: Shown | None = None,
) -> tuple[AgentState, ForwardInfo]:
    """Train the agent for `config.steps` environment steps under `cost`,
    or for so many `updates` of its policy.

    `bonus`, if given, is added to the reward. `pace` says how hard after so many steps of this
    forward step; `shown` are demonstrations that it may pull towards.
    """
    rng = generator(key)
    # Episodes begin anew with every forward step: it depends on its key and the agent alone, and a
    # run that goes on from a checkpoint repeats it to the byte.
    stream = EnvStream(env, seed=int(rng.integers(2**31)))
    infos: list[dict[str, float]] = []
    if updates is None:
        updates = num_updates(config)
    batch_steps = config.num_envs * config.rollout_steps
    for index in range(updates):
        now = pace(index * batch_steps)
        # Made anew after every update: acting is in NumPy, and a policy is a copy of the parameters
        # as they are.
        policy = policy_of(agent, task, config, cost)
        rollout = collect_rollout(
            rng, stream, policy, cost, config, num_soft=round(now.soft * config.num_envs)
        )
        # The model of what follows from actions learns from the same rollout, before the policy
        # changes.
        if cost is not None and agent.foresight is not None:
            agent = with_foresight(rng, agent, rollout, task)
        agent, info = _updated(rng, agent, rollout, stream, config, bonus, cost is not None, now)
        if shown is not None and now.pull > 0:
            agent = pulled(rng, agent, shown, config, now.pull)
        infos.append(info)
        # Ctrl-C is obeyed between updates alone: an agent is never left half updated.
        heed_interrupts()
        if on_update is not None:
            on_update((index + 1) * batch_steps)
    multiplier = 0.0
    if cost is not None and config.respect is Respect.lagrangian:
        multiplier = multiplier_value(agent.multiplier)
    # A count, so a sum; all else is a mean over updates.
    stopped = round(sum(info.pop("stopped_episodes") for info in infos))
    means = {name: float(np.mean([info[name] for info in infos])) for name in infos[0]}
    return agent, ForwardInfo(
        **means,
        steps=updates * batch_steps,
        stopped_episodes=stopped,
        multiplier=multiplier,
    )


@span("update")
def _updated(
    rng: np.random.Generator,
    agent: AgentState,
    rollout: Rollout,
    stream: EnvStream,
    config: ForwardConfig,
    bonus: CostFunction | None,
    constrained: bool,
    pace: Pace,
) -> tuple[AgentState, dict[str, float]]:
    """One update at this pace."""
    if not pace.critics_only:
        rate = np.float32(pace.learning_rate)
        return update_agent(rng, agent, rollout, stream, config, bonus, constrained, rate)
    # the policy is put back: how far it moved is nothing
    # The whole update is made and half of it thrown away: one program serves both, and a second one
    # would have to be compiled.
    new, info = update_agent(
        rng, agent, rollout, stream, config, bonus, constrained, heeds_kl=False
    )
    params = with_policy_of(new.params, agent.params, agent.shape)
    return dataclasses.replace(
        new,
        params=params,
        # its moments are of a policy that did not move
        optimizer=fresh_moments(make_optimizer(config), params),
        # The policy sees its inputs on this scale: moved moments would move it.
        observation_moments=agent.observation_moments,
    ), info


@span("foresight")
def with_foresight(
    rng: np.random.Generator, agent: AgentState, rollout: Rollout, task: Task
) -> AgentState:
    """The agent whose shield has learned from a rollout what follows from actions."""
    assert agent.foresight is not None
    rows = rollout.rewards.size
    actions = rollout.env_actions
    moves = Moves(
        observations=rollout.observations.reshape(rows, -1),
        actions=actions.reshape(rows, *actions.shape[2:]),
        next_observations=rollout.next_observations.reshape(rows, -1),
    )
    unit = action_unit(task.action_space)
    foresight = learned(
        rng, agent.foresight, moves, agent.observation_moments, unit, agent.shape.num_actions
    )
    return dataclasses.replace(agent, foresight=foresight)


def report_onwards(report: Callable[[int], None], before: int, done: int) -> None:
    """Tell `report` of `done` steps on top of those made `before`:
    an `on_update` for one of several forward steps."""
    report(before + done)


def update_agent(
    rng: np.random.Generator,
    agent: AgentState,
    rollout: Rollout,
    stream: EnvStream,
    config: ForwardConfig,
    bonus: CostFunction | None,
    constrained: bool,
    learning_rate_share: np.float32 = _WHOLE,
    heeds_kl: bool = True,
) -> tuple[AgentState, dict[str, float]]:
    """Policy, critics, multiplier and normalisers, once each, from one rollout;
    no multiplier without a constraint. Unless it `heeds_kl`, all passes are made."""
    rewards = rollout.rewards
    if bonus is not None:
        rewards = rewards + np.asarray(bonus(rollout.observations, rollout.env_actions), np.float32)
    ended = rollout.terminated | rollout.truncated
    # Episodes are longer than a rollout: the return so far is carried on from the last one.
    returns = discounted_returns(rewards, ended, stream.carried_return, config.gamma)
    stream.carried_return = np.where(ended[-1], 0.0, returns[-1])
    return_moments = update_moments(agent.return_moments, returns.reshape(-1))
    agent = dataclasses.replace(
        agent,
        return_moments=return_moments,
        lowest_reward=lowest_reward(agent.lowest_reward, rewards),
    )
    # Rewards are scaled by moments that have seen this rollout, observations by those with which
    # the policy acted: what is learned from must be what was seen.
    batch = make_batch(agent, rollout, rewards, config)
    num_rows = rewards.size
    permutations = rng.permuted(
        np.tile(np.arange(num_rows, dtype=np.int32), (config.epochs, 1)), axis=1
    )
    multiplier = np.float32(0.0)
    if constrained:
        multiplier = np.float32(multiplier_value(agent.multiplier))
    # λ is what it was while the rollout was made; it moves afterwards, by the cost of this rollout
    # (Eq. 9: the policy answers the multiplier, then the multiplier the policy).
    params, optimizer, info = update_policy(
        agent.params,
        agent.optimizer,
        batch,
        permutations,
        multiplier,
        agent.shape,
        config,
        learning_rate_share,
        np.bool_(heeds_kl),
    )
    mean_cost = float(np.mean(rollout.costs))
    raw_multiplier = agent.multiplier
    if constrained:
        raw_multiplier = update_multiplier(agent.multiplier, mean_cost, config.multiplier)
    flat_observations = rollout.observations.reshape(num_rows, -1)
    agent = dataclasses.replace(
        agent,
        params=params,
        optimizer=optimizer,
        observation_moments=update_moments(agent.observation_moments, flat_observations),
        multiplier=raw_multiplier,
    )
    scalars = {name: float(value) for name, value in info._asdict().items()}
    stopped = float(np.sum(rollout.stopped))
    return agent, scalars | {
        "reward": float(np.mean(rollout.rewards)),
        "cost": mean_cost,
        "stopped_episodes": stopped,
    }


_FORGETTING = 0.1


def lowest_reward(before: float, rewards: FloatArray) -> float:
    """What an agent that does badly earns per step over a while, at most 0:
    down at once, up slowly as agents learn.

    rewards [T, E]: means over T, of which the lowest.
    """
    # A quantile, not the minimum: one unlucky episode would otherwise set the price of every forced
    # end. At most 0: where all rewards are positive, a forced end must still not pay.
    now = min(0.0, float(np.quantile(np.mean(rewards, axis=0), 0.01)))
    if now < before:
        return now
    return (1.0 - _FORGETTING) * before + _FORGETTING * now


def forced_end_value(agent: AgentState, config: ForwardConfig, scale: float) -> float:
    """What ending an episode for breaking the constraint is worth, in scaled rewards:
    less than anything that follows.

    By itself r_min/(1 − γ), the lowest reward for ever, less one deviation of the return: at r_min
    alone an agent to whom nothing better happens would be indifferent.
    """
    if config.terminate.terminal_value is not None:
        return config.terminate.terminal_value * scale
    return agent.lowest_reward / max(1.0 - config.gamma, 1e-3) * scale - 1.0


def make_batch(
    agent: AgentState, rollout: Rollout, rewards: FloatArray, config: ForwardConfig
) -> Batch:
    """Scale what the networks see, and value the states that episodes were cut in."""
    scale = 1.0
    scaled = rewards
    if config.normalize_rewards:
        scale = reward_scale(agent.return_moments)
        scaled = np.clip(rewards * scale, -_REWARD_CLIP, _REWARD_CLIP)
    # where no episode ends for it, a forbidden step costs a little
    if config.respect is Respect.terminate:
        scaled = scaled - config.terminate.penalty * (rollout.costs > FORBIDDEN_ABOVE)
    # that step pays nothing else
    scaled = np.where(rollout.stopped, forced_end_value(agent, config, scale), scaled)
    terminated = rollout.terminated
    truncated = rollout.truncated
    if config.cut_is_end:
        terminated = terminated | truncated
        truncated = np.zeros_like(truncated)
    bootstrapped = truncated.copy()
    # The last row of a rollout is followed by no row, but by a state: it is valued too (fidelity
    # F8).
    bootstrapped[-1] |= ~terminated[-1]
    bootstrap = np.zeros((agent.shape.num_critics, *rewards.shape), np.float32)
    inputs = scale_observations(agent, rollout.next_observations[bootstrapped], config)
    # Mostly nothing was cut in the middle; then the networks need not be asked.
    if inputs.size:
        bootstrap[:, bootstrapped] = apply_networks(
            np.asarray(agent.params), inputs, agent.shape, np
        ).values
    return Batch(
        observations=scale_observations(agent, rollout.observations, config),
        actions=rollout.actions,
        rewards=scaled.astype(np.float32),
        costs=rollout.costs,
        terminated=terminated.astype(np.float32),
        truncated=truncated.astype(np.float32),
        bootstrap=bootstrap,
        bootstrapped=bootstrapped,
    )


def scale_observations(
    agent: AgentState, observations: FloatArray, config: ForwardConfig
) -> FloatArray:
    """Observations as the networks saw them when acting."""
    if config.normalize_observations:
        return normalize(agent.input_moments, observations)
    return observations
