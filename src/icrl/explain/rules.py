"""Short rules that say what ζ forbids, each with its fidelity to ζ and its support in the data.

A rule agrees with ζ as far as it forbids what ζ forbids and allows what ζ allows. Both count the same, however many
pairs there are of each: balanced agreement = ½ (share of ζ's forbidden pairs that the rule forbids + share of ζ's
allowed pairs that it allows) = ½ + Σ g_i over the pairs i that the rule forbids, with g_i = ½ / #forbidden where ζ
forbids and −½ / #allowed where it allows. A sum: the best threshold is a prefix sum, the best interval a maximal run.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from icrl.explain.judged import Judged, balanced_indices
from icrl.explain.search import WORTH, Rule, Search, round_between, rule_holds
from icrl.types import BoolArray, IntArray

BAR = 0.95
"""Balanced agreement from which a rule is said to fit."""
MOST_PAIRS = 8_000
"""Pairs that rules are chosen on."""


class Fidelity(NamedTuple):
    """How far rules agree with ζ, on pairs that they were not chosen on."""

    balanced_agreement: float
    agreement: float
    """Share of all pairs on which both say the same."""
    precision: float | None
    """Of the pairs that the rules forbid, the share that ζ forbids; None: they forbid none."""
    recall: float
    """Of the pairs that ζ forbids, the share that the rules forbid."""
    pairs: int


class Support(NamedTuple):
    """How many of the recorded pairs of each kind the rules forbid."""

    demonstrated: int
    of_demonstrated: int
    by_agents: int
    of_by_agents: int


class Explanation(NamedTuple):
    """Rules of which any one forbids, and how good they are."""

    form: str
    """threshold, interval, box of two, or list"""
    rules: tuple[Rule, ...]
    fidelity: Fidelity
    support: Support

    @property
    def fits(self) -> bool:
        """It agrees with ζ well enough to be read in its place."""
        return self.fidelity.balanced_agreement >= BAR

    def __str__(self) -> str:
        """As a person writes it."""
        return ", or ".join(" and ".join(str(condition) for condition in rule) for rule in self.rules)


def explain_rules(judged: Judged) -> list[Explanation]:
    """The best rule of each form, from the shortest: threshold, interval, box of two features, list of up to three.

    Empty where ζ forbids none, or all, of the pairs. Rules are chosen on one half of the pairs, drawn at random, and
    their fidelity is measured on the other. A form that is no better than a shorter one by `WORTH` is left out.
    """
    rng = np.random.default_rng(0)
    order = rng.permutation(len(judged.forbidden))
    first, measured_on = order[::2], order[1::2]
    if any(judged.forbidden[half].all() or not judged.forbidden[half].any() for half in (first, measured_on)):
        return []
    chosen_on = first[balanced_indices(judged.forbidden[first], MOST_PAIRS, rng)]
    search = Search(judged.names, judged.choices, judged.values[chosen_on], judged.forbidden[chosen_on])
    forms: dict[str, Callable[[], tuple[Rule, ...]]] = {
        "threshold": lambda: ((search.best(search.threshold, search.gains),),),
        "interval": lambda: ((search.best(search.interval, search.gains),),),
        "box of two": lambda: (search.box(search.gains),),
        "list": search.rules,
    }
    found: list[Explanation] = []
    for form, find in forms.items():
        rules = clear_of_demos(find(), judged) if form == "threshold" else find()
        if not found or search.gain_of_any(rules) >= search.gain_of_any(found[-1].rules) + WORTH:
            found.append(Explanation(form, rules, fidelity(rules, judged, measured_on), support(rules, judged)))
        if found[-1].fidelity.balanced_agreement > 1 - WORTH:
            break  # nothing longer can be worth it
    return found


def clear_of_demos(rules: tuple[Rule, ...], judged: Judged) -> tuple[Rule, ...]:
    """A threshold that was rounded into the demonstrations, put back where ζ, which allows them all, forbids."""
    ((condition,),) = rules
    column, expert = judged.values[:, condition.feature], judged.by_expert
    if not condition.one_sided or judged.forbidden[expert].any() or not condition.holds(judged.values)[expert].any():
        return rules
    below = condition.low == -math.inf
    edge = column[expert].min() if below else column[expert].max()
    beyond = column[judged.forbidden & ((column < edge) if below else (column > edge))]
    if not len(beyond):
        return rules
    ends = (beyond.max(), edge) if below else (edge, beyond.min())
    bound = round_between(float(ends[0]), float(ends[1]))
    moved = condition._replace(high=bound) if below else condition._replace(low=bound)
    return ((moved,),)


def choose(explanations: list[Explanation]) -> Explanation:
    """The shortest that fits; if none does, the shortest that is nearly as good as the best."""
    fitting = [explanation for explanation in explanations if explanation.fits]
    if fitting:
        return fitting[0]
    best = max(explanation.fidelity.balanced_agreement for explanation in explanations)
    return next(e for e in explanations if e.fidelity.balanced_agreement >= best - WORTH)


def forbids(rules: tuple[Rule, ...], judged: Judged) -> BoolArray:
    """[n]: any of the rules holds."""
    return np.asarray(np.any([rule_holds(rule, judged.values) for rule in rules], axis=0))


def fidelity(rules: tuple[Rule, ...], judged: Judged, measured_on: IntArray) -> Fidelity:
    """Agreement of rules and ζ on the pairs `measured_on`."""
    said, zeta = forbids(rules, judged)[measured_on], judged.forbidden[measured_on]
    recall, allowed = float(np.mean(said[zeta])), float(np.mean(~said[~zeta]))
    return Fidelity(
        balanced_agreement=(recall + allowed) / 2,
        agreement=float(np.mean(said == zeta)),
        precision=float(np.mean(zeta[said])) if said.any() else None,
        recall=recall,
        pairs=len(measured_on),
    )


def support(rules: tuple[Rule, ...], judged: Judged) -> Support:
    """How many demonstrated pairs, and how many of the agents', the rules forbid."""
    said = forbids(rules, judged)
    expert, agents = judged.by_expert, judged.by_agents
    return Support(int(said[expert].sum()), int(expert.sum()), int(said[agents].sum()), int(agents.sum()))
