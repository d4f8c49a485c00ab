"""The table of a report: every number from run directories, none typed."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from icrl.experiment.suite.statistics import (
    interquartile_mean,
    num_collapsed,
    probability_of_improvement,
    standard_error,
    stratified_bootstrap,
)
from icrl.report.cells import Table
from icrl.report.records import Group, steps_planned
from icrl.types import EXPERT, NOMINAL, FloatArray
from icrl.words import in_markdown

Forbidden = dict[tuple[str, int], float]
"""By label and seed: the share of an expert's steps that the constraint of that run forbids."""

HEADERS = (
    "method", "seeds", "failed", "true return (mean ± SE)", "IQM [95 % CI]", "ratio to expert",
    "violation rate (mean)", "violation rate (max)", "expert steps forbidden", "collapsed seeds",
    "P(better than {})", "steps", "steps/s",
)  # fmt: skip
HEADERS_WITHOUT_TRUTH = (
    "method", "seeds", "failed", "return (mean ± SE)", "IQM [95 % CI]", "ratio to demonstrations",
    "agent's steps judged infeasible", "demonstrated steps judged infeasible", "verdict", "steps",
    "steps/s",
)  # fmt: skip
_TRUTH_NOTE = (
    "True return: mean return in the constrained world, where a violation ends the episode; "
    "violation rate: share of steps that violate in the nominal world; both of the stochastic "
    "policy at the end of training. Ratio to expert: mean true return over that of the expert's "
    "runs where the table has some, else over the mean return of the demonstrations. Expert steps "
    "forbidden: share of the expert's feasible steps (its runs', else the demonstrations') with "
    "cost 1 − ζ above ½; mean over seeds, and the worst seed in brackets. Collapsed: the agent "
    "violates at least half as often as agents that know of no constraint (the nominal ones of the "
    "table); where there are none, on more than half of its steps. P(better): chance that a seed "
    "of the row has a higher true return than a seed of that method (ties count half)."
)
_NO_TRUTH_NOTE = (
    "The true constraint is not known here: returns are those of the nominal world, and nothing "
    "says how often an agent truly violates. Judged infeasible: cost 1 − ζ above ½, by the run's "
    "own constraint, mean over seeds. Verdict: what `icrl evaluate DIR` said of how far to trust "
    "each run."
)
_BOTH_NOTE = (
    "IQM: mean of the middle half of the seeds, with a 95 % bootstrap interval over seeds (one "
    "seed has none). Every seed counts."
)


def summary_table(
    groups: Sequence[Group],
    references: dict[str, dict[str, float]],
    forbidden: Forbidden | None = None,
) -> Table:
    """One task's groups and its reference agents as rows;
    the first group is the one the others are compared with."""
    if not truth_known(groups):
        # Other columns, not dashes: a violation rate that nobody knows must not look like one of 0.
        return Table(HEADERS_WITHOUT_TRUTH, [_row_without_truth(group) for group in groups])
    first = groups[0]
    expert = expert_level(groups)
    nominal = nominal_rate(groups, references)
    headers = [header.format(in_markdown(first.name)) for header in HEADERS]
    shares = {
        group.label: np.array([v for k, v in (forbidden or {}).items() if k[0] == group.label])
        for group in groups
    }
    rows = [_row(group, first, expert, shares[group.label], nominal) for group in groups]
    rows += [_reference_row(name, scores, expert, nominal) for name, scores in references.items()]
    return Table(headers, rows)


def markdown_table(
    groups: Sequence[Group],
    references: dict[str, dict[str, float]],
    forbidden: Forbidden | None = None,
) -> str:
    """`summary_table` as Markdown."""
    return summary_table(groups, references, forbidden).markdown()


