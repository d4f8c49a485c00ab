"""Trying a candidate: the wall in its axes, what agents keep of their gain under it,
and what else it forbids."""

from dataclasses import replace

import numpy as np

from icrl.search.find import Candidate, Question
from icrl.search.question import Values, put_question
from icrl.search.rule import Kept, Problem, Rule, plainly_forbidden, wall_in

_LITTLE = 0.1
"""Agents that keep no more than this of their gain under a rule have found no way past it."""
_MOST_WAYS = 4
"""How often a wall is placed anew, where agents got past it by ways that nobody had shown."""
_LESS = 0.05
"""Unless they then keep less by so much, they need no such way: the axes are wrong."""


def tried_under(
    problem: Problem, question: Question, candidate: Candidate, best_worth: float = 0.0
) -> Rule:
    """The wall in the axes of a candidate, what agents keep under it, and what else it forbids."""
    rule = wall_in(problem, candidate, question)
    if problem.kept_under is not None:
        rule = _asked(problem, question, rule, best_worth)
    candidate = rule.candidate
    if problem.chance is not None:
        by_chance = plainly_forbidden(rule, problem.axes, problem.chance.values)
        candidate = candidate._replace(by_chance=float(np.mean(by_chance)))
    return rule._replace(candidate=candidate)


def _asked(problem: Problem, question: Question, rule: Rule, best_worth: float) -> Rule:
    """A rule, and what agents keep of their gain under it.

    Evidence is thin, the more so in three axes: where agents get past a wall by ways that nobody
    had shown, these ways are evidence, too, and the wall is placed anew. Axes are refuted where
    agents keep their gain among what demonstrations show in them.
    """
    assert problem.kept_under is not None
    kept = problem.kept_under(rule)
    known = problem
    for _ in range(_MOST_WAYS):
        # Its score is the most that it can be worth: what cannot win need not be asked again.
        if kept.share <= _LITTLE or kept.ways is None or rule.candidate.score <= best_worth:
            break
        known = _with_ways(known, kept)
        anew = put_question(known.axes, known.shown, known.done, known.weights, known.paid)
        # Rulers follow the data: beside many ways near demonstrations, what scouts did may lie in
        # no cell of its own any more, and then there is nothing to place a wall by.
        if not anew.tables.look(rule.candidate.axes, rule.candidate.scale).novel.any():
            break
        closed = _as_deep(wall_in(known, rule.candidate, anew), rule)
        then = problem.kept_under(closed)
        if then.share > kept.share - _LESS:
            break
        rule = closed
        kept = then
    return rule._replace(candidate=rule.candidate._replace(kept=kept.share))


def _with_ways(problem: Problem, kept: Kept) -> Problem:
    """The evidence, and what agents did under a rule beside it."""
    assert kept.ways is not None
    assert kept.weights is not None
    done = problem.done
    ways = kept.ways
    steps = max(problem.paid.shape[1], int(ways.times.max(initial=0)) + 1)
    # Nobody asks what was paid before them: the axes are chosen already.
    paid = np.zeros((done.number + ways.number, steps))
    paid[: done.number, : problem.paid.shape[1]] = problem.paid
    return problem._replace(
        done=Values(
            values=np.concatenate([done.values, ways.values]),
            owners=np.concatenate([done.owners, ways.owners + done.number]),
            number=done.number + ways.number,
            times=np.concatenate([done.times, ways.times]),
        ),
        # As heavy as what scouts did: light trajectories do not say how far the forbidden reaches.
        weights=np.concatenate(
            [problem.weights, kept.weights * (problem.weights.max() / kept.weights.max())]
        ),
        paid=paid,
    )


def _as_deep(rule: Rule, before: Rule) -> Rule:
    """The evidence as deep as it was: ways past a wall lie near it, and caution would shrink to
    nothing with them."""
    deep = before.region.evidence_depth * before.borne / rule.borne
    return rule._replace(region=replace(rule.region, evidence_depth=max(1.0, deep)))
