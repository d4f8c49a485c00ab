"""Moving ζ our way: from all evidence so far to the rule that explains it, and to the artefact."""

import dataclasses
from functools import partial
from typing import Any

import jax
import numpy as np

from icrl.agent.forward_step import generator
from icrl.config import LearnConfig
from icrl.constraint.found import region_constraint
from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.evidence.expected import Expected
from icrl.evidence.gathered import OUT_EARNS, add, strength_of, weights_of
from icrl.rounds import Phase
from icrl.search.axes import make_axes
from icrl.search.choose import find_rule
from icrl.search.question import values_of
from icrl.search.rule import Finding, Kept, Problem, Rule
from icrl.spans import span
from icrl.state import LearnState
from icrl.tasks.task import Task
from icrl.trajectories import pairs_of
from icrl.trials import WORTH_ASKING, Asked, Trials
from icrl.types import Trajectories

_CLEAR = 0.45
"""Where fewer agents can be asked, a rule must explain so much of what there is to explain."""
_INDEPENDENT = 2
"""Agents that out-earn demonstrations: what one alone does beside them may be its own way of doing
what is allowed (decision 0033: an Ant that walked elsewhere)."""
_AS_CLEARLY = 0.15
"""Another rule must score as much as the old one did, less this."""


def why_no_rule(earned: float) -> str:
    """What that says of an expert of whom the best scout earned so many deviations more."""
    if earned < -OUT_EARNS:
        return (
            "no agent earned what demonstrations earn: nobody can tell whether a rule is needed "
            "(longer scouts, with more --steps, might)"
        )
    if earned > OUT_EARNS:
        return (
            "one agent alone out-earns the demonstrations, and no rule clearly explains how: it "
            "may merely be better than the expert (more --scouts might tell)"
        )
    return "no agent out-earns the demonstrations: nothing needs a rule to explain it"


class Finder:
    """Finds ζ from what a run carries on."""

    def __init__(self, task: Task, demos: Demonstrations, config: LearnConfig, key: Any) -> None:
        self.task = task
        self.config = config
        self.key = key
        self.axes = make_axes(
            task.observation_names, task.action_names, task.one_hot, task.discrete, config.features
        )
        # Once: demonstrations do not change while a run goes on.
        self.shown = values_of(self.axes, demos.trajectories, task.discrete)
        self.trials = Trials(task, config)

    @span("zeta")
    def found(self, state: LearnState) -> LearnState:
        """ζ from all evidence so far."""
        asked = self._asked(state)
        old = rule_of(state)
        finding = find_rule(self._problem(state, asked), old)
        why = finding.said
        if old is None:
            # Decision 0020: right rules had 0.48 and 0.56 where nobody could be asked, wrong ones
            # 0.18 to 0.41.
            if len(asked.agents) < _INDEPENDENT and not _clear(finding):
                finding = finding._replace(rule=None)
                why = why_no_rule(state.best_scout.earned)
        else:
            assert state.finding is not None
            why = f"an agent out-earned the demonstrations: {why}"
            # another rule must explain all evidence nearly as clearly as the old one
            # explained what there was
            least = old.candidate.score - _AS_CLEARLY
            if finding.rule is None or finding.rule.candidate.score < least:
                finding = state.finding
                why = (
                    "nothing explains what the agent under ζ does: it may merely be better than "
                    "the expert"
                )
        return dataclasses.replace(
            state,
            finding=finding,
            generation=state.generation + 1,
            moved=finding is not state.finding,
            why=why,
            steps=state.steps + asked.steps,
        )

    def independent(self, state: LearnState) -> bool:
        """Several scouts out-earn the demonstrations, each in a way of its own."""
        return sum(scout.earned > WORTH_ASKING for scout in state.scouted) >= _INDEPENDENT

    def _asked(self, state: LearnState) -> Asked:
        """All scouts, and the agent that acted last if it was another one."""
        assert state.evidence is not None
        assert state.expected is not None
        agents = [scout.agent for scout in state.scouted]
        if state.acted_as is not Phase.scout:
            assert state.acted is not None
            # The counter-example itself must give up its gain under the next rule.
            agents.append(state.acted)
        # By the round's number, so that a run that goes on asks from the same starts.
        rng = generator(jax.random.fold_in(self.key, state.number))
        return self.trials.ask(rng, agents, state.evidence.trajectories, state.expected)

    def _problem(self, state: LearnState, asked: Asked) -> Problem:
        """What is to be explained."""
        assert state.evidence is not None
        assert state.expected is not None
        assert state.chance is not None
        evidence = state.evidence
        weights = weights_of(evidence, state.expected)
        kept_under = None
        if asked.agents:
            kept_under = partial(self._kept, asked, state.expected)
        return Problem(
            axes=self.axes,
            shown=self.shown,
            done=values_of(self.axes, evidence.trajectories, self.task.discrete),
            weights=weights,
            paid=state.expected.paid(evidence.trajectories),
            strength=strength_of(evidence, weights, state.expected),
            kept_under=kept_under,
            chance=values_of(self.axes, state.chance, self.task.discrete),
        )

    def _kept(self, asked: Asked, expected: Expected, rule: Rule) -> Kept:
        """What agents keep under a rule, as the search sees it."""
        tried = asked.kept_under(rule)
        return Kept(
            share=tried.kept,
            ways=values_of(self.axes, tried.permitted, self.task.discrete),
            weights=weights_of(add(None, tried.permitted, 0), expected),
        )

    def constraint_of(self, state: LearnState) -> LearnedConstraint:
        """ζ as an artefact; where no rule was found, one that forbids nothing."""
        card: dict[str, Any] = {"search": self._card(state)}
        rule = rule_of(state)
        if rule is None:
            return region_constraint(None, (), self.task, card)
        constraint = region_constraint(
            rule.region, [axis.columns for axis in rule.axes], self.task, card
        )
        return constraint.with_caution(self.config.caution)

    def _card(self, state: LearnState) -> dict[str, Any]:
        """What the artefact says of how it was found."""
        if state.finding is None:
            return {"phase": state.phase.value}
        assert state.expected is not None
        return {
            "generations": state.generation,
            "demonstrations": self.shown.number,
            # what the best scout earns beyond demonstrations: judges are seen beside it
            "scouts_beyond": state.best_scout.earned * state.expected.scatter,
            "judged": [{"return": j.mean_return, "forbidden": j.forbidden} for j in state.judged],
            **state.finding.card(),
        }


def rule_of(state: LearnState) -> Rule | None:
    """The present rule; None: nothing is forbidden."""
    if state.finding is None:
        return None
    return state.finding.rule


def told_of(state: LearnState) -> dict[str, Any]:
    """What metrics tell of ζ."""
    if state.finding is None:
        return {}
    return state.finding.told()


def mean_cost(constraint: LearnedConstraint, trajectories: Trajectories) -> float:
    """Mean of 1 − ζ over real steps."""
    pairs = pairs_of(trajectories)
    return float(np.mean(constraint.cost(pairs.observations, pairs.actions)))


def _clear(finding: Finding) -> bool:
    """The rule explains enough to be believed where no agent can be asked."""
    if finding.rule is None:
        return False
    return finding.rule.candidate.score * finding.strength >= _CLEAR
