"""Contests: a rival takes the place of a rule that does not say why demonstrations keep off what
the rival forbids.

Two rules may explain a gain equally well: a place, and the way in which one passes it; a cause, and
its consequence. What tells them apart is what agents do that were trained under each. By the
likelihood (Eq. 4) demonstrations do what good agents do under the true rule. So where an agent
under ζ earns what they earn, and in its episodes goes where a rival forbids and no demonstration
ever was, ζ leaves something unsaid; does an agent under the rival keep off what ζ forbids, the
rival says it all (docs/decisions/0032).
"""

import dataclasses
import math
from typing import Any, NamedTuple

import jax
import numpy as np

from icrl.agent.forward_step import generator
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import AgentState, policy_of
from icrl.agent.training import first_forbidden
from icrl.config import LearnConfig
from icrl.evidence.expected import Expected
from icrl.finding import Finder
from icrl.search.find import Candidate
from icrl.search.question import values_of
from icrl.search.rule import Rule, depths_of
from icrl.state import Contest, LearnState
from icrl.tasks.task import Task
from icrl.trials import rule_cost
from icrl.types import Trajectories

_SURE = math.log(20)
"""Log-likelihood: one in twenty is no accident."""
_COMPETENT = 0.9
"""Share of the way from chance to demonstrations: who earns less tells nothing of good agents."""
_COUNTED = 20
"""Demonstrations: of more of them, a graze now and then would be no accident, either."""


class Played(NamedTuple):
    """What an agent does under the rule that it was trained under."""

    permitted: Trajectories
    """Its episodes at the mode of its policy, each up to what its rule forbids."""
    competent: bool
    """It earns nearly what demonstrations earn."""
    steps: int


class Contests:
    """Asks agents that were trained under one rule whether they do what another one forbids."""

    def __init__(self, task: Task, config: LearnConfig, finder: Finder, key: Any) -> None:
        self.task = task
        self.config = config
        self.finder = finder
        self.key = key
        self.counted = min(_COUNTED, finder.shown.number)

    def challenged(self, state: LearnState) -> LearnState:
        """The rule's strongest rival in its place (`contest` says so), if the agent under the rule
        does what that forbids; as it was where the rule says it all, or its agent is too poor to
        tell."""
        finding, judge = state.finding, state.judge
        assert finding is not None
        assert judge is not None
        rule = finding.rule
        waiting = [
            rival for rival in finding.challengers if rival.candidate.axes not in state.contested
        ]
        if rule is None or not waiting:
            return state
        played = self._play(state, judge, rule)
        state = dataclasses.replace(state, steps=state.steps + played.steps)
        missed = [self._missed(played, rival) for rival in waiting]
        most = max(missed)
        if not played.competent or most < _SURE:
            return state
        # Of those that say as much the first one.
        place = next(i for i, value in enumerate(missed) if value >= most - _SURE)
        rival = waiting[place]
        others = tuple(other for other in finding.challengers if other is not rival)
        tried = finding._replace(
            rule=rival,
            rivals=_with(rival.candidate, finding.rivals, first=True),
            challengers=(rule, *others),
        )
        why = (
            f"an agent under {finding.named(rule.candidate)} does what "
            f"{finding.named(rival.candidate)} forbids, and demonstrations do not: one under that"
        )
        return dataclasses.replace(
            state,
            finding=tried,
            contest=Contest(finding, judge, state.judged, missed[place]),
            moved=True,
            why=why,
        )

    def settled(self, state: LearnState, out_earned: bool = False) -> LearnState:
        """The rival stays where its agent, too, earns what demonstrations earn, and where they are
        clearly less unlikely beside that; otherwise the old rule is back.

        `out_earned`: its agent earns more than demonstrations do: it does not explain the gain.
        """
        contest, finding, judge = state.contest, state.finding, state.judge
        assert contest is not None
        assert finding is not None
        assert judge is not None
        old, rival = contest.finding.rule, finding.rule
        assert old is not None
        assert rival is not None
        state = dataclasses.replace(state, contest=None)
        if not out_earned:
            played = self._play(state, judge, rival)
            state = dataclasses.replace(state, steps=state.steps + played.steps)
            if played.competent and self._missed(played, old) + _SURE <= contest.missed:
                lost = old.candidate._replace(lost=True)
                rivals = _with(lost, finding.rivals)
                return dataclasses.replace(
                    state,
                    finding=finding._replace(rivals=rivals),
                    contested=(*state.contested, lost.axes),
                    why=f"an agent under {finding.named(rival.candidate)} does not do what "
                    f"{finding.named(lost)} forbids: it stays",
                )
        candidate = rival.candidate._replace(lost=out_earned)
        rivals = _with(candidate, contest.finding.rivals)
        return dataclasses.replace(
            state,
            finding=contest.finding._replace(rivals=rivals),
            judge=contest.judge,
            judged=contest.judged,
            contested=(*state.contested, candidate.axes),
            moved=True,
            why=f"an agent under {finding.named(candidate)} does no better: "
            f"{finding.named(old.candidate)} is back",
        )

    def _play(self, state: LearnState, agent: AgentState, rule: Rule) -> Played:
        """From many starts: what agents go round may depend on where they begin."""
        assert state.expected is not None
        expected: Expected = state.expected
        rng = generator(jax.random.fold_in(self.key, state.number))
        cost = rule_cost(rule, self.config.caution, self.task)
        policy = policy_of(agent, self.task, self.config.forward, cost, greedy=True)
        env = self.finder.trials.env
        samples = sample_trajectories(rng, policy, env, self.task.horizon, int(rng.integers(2**31)))
        permitted = expected.stopped(samples, first_forbidden(samples, cost))
        earned = float(np.mean(expected.competence(permitted)))
        return Played(permitted, earned >= _COMPETENT, samples.num_steps)

    def _missed(self, played: Played, other: Rule) -> float:
        """How unlikely demonstrations are beside an agent that goes deeper into what another rule
        forbids: N · KL(p ‖ q), p and q the shares of demonstrations and of episodes that get deeper
        than some depth, where that is largest."""
        values = values_of(self.finder.axes, played.permitted, self.task.discrete)
        depths = depths_of(other, self.finder.axes, values.values)
        deepest = np.zeros(values.number)
        np.maximum.at(deepest, values.owners, depths)
        # A demonstration lies beyond what the others show, too.
        limits = np.unique(np.concatenate([other.reached, [other.region.level]]))
        limits = limits[limits >= other.region.level]
        most = 0.0
        for limit in limits:
            theirs = float(np.mean(other.reached > limit))
            # one more episode of each kind, so that all of ten are not a certainty
            share = (np.sum(deepest > limit) + 1.0) / (values.number + 2.0)
            if share > theirs:
                most = max(most, self.counted * _divergence(theirs, share))
        return most


def _divergence(p: float, q: float) -> float:
    """KL of two coins; 0 < q < 1."""
    kl = 0.0
    if p > 0.0:
        kl += p * math.log(p / q)
    if p < 1.0:
        kl += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return kl


def _with(
    candidate: Candidate, rivals: tuple[Candidate, ...], first: bool = False
) -> tuple[Candidate, ...]:
    """The rivals, one of them as it is known now; before all others, or where it was."""
    known = tuple(
        candidate if other.axes == candidate.axes else other
        for other in rivals
        if not (first and other.axes == candidate.axes)
    )
    if first:
        return (candidate, *known)
    return known
