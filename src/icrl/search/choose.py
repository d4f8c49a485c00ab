"""From evidence to a rule: of the axes that explain it, those that agents cannot do without."""

from dataclasses import replace

from icrl.search.find import (
    AS_MUCH,
    FINER,
    LEAST,
    NEARLY,
    SCALES,
    Candidate,
    Question,
    find,
    parts_of,
    score,
)
from icrl.search.question import put_question
from icrl.search.rule import Finding, Problem, Rule
from icrl.search.tables import sets_of
from icrl.search.trying import tried_under

_MOST_RIVALS = 5
_MOST_CHALLENGERS = 4
_MOST_KEPT = 0.7
"""Where agents keep more than this of what they earn beyond demonstrations under every
candidate, there is no rule."""
_MOST_TRIED = 6
"""Candidates under which agents are asked to act."""
_RIVALS = 0.6
"""A candidate that is worth so much of what the best is worth, and explains as much, is a rival:
the one that forbids less of what chance does is taken."""
_MOST_FOR_TRIPLES = 14
"""With more axes than this, triples are looked for beside the best pairs alone."""
_TRIPLE_GAIN = 0.15
"""A rule over three axes that scores so much more than one over two is worth is tried, too."""
_CLEARLY = 0.1
"""Other axes take the place of the old ones where they score so much more."""


def find_rule(problem: Problem, old: Rule | None = None) -> Finding:
    """The rule over one or two axes that explains the evidence best;
    over three where none of those does.

    The axes of the `old` rule stay, with the wall moved,
    unless others explain all evidence clearly better.
    """
    question = put_question(
        problem.axes, problem.shown, problem.done, problem.weights, problem.paid
    )
    tried: dict[tuple[int, ...], Rule] = {}
    finding = _found_at(problem, question, old, tried)
    if problem.kept_under is None:
        return finding
    if finding.rule is None:
        # So fine a look shows styles, too: agents must tell which of them they could give up.
        for times in FINER:
            tried_here: dict[tuple[int, ...], Rule] = {}
            finer = _found_at(problem, _finer(question, times), old, tried_here)
            if _worth(finer) > _worth(finding):
                finding = finer
                tried = tried_here
    if finding.rule is None:
        return finding
    return finding._replace(challengers=_challengers(finding.rule, list(tried.values())))


def _worth(finding: Finding) -> float:
    """Of what was found; of nothing nothing."""
    if finding.rule is None:
        return 0.0
    return finding.rule.candidate.worth


def _finer(question: Question, times: int) -> Question:
    """The same question at scales so many times as fine as usual."""
    return replace(question, scales=tuple(times * scale for scale in SCALES))


def _found_at(
    problem: Problem, question: Question, old: Rule | None, tried: dict[tuple[int, ...], Rule]
) -> Finding:
    """The same at the scales of a question.

    `tried`: what agents were asked already, by axes; what is asked now is added.
    """
    names = tuple(axis.name for axis in problem.axes)
    candidates = find(question, question.tables.small(sets_of(len(problem.axes)), question.scales))
    finding = _best(problem, question, candidates, old, names, tried)
    best_pair = _best_worth(candidates, tried)
    # No score exceeds 1: the largest search of all can be left out.
    if len(problem.axes) < 3 or best_pair + _TRIPLE_GAIN > 1.0:
        return finding
    triples = find(
        question, question.tables.small(triples_of(question, len(problem.axes)), question.scales)
    )
    better = [triple for triple in triples if triple.score >= best_pair + _TRIPLE_GAIN]
    if not better:
        return finding
    ranked = sorted([*better, *candidates], key=lambda other: (other.vetoed, -other.score))
    return _best(problem, question, ranked, old, names, tried)


def _best_worth(candidates: list[Candidate], tried: dict[tuple[int, ...], Rule]) -> float:
    """What the best of some candidates is worth; of those that were not tried, their score."""
    known = [
        tried[candidate.axes].candidate if candidate.axes in tried else candidate
        for candidate in candidates
    ]
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
    if rule is None or not _believed(ranked, problem.strength):
        return Finding(None, rivals, problem.strength, names)
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
                known[candidate.axes] = tried_under(problem, question, candidate, best_worth)
            tried[candidate.axes] = known[candidate.axes]
    if not tried:
        return None, ranked
    best = _most_sparing(list(tried.values()))
    for part in parts_of(best.candidate, ranked):
        if part.axes not in known:
            known[part.axes] = tried_under(problem, question, part)
        tried[part.axes] = known[part.axes]
    # All of them beside each other: the parts of a whole may be as alike as any rivals are.
    best = _simplest(best, list(tried.values()))
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
        # Without this, half of a union of rules would win: it forbids less, and agents that have
        # learned nothing anew may keep as little under it (decisions 0022 and 0029, two-walls).
        and rule.candidate.explained >= best.explained - NEARLY
    ]
    return max(rivals, key=lambda rule: rule.candidate.spared)


def _simplest(best: Rule, rules: list[Rule]) -> Rule:
    """A rule over fewer axes that is worth nearly as much and does as much, where there is one:
    of many pairs some explain a threshold by the ways of those who cross it."""
    whole = best.candidate
    simpler = [
        rule
        for rule in rules
        if len(rule.candidate.axes) < len(whole.axes)
        and rule.candidate.spared >= AS_MUCH * whole.spared
        and rule.candidate.does_as_much(whole)
    ]
    fewest = min((len(rule.candidate.axes) for rule in simpler), default=len(whole.axes))
    simplest = [rule for rule in simpler if len(rule.candidate.axes) == fewest]
    return max(simplest, key=lambda rule: rule.candidate.spared, default=best)


def _challengers(best: Rule, rules: list[Rule]) -> tuple[Rule, ...]:
    """Rules that do as much as the one that was chosen: its score is no reason to be sure of it.

    None that looks at its axes and more, or forbids most of what chance does: whoever obeys a rule
    that forbids more does more of what demonstrations do.
    """
    chosen = best.candidate
    able = [
        rule
        for rule in rules
        if not set(chosen.axes) <= set(rule.candidate.axes)
        and rule.candidate.kept is not None
        and rule.candidate.spared >= _RIVALS * chosen.spared
        and rule.candidate.explained >= chosen.explained - NEARLY
        and rule.candidate.does_as_much(chosen)
    ]
    able.sort(key=lambda rule: -rule.candidate.spared)
    return tuple(able[:_MOST_CHALLENGERS])


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


def triples_of(question: Question, num_axes: int) -> list[tuple[int, ...]]:
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
