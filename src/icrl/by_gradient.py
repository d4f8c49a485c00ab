"""The paper's way through Algorithm 1: one agent goes on, every sample is evidence,
ζ takes limited gradient steps."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from icrl.agent.forward_step import forward_step, generator, steady
from icrl.agent.sampling import sample_agent
from icrl.agent.state import init_agent
from icrl.agent.training import Training
from icrl.config import LearnConfig
from icrl.constraint.backward_step import (
    backward_step,
    check_limits,
    constraint_cost,
    freeze,
    init_constraint,
)
from icrl.constraint.features import select_features
from icrl.constraint.objective import Objective, loss
from icrl.demos.dataset import Demonstrations
from icrl.rounds import (
    OnProgress,
    Phase,
    Round,
    learning_rate_share,
    num_rounds,
    report_progress,
)
from icrl.spans import span
from icrl.state import LearnState
from icrl.tasks.task import Task
from icrl.trajectories import pairs_of
from icrl.types import CostFunction


class GradientWay:
    """Forward step, samples, backward step, as the paper has them."""

    def __init__(
        self,
        task: Task,
        demos: Demonstrations,
        config: LearnConfig,
        key: Any,
        objective: Objective = loss,
        to_bonus: Callable[[CostFunction], CostFunction] | None = None,
    ) -> None:
        # A KL limit that can never fire would be ignored without a word; better to stop before
        # hours of training.
        check_limits(config.backward, config.num_samples, task.horizon)
        self.task = task
        self.demos = demos
        self.config = config
        self.objective = objective
        self.to_bonus = to_bonus
        self.rounds = num_rounds(task, config)
        self.features = select_features(task, config.features, config.backward.input_clip)
        # Each use of chance has a key of its own, so that a change in one (more layers of zeta,
        # say) leaves the others' numbers as they were.
        self.key_agent, self.key_constraint, self.key_rounds = jax.random.split(key, 3)
        # Two sets of environments: training takes as many as make a good rollout, sampling one for
        # each trajectory of S.
        self.train_env = task.make_env(config.forward.num_envs)
        self.sample_env = task.make_env(config.num_samples)

    def start(self) -> LearnState:
        """A fresh agent, and a ζ of about ½ everywhere."""
        agent = init_agent(generator(self.key_agent), self.task, self.config.forward)
        zeta = init_constraint(generator(self.key_constraint), self.features, self.config.backward)
        return LearnState(training=Training(agent), phase=Phase.round, zeta=zeta)

    def cost_of(self, state: LearnState) -> CostFunction:
        """1 − ζ_θ."""
        assert state.zeta is not None
        return constraint_cost(state.zeta, self.features, self.config.backward)

    def solve(self, state: LearnState, on_progress: OnProgress) -> LearnState:
        """One forward step of the same agent, under a cost or with a bonus.

        "Learn π by solving (9)" does not say whether it goes on: where zeta moved far, it may start
        afresh.
        """
        number = state.number + 1
        # Off where `restart_above` is None. An agent that was trained under another zeta may
        # be stuck where the old one left it.
        if self._moved_far(state):
            key = jax.random.fold_in(self.key_agent, number)
            fresh = init_agent(generator(key), self.task, self.config.forward)
            state = dataclasses.replace(state, training=Training(fresh))
        # GAIL as a constraint pays log zeta instead of charging 1 - zeta. An agent is given one of
        # the two, never both.
        cost: CostFunction | None = self.cost_of(state)
        bonus = None
        if self.to_bonus is not None and cost is not None:
            bonus = self.to_bonus(cost)
            cost = None
        agent, info = forward_step(
            # Even numbers for training, odd ones for sampling: no round shares a key with another.
            jax.random.fold_in(self.key_rounds, 2 * number),
            state.training.agent,
            self.task,
            self.train_env,
            cost,
            self.config.forward,
            bonus=bonus,
            on_update=partial(report_progress, on_progress, state.steps, self.rounds),
            pace=steady(learning_rate_share(state.steps, self.config)),
        )
        return dataclasses.replace(
            state,
            number=number,
            steps=state.steps + info.steps,
            training=state.training._replace(agent=agent, steps=state.training.steps + info.steps),
            forward_info=info,
        )

    def sample(self, state: LearnState) -> LearnState:
        """S ~ π^φ, once a round (fidelity F4)."""
        key = jax.random.fold_in(self.key_rounds, 2 * state.number + 1)
        samples = sample_agent(
            key,
            state.training.agent,
            self.task,
            self.sample_env,
            self.config.forward,
            self.task.horizon,
        )
        # The paper's way asks of no sample whether it needs explaining: all count alike.
        weights = np.ones(samples.num_trajectories)
        return dataclasses.replace(
            state, samples=samples, weights=weights, steps=state.steps + samples.num_steps
        )

    @span("zeta")
    def move(self, state: LearnState) -> LearnState:
        """Up to B gradient steps of ζ (Eqs. 8, 10-12)."""
        assert state.zeta is not None
        assert state.samples is not None
        zeta, info = backward_step(
            state.zeta,
            self.demos.trajectories,
            state.samples,
            self.features,
            self.config.backward,
            objective=self.objective,
        )
        why = f"{info.updates_made} gradient steps"
        if info.stopped_early:
            why += ", then a KL limit"
        # How far zeta moved is told where the agent goes, for that is what it feels. Far off, zeta
        # may change without consequence.
        moved = dataclasses.replace(state, zeta=zeta)
        pairs = pairs_of(state.samples)
        before = self.cost_of(state)(pairs.observations, pairs.actions)
        after = self.cost_of(moved)(pairs.observations, pairs.actions)
        change = float(np.mean(np.abs(after - before)))
        return dataclasses.replace(
            moved,
            constraint_info={**info._asdict(), "cost_change": change},
            moved=info.updates_made > 0,
            why=why,
            # By rounds, not by steps: sampled episodes may be short, and a run must not grow a
            # round by luck.
            finished=state.number + 1 >= self.rounds,
        )

    def _moved_far(self, state: LearnState) -> bool:
        """Zeta's last move changed what the agent did by more than it may."""
        limit = self.config.restart_above
        if limit is None or state.constraint_info is None:
            return False
        return bool(state.constraint_info.get("cost_change", 0.0) > limit)

    def report(self, state: LearnState) -> Round:
        """What the round leaves behind."""
        assert state.zeta is not None
        assert state.samples is not None
        assert state.forward_info is not None
        assert state.constraint_info is not None
        # With a bonus nothing is charged, so there is no cost that the agent was trained under.
        cost = None
        if self.to_bonus is None:
            cost = self.cost_of(state)
        return Round(
            number=state.number,
            steps=state.steps,
            phase=state.phase,
            agent=state.training.agent,
            cost=cost,
            constraint=freeze(state.zeta, self.features, self.config.backward, {}),
            samples=state.samples,
            forward_info=state.forward_info,
            constraint_info=state.constraint_info,
            moved=state.moved,
            why=state.why,
            evidence_weights=state.weights,
        )
