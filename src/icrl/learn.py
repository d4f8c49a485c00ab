"""Algorithm 1 of the paper: learn a constraint from demonstrations. The file to open first.

for i = 1..N:
    learn π^φ under the cost 1 − ζ_θ             forward_step          (Eq. 9)
    sample S from π^φ                            sample_trajectories
    move θ up the likelihood of D, B times       backward_step         (Eqs. 8, 10-12)

What ours adds, each part with a switch: scouts and what counts as evidence (`evidence.py`), a presumption for what
chance does, and a fresh agent when the old one turns out to have settled on forbidden ways.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
from gymnasium.vector import VectorEnv

from icrl.agent.forward_step import forward_step, generator
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import AgentState, init_agent, policy_of
from icrl.config import LearnConfig
from icrl.constraint.backward_step import backward_step, check_limits, constraint_cost, freeze, init_constraint
from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.objective import Objective, loss
from icrl.demos.dataset import Demonstrations, check_against
from icrl.evidence import Scouting, fit_zeta, gather, scout_on, settled_on_forbidden_ways
from icrl.rounds import Progress, Round, chance_horizon, num_rounds, rounds_per_scout
from icrl.tasks.task import Task
from icrl.types import CostFunction, Trajectories


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
    key_agent, key_constraint, key_chance, key_rounds = jax.random.split(jax.random.key(seed), 4)
    agent = init_agent(generator(key_agent), task, config.forward)
    constraint = init_constraint(generator(key_constraint), features, config.backward)
    train_env, sample_env = task.make_env(config.forward.num_envs), task.make_env(config.num_samples)
    cost = constraint_cost(constraint, features, config.backward) if config.scouts == 0 else None  # 1 − ζ_θ
    scouting = Scouting(config.scouts, 0, rounds_per_scout(rounds, config))
    evidence, innocents, steps = None, None, 0
    if config.backward.presumption > 0:  # what an untrained agent does is nobody's intention
        innocents = _sample(key_chance, agent, task, train_env, config, chance_horizon(task))
        steps = innocents.num_steps
    for number in range(rounds):
        key_forward, key_sample, key_agent = jax.random.split(jax.random.fold_in(key_rounds, number), 3)
        bonus = None if cost is None or to_bonus is None else to_bonus(cost)
        report = partial(_report, on_progress, steps, rounds)
        agent, forward_info = forward_step(
            key_forward, agent, task, train_env, cost if to_bonus is None else None, config.forward, bonus, report
        )  # Eq. 9
        samples = _sample(key_sample, agent, task, sample_env, config, task.horizon)  # S ~ π^φ
        scouting, returned = scout_on(scouting, samples, demos, config)
        evidence, moves = gather(evidence, samples, demos, scouting, returned, config)
        if moves and config.scouts > 0 and evidence is not None:
            constraint, backward_info = fit_zeta(
                generator(key_constraint), demos.trajectories, evidence, innocents, features, config, objective
            )
        else:
            constraint, backward_info = backward_step(
                constraint, demos.trajectories, samples, features,
                config.backward if moves else replace(config.backward, updates=0), None, objective, innocents,
            )  # Eqs. 8, 10–12  # fmt: skip
        steps += forward_info.steps + samples.num_steps
        last = Round(number, steps, agent, constraint, features, samples, forward_info, backward_info, innocents)
        on_round(last)
        new_cost = constraint_cost(constraint, features, config.backward) if moves else cost
        if returned or settled_on_forbidden_ways(samples, cost, new_cost, config.restart_above):
            agent = init_agent(generator(key_agent), task, config.forward)
        cost = new_cost
    return last


def learn_constraint(task: Task, demos: Demonstrations, config: LearnConfig, seed: int = 0) -> LearnedConstraint:
    """Learn, and keep only the constraint: the artefact that judges pairs (s, a) in NumPy alone."""
    last = learn(task, demos, config, seed)
    return freeze(last.constraint, last.features, config.backward, {"task": task.name, "seed": seed, "method": "icrl"})


def _sample(key: Any, agent: AgentState, task: Task, env: VectorEnv, config: LearnConfig, horizon: int) -> Trajectories:
    rng, policy = generator(key), policy_of(agent, task, config.forward)
    return sample_trajectories(rng, policy, env, horizon, int(rng.integers(2**31)))


def _report(on_progress: Callable[[Progress], None], before: int, rounds: int, done: int) -> None:
    on_progress(Progress(before + done, rounds))
