"""Algorithm 1 of the paper: learn a constraint from demonstrations. The file to open first.

for i = 1..N:
    learn π^φ under the cost 1 − ζ_θ            forward_step         (Eq. 9)
    sample S from π^φ                            sample_trajectories
    move θ up the likelihood of D, B times       backward_step        (Eqs. 8, 10-12)
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from icrl.agent.forward_step import ForwardInfo, forward_step, forward_steps, generator
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import AgentState, init_agent, policy_of
from icrl.config import LearnConfig
from icrl.constraint.backward_step import (
    BackwardInfo,
    ConstraintState,
    backward_step,
    check_limits,
    constraint_cost,
    freeze,
    init_constraint,
)
from icrl.constraint.features import Features, select_features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.objective import Objective, loss
from icrl.demos.dataset import Demonstrations, check_against
from icrl.errors import InputError
from icrl.tasks.task import Task
from icrl.types import CostFunction, Trajectories


class Round(NamedTuple):
    """All there is after a round: enough to report it, and to go on from it."""

    number: int
    """From 0."""
    steps: int
    """Environment steps so far, sampling included."""
    agent: AgentState
    constraint: ConstraintState
    features: Features
    samples: Trajectories
    """S of this round."""
    forward_info: ForwardInfo
    backward_info: BackwardInfo


class Progress(NamedTuple):
    """Where a run is, for a live display."""

    steps: int
    rounds: int
    """Rounds that will be made in all."""


def learn(
    task: Task,
    demos: Demonstrations,
    config: LearnConfig,
    seed: int = 0,
    on_round: Callable[[Round], None] = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    objective: Objective = loss,
    to_bonus: Callable[[CostFunction], CostFunction] | None = None,
) -> Round:
    """Learn the constraint that `demos` obey in `task`; the last round holds the constraint and an agent under it.

    The baselines differ in two places: the `objective` that zeta descends, and what is made of the cost 1 − ζ: with
    `to_bonus` it becomes an addition to the reward instead.
    """
    check_against(demos, task)
    rounds = num_rounds(task, config)
    check_limits(config.backward, config.num_samples, task.horizon)
    features = select_features(task, config.features, config.backward.input_clip)
    key_agent, key_constraint, key_rounds = jax.random.split(jax.random.key(seed), 3)
    agent = init_agent(generator(key_agent), task, config.forward)
    constraint = init_constraint(generator(key_constraint), features, config.backward)
    cost = None if config.nominal_first else constraint_cost(constraint, features, config.backward)  # 1 − ζ_θ
    train_env, sample_env = task.make_env(config.forward.num_envs), task.make_env(config.num_samples)
    steps = 0
    for index in range(rounds):
        key_forward, key_sample, key_agent = jax.random.split(jax.random.fold_in(key_rounds, index), 3)
        report = partial(_report, on_progress, steps, rounds)
        bonus = None if cost is None or to_bonus is None else to_bonus(cost)
        agent, forward_info = forward_step(
            key_forward, agent, task, train_env, cost if to_bonus is None else None, config.forward, bonus, report
        )  # Eq. 9
        rng = generator(key_sample)
        policy = policy_of(agent, task, config.forward)
        samples = sample_trajectories(rng, policy, sample_env, task.horizon, int(rng.integers(2**31)))  # S ~ π^φ
        constraint, backward_info = backward_step(
            constraint, demos.trajectories, samples, features, config.backward, objective=objective
        )
        steps += forward_info.steps + samples.num_steps
        last = Round(index, steps, agent, constraint, features, samples, forward_info, backward_info)
        on_round(last)
        new_cost = constraint_cost(constraint, features, config.backward)
        if config.restart_above is not None and newly_forbidden(samples, cost, new_cost) > config.restart_above:
            agent = init_agent(generator(key_agent), task, config.forward)
        cost = new_cost
    return last


def learn_constraint(task: Task, demos: Demonstrations, config: LearnConfig, seed: int = 0) -> LearnedConstraint:
    """Learn, and keep only the constraint: the artefact that judges pairs (s, a) in NumPy alone."""
    last = learn(task, demos, config, seed)
    return freeze(last.constraint, last.features, config.backward, {"task": task.name, "seed": seed, "method": "icrl"})


def _report(on_progress: Callable[[Progress], None], before: int, rounds: int, done: int) -> None:
    on_progress(Progress(before + done, rounds))


def newly_forbidden(samples: Trajectories, old: CostFunction | None, new: CostFunction) -> float:
    """Share of sampled steps with cost above ½ under the new cost but not under the old one (None: nothing was)."""
    pairs = samples.observations[samples.mask], samples.actions[samples.mask]
    forbidden = new(*pairs) > 0.5
    return float(np.mean(forbidden if old is None else forbidden & (old(*pairs) <= 0.5)))


def num_rounds(task: Task, config: LearnConfig) -> int:
    """N: how many whole rounds fit into `config.steps` environment steps."""
    per_round = forward_steps(config.forward) + config.num_samples * task.horizon
    rounds = config.steps // per_round
    if rounds < 1:
        raise InputError(
            f"steps = {config.steps} is less than one round of {per_round} environment steps "
            f"({forward_steps(config.forward)} of training, {config.num_samples} sampled episodes of up to "
            f"{task.horizon}): give more --steps, or lower --forward.steps or --num-samples."
        )
    return rounds