def as_markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a table of Markdown."""
    return Table(headers, rows).markdown()


def truth_known(groups: Sequence[Group]) -> bool:
    """Are the runs of a task judged by its true constraint?"""
    scores = [run.scores for group in groups for run in group.finished if run.scores is not None]
    return all(
        score["true_return"] is not None and score["violation_rate"] is not None for score in scores
    )


def notes(groups: Sequence[Group]) -> str:
    """What a reader of the table must know: how it was computed, which runs failed,
    which versions were used."""
    first = _NO_TRUTH_NOTE
    if truth_known(groups):
        first = _TRUTH_NOTE
    lines = [f"{first} {_BOTH_NOTE}", *(in_markdown(line) for line in warnings(groups))]
    lines.append(in_markdown(f"Versions: {'; '.join(versions(groups))}."))
    return "\n\n".join(lines) + "\n"


def warnings(groups: Sequence[Group]) -> list[str]:
    """What is missing, and what is not alike among runs that stand in one row or one table."""
    lines = [f"Failed: {run.name}: {run.error}" for group in groups for run in group.failed]
    lines += [f"Not finished: {run.name}" for group in groups for run in group.unfinished]
    return lines + mixed_lengths(groups)


def mixed_lengths(groups: Sequence[Group]) -> list[str]:
    """Groups whose finished runs were given different numbers of environment steps,
    and groups that differ so."""
    lengths = {
        group.name: Counter(steps_planned(run) for run in group.finished) for group in groups
    }
    lines = []
    for name, counts in lengths.items():
        if len(counts) > 1:
            parts = [f"{number} of {steps:,}" for steps, number in sorted(counts.items())]
            lines.append(
                f"Different lengths: the runs of {name} have different numbers of environment "
                f"steps ({', '.join(parts)}), and their mean is of neither: report them "
                "separately."
            )
    # Between methods by the longest: one run cut short is told of above, for its own method.
    typical = {name: max(counts) for name, counts in lengths.items() if counts}
    if len(set(typical.values())) > 1:
        parts = [f"{name} {steps:,}" for name, steps in typical.items()]
        lines.append(
            "Different lengths: the methods had different numbers of environment steps: "
            f"{', '.join(parts)}."
        )
    return lines


def versions(groups: Sequence[Group]) -> list[str]:
    """Each set of library versions that runs were made with."""
    found = [
        run.scores.get("versions", {})
        for group in groups
        for run in group.finished
        if run.scores is not None
    ]
    return list(
        dict.fromkeys(
            ", ".join(f"{name} {number}" for name, number in each.items()) for each in found
        )
    )


def nominal_rate(groups: Sequence[Group], references: dict[str, dict[str, float]]) -> float | None:
    """Violation rate of agents that know of no constraint:
    of the runs, else the reference; None: unknown."""
    runs = [group for group in groups if group.label == NOMINAL and group.finished]
    if runs:
        return float(runs[0].values("violation_rate").mean())
    if NOMINAL in references:
        return float(references[NOMINAL]["violation_rate"])
    return None


def _row(
    group: Group, first: Group, expert: float | None, forbidden: FloatArray, nominal: float | None
) -> list[str]:
    name = in_markdown(group.name)
    failed = str(len(group.failed))
    if not group.finished:
        return [name, "0", failed, *["-"] * 10]
    returns = group.values("true_return")
    rates = group.values("violation_rate")
    better = "-"
    if group is not first and first.finished:
        better = f"{probability_of_improvement(returns, first.values('true_return')):.2f}"
    return [
        name,
        str(len(returns)),
        failed,
        _with_error(returns),
        _with_interval(returns),
        _ratio(float(returns.mean()), expert),
        f"{rates.mean():.4f}",
        f"{rates.max():.4f}",
        f"{forbidden.mean():.3f} ({forbidden.max():.3f})" if forbidden.size else "-",
        f"{num_collapsed(rates, nominal)}",
        better,
        f"{np.mean(group.values('steps')):,.0f}",
        f"{np.mean(group.values('steps_per_second')):,.0f}",
    ]


def _row_without_truth(group: Group) -> list[str]:
    name = in_markdown(group.name)
    failed = str(len(group.failed))
    if not group.finished:
        return [name, "0", failed, *["-"] * 8]
    returns = group.values("nominal_return")
    verdicts = Counter(run.verdict or "not judged" for run in group.finished)
    return [
        name,
        str(len(returns)),
        failed,
        _with_error(returns),
        _with_interval(returns),
        _ratio(float(returns.mean()), expert_level([group])),
        _mean_share(group, "agent_steps_forbidden"),
        _mean_share(group, "expert_steps_forbidden"),
        in_markdown(", ".join(f"{verdict} ({number})" for verdict, number in verdicts.items())),
        f"{np.mean(group.values('steps')):,.0f}",
        f"{np.mean(group.values('steps_per_second')):,.0f}",
    ]


def _mean_share(group: Group, name: str) -> str:
    found = [run.constraint_scores.get(name) for run in group.finished]
    shares = [share for share in found if share is not None]
    if shares:
        return f"{np.mean(shares):.4f}"
    return "-"


def _with_error(values: FloatArray) -> str:
    if len(values) == 1:
        return _number(values.mean())
    return f"{_number(values.mean())} ± {_number(float(standard_error(values)))}"


def _with_interval(values: FloatArray) -> str:
    """One seed says nothing of how far seeds differ: it has no interval."""
    if len(values) == 1:
        return f"{_number(values.mean())} [one seed]"
    interval = stratified_bootstrap([values], interquartile_mean)
    return f"{_number(interval.value)} [{_number(interval.low)}, {_number(interval.high)}]"


def _reference_row(
    name: str, scores: dict[str, float], expert: float | None, nominal: float | None
) -> list[str]:
    """A reference agent, scored when the demonstrations were recorded;
    a scripted one had no training steps."""
    steps = "-"
    if "steps" in scores:
        steps = f"{scores['steps']:,.0f}"
    rate = f"{scores['violation_rate']:.4f}"
    collapsed = num_collapsed(np.array([scores["violation_rate"]]), nominal)
    ratio = _ratio(scores["true_return"], expert)
    start = [f"*reference: {name}*", "1", "0", _number(scores["true_return"]), "-", ratio]
    return [*start, rate, rate, "-", str(collapsed), "-", steps, "-"]


def expert_level(groups: Sequence[Group]) -> float | None:
    """Mean true return of the expert's runs; without any, mean return of the demonstrations."""
    experts = [group for group in groups if group.label == EXPERT and group.finished]
    if experts:
        return float(experts[0].values("true_return").mean())
    found = [
        run.scores["expert_return"]
        for group in groups
        for run in group.finished
        if run.scores is not None
    ]
    # All runs of a task are given the same demonstrations.
    if not found or found[0] is None:
        return None
    return float(found[0])


def _ratio(value: float, expert: float | None) -> str:
    if expert:
        return f"{value / expert:.3f}"
    return "-"


def _number(value: float) -> str:
    """Four digits are what seeds can tell apart."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) >= 100:
        return f"{value:.1f}"
    return f"{value:.2f}"
