"""What the page's charts are drawn from: every logged number of every run, and the final scores
with intervals."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from icrl.experiment.suite.statistics import interquartile_mean, stratified_bootstrap
from icrl.report.looks import colours
from icrl.report.records import Group, RunRecord
from icrl.report.table import truth_known
from icrl.report.task_report import TaskReport
from icrl.words import one_line

_MOST_POINTS = 300
"""Rounds that a curve shows; of longer runs every k-th."""
_FIRST = ("truth/true_return", "truth/violation_rate", "agent/return", "constraint/cost_samples")
"""Quantities that the page opens with: the first three that there are."""
_APART = ("round", "steps", "seconds")
TRUTH_SCORES = {"true_return": "final true return", "violation_rate": "final violation rate"}
OTHER_SCORES = {
    "nominal_return": "final return",
    "agent_steps_forbidden": "agent's steps judged infeasible",
}


def run_id(task: int, run: RunRecord, report: TaskReport) -> str:
    """Of a run within the page: t0-r3."""
    runs = [each for group in report.groups for each in group.runs]
    return f"t{task}-r{runs.index(run)}"


def task_data(number: int, report: TaskReport) -> dict[str, Any]:
    """The charts of one task."""
    palette = colours(group.label for group in report.groups)
    scores = OTHER_SCORES
    if truth_known(report.groups):
        scores = TRUTH_SCORES
    quantities = _quantities([run for group in report.groups for run in group.runs])
    return {
        "id": f"t{number}",
        "name": one_line(report.task),
        "quantities": quantities,
        "opened": [name for name in _FIRST if name in quantities][:3],
        "scores": [{"key": key, "title": title} for key, title in scores.items()],
        "references": report.references,
        "groups": [
            {
                "label": one_line(group.label),
                "name": one_line(group.name),
                "colour": palette[group.label],
                "runs": [
                    _run_data(run_id(number, run, report), run, quantities, scores)
                    for run in group.runs
                ],
                "intervals": {key: _interval(group, key) for key in scores},
            }
            for group in report.groups
        ],
    }


def score_of(run: RunRecord, name: str) -> float | None:
    """A final score, of the agent or of its constraint."""
    scores = run.scores or {}
    found = scores.get(name, run.constraint_scores.get(name))
    if found is None:
        return None
    return float(found)


def rounded(value: Any) -> float | None:
    """Five digits are what a chart can show; None: not a finite number."""
    if not isinstance(value, Real) or not math.isfinite(float(value)):
        return None
    return float(f"{float(value):.5g}")


def _run_data(
    identity: str, run: RunRecord, quantities: Sequence[str], scores: dict[str, str]
) -> dict[str, Any]:
    metrics = [row for row in run.metrics if "steps" in row]
    every = math.ceil(len(metrics) / _MOST_POINTS) or 1
    rows = metrics[::every]
    # The last round is what the scores are of: it is shown whatever k is.
    if rows and rows[-1] is not metrics[-1]:
        rows.append(metrics[-1])
    return {
        "id": identity,
        "seed": run.seed,
        "finished": run.scores is not None,
        "steps": [int(row["steps"]) for row in rows],
        "values": {
            name: [rounded(row.get(name)) for row in rows]
            for name in quantities
            if _has(rows, name)
        },
        "scores": {key: rounded(score_of(run, key)) for key in scores},
    }


def _quantities(runs: Sequence[RunRecord]) -> list[str]:
    """Names of all logged numbers, in the order of the log."""
    found: dict[str, None] = {}
    for run in runs:
        for row in run.metrics:
            found |= dict.fromkeys(
                name for name, value in row.items() if isinstance(value, int | float)
            )
    return [name for name in found if name not in _APART]


def _has(rows: Sequence[dict[str, Any]], name: str) -> bool:
    return any(row.get(name) is not None for row in rows)


def _interval(group: Group, name: str) -> list[float | None] | None:
    """[IQM, low, high]; of one seed without ends; None: nothing is known."""
    found = [score_of(run, name) for run in group.finished]
    values = np.array([value for value in found if value is not None], np.float64)
    if not values.size:
        return None
    if values.size == 1:
        return [rounded(values[0]), None, None]
    # A fifth of the tables' resamples: a bar of a few pixels shows no more.
    interval = stratified_bootstrap([values], interquartile_mean, resamples=2_000)
    return [rounded(interval.value), rounded(interval.low), rounded(interval.high)]
