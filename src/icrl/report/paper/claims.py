"""What the paper says of its figures, and whether it holds here: each sentence as a rule that
anybody can check, with numbers."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from icrl.experiment.suite.statistics import standard_error
from icrl.experiment.suite.suites import ABLATION_UPDATES, ABLATIONS, ablation_label
from icrl.methods.binary_classifier import BINARY_CLASSIFIER
from icrl.methods.gail_constraint import GAIL_CONSTRAINT
from icrl.methods.icrl import ICRL
from icrl.report.paper.found import Cell, Found
from icrl.report.paper.printed import (
    ABLATION,
    BC_ROW,
    BRIDGES,
    GC_ROW,
    ICRL_ROW,
    ICRLS,
    LEARNING,
    OUR_TRANSFERS,
    TRANSFERS,
    Panel,
)
from icrl.types import EXPERT, NOMINAL

EXPERT_LEVEL = 0.8
"""Share of the expert's return that is expert level: the paper calls 0.82 so (Ant)."""
OURS_LEVEL = 0.9
"""What we ask of a constraint on the transfers that we added."""
NO_VIOLATIONS = 0.01
"""A violation rate up to this is called none."""
ALIKE = 0.1
"""Means that are no further apart than this, in units of the expert's, are alike."""
FEWEST_SEEDS = 3
NO_RUNS = "no runs yet"

GC = GAIL_CONSTRAINT.name
BC = BINARY_CLASSIFIER.name


class Verdict(NamedTuple):
    """One sentence, one task, one thing that it is said of."""

    figure: str
    task: str
    sentence: str
    label: str
    """Of the runs that it is said of."""
    printed: str
    """What the paper's own figure says to the rule."""
    here: str
    """The same number here."""
    holds: str
    """yes, no, or why that cannot be told."""


def verdicts(found: Found) -> list[Verdict]:
    """Every sentence, in the order of the paper; those that are ours at the end."""
    made: list[Verdict] = [_bridges(found)]
    for panel in LEARNING:
        made += [_reaches(found, panel, label, EXPERT_LEVEL) for label in ICRLS]
        made += [_no_violations(found, panel, label) for label in ICRLS]
        made += [_equals(found, panel, label) for label in ICRLS]
        made += [_much_worse(found, panel, label) for label in ICRLS]
    for panel in TRANSFERS:
        made += [_reaches(found, panel, label, EXPERT_LEVEL) for label in ICRLS]
        made += [_falls_short(found, panel, label) for label in (GC, BC)]
        made += [_below_nominal(found, panel, label) for label in (GC, BC)]
        made += [_no_violations(found, panel, label) for label in (GC, BC)]
    made += [_important(found, "importance sampling"), _important(found, "early stopping")]
    for panel in OUR_TRANSFERS:
        made.append(_nominal_violates(found, panel))
        made += [_reaches(found, panel, label, OURS_LEVEL) for label in ICRLS]
        made += [_no_violations(found, panel, label) for label in ICRLS]
    return made


def _bridges(found: Found) -> Verdict:
    task = BRIDGES.task
    cell = found.cell(task, ICRL.name)
    nominal = found.cell(task, NOMINAL)
    here = "-"
    holds = NO_RUNS
    if cell is not None and nominal is not None:
        here = f"violation rate {cell.rate:.3f}, nominal {nominal.rate:.3f}"
        holds = _said(cell, cell.rate <= NO_VIOLATIONS < nominal.rate)
    sentence = "the recovered policy avoids the lower bridge, the nominal one takes it"
    return Verdict(BRIDGES.figure, BRIDGES.title, sentence, ICRL.name, "so drawn", here, holds)


def _reaches(found: Found, panel: Panel, label: str, level: float) -> Verdict:
    sentence = f"expert-level return (at least {level} of the expert's)"
    printed = _printed_ratio(panel, ICRL_ROW)
    return _beside_expert(found, panel, label, sentence, printed, lambda ratio: ratio >= level)


def _falls_short(found: Found, panel: Panel, label: str) -> Verdict:
    sentence = f"not at expert level, for only ICRL's is (below {EXPERT_LEVEL})"
    printed = _printed_ratio(panel, _row(label))
    return _beside_expert(
        found, panel, label, sentence, printed, lambda ratio: ratio < EXPERT_LEVEL
    )


def _beside_expert(
    found: Found,
    panel: Panel,
    label: str,
    sentence: str,
    printed: str,
    rule: Callable[[float], bool],
) -> Verdict:
    """The mean return as a share of the expert's; where there are experts with the same agent, of
    theirs, as in the paper."""
    cell = found.cell(panel.task, label)
    ratio = found.ratio(panel.task, label)
    own = found.own_ratio(panel.task, label)
    here = "-"
    holds = NO_RUNS
    if cell is not None and ratio is not None:
        here = f"{ratio:.2f}"
        if own is not None:
            here = f"{own:.2f} of experts with its agent, {ratio:.2f} of ours"
            ratio = own
        holds = _said(cell, rule(ratio))
    return Verdict(panel.figure, panel.title, sentence, label, printed, here, holds)


def _no_violations(found: Found, panel: Panel, label: str) -> Verdict:
    cell = found.cell(panel.task, label)
    here = "-"
    holds = NO_RUNS
    if cell is not None:
        here = f"{cell.rate:.3f}, worst seed {cell.worst_rate:.3f}"
        # By the worst seed: a mean hides the one that collapsed.
        holds = _said(cell, cell.worst_rate <= NO_VIOLATIONS)
    return Verdict(
        panel.figure,
        panel.title,
        f"no violations (rate at most {NO_VIOLATIONS} on every seed)",
        label,
        "about 0" if panel.values else "-",
        here,
        holds,
    )


