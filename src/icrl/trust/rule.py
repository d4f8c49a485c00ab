"""How far ahead of its rivals a rule is, and whether agents under it go where no demonstration was.

Both put the question of the search (`search/`) again, to what the run recorded. A rule that is
right may have close rivals, and an agent under it may have a style of its own: neither question
refutes it. But a rule whose features explain next to nothing, or clearly less than others, is none.
"""

from typing import Any, NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.explain.left_open import rivals_of
from icrl.rounds import Phase
from icrl.search.axes import Axis, make_axes
from icrl.search.choose import triples_of
from icrl.search.find import Candidate, Question, find, rank, score
from icrl.search.question import put_question, values_of
from icrl.search.tables import sets_of
from icrl.tasks.task import Task
from icrl.trajectories import join
from icrl.trust.check import Check, Level
from icrl.trust.record import Record
from icrl.trust.returns import LOWER, forbids_anything
from icrl.types import Trajectories

NAME = "rivals"
ELSEWHERE = "elsewhere"
CLEAR = 0.2
"""A rule that scores less explains little of the evidence, or only at fine scales."""
NOTHING = 0.1
"""A rule that scores less explains nothing that style would not."""
AHEAD = 0.8
"""A rival that scores more than this share of what the rule scores is close."""
CLEARLY = 0.1
"""A rival that scores so much more explains the evidence better."""
WIDER = 0.2
"""A rule over three features, which demonstrations show more thinly, must score so much more."""
PLAINLY = 0.3
"""Score of a rule against the agents' own episodes, above which they plainly go elsewhere."""
MUCH = 0.2
"""Share of steps spent elsewhere that is more than a style."""


class Scored(NamedTuple):
    """A set of features, and how well a rule over them explains the evidence."""

    axes: str
    score: float
    """Of the search; less the share of what agents earn beyond demonstrations that
    they keep under it, if known."""


class Standing(NamedTuple):
    """The rule among its rivals."""

    own: Scored | None
    """None: ζ forbids nothing."""
    others: tuple[Scored, ...]
    """Best first; none of them is a part of the rule's features, nor has them as a part."""
    wider: Scored | None = None
    """The best over three features, where by the record it explains clearly more than the rule."""


def standing_of(constraint: LearnedConstraint, task: Task, record: Record) -> Standing | None:
    """Scores by the card where it has them, and by the record;
    None: ζ was not found by search, or nothing was kept."""
    search = constraint.card.get("search")
    parts = _episodes(record, record.of(Phase.scout))
    if constraint.region is None or not isinstance(search, dict) or parts is None:
        return None
    axes = _axes(task)
    weights = record.weights[record.of(Phase.scout)]
    question = _question(
        axes, task, record.demos, parts, weights / max(float(weights.sum()), 1e-12)
    )
    # Who lost a contest is no rival any more: its score is no doubt.
    told = {
        rival.axes: rival for rival in rivals_of(constraint) if not rival.vetoed and not rival.lost
    }
    own = None
    kept = None
    if forbids_anything(constraint):
        mine = _own_axes(constraint, axes)
        name = _named(mine, axes)
        own = Scored(name, score(question, mine).score)
        if name in told:
            kept = told[name].kept
            own = Scored(name, told[name].spared)
    found = {}
    for name, rival in told.items():
        # what no agent was asked to obey is taken to leave as much as the rule does
        known = rival
        if rival.kept is None:
            known = rival._replace(kept=kept)
        found[name] = known.spared
        # Where nothing is forbidden nothing is compared: the question is whether any rule explains.
        if own is None:
            found[name] = known.score * known.taken
    if not told:  # a card that names none: those of the record
        for candidate in rank(question, sets_of(len(axes)))[:5]:
            found[_named(candidate.axes, axes)] = candidate.score
    # A set that holds the rule's features, or is a part of them, says the same in more or fewer
    # words: it is no rival.
    others = [
        Scored(name, value)
        for name, value in found.items()
        if own is None or not _part_of(name, own.axes)
    ]
    return Standing(
        own,
        tuple(sorted(others, key=lambda other: -other.score)),
        _widest(constraint, question, axes),
    )


def _widest(
    constraint: LearnedConstraint, question: Question, axes: tuple[Axis, ...]
) -> Scored | None:
    """The three features that explain the evidence best; None: the rule has as many, or explains
    nearly as much."""
    mine = _own_axes(constraint, axes)
    if len(axes) < 3 or len(mine) > 2:
        return None
    best = rank(question, triples_of(question, len(axes)))[0]
    # Both by the record: the card's score of the rule may be of other evidence.
    if best.score <= score(question, mine).score + WIDER:
        return None
    return Scored(_named(best.axes, axes), best.score)


def check_rivals(standing: Standing) -> Check:
    """How clearly does the rule explain the evidence?"""
    numbers: dict[str, Any] = {"rivals": [list(other) for other in standing.others]}
    if standing.own is None:
        nearest = ""
        if standing.others:
            nearest = (
                f"; {standing.others[0].axes} came nearest (score {standing.others[0].score:.2f})"
            )
        return Check(
            NAME, Level.good, f"no rule is said to explain what agents do{nearest}", numbers
        )
    own = standing.own
    numbers["score"] = own.score
    said = f"a rule over {own.axes} explains the evidence with a score of {own.score:.2f}"
    if own.score < NOTHING:
        return Check(NAME, Level.bad, f"{said}: no better than a style of agents", numbers)
    if standing.others and standing.others[0].score > own.score + CLEARLY:
        rival = standing.others[0]
        return Check(
            NAME,
            Level.bad,
            f"{said}; one over {rival.axes} explains it better ({rival.score:.2f})",
            numbers,
        )
    if standing.others and standing.others[0].score > AHEAD * own.score:
        rival = standing.others[0]
        how = "nearly as well"
        if rival.score >= own.score:
            how = "as well"
        return Check(
            NAME, Level.care, f"{said}; one over {rival.axes} {how} ({rival.score:.2f})", numbers
        )
    if own.score < CLEAR:
        return Check(NAME, Level.care, f"{said}: not clearly", numbers)
    wider = standing.wider
    if wider is not None:
        numbers["wider"] = list(wider)
        return Check(
            NAME,
            Level.care,
            f"{said}; one over three features ({wider.axes}) with {wider.score:.2f}, and "
            "demonstrations are too thin in three to tell",
            numbers,
        )
    return Check(NAME, Level.good, f"{said}; no rival comes near", numbers)


