"""Scouts: fresh agents, trained without any constraint, that show where reward leads (decisions 0005, 0007, 0011)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from gymnasium.vector import VectorEnv

from icrl.agent.forward_step import ForwardInfo, forward_step, num_updates, report_onwards, summed_up
from icrl.agent.sampling import sample_agent
from icrl.agent.state import AgentState
from icrl.config import LearnConfig
from icrl.demos.dataset import Demonstrations
from icrl.evidence import Evidence, most_convicted
from icrl.tasks.task import Task
from icrl.trajectories import join
from icrl.types import CostFunction, Trajectories


class Scouting(NamedTuple):
    """How far the scouts are."""

    left: int
    """Scouts that have not returned."""
    rounds: int
    """Rounds that the present one has been trained for."""
    most: int
    """Rounds that each may take."""
    spare: int
    """Rounds that are left for all of them, and for those who follow them."""


def send_scouts(rounds: int, config: LearnConfig) -> Scouting:
    """The first scouts: all together take at most half of the run's `rounds` (but one each).

    With those who follow them they take three quarters: as long as zeta forbids nothing, nobody could obey it.
    """
    most = max(1, rounds // 2 // max(config.scouts, 1))
    return Scouting(config.scouts, 0, most, max(3 * rounds // 4, config.scouts))


def scout_on(
    scouting: Scouting, samples: Trajectories, demos: Demonstrations, config: LearnConfig
) -> tuple[Scouting, bool]:
    """The scouts after one more round, and whether one returned: its last stage earns `scout_share`, or its time is
    over.

    Where rewards are unknown every scout takes all its time. A loss counts as it does in `out_earning`.
    """
    if scouting.left == 0:
        return scouting, False
    rounds, spare = scouting.rounds + 1, scouting.spare - 1
    returns = rounds >= scouting.most or spare == 0
    if demos.has_rewards:
        expert = float(np.mean(demos.trajectories.returns))
        last = samples.returns[-stages_of_round(config)[-1][1] :]
        returns |= float(np.mean(last)) >= expert - (1.0 - config.scout_share) * abs(expert)
    if returns:
        return Scouting(scouting.left - 1, 0, scouting.most, spare), True
    return scouting._replace(rounds=rounds, spare=spare), False


def another_scout(
    scouting: Scouting, evidence: Evidence | None, cost: CostFunction | None, config: LearnConfig
) -> Scouting:
    """One more scout where all are back and zeta convicts too little of what any of them did, as long as their rounds
    last: perhaps none of them came to where the constraint is."""
    if scouting.left > 0 or scouting.spare == 0 or evidence is None or cost is None:
        return scouting
    enough = most_convicted(evidence, cost) >= (config.restart_above or 0.0)
    return scouting if enough else scouting._replace(left=1)


def stages_of_round(config: LearnConfig) -> list[tuple[int, int]]:
    """Policy updates and sampled episodes of each stage of a scout's round: together those of any other round.

    There are fewer than `config.scout_stages` of them where updates or episodes do not go round.
    """
    updates, episodes = num_updates(config.forward), config.num_samples
    stages = min(config.scout_stages, updates, episodes)
    return list(zip(_shares(updates, stages), _shares(episodes, stages), strict=True))


def _shares(total: int, parts: int) -> list[int]:
    """`total` in so many parts, as equal as can be, the larger ones last."""
    return [total * (index + 1) // parts - total * index // parts for index in range(parts)]


def make_stage_envs(task: Task, config: LearnConfig) -> list[VectorEnv]:
    """What the stages of a scout's round are sampled in."""
    return [task.make_env(episodes) for _, episodes in stages_of_round(config)] if config.scouts > 0 else []


def scout_round(
    key: Any,
    agent: AgentState,
    task: Task,
    train_env: VectorEnv,
    stage_envs: Sequence[VectorEnv],
    config: LearnConfig,
    report: Callable[[int], None],
) -> tuple[AgentState, ForwardInfo, Trajectories]:
    """A round without any constraint, sampled at every stage of it."""
    infos: list[ForwardInfo] = []
    samples: list[Trajectories] = []
    done = 0
    for env, (updates, _) in zip(stage_envs, stages_of_round(config), strict=True):
        key_forward, key_sample = jax.random.split(jax.random.fold_in(key, done))
        agent, info = forward_step(
            key_forward, agent, task, train_env, None, config.forward,
            on_update=partial(report_onwards, report, done), updates=updates,
        )  # fmt: skip
        done += info.steps
        infos.append(info)
        samples.append(sample_agent(key_sample, agent, task, env, config.forward, task.horizon))
    return agent, summed_up(infos), join(samples)
