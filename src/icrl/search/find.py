"""Find the rule: the few axes along which out-earning trajectories go where no demonstration goes.

score(F) = mean over scales of max(0, e − h) − price · |F|

e: share of the evidence, by weight, that enters cells no demonstration visits;
h: share of demonstrations that leave the cells of the others.
One such cell is easy to find at a fine scale; the mean over scales is the margin.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icrl.search.tables import Tables
from icrl.types import BoolArray, FloatArray, IntArray

SCALES = (4, 5, 6, 7, 8, 10, 12, 14, 16)
"""Cells along an axis, from coarse to fine."""
FINER = (2, 4, 8)
"""Times as fine, one after the other, for a rule that leaves most of its axes alone: a narrow band
that is jumped over, a patch."""
PRICE = 0.03
"""Of each axis; held-out demonstrations set the real price of complexity."""
LEAST = 0.15
"""A rule with a lower score is not believed:
a style of agents scores up to about 0.13 (docs/decisions/0017)."""
_PAID = 0.8
"""A prefix that has earned so much of the way from chance to what demonstrations earn has paid."""
_VETO = 0.8
"""Axes are vetoed if what precedes them scores so much of what they score."""
_MOST_CANDIDATES = 8
_WORTH_A_LOOK = 0.4
"""Candidates score at least so much of what the best does."""
AS_MUCH = 2 / 3
"""A smaller set of axes that is worth at least this share of what a larger one is worth stands for
it."""
NEARLY = 0.05
"""A set of axes that explains less by no more than this explains as much."""
_NEVER = np.iinfo(np.int64).max


class Candidate(NamedTuple):
    """A set of axes, and how well a rule over them explains the evidence."""

    axes: tuple[int, ...]
    score: float
    scale: int
    """The scale at which it explains most and refutes least."""
    explained: float
    refuted: float
    """Both at that scale."""
    before: float = 0.0
    """The best score of what precedes it and has paid already."""
    kept: float | None = None
    """Share of what agents earn beyond demonstrations that they keep while they obey a rule over
    these axes; None: not tried."""
    by_chance: float = 0.0
    """Share of what chance does that a rule over these axes forbids."""
    lost: bool = False
    """Agents that were trained under it told against it (`icrl.contest`)."""

    @property
    def vetoed(self) -> bool:
        """What it flags happens after the deed: something that precedes it explains as much."""
        return self.before >= _VETO * self.score

    @property
    def taken(self) -> float:
        """Share of the gain that obeying takes away."""
        return 1.0 - (self.kept or 0.0)

    @property
    def worth(self) -> float:
        """Score, as far as obeying takes away what was to be explained.

        Squared: what agents keep before they learn anew is the least of what they could keep.
        """
        return self.score * self.taken**2

    def does_as_much(self, other: "Candidate") -> bool:
        """It explains as much as another; where agents were asked to obey both, it takes as much
        from them. They know better than a table: of what out-earns, some may be luck."""
        if self.kept is None or other.kept is None:
            return self.explained >= other.explained - NEARLY
        return self.kept <= other.kept + NEARLY

    @property
    def spared(self) -> float:
        """Worth, as far as it leaves alone what has nothing to do with the gain."""
        return self.worth * (1.0 - self.by_chance)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be explained."""

    tables: Tables
    weights: FloatArray
    """[trajectories]: how much each needs explaining; sum 1"""
    prices: tuple[float, ...]
    """Of every axis."""
    paid: FloatArray
    """[n]: share of the way from chance to what demonstrations earn that the agent has
    been paid before each step"""
    scales: tuple[int, ...] = SCALES


def find(question: Question, sets: list[tuple[int, ...]]) -> list[Candidate]:
    """Candidates among `sets` that are worth a look, best first; the vetoed ones come last."""
    ranked = rank(question, sets)
    if not ranked:
        return []
    best = ranked[0].score
    candidates: list[Candidate] = []
    for candidate in ranked:
        if candidate.score < max(0.0, _WORTH_A_LOOK * best) or len(candidates) == _MOST_CANDIDATES:
            break
        # a superset of a better set says nothing new
        if not any(set(other.axes) <= set(candidate.axes) for other in candidates):
            candidates.append(candidate)
    others = [candidate.axes for candidate in ranked[:60]]
    judged = [_with_what_precedes(question, candidate, others) for candidate in candidates]
    return sorted(judged, key=lambda candidate: (candidate.vetoed, -candidate.score))


def parts_of(whole: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """Candidates over fewer of the same axes that may be worth and do as much as the whole,
    the smallest first. Where agents can be asked, they say what each does."""
    parts = [
        other
        for other in candidates
        if set(other.axes) < set(whole.axes)
        and not other.vetoed
        # Its score is the most that it can be worth: what cannot reach the whole need not be tried.
        and other.score >= AS_MUCH * whole.spared
        and (whole.kept is not None or other.does_as_much(whole))
    ]
    return sorted(parts, key=lambda part: (len(part.axes), -part.score))


def rank(question: Question, sets: list[tuple[int, ...]]) -> list[Candidate]:
    """All sets by their score."""
    scored = [score(question, axes) for axes in sets]
    return sorted(scored, key=lambda candidate: -candidate.score)


def score(question: Question, axes: tuple[int, ...], alive: BoolArray | None = None) -> Candidate:
    """The mean margin of one set of axes; `alive` [n]: only these steps of the agents count."""
    margins = []
    best = Candidate(axes, -1.0, question.scales[0], 0.0, 0.0)
    clearest = -np.inf
    tables = question.tables
    for scale in question.scales:
        look = tables.look(axes, scale)
        novel = look.novel
        if alive is not None:
            novel = novel & alive
        # Trajectories, not steps: one step behind a wall explains a gain as well as a thousand do.
        explained = float(question.weights @ tables.entered(novel))
        # Not below 0: a scale at which the rule is refuted is no help, but does not undo the
        # others.
        margins.append(max(0.0, explained - look.refuted))
        # a demonstration that is refuted weighs twice:
        # of like scales the one that allows all of them
        clear = explained - 2 * look.refuted
        if explained > look.refuted and clear > clearest + 1e-3:
            clearest = clear
            best = best._replace(scale=scale, explained=explained, refuted=look.refuted)
    price = sum(question.prices[axis] for axis in axes)
    return best._replace(score=float(np.mean(margins)) - price)


def first_novel(tables: Tables, novel: BoolArray) -> IntArray:
    """[trajectories]: index (into all steps) of the first novel step of each;
    beyond all where there is none."""
    index = np.where(novel, np.arange(len(novel)), _NEVER)
    return np.minimum.reduceat(index, tables.done.starts)


def _with_what_precedes(
    question: Question, candidate: Candidate, others: list[tuple[int, ...]]
) -> Candidate:
    """How well others explain what trajectories did before this candidate flags them,
    where that has paid already."""
    tables = question.tables
    novel = tables.look(candidate.axes, candidate.scale).novel
    first = first_novel(tables, novel)
    flagged = first < _NEVER
    paid = np.zeros(len(first), np.bool_)
    paid[flagged] = question.paid[first[flagged]] >= _PAID
    weights = question.weights * paid
    # Hardly any of the evidence had been paid by then: there is nothing to explain before it.
    if weights.sum() <= 0.05:
        return candidate
    # Against meters of return (decision 0017): an odometer is high because the agent went far, and
    # what it did to get there came first.
    alive = np.arange(len(novel)) < first[tables.done.owners]
    before = Question(tables=tables, weights=weights, prices=question.prices, paid=question.paid)
    strongest = max(score(before, axes, alive).score for axes in others)
    return candidate._replace(before=max(0.0, strongest))