class Strange(NamedTuple):
    """Where agents under ζ go that no demonstration does, in features that ζ ignores."""

    axes: str
    score: float
    episodes: float
    """Share of their episodes that go there."""
    steps: float
    """Share of their steps that are there."""

    @property
    def plain(self) -> bool:
        """That is more than a style."""
        return self.score >= PLAINLY


def strange_places(
    constraint: LearnedConstraint, task: Task, demos: Trajectories, done: Trajectories
) -> Strange | None:
    """The set of features that sets agents apart from demonstrations most;
    None: ζ looks at everything there is."""
    axes = _axes(task)
    # All alike: the question is where agents go, not what it earns them.
    weights = np.full(done.num_trajectories, 1.0 / done.num_trajectories)
    question = _question(axes, task, demos, done, weights)
    seen = set(constraint.features.columns)
    if not forbids_anything(constraint):
        # An empty ζ looks at nothing, whatever features its card names.
        seen = set()
    ignored = [
        chosen
        for chosen in sets_of(len(axes))
        if any(column not in seen for axis in chosen for column in axes[axis].columns)
    ]
    if not ignored:
        return None
    found = find(question, ignored)
    if not found:
        return Strange("", 0.0, 0.0, 0.0)
    best: Candidate = found[0]
    novel = question.tables.look(best.axes, best.scale).novel
    return Strange(_named(best.axes, axes), best.score, best.explained, float(np.mean(novel)))


def check_elsewhere(places: dict[str, Strange | None], earns: dict[str, float | None]) -> Check:
    """Do agents under ζ spend time where no demonstration ever was? `places` by whose they are.

    `earns`: what each earns beside the demonstrations, as a share more or less (None: unknown). Who
    earns less is there for want of skill, and nothing needs explaining.
    """
    known = {who: strange for who, strange in places.items() if strange is not None}
    numbers: dict[str, Any] = {who: strange._asdict() for who, strange in known.items()}
    if not known:
        return Check(ELSEWHERE, Level.good, "ζ looks at everything there is", numbers)
    plain = {who: strange for who, strange in known.items() if strange.plain}
    if not plain:
        return Check(ELSEWHERE, Level.good, "agents under ζ go where demonstrations went", numbers)
    able = {
        who: strange
        for who, strange in plain.items()
        if (earned := earns.get(who)) is None or earned >= -LOWER
    }
    who, worst = max((able or plain).items(), key=lambda pair: pair[1].steps)
    said = (
        f"{who} spends {worst.steps:.0%} of its steps where no demonstration was in {worst.axes}, "
        "which ζ does not look at"
    )
    if not able:
        return Check(
            ELSEWHERE, Level.good, f"{said}, but it earns less there than they do", numbers
        )
    if worst.steps < MUCH:
        return Check(
            ELSEWHERE, Level.good, f"{said}: little enough for a style of its own", numbers
        )
    return Check(
        ELSEWHERE, Level.care, f"{said}: a style of its own, or a rule that ζ has missed", numbers
    )


def last_judges(record: Record) -> Trajectories | None:
    """What the judges of the last two rounds did, as it was kept; None: nothing."""
    judges = record.of(Phase.judge)
    if not judges.any():
        return None
    # Two: judges are asked twice in a row, and the rounds before are of agents that were still
    # learning.
    rounds = np.unique(record.visited.rounds[judges])[-2:]
    return _episodes(record, judges & np.isin(record.visited.rounds, rounds))


def _axes(task: Task) -> tuple[Axis, ...]:
    return make_axes(task.observation_names, task.action_names, task.one_hot, task.discrete)


def _question(
    axes: tuple[Axis, ...], task: Task, demos: Trajectories, done: Trajectories, weights: Any
) -> Question:
    shown = values_of(axes, demos, task.discrete)
    # Nothing counts as paid, so that nothing is vetoed: of a kept episode it is not known when its
    # rewards came.
    return put_question(
        axes, shown, values_of(axes, done, task.discrete), weights, np.zeros(done.rewards.shape)
    )


def _episodes(record: Record, chosen: Any) -> Trajectories | None:
    """The chosen episodes as they were kept, in their order."""
    parts = [
        record.visited.trajectories(int(number))
        for number in np.unique(record.visited.rounds[chosen])
    ]
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return join(found)


def _own_axes(constraint: LearnedConstraint, axes: tuple[Axis, ...]) -> tuple[int, ...]:
    """Places, among all axes, of those that ζ looks at."""
    columns = set(constraint.features.columns)
    return tuple(place for place, axis in enumerate(axes) if set(axis.columns) <= columns)


def _named(chosen: tuple[int, ...], axes: tuple[Axis, ...]) -> str:
    return " + ".join(axes[axis].name for axis in chosen)


def _part_of(one: str, other: str) -> bool:
    """One set of axes holds the other."""
    first = set(one.split(" + "))
    second = set(other.split(" + "))
    return first <= second or second <= first
