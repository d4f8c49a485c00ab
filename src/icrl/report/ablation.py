"""The ablations as the paper shows them: a column of curves for each way to leave
parts out, a curve for each B."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icrl.experiment.suite.statistics import num_collapsed, standard_error
from icrl.experiment.suite.suites import ABLATION_UPDATES, ABLATIONS, Ablation, ablation_label
from icrl.report.canvas import legend_below
from icrl.report.cells import Table
from icrl.report.figures import (
    common_curves,
    draw_band,
    draw_references,
    figure_file,
    room_for_rates,
    steps_formatter,
)
from icrl.report.records import Group
from icrl.types import FloatArray

_COLOURS = dict(zip(ABLATION_UPDATES, ("#E69F00", "#0072B2", "#009E73", "#CC79A7"), strict=True))
_BEST = "#882255"
_TITLES = {
    "both": "IS and ES",
    "no-importance-sampling": "no IS but ES",
    "no-early-stopping": "IS but no ES",
    "neither": "no IS and no ES",
}


class Cell(NamedTuple):
    """One setting of the ablation and its runs."""

    ablation: Ablation
    updates: int
    """B"""
    group: Group


def cells_of(groups: Sequence[Group]) -> list[Cell]:
    """The groups that are cells of the ablation, by B; also those whose every run failed."""
    by_label = {group.label: group for group in groups}
    places = [(ablation, updates) for updates in ABLATION_UPDATES for ablation in ABLATIONS]
    return [
        Cell(a, b, by_label[ablation_label(a, b)])
        for a, b in places
        if ablation_label(a, b) in by_label
    ]


def ablation_table(cells: Sequence[Cell], nominal: float | None = None) -> Table:
    """What leaving a part out costs: change of true return and violation rate against
    having both, same B and seed."""
    headers = (
        "B", "importance sampling", "early stopping", "seeds", "failed", "true return (mean ± SE)",
        "change (mean ± SE)", "violation rate", "change", "collapsed seeds", "updates per round",
        "rounds cut short", "effective sample size",
    )  # fmt: skip
    return Table(headers, [_row(cell, cells, nominal) for cell in cells])


def ablation_note() -> str:
    """How to read the table."""
    return (
        "Change: against importance sampling and early stopping with the same B, seed by seed, "
        "over the seeds that both finished. Weights act from the second update of a round on (at "
        "the first every weight is 1), and early stopping, which here also shortens the step that "
        "would break a limit, may leave no second one: see the updates per round. Up to the first "
        "round in which they differ, runs with the same seed are the same run. Rounds cut short: "
        "share of the rounds in which a KL limit ended or shortened the updates. Effective sample "
        "size: how many trajectories the samples of a round are worth after its updates, "
        "reweighted to the new ζ."
    )


def _row(cell: Cell, cells: Sequence[Cell], nominal: float | None) -> list[str]:
    switch = {True: "on", False: "off"}
    start = [
        str(cell.updates),
        switch[cell.ablation.importance_sampling],
        switch[cell.ablation.early_stopping],
        str(len(cell.group.finished)),
        str(len(cell.group.failed)),
    ]
    if not cell.group.finished:
        return [*start, *["-"] * 8]
    whole = [c.group for c in cells if c.updates == cell.updates and c.ablation == ABLATIONS[0]]
    more_return = "-"
    more_violations = "-"
    if whole and whole[0] is not cell.group:
        more_return = _with_error(_changes(cell.group, whole[0], "true_return"), "+,.0f")
        more_violations = _with_error(_changes(cell.group, whole[0], "violation_rate"), "+.3f")
    rates = cell.group.values("violation_rate")
    return [
        *start,
        _with_error(cell.group.values("true_return"), ",.0f"),
        more_return,
        f"{rates.mean():.3f}",
        more_violations,
        str(num_collapsed(rates, nominal)),
        _mean_of_rounds(cell.group, ("constraint/updates_made",), ".1f"),
        _mean_of_rounds(
            cell.group, ("constraint/stopped_early", "constraint/step_shortened"), ".2f"
        ),
        _mean_of_rounds(cell.group, ("constraint/effective_sample_size",), ".1f"),
    ]


def _changes(group: Group, whole: Group, name: str) -> FloatArray:
    """[n]: by how much a score differs from that of the run with the same
    seed and nothing left out."""
    # Seed by seed: up to the round in which they differ the two are the same run, so that most of
    # the scatter cancels.
    before = {run.seed: run.scores[name] for run in whole.finished if run.scores is not None}
    shared = [
        (run.scores[name], before[run.seed])
        for run in group.finished
        if run.scores and run.seed in before
    ]
    return np.array([after - was for after, was in shared], np.float64)


def _with_error(values: FloatArray, form: str) -> str:
    if not values.size:
        return "-"
    if values.size > 1:
        error = f" ± {format(float(standard_error(values)), form.removeprefix('+'))}"
    else:
        error = ""
    return f"{values.mean():{form}}{error}"


def _mean_of_rounds(group: Group, names: tuple[str, ...], form: str) -> str:
    """Over all rounds of all runs, of whichever of the metrics is largest."""
    largest: list[float] = []
    for line in (line for run in group.finished for line in run.metrics):
        # a number that was not finite is null; an older run may not have all of them
        values = [float(line[name]) for name in names if isinstance(line.get(name), int | float)]
        if len(values) == len(names):
            largest.append(max(values))
    if not largest:
        return "-"
    return format(float(np.mean(largest)), form)


def best_of_both(cells: Sequence[Cell]) -> dict[str, float]:
    """The highest mean return and the lowest mean violation rate with nothing left out,
    whatever B; or nothing."""
    whole = [cell.group for cell in cells if cell.ablation == ABLATIONS[0] and cell.group.finished]
    if not whole:
        return {}
    return {
        "true_return": max(float(group.values("true_return").mean()) for group in whole),
        "violation_rate": min(float(group.values("violation_rate").mean()) for group in whole),
    }


def draw_ablation(
    cells: Sequence[Cell], references: dict[str, dict[str, float]], path: Path
) -> list[Path]:
    """True return (above) and violation rate (below) against environment steps:
    mean, standard error, every seed.

    In every panel, as in the paper, a line at the best that was reached with nothing left out.
    """
    best = best_of_both(cells)
    with figure_file(path, (13.0, 6.2)) as figure:
        grid = figure.subplots(2, len(ABLATIONS), sharex=True, sharey="row")
        # the paper's order: from nothing to everything
        for column, ablation in enumerate(reversed(ABLATIONS)):
            for axes, name in zip(grid[:, column], ("true_return", "violation_rate"), strict=True):
                for cell in cells:
                    shown = cell.ablation == ablation and cell.group.finished
                    if shown:
                        curves = common_curves(cell.group, f"truth/{name}")
                    else:
                        curves = None
                    if curves is not None:
                        draw_band(axes, curves, _COLOURS[cell.updates], f"B = {cell.updates}")
                draw_references(axes, references, name)
                if best:
                    axes.axhline(
                        best[name], color=_BEST, lw=1.3, zorder=1.5, label="best with IS and ES"
                    )
                axes.xaxis.set_major_formatter(steps_formatter())
            grid[0, column].set_title(_TITLES[ablation.name])
            grid[1, column].set(xlabel="environment steps", xlim=(0, None))
        grid[0, 0].set_ylabel("true return")
        grid[1, 0].set_ylabel("violation rate")
        room_for_rates(grid[1, 0])
        legend_below(figure, grid[0])
        figure.suptitle(
            f"{cells[0].group.task}: importance sampling (IS), early stopping (ES), updates per "
            "round (B)",
            fontweight="bold",
        )
    return [path.with_suffix(".png"), path.with_suffix(".svg")]
