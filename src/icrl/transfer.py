"""A new agent under a constraint that does not change: the forward step alone, round by round.

Transfers and reference agents are made so. How a method's constraint becomes a `Pressure` stands in
`methods/pressing.py`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax

from icrl.agent.forward_step import ForwardInfo, forward_step, generator, steady
from icrl.agent.sampling import sample_agent
from icrl.agent.state import AgentState, init_agent
from icrl.config import LearnConfig
from icrl.rounds import Progress, learning_rate_share, num_rounds, report_progress
from icrl.tasks.task import Task
from icrl.types import CostFunction, Trajectories


class Pressure(NamedTuple):
    """What an agent is told beside its task's reward; nothing of either: a nominal agent."""

    cost: CostFunction | None = None
    """To be avoided, in the form that `ForwardConfig.respect` says."""
    bonus: CostFunction | None = None
    """Added to the reward."""


class AgentRound(NamedTuple):
    """All there is after a round of the forward step alone."""

    number: int
    """From 0."""
    rounds: int
    """In all."""
    steps: int
    """Environment steps so far, sampling included."""
    agent: AgentState
    samples: Trajectories
    """Episodes of the agent as it is after the round."""
    forward_info: ForwardInfo


OnAgentRound = Callable[[AgentRound], None]
OnProgress = Callable[[Progress], None]


def train_under(
    pressure: Pressure,
    task: Task,
    config: LearnConfig,
    seed: int = 0,
    on_round: OnAgentRound = lambda _: None,
    on_progress: OnProgress = lambda _: None,
    restored: AgentRound | None = None,
) -> AgentRound:
    """Rounds of the forward step (Eq. 9) under a pressure that does not change.

    A round is all that the next one needs: from a `restored` one the training goes on.
    """
    key = jax.random.key(seed)
    rounds = num_rounds(task, config)
    train_env = task.make_env(config.forward.num_envs)
    sample_env = task.make_env(config.num_samples)
    if restored is None:
        first = 0
        steps = 0
        # Folded in by a number that no round has.
        agent = init_agent(generator(jax.random.fold_in(key, rounds)), task, config.forward)
    else:
        first = restored.number + 1
        steps = restored.steps
        agent = restored.agent
        last = restored
    for number in range(first, rounds):
        key_forward, key_sample = jax.random.split(jax.random.fold_in(key, number))
        report = partial(report_progress, on_progress, steps, rounds)
        agent, info = forward_step(
            key_forward,
            agent,
            task,
            train_env,
            pressure.cost,
            config.forward,
            bonus=pressure.bonus,
            on_update=report,
            pace=steady(learning_rate_share(steps, config)),
        )
        # Behind the shield where there is one: what is judged is the agent as it will be used.
        samples = sample_agent(
            key_sample, agent, task, sample_env, config.forward, task.horizon, pressure.cost
        )
        steps += info.steps + samples.num_steps
        last = AgentRound(number, rounds, steps, agent, samples, info)
        on_round(last)
    return last
