"""Short rules that say what ζ forbids, each with its fidelity to ζ and its support in the data.

A rule agrees with ζ as far as it forbids what ζ forbids and allows what ζ allows.

Both count the same, however many pairs there are of each: balanced agreement = ½ (share of ζ's
forbidden pairs that the rule forbids + share of ζ's allowed pairs that it allows) = ½ + Σ g_i over
the pairs i that the rule forbids, with g_i = ½ / #forbidden where ζ forbids and −½ / #allowed where
it allows. A sum: the best threshold is a prefix sum, the best interval a maximal run.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.explain.fitting import forms_of
from icrl.explain.judged import Judged, balanced_indices
from icrl.explain.places import Form, Places, gains_of
from icrl.explain.region_sample import even_sample
from icrl.explain.search import WORTH, Rule, Search, round_between
from icrl.explain.shapes import Boxes, Shape, conditions_of
from icrl.types import BoolArray, IntArray

BAR = 0.95
"""Balanced agreement from which a rule is said to fit."""
MOST_PAIRS = 8_000
"""Pairs that rules are chosen on."""
EVEN_BAR = 0.9
"""Balanced agreement on an even sample of a region's box from which a rule is said to fit: it has
corners where nobody ever was."""
NUMBER = 0.02
"""Agreement that every number which a shape takes must be worth."""


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
    even_agreement: float | None = None
    """Balanced agreement on an even sample of the region's box; None: ζ is no region."""

    @property
    def least(self) -> float:
        """The lower of the two agreements."""
        if self.even_agreement is None:
            return self.balanced_agreement
        return min(self.balanced_agreement, self.even_agreement)


class Support(NamedTuple):
    """How many of the recorded pairs of each kind the rules forbid."""

    demonstrated: int
    of_demonstrated: int
    by_agents: int
    of_by_agents: int


