"""Algorithm 1 of the paper: learn a constraint from demonstrations. The file to open first.

for i = 1..N:
    learn π^φ under the cost 1 − ζ_θ             forward_step          (Eq. 9)
    sample S from π^φ                            sample_agent          (fidelity F4)
    move θ up the likelihood of D, B times       backward_step         (Eqs. 8, 10-12)

What ours adds, each part with a switch: scouts (`scouting.py`), what counts as evidence (`evidence.py`), a presumption
for what chance does (`zeta_fit.py`), and a fresh agent when the old one has settled on forbidden ways.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax

from icrl.agent.forward_step import forward_step, generator
from icrl.agent.sampling import sample_agent
from icrl.agent.state import init_agent
from icrl.config import LearnConfig
from icrl.constraint.backward_step import backward_step, check_limits, constraint_cost, freeze, init_constraint
from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.objective import Objective, loss
from icrl.demos.dataset import Demonstrations
from icrl.demos.fitting import fit_and_check
from icrl.evidence import evidence_weights, gather, settled_on_forbidden_ways
from icrl.rounds import Progress, Round, chance_horizon, num_rounds, report_progress
from icrl.scouting import another_scout, make_stage_envs, scout_on, scout_round, send_scouts
from icrl.tasks.task import Task
from icrl.types import CostFunction
from icrl.zeta_fit import fit_or_dismiss


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

    The baselines have another `objective` for zeta, or make the cost 1 − ζ an addition to the reward (`to_bonus`).
    """
    demos = fit_and_check(demos, task)
    check_limits(config.backward, config.num_samples, task.horizon)
    rounds, features = num_rounds(task, config), select_features(task, config.features, config.backward.input_clip)
    key_agent, key_constraint, key_chance, key_rounds = jax.random.split(jax.random.key(seed), 4)
    agent = init_agent(generator(key_agent), task, config.forward)
    constraint = init_constraint(generator(key_constraint), features, config.backward)
    train_env, sample_env = task.make_env(config.forward.num_envs), task.make_env(config.num_samples)
    stage_envs = make_stage_envs(task, config)
    cost = constraint_cost(constraint, features, config.backward) if config.scouts == 0 else None  # 1 − ζ_θ
    scouting = send_scouts(rounds, config)
    evidence, innocents, steps = None, None, 0
    if config.backward.presumption > 0:  # what an untrained agent does is nobody's intention
        innocents = sample_agent(key_chance, agent, task, train_env, config.forward, chance_horizon(task))
        steps = innocents.num_steps
    for number in range(rounds):
        key_forward, key_sample, key_agent = jax.random.split(jax.random.fold_in(key_rounds, number), 3)
        limit, bonus = (cost, None) if cost is None or to_bonus is None else (None, to_bonus(cost))
        report = partial(report_progress, on_progress, steps, rounds)
        if scouting.left > 0:
            agent, forward_info, samples = scout_round(key_forward, agent, task, train_env, stage_envs, config, report)
        else:
            training = task, train_env, limit, config.forward, bonus, report, None, steps / config.steps
            agent, forward_info = forward_step(key_forward, agent, *training)  # Eq. 9
            samples = sample_agent(key_sample, agent, task, sample_env, config.forward, task.horizon)  # S ~ π^φ
        scouting, returned = scout_on(scouting, samples, demos, config)
        weights = evidence_weights(samples, demos, evidence, scouting.left > 0, returned, config)
        evidence, moves = gather(evidence, samples, weights, scouting.left > 0, config)
        if moves and config.scouts > 0 and evidence is not None:
            obeyed = None if returned else cost
            fitting = generator(key_constraint), demos, evidence, innocents, features, config, objective, constraint
            constraint, backward_info, evidence, moves = fit_or_dismiss(*fitting, obeyed)
            weights = weights * moves  # samples that were dismissed are no evidence
        else:
            backward = config.backward if moves else replace(config.backward, updates=0)
            constraint, backward_info = backward_step(  # Eqs. 8, 10–12
                constraint, demos.trajectories, samples, features, backward, None, objective, innocents
            )
        steps += forward_info.steps + samples.num_steps
        made = forward_info, backward_info, weights, innocents
        on_round(last := Round(number, steps, agent, constraint, features, samples, *made))
        new_cost = constraint_cost(constraint, features, config.backward) if moves else cost
        scouting = another_scout(scouting, evidence, new_cost, config) if returned else scouting
        if returned or settled_on_forbidden_ways(samples, cost, new_cost, config.restart_above):  # fidelity F17
            agent = init_agent(generator(key_agent), task, config.forward)
        cost = new_cost
    return last  # fidelity F11: not the best by the truth


def learn_constraint(task: Task, demos: Demonstrations, config: LearnConfig, seed: int = 0) -> LearnedConstraint:
    """Learn, and keep only the constraint: the artefact that judges pairs (s, a) in NumPy alone."""
    last = learn(task, demos, config, seed)
    return freeze(last.constraint, last.features, config.backward, {"task": task.name, "seed": seed, "method": "icrl"})