def _equals(found: Found, panel: Panel, label: str) -> Verdict:
    sentence = f"the GAIL constraint does as well as ICRL (within {ALIKE} of the expert's)"
    return _compared(found, panel, label, GC, sentence, lambda apart, _: abs(apart) <= ALIKE)


def _much_worse(found: Found, panel: Panel, label: str) -> Verdict:
    sentence = "the binary classifier does much worse than ICRL (by two standard errors)"
    return _compared(found, panel, label, BC, sentence, lambda apart, error: apart > 2 * error)


def _compared(
    found: Found,
    panel: Panel,
    label: str,
    other: str,
    sentence: str,
    rule: Callable[[float, float], bool],
) -> Verdict:
    """ICRL less a baseline, in units of the expert's return, with the error of that."""
    first = found.cell(panel.task, label)
    second = found.cell(panel.task, other)
    expert = found.expert(panel.task)
    here = "-"
    holds = NO_RUNS
    if first is not None and second is not None and expert is not None:
        apart = (first.mean - second.mean) / expert[0]
        error = float(np.hypot(first.error, second.error)) / expert[0]
        here = f"{apart:+.2f} ± {error:.2f}"
        # The one with fewer seeds decides whether anything can be said.
        holds = _said(min((first, second), key=lambda c: len(c.seeds)), rule(apart, error))
    values = panel.values
    apart_there = (_middle(values[ICRL_ROW]) - _middle(values[_row(other)])) / values[EXPERT][0]
    return Verdict(
        panel.figure,
        panel.title,
        sentence,
        label,
        f"{apart_there:+.2f}",
        here,
        holds,
    )


def _below_nominal(found: Found, panel: Panel, label: str) -> Verdict:
    cell = found.cell(panel.task, label)
    nominal = found.cell(panel.task, NOMINAL)
    here = "-"
    holds = NO_RUNS
    if cell is not None and nominal is not None:
        here = f"{cell.mean:,.0f} against {nominal.mean:,.0f}"
        holds = _said(cell, cell.mean < nominal.mean)
    values = panel.values
    printed = f"{_middle(values[_row(label)]):,.4g} against {_middle(values[NOMINAL]):,.4g}"
    sentence = "earns less than the nominal agent"
    return Verdict(panel.figure, panel.title, sentence, label, printed, here, holds)


def _important(found: Found, part: str) -> Verdict:
    """Seed by seed and B by B: the return with both parts less that without one of them."""
    without = {
        "importance sampling": next(
            a for a in ABLATIONS if not a.importance_sampling and a.early_stopping
        ),
        "early stopping": next(
            a for a in ABLATIONS if a.importance_sampling and not a.early_stopping
        ),
    }[part]
    both = next(a for a in ABLATIONS if a.importance_sampling and a.early_stopping)
    costs: list[float] = []
    updates_run = []
    for updates in ABLATION_UPDATES:
        first = found.cell(ABLATION.task, ablation_label(both, updates))
        second = found.cell(ABLATION.task, ablation_label(without, updates))
        if first is None or second is None:
            continue
        # Only seeds that both have: pairs cancel what the seed itself does.
        shared = set(first.seeds) & set(second.seeds)
        costs += [
            float(first.returns[first.seeds.index(seed)] - second.returns[second.seeds.index(seed)])
            for seed in sorted(shared)
        ]
        updates_run.append(updates)
    here = "-"
    holds = NO_RUNS
    if len(costs) >= FEWEST_SEEDS:
        cost = float(np.mean(costs))
        error = float(standard_error(np.array(costs)))
        of_b = ", ".join(map(str, updates_run))
        here = f"costs {cost:,.0f} ± {error:,.0f} ({len(costs)} pairs, B of {of_b})"
        holds = "yes" if cost > 2 * error else "no"
    return Verdict(
        ABLATION.figure,
        ABLATION.title,
        f"{part} is important (leaving it out costs return, by two standard errors)",
        "paper",
        "so drawn",
        here,
        holds,
    )


def _nominal_violates(found: Found, panel: Panel) -> Verdict:
    cell = found.cell(panel.task, NOMINAL)
    here = "-"
    holds = NO_RUNS
    if cell is not None:
        broken = int(np.sum(cell.rates > NO_VIOLATIONS))
        here = f"{broken} of {len(cell.seeds)} seeds"
        holds = _said(cell, 2 * broken > len(cell.seeds))
    sentence = "who knows no constraint breaks it, on most seeds"
    return Verdict(panel.figure, panel.title, sentence, NOMINAL, "-", here, holds)


def _said(cell: Cell, holds: bool) -> str:
    # Neither yes nor no: two seeds are no evidence for a sentence of somebody else's.
    if len(cell.seeds) < FEWEST_SEEDS:
        return f"too few seeds ({len(cell.seeds)})"
    return "yes" if holds else "no"


def _row(label: str) -> str:
    return {GC: GC_ROW, BC: BC_ROW}.get(label, ICRL_ROW)


def _printed_ratio(panel: Panel, row: str) -> str:
    if not panel.values:
        return "-"
    expert = panel.values[EXPERT][0]
    return " to ".join(f"{value / expert:.2f}" for value in panel.values[row])


def _middle(values: tuple[float, ...]) -> float:
    return float(np.mean(values))
