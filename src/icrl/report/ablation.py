"""The ablations as the paper shows them: a column of curves for each way to leave parts out, a curve for each B."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from icrl.experiment.statistics import num_collapsed, standard_error
from icrl.experiment.suites import ABLATION_UPDATES, ABLATIONS, Ablation, ablation_label
from icrl.report.figures import common_curves, draw_band, draw_references, figure_file, room_for_rates, steps_formatter
from icrl.report.records import Group

_COLOURS = dict(zip(ABLATION_UPDATES, ("#E69F00", "#0072B2", "#009E73", "#CC79A7"), strict=True))
_TITLES = {
    "both": "IS and ES", "no-importance-sampling": "no IS but ES", "no-early-stopping": "IS but no ES",
    "neither": "no IS and no ES",
}  # fmt: skip


class Cell(NamedTuple):
    """One setting of the ablation and its runs."""

    ablation: Ablation
    updates: int
    """B"""
    group: Group


def cells_of(groups: Sequence[Group]) -> list[Cell]:
    """The groups that are cells of the ablation, by B."""
    by_label = {group.label: group for group in groups if group.finished}
    places = [(ablation, updates) for updates in ABLATION_UPDATES for ablation in ABLATIONS]
    return [Cell(a, b, by_label[ablation_label(a, b)]) for a, b in places if ablation_label(a, b) in by_label]


def ablation_table(cells: Sequence[Cell]) -> str:
    """What leaving a part out costs: change of the mean true return and violation rate against having both, same B."""
    headers = (
        "B", "importance sampling", "early stopping", "seeds", "true return (mean ± SE)", "change", "violation rate",
        "change", "collapsed seeds",
    )  # fmt: skip
    rows = [_row(cell, cells) for cell in cells]
    lines = [headers, ["---:", "---", "---", *["---:"] * (len(headers) - 3)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _row(cell: Cell, cells: Sequence[Cell]) -> list[str]:
    returns, rates = cell.group.values("true_return"), cell.group.values("violation_rate")
    whole = [c.group for c in cells if c.updates == cell.updates and c.ablation == ABLATIONS[0]]
    changes = ["-", "-"]
    if whole and whole[0] is not cell.group:
        changes = [
            f"{returns.mean() - whole[0].values('true_return').mean():+,.0f}",
            f"{rates.mean() - whole[0].values('violation_rate').mean():+.3f}",
        ]
    error = f" ± {float(standard_error(returns)):,.0f}" if len(returns) > 1 else ""
    return [
        str(cell.updates),
        "on" if cell.ablation.importance_sampling else "off",
        "on" if cell.ablation.early_stopping else "off",
        str(len(returns)),
        f"{returns.mean():,.0f}{error}",
        changes[0],
        f"{rates.mean():.3f}",
        changes[1],
        str(num_collapsed(rates)),
    ]


def draw_ablation(cells: Sequence[Cell], references: dict[str, dict[str, float]], path: Path) -> list[Path]:
    """True return (above) and violation rate (below) against environment steps: mean, standard error, every seed."""
    with figure_file(path, (13.0, 6.2)) as figure:
        grid = figure.subplots(2, len(ABLATIONS), sharex=True, sharey="row")
        for column, ablation in enumerate(reversed(ABLATIONS)):  # the paper's order: from nothing to everything
            for axes, name in zip(grid[:, column], ("true_return", "violation_rate"), strict=True):
                for cell in cells:
                    curves = common_curves(cell.group, f"truth/{name}") if cell.ablation == ablation else None
                    if curves is not None:
                        draw_band(axes, curves, _COLOURS[cell.updates], f"B = {cell.updates}")
                draw_references(axes, references, name)
                axes.xaxis.set_major_formatter(steps_formatter())
            grid[0, column].set_title(_TITLES[ablation.name])
            grid[1, column].set(xlabel="environment steps", xlim=(0, None))
        grid[0, 0].set_ylabel("true return")
        grid[1, 0].set_ylabel("violation rate")
        room_for_rates(grid[1, 0])
        parts = [axes.get_legend_handles_labels() for axes in grid[0]]
        named = {label: handle for handles, labels in parts for handle, label in zip(handles, labels, strict=True)}
        figure.legend(named.values(), named, loc="outside lower center", ncols=len(named), frameon=False)
        figure.suptitle(
            f"{cells[0].group.task}: importance sampling (IS), early stopping (ES), updates per round (B)",
            fontweight="bold",
        )
    return [path.with_suffix(".png"), path.with_suffix(".svg")]
