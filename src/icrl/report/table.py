"""The table of a report, in Markdown: every number from run directories, none typed."""

from collections.abc import Sequence

import numpy as np

from icrl.experiment.statistics import (
    interquartile_mean,
    num_collapsed,
    probability_of_improvement,
    standard_error,
    stratified_bootstrap,
)
from icrl.presets import EXPERT
from icrl.report.records import Group
from icrl.types import FloatArray
from icrl.words import in_markdown

Forbidden = dict[tuple[str, int], float]
"""By label and seed: the share of an expert's steps that the constraint of that run forbids."""

HEADERS = (
    "method", "seeds", "failed", "true return (mean ± SE)", "IQM [95 % CI]", "ratio to expert",
    "violation rate (mean)", "violation rate (max)", "expert steps forbidden", "collapsed seeds", "P(better than {})",
    "steps", "steps/s",
)  # fmt: skip


def markdown_table(
    groups: Sequence[Group],
    references: dict[str, dict[str, float]],
    forbidden: Forbidden | None = None,
) -> str:
    """One task's groups and its reference agents as rows; the first group is the one the others are compared with."""
    first, expert = groups[0], expert_level(groups)
    headers = [header.format(in_markdown(first.name)) for header in HEADERS]
    shares = {
        group.label: np.array([v for k, v in (forbidden or {}).items() if k[0] == group.label]) for group in groups
    }
    rows = [_row(group, first, expert, shares[group.label]) for group in groups]
    rows += [_reference_row(name, scores, expert) for name, scores in references.items()]
    return as_markdown(headers, rows)


def as_markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a table: the first column to the left, the others, numbers as a rule, to the right."""
    lines = [headers, ["---", *["---:"] * (len(headers) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def notes(groups: Sequence[Group]) -> str:
    """What a reader of the table must know: how it was computed, which runs failed, which versions were used."""
    lines = [
        "True return: mean return in the constrained world, where a violation ends the episode; violation rate: share "
        "of steps that violate in the nominal world; both of the stochastic policy at the end of training. Ratio to "
        "expert: mean true return over that of the expert's runs where the table has some, else over the mean return "
        "of the demonstrations. Expert steps forbidden: share of the expert's lawful steps (its runs', else "
        "the demonstrations') with cost 1 − ζ above ½; mean over seeds, and the worst seed in brackets. IQM: mean of "
        "the middle half of the seeds, with a 95 % bootstrap interval over seeds. Collapsed: violation rate above 0.5 "
        "(where even agents that know of no constraint violate on fewer steps, read the return instead). "
        "P(better): chance that a seed of the row has a higher true return than a seed of that method (ties count "
        "half). Every seed counts."
    ]
    failed = [run for group in groups for run in group.failed]
    unfinished = [run for group in groups for run in group.unfinished]
    lines += [in_markdown(f"Failed: {run.name}: {run.error}") for run in failed]
    lines += [in_markdown(f"Not finished: {run.name}") for run in unfinished]
    lines.append(in_markdown(f"Versions: {'; '.join(versions(groups))}."))
    return "\n\n".join(lines) + "\n"


def versions(groups: Sequence[Group]) -> list[str]:
    """Each set of library versions that runs were made with."""
    found = [run.scores.get("versions", {}) for group in groups for run in group.finished if run.scores is not None]
    return list(dict.fromkeys(", ".join(f"{name} {number}" for name, number in each.items()) for each in found))


def _row(group: Group, first: Group, expert: float | None, forbidden: FloatArray) -> list[str]:
    failed = str(len(group.failed))
    if not group.finished:
        return [in_markdown(group.name), "0", failed, *["-"] * 10]
    returns, rates = group.values("true_return"), group.values("violation_rate")
    interval = stratified_bootstrap([returns], interquartile_mean)
    better = "-"
    if group is not first and first.finished:
        better = f"{probability_of_improvement(returns, first.values('true_return')):.2f}"
    error = f" ± {_number(float(standard_error(returns)))}" if len(returns) > 1 else ""
    return [
        in_markdown(group.name),
        str(len(returns)),
        failed,
        f"{_number(returns.mean())}{error}",
        f"{_number(interval.value)} [{_number(interval.low)}, {_number(interval.high)}]",
        _ratio(float(returns.mean()), expert),
        f"{rates.mean():.4f}",
        f"{rates.max():.4f}",
        f"{forbidden.mean():.3f} ({forbidden.max():.3f})" if forbidden.size else "-",
        f"{num_collapsed(rates)}",
        better,
        f"{np.mean(group.values('steps')):,.0f}",
        f"{np.mean(group.values('steps_per_second')):,.0f}",
    ]


def _reference_row(name: str, scores: dict[str, float], expert: float | None) -> list[str]:
    """A reference agent: one training run, scored when the demonstrations were recorded."""
    return [
        f"*reference: {name}*", "1", "0", _number(scores["true_return"]), "-", _ratio(scores["true_return"], expert),
        f"{scores['violation_rate']:.4f}", f"{scores['violation_rate']:.4f}", "-",
        str(num_collapsed(np.array([scores["violation_rate"]]))), "-", f"{scores['steps']:,.0f}", "-",
    ]  # fmt: skip


def expert_level(groups: Sequence[Group]) -> float | None:
    """Mean true return of the expert's runs; without any, mean return of the demonstrations."""
    experts = [group for group in groups if group.label == EXPERT and group.finished]
    if experts:
        return float(experts[0].values("true_return").mean())
    found = [run.scores["expert_return"] for group in groups for run in group.finished if run.scores is not None]
    return None if not found or found[0] is None else float(found[0])


def _ratio(value: float, expert: float | None) -> str:
    return f"{value / expert:.3f}" if expert else "-"


def _number(value: float) -> str:
    """Four digits are what seeds can tell apart."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"