class Explanation(NamedTuple):
    """What is forbidden, as a shape, and how good that is."""

    form: str
    """threshold, interval, box, walls, list; half-plane, disc, ellipse, arc; names"""
    shape: Shape
    fidelity: Fidelity
    support: Support

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The conditions of a shape that is made of them; any one of the rules forbids."""
        return conditions_of(self.shape)

    @property
    def fits(self) -> bool:
        """It agrees with ζ well enough to be read in its place."""
        even = self.fidelity.even_agreement
        return self.fidelity.balanced_agreement >= BAR and (even is None or even >= EVEN_BAR)

    def __str__(self) -> str:
        """As a person writes it."""
        return str(self.shape)


def explain_region(
    constraint: LearnedConstraint, judged: Judged, form: str | None = None
) -> list[Explanation]:
    """The best shapes for a region, from the one to be said to longer ones that agree better;
    of one `form` alone.

    Shapes are chosen on half of the recorded pairs and an even sample of the region's box, and
    measured on the other half and another sample. To be said is the shape with the highest
    agreement, the lower of the two, less 0.02 for every number that it takes. Empty where ζ forbids
    nothing, or everything, in both.
    """
    assert constraint.region is not None
    rng = np.random.default_rng(0)
    order = rng.permutation(len(judged.forbidden))
    measured_on = order[1::2]
    chosen_on = order[::2][balanced_indices(judged.forbidden[order[::2]], MOST_PAIRS, rng)]
    even, forbidden = even_sample(constraint, judged.values)
    kinds = np.concatenate([judged.forbidden, forbidden])
    if kinds.all() or not kinds.any():
        return []
    places = Places(
        names=judged.names,
        axes=constraint.region.axes,
        values=np.concatenate([judged.values[chosen_on], even]),
        gains=gains_of([judged.forbidden[chosen_on], forbidden]),
    )
    # Another sample than the one they were chosen on: else of many forms the luckiest would look
    # best.
    fresh, said = even_sample(constraint, judged.values, seed=1)
    found = []
    for one in forms_of(places):
        if form is not None and one.name != form:
            continue
        within = fidelity(one.shape, judged, measured_on)
        outcome = within._replace(even_agreement=_balanced(one.shape.holds(fresh), said))
        found.append((one, Explanation(one.name, one.shape, outcome, support(one.shape, judged))))
    if not found:
        return []
    return _worth_saying(found)


def _worth_saying(found: list[tuple[Form, Explanation]]) -> list[Explanation]:
    """The one to be said, and after it the best of those that are better by `WORTH`."""
    first = max(found, key=lambda pair: pair[1].fidelity.least - NUMBER * pair[0].numbers)
    best = max(found, key=lambda pair: pair[1].fidelity.least)
    if best[1].fidelity.least >= first[1].fidelity.least + WORTH:
        return [first[1], best[1]]
    return [first[1]]


def explain_rules(judged: Judged) -> list[Explanation]:
    """The best rule of each form, from the shortest:
    threshold, interval, box of two features, list of up to three.

    Empty where ζ forbids none, or all, of the pairs. Rules are chosen on one half of the pairs,
    drawn at random, and their fidelity is measured on the other. A form that is no better than a
    shorter one by `WORTH` is left out.
    """
    rng = np.random.default_rng(0)
    order = rng.permutation(len(judged.forbidden))
    first = order[::2]
    measured_on = order[1::2]
    if any(
        judged.forbidden[half].all() or not judged.forbidden[half].any()
        for half in (first, measured_on)
    ):
        return []
    chosen_on = first[balanced_indices(judged.forbidden[first], MOST_PAIRS, rng)]
    search = Search(
        judged.names, judged.choices, judged.values[chosen_on], judged.forbidden[chosen_on]
    )
    forms: dict[str, Callable[[], tuple[Rule, ...]]] = {
        "threshold": lambda: ((search.best(search.threshold, search.gains),),),
        "interval": lambda: ((search.best(search.interval, search.gains),),),
        "box of two": lambda: (search.box(search.gains),),
        "list": search.rules,
    }
    found: list[Explanation] = []
    for form, find in forms.items():
        if form == "threshold":
            # A round number inside the demonstrations would read as if the expert had broken the
            # rule.
            rules = clear_of_demos(find(), judged)
        else:
            rules = find()
        if not found or search.gain_of_any(rules) >= search.gain_of_any(found[-1].rules) + WORTH:
            shape = Boxes(rules)
            found.append(
                Explanation(
                    form, shape, fidelity(shape, judged, measured_on), support(shape, judged)
                )
            )
        if found[-1].fidelity.balanced_agreement > 1 - WORTH:
            break  # nothing longer can be worth it
    return found


def clear_of_demos(rules: tuple[Rule, ...], judged: Judged) -> tuple[Rule, ...]:
    """A threshold that was rounded into the demonstrations, put back where ζ,
    which allows them all, forbids."""
    ((condition,),) = rules
    column = judged.values[:, condition.feature]
    expert = judged.by_expert
    if (
        not condition.one_sided
        or judged.forbidden[expert].any()
        or not condition.holds(judged.values)[expert].any()
    ):
        return rules
    below = condition.low == -math.inf
    if below:
        edge = column[expert].min()
    else:
        edge = column[expert].max()
    beyond = column[judged.forbidden & ((column < edge) if below else (column > edge))]
    if not len(beyond):
        return rules
    if below:
        ends = (beyond.max(), edge)
    else:
        ends = (edge, beyond.min())
    bound = round_between(float(ends[0]), float(ends[1]))
    if below:
        moved = condition._replace(high=bound)
    else:
        moved = condition._replace(low=bound)
    return ((moved,),)


def choose(explanations: list[Explanation]) -> Explanation:
    """The shortest that fits; if none does, the shortest that is nearly as good as the best."""
    fitting = [explanation for explanation in explanations if explanation.fits]
    if fitting:
        return fitting[0]
    best = max(explanation.fidelity.balanced_agreement for explanation in explanations)
    return next(e for e in explanations if e.fidelity.balanced_agreement >= best - WORTH)


def fidelity(shape: Shape, judged: Judged, measured_on: IntArray) -> Fidelity:
    """Agreement of a shape and ζ on the pairs `measured_on`."""
    said = shape.holds(judged.values[measured_on])
    zeta = judged.forbidden[measured_on]
    precision = None
    if said.any():
        precision = float(np.mean(zeta[said]))
    recall = 1.0
    if zeta.any():
        recall = float(np.mean(said[zeta]))
    return Fidelity(
        balanced_agreement=_balanced(said, zeta),
        agreement=float(np.mean(said == zeta)),
        precision=precision,
        recall=recall,
        pairs=len(measured_on),
    )


def _balanced(said: BoolArray, zeta: BoolArray) -> float:
    """½ (share of the forbidden that is said to be + share of the allowed that is);
    plain where all is alike."""
    kinds = [kind for kind in (zeta, ~zeta) if kind.any()]
    return float(np.mean([np.mean(said[kind] == zeta[kind]) for kind in kinds]))


def support(shape: Shape, judged: Judged) -> Support:
    """How many demonstrated pairs, and how many of the agents', a shape forbids."""
    said = shape.holds(judged.values)
    expert = judged.by_expert
    agents = judged.by_agents
    return Support(
        int(said[expert].sum()), int(expert.sum()), int(said[agents].sum()), int(agents.sum())
    )
