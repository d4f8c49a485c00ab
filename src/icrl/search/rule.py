"""From evidence to a rule: which axes, and where the wall stands in them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from icrl.constraint.region import Region, RegionAxis
from icrl.search.axes import Axis
from icrl.search.find import (
    AS_MUCH,
    FINER_SCALES,
    LEAST,
    NEARLY,
    Candidate,
    Question,
    find,
    parts_of,
    score,
)
from icrl.search.question import Values, measured, put_question, rulers_of
from icrl.search.tables import sets_of
from icrl.search.wall import Wall, joined, place_wall
from icrl.types import BoolArray, FloatArray

_MOST_RIVALS = 5
_MOST_KEPT = 0.7
"""Where agents keep more than this of what they earn beyond demonstrations under every
candidate, there is no rule."""
_MOST_TRIED = 6
"""Candidates under which agents are asked to act."""
_RIVALS = 0.6
"""A candidate that is worth so much of what the best is worth, and explains as much, is a rival:
the one that forbids less of what chance does is taken."""
_HALF_WAY = 0.5
"""From demonstrations to the evidence: what chance does there is plainly forbidden."""
_MOST_FOR_TRIPLES = 14
"""With more axes than this, triples are looked for beside the best pairs alone."""
_TRIPLE_GAIN = {True: 0.35, False: 0.15}
"""A rule over three axes must score so much more than one over two is worth, where that one
explains the newest evidence, and where it does not: demonstrations are thin in three dimensions."""
_EXPLAINS = 0.8
"""A rule explains a counter-example where so much of it, by weight, enters what it forbids."""
_LITTLE = 0.1
"""Agents that keep no more than this of their gain under a rule have found no way past it."""
_MOST_WAYS = 4
"""How often a wall is placed anew, where agents got past it by ways that nobody had shown."""
_LESS = 0.05
"""Unless they then keep less by so much, they need no such way: the axes are wrong."""
_JUST_INSIDE = 0.999
"""Of the level: between nodes that lie on it, rounding decides."""
_CLEARLY = 0.1
"""Other axes take the place of the old ones where they score so much more."""


class Rule(NamedTuple):
    """What was found."""

    axes: tuple[Axis, ...]
    candidate: Candidate
    region: Region
    """Columns of its axes count the features of `axes`, in order."""
    borne: float
    """t: how far from demonstrations the wall stands, on rulers from 0 to 1."""
    flagged_held_out: float
    """p: share of held-out demonstrations that come nearer to the evidence than that."""


class Finding(NamedTuple):
    """An answer to the question, with what else it could have been."""

    rule: Rule | None
    """None: nothing is forbidden, as far as the evidence goes."""
    rivals: tuple[Candidate, ...]
    """The best few, the chosen one first; those that are vetoed last."""
    strength: float
    """How much there was to explain, from 0 to 1."""
    names: tuple[str, ...]
    """Of all axes: what the numbers in candidates stand for."""

    def named(self, candidate: Candidate) -> str:
        """The axes of a candidate, in words."""
        return " + ".join(self.names[axis] for axis in candidate.axes)

    @property
    def said(self) -> str:
        """The finding in words."""
        if self.rule is None:
            return "no rule explains what agents do"
        best = self.rule.candidate
        said = f"a rule over {self.named(best)} (score {best.score:.2f})"
        others = [rival for rival in self.rivals if rival.axes != best.axes and not rival.vetoed]
        if others:
            said += f"; next {self.named(others[0])} ({others[0].score:.2f})"
        return said

    def told(self) -> dict[str, Any]:
        """What metrics tell of it."""
        told: dict[str, Any] = {
            "strength": self.strength,
            "rivals": [[self.named(rival), rival.score] for rival in self.rivals],
        }
        if self.rule is not None:
            told["axes"] = self.named(self.rule.candidate)
            told["score"] = self.rule.candidate.score
        return told

    def card(self) -> dict[str, Any]:
        """What the card of a constraint says of it."""
        card: dict[str, Any] = {
            "strength": self.strength,
            "rivals": [
                {
                    "axes": self.named(rival),
                    "score": float(rival.score),
                    "explained": float(rival.explained),
                    "refuted": float(rival.refuted),
                    "vetoed": bool(rival.vetoed),
                    "kept": rival.kept,
                    "by_chance": rival.by_chance,
                }
                for rival in self.rivals
            ],
        }
        if self.rule is not None:
            card["axes"] = [axis.name for axis in self.rule.axes]
            card["borne"] = self.rule.borne
            card["flagged_held_out"] = self.rule.flagged_held_out
        return card


class Kept(NamedTuple):
    """What agents keep of their gain while they obey a rule, without learning anew, and how."""

    share: float
    """Of what they earn beyond demonstrations, by whoever keeps most."""
    ways: Values | None = None
    """What they did, each up to where the rule stopped it."""
    weights: FloatArray | None = None
    """[trajectories of `ways`]: how much each needs explaining"""


class Problem(NamedTuple):
    """Evidence to be explained."""

    axes: tuple[Axis, ...]
    shown: Values
    done: Values
    weights: FloatArray
    """[M]: how much each trajectory needs explaining; every generation has the same sum"""
    paid: FloatArray
    """[M, T]: what was earned before each step, as a share of what demonstrations earn"""
    strength: float
    """How much there is to explain, from 0 to 1."""
    newest: BoolArray
    """[M]: trajectories of the newest generation"""
    kept_under: "Callable[[Rule], Kept] | None" = None
    """Lets agents act under a rule; None: they cannot be asked."""
    chance: Values | None = None
    """What an agent does that has learned nothing."""


def find_rule(problem: Problem, old: Rule | None = None) -> Finding:
    """The rule over one or two axes that explains the evidence best;
    over three where none of those does.

    The axes of the `old` rule stay, with the wall moved,
    unless others explain all evidence clearly better.
    """
    question = put_question(
        problem.axes, problem.shown, problem.done, problem.weights, problem.paid
    )
    finding = _found_at(problem, question, old)
    if finding.rule is None and problem.kept_under is not None:
        # so fine a look shows styles, too: agents must tell which of them they could give up
        finer = _found_at(problem, replace(question, scales=FINER_SCALES), old)
        if finer.rule is not None:
            return finer
    return finding


def _found_at(problem: Problem, question: Question, old: Rule | None) -> Finding:
    """The same at the scales of a question."""
    names = tuple(axis.name for axis in problem.axes)
    candidates = find(question, sets_of(len(problem.axes)))
    tried: dict[tuple[int, ...], Rule] = {}
    finding = _best(problem, question, candidates, old, names, tried)
    explained = finding.rule is not None and _explains_newest(problem, finding.rule)
    gain = _TRIPLE_GAIN[explained]
    best_pair = _best_worth(finding, candidates)
    # No score exceeds 1: the largest search of all can be left out.
    if len(problem.axes) < 3 or best_pair + gain > 1.0:
        return finding
    triples = find(question, _triples(question, len(problem.axes)))
    better = [triple for triple in triples if triple.score >= best_pair + gain]
    if not better:
        return finding
    ranked = sorted([*better, *candidates], key=lambda other: (other.vetoed, -other.score))
    return _best(problem, question, ranked, old, names, tried)


def _best_worth(finding: Finding, candidates: list[Candidate]) -> float:
    """What the best of some candidates is worth; of those that were not tried, their score."""
    tried = {rival.axes: rival for rival in finding.rivals if rival.kept is not None}
    known = [tried.get(candidate.axes, candidate) for candidate in candidates]
    return max((candidate.worth for candidate in known if not candidate.vetoed), default=0.0)


def _best(
    problem: Problem,
    question: Question,
    candidates: list[Candidate],
    old: Rule | None,
    names: tuple[str, ...],
    tried: dict[tuple[int, ...], Rule],
) -> Finding:
    """The first candidate that is believed, or the old axes where they do as well.

    `tried`: what agents were asked already, by axes; what is asked now is added.
    """
    ranked = candidates
    if old is not None:
        known = score(question, old.candidate.axes)
        if not ranked or known.score >= ranked[0].score - _CLEARLY:
            ranked = [known, *(other for other in ranked if other.axes != known.axes)]
    rule, ranked = _first_that_matters(problem, question, ranked, tried)
    rivals = tuple(ranked[:_MOST_RIVALS])
    if rule is not None and not _believed(ranked, problem.strength):
        rule = None
    return Finding(rule, rivals, problem.strength, names)


def _first_that_matters(
    problem: Problem,
    question: Question,
    ranked: list[Candidate],
    known: dict[tuple[int, ...], Rule],
) -> tuple[Rule | None, list[Candidate]]:
    """The best candidate of those that take away, when obeyed,
    what agents earn beyond demonstrations.

    A style that agents share explains all they do, but who gives it up still out-earns. Of what is
    left, a part that does as well is taken for the whole.
    """
    tried: dict[tuple[int, ...], Rule] = {}
    for candidate in ranked:
        best_worth = max((rule.candidate.worth for rule in tried.values()), default=0.0)
        # To try one is to let agents act for episodes: what cannot become a rival is not tried.
        rival = candidate.score >= _RIVALS * best_worth
        if not candidate.vetoed and rival and len(tried) < _MOST_TRIED:
            if candidate.axes not in known:
                known[candidate.axes] = _tried(problem, question, candidate, best_worth)
            tried[candidate.axes] = known[candidate.axes]
    if not tried:
        return None, ranked
    best = _most_sparing(list(tried.values()))
    for part in parts_of(best.candidate, ranked):
        if part.axes not in tried:
            if part.axes not in known:
                known[part.axes] = _tried(problem, question, part)
            tried[part.axes] = known[part.axes]
        simpler = tried[part.axes]
        # Parts stand smallest first: the first that will do is the simplest.
        if simpler.candidate.worth >= AS_MUCH * best.candidate.worth:
            best = simpler
            break
    asked = sorted((rule.candidate for rule in tried.values()), key=lambda other: -other.worth)
    others = [candidate for candidate in ranked if candidate.axes not in tried]
    first = best.candidate
    return best, [first, *(other for other in [*asked, *others] if other.axes != first.axes)]


def _most_sparing(rules: list[Rule]) -> Rule:
    """Of the best rule and its rivals, the one that forbids least beside what it explains.

    An expert who keeps a rule acts in certain ways, and a rule over its actions that forbids all
    other ways explains as much as the rule itself. But it forbids most of what anybody does; the
    regulariser of Eq. 8 is a price of the same kind.
    """
    best = max(rules, key=lambda rule: rule.candidate.worth).candidate
    rivals = [
        rule
        for rule in rules
        if rule.candidate.worth >= _RIVALS * best.worth
        # Without this, half of a union of rules would win: it forbids less (decision 0022,
        # two-walls).
        and rule.candidate.explained >= best.explained - NEARLY
    ]
    return max(rivals, key=lambda rule: rule.candidate.spared)


def _tried(
    problem: Problem, question: Question, candidate: Candidate, best_worth: float = 0.0
) -> Rule:
    """The wall in the axes of a candidate, what agents keep under it, and what else it forbids."""
    rule = wall_in(problem, candidate, question)
    if problem.kept_under is not None:
        rule = _asked(problem, question, rule, best_worth)
    candidate = rule.candidate
    if problem.chance is not None:
        # Half-way to the evidence: demonstrations may end where chance begins (a wall at the
        # start), and what it does beyond them by a hair tells nothing.
        depths = depths_of(rule, problem.axes, problem.chance.values)
        least = max(rule.region.level, _HALF_WAY * rule.region.evidence_depth)
        candidate = candidate._replace(by_chance=float(np.mean(depths > least)))
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
        newest=np.concatenate([problem.newest, np.zeros(ways.number, np.bool_)]),
    )


def _as_deep(rule: Rule, before: Rule) -> Rule:
    """The evidence as deep as it was: ways past a wall lie near it, and caution would shrink to
    nothing with them."""
    deep = before.region.evidence_depth * before.borne / rule.borne
    return rule._replace(region=replace(rule.region, evidence_depth=max(1.0, deep)))


def _explains_newest(problem: Problem, rule: Rule) -> bool:
    """The rule forbids something that nearly all of the newest trajectories do."""
    return explained_share(rule, problem, problem.weights * problem.newest) >= _EXPLAINS


def explained_share(rule: Rule, problem: Problem, weights: FloatArray) -> float:
    """Of trajectories with these weights, the share that enters what the rule forbids."""
    done = problem.done
    # By the wall and not by cells: it is the wall that agents meet.
    inside = depths_of(rule, problem.axes, done.values) > rule.region.level
    entered = np.zeros(done.number, np.bool_)
    np.logical_or.at(entered, done.owners, inside)
    return float(weights @ entered / max(float(weights.sum()), 1e-12))


def depths_of(rule: Rule, axes: tuple[Axis, ...], values: FloatArray) -> FloatArray:
    """Depth of the region at axis values [n, q]."""
    return rule.region.depths(inputs_of(rule, axes, values))


def inputs_of(rule: Rule, axes: tuple[Axis, ...], values: FloatArray) -> FloatArray:
    """[n, f]: what the region looks at, of axis values [n, q]."""
    inputs: list[FloatArray] = []
    for place in rule.candidate.axes:
        axis = axes[place]
        column = values[:, place]
        if axis.categorical:
            inputs.append(np.eye(len(axis.columns))[column.astype(np.int64)])
        else:
            inputs.append(column[:, None])
    return np.concatenate(inputs, axis=1)


def wall_in(problem: Problem, candidate: Candidate, question: Question) -> Rule:
    """The wall in the axes of a candidate."""
    chosen = tuple(problem.axes[place] for place in candidate.axes)
    part = list(candidate.axes)
    shown = problem.shown._replace(values=problem.shown.values[:, part])
    done = problem.done._replace(values=problem.done.values[:, part])
    # one axis may span 200 m with its wall at -3: there the ruler follows where the data are
    even = 1.0
    if len(chosen) == 1:
        even = 0.5
    rulers = rulers_of(chosen, shown, done, even)
    flagged = question.tables.look(candidate.axes, candidate.scale).novel
    places = measured(rulers, shown).places
    owners = shown.owners
    # A state that moves passes what lies between two steps. An action jumps, and between two names
    # there is nothing.
    if not any(axis.of_action or axis.categorical for axis in chosen):
        places, owners = joined(places, owners)
    wall = place_wall(
        rulers,
        places,
        owners,
        measured(rulers, done).places,
        done.owners,
        problem.weights,
        flagged,
    )
    nodes: list[FloatArray] = []
    for ruler, grid in zip(rulers, wall.grids, strict=True):
        if ruler.few:
            nodes.append(ruler.values)
        else:
            nodes.append(ruler.values_at(grid))
    rule = Rule(
        chosen, candidate, region_of(chosen, tuple(nodes), wall), wall.borne, wall.flagged_held_out
    )
    return _allowing(rule, problem)


def _allowing(rule: Rule, problem: Problem) -> Rule:
    """The same wall, but for places where it would cut off a demonstrated
    step that lies between nodes."""
    inputs = inputs_of(rule, problem.axes, problem.shown.values)
    region = rule.region
    # Only its own nodes are let through: to move the whole wall out for one step would free much
    # that nobody showed (decision 0019).
    cut_off = region.depths(inputs) > region.level
    if not cut_off.any():
        return rule
    depth = region.depth.copy()
    for nodes in region.nodes_around(inputs[cut_off]):
        depth[nodes] = np.minimum(depth[nodes], _JUST_INSIDE * region.level)
    return rule._replace(region=replace(region, depth=depth))


def region_of(axes: tuple[Axis, ...], nodes: tuple[FloatArray, ...], wall: Wall) -> Region:
    """The wall as a region of the features of these axes, in order."""
    grid = []
    first = 0
    for axis, values in zip(axes, nodes, strict=True):
        width = len(axis.columns)
        grid.append(RegionAxis(columns=tuple(range(first, first + width)), nodes=values))
        first += width
    return Region(axes=tuple(grid), depth=wall.depth, evidence_depth=wall.evidence_depth)


def _believed(candidates: list[Candidate], strength: float) -> bool:
    """The first candidate explains enough, and obeying it takes away enough of
    what was to be explained.

    Agents may be better than the expert within the rule, too: what they keep is seen beside the
    least that they keep under any candidate.
    """
    if not candidates or candidates[0].vetoed:
        return False
    first = candidates[0]
    if first.kept is None:
        return first.score * strength >= LEAST
    least = min(other.kept for other in candidates if other.kept is not None)
    return least <= _MOST_KEPT and first.score * first.taken / (1.0 - least) * strength >= LEAST


def _triples(question: Question, num_axes: int) -> list[tuple[int, ...]]:
    """Sets of three axes: all, or where there are many those that hold one of the best pairs."""
    if num_axes <= _MOST_FOR_TRIPLES:
        return [chosen for chosen in sets_of(num_axes, 3) if len(chosen) == 3]
    pairs = [chosen for chosen in sets_of(num_axes) if len(chosen) == 2]
    # Of 15 axes there are 455 triples, of 40 nearly 10,000.
    best = sorted(pairs, key=lambda pair: -score(question, pair).score)[:6]
    found = {
        tuple(sorted({*pair, other}))
        for pair in best
        for other in range(num_axes)
        if other not in pair
    }
    return sorted(found)
