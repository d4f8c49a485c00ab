"""Figures of a report: learning curves, final scores of every seed, ζ over x.

PNG and SVG, reproducible to the bit.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icrl.experiment.suite.statistics import (
    interquartile_mean,
    standard_error,
    stratified_bootstrap,
)
from icrl.methods.references import EXPERT_AGENT, NOMINAL_AGENT
from icrl.report.canvas import blank_figure, legend_below, save_figure
from icrl.report.looks import colours
from icrl.report.records import Group
from icrl.types import EXPERT, FloatArray
from icrl.versions import PACKAGE
from icrl.words import one_line

_EXPERT = str(EXPERT_AGENT.colour)
_FORBIDDEN = "#B22222"
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.labelsize": 11,
    "legend.fontsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "svg.hashsalt": PACKAGE,
    "svg.fonttype": "path",
}


class Curves(NamedTuple):
    """A quantity of every seed on common environment steps."""

    steps: FloatArray
    """[K]"""
    values: FloatArray
    """[n, K]"""


class ZetaOverX(NamedTuple):
    """One method's constraints seen along x, all else as visited."""

    name: str
    label: str
    x: FloatArray
    """[K]"""
    zeta: FloatArray
    """[n, K]: mean ζ of each seed's constraint at x,
    the other features drawn from visited states."""
    forbidden: FloatArray
    """[K]: share of those states that are truly forbidden at x."""
    expert_x: FloatArray
    agent_x: FloatArray


def common_curves(group: Group, name: str) -> Curves | None:
    """A metric of the finished runs, interpolated to the steps that all of them cover;
    None: nothing to draw."""
    series = [
        (np.array([m["steps"] for m in run.metrics if name in m], np.float64),
         np.array([m[name] for m in run.metrics if name in m], np.float64))
        for run in group.finished
    ]  # fmt: skip
    series = [(steps, values) for steps, values in series if len(steps) > 0]
    if not series:
        return None
    # Where all seeds are: beyond that a mean would be over fewer of them, and jump.
    low = max(s[0] for s, _ in series)
    high = min(s[-1] for s, _ in series)
    union = np.unique(np.concatenate([s for s, _ in series]))
    steps = union[(union >= low) & (union <= high)]
    if len(steps):
        return Curves(steps, np.stack([np.interp(steps, s, v) for s, v in series]))
    return None


def draw_learning_curves(
    groups: Sequence[Group], references: dict[str, dict[str, float]], path: Path
) -> list[Path]:
    """True return and violation rate against environment steps:
    mean, standard error, every seed, references."""
    palette = colours(group.label for group in groups)
    with figure_file(path, (10.5, 4.5)) as figure:
        panels = figure.subplots(1, 2)
        for axes, name in zip(panels, ("true_return", "violation_rate"), strict=True):
            for group in groups:
                curves = common_curves(group, f"truth/{name}")
                if curves is not None:
                    draw_band(
                        axes,
                        curves,
                        palette[group.label],
                        f"{group.name}, n = {len(curves.values)}",
                    )
            draw_references(axes, references, name)
            axes.set(xlabel="environment steps", xlim=(0, None))
            axes.xaxis.set_major_formatter(steps_formatter())
        panels[0].set(title="True return", ylabel="return in the constrained world")
        panels[1].set(title="Violation rate", ylabel="share of steps that violate")
        room_for_rates(panels[1])
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=min(4, len(labels)), frameon=False
        )
        figure.suptitle(one_line(groups[0].task), fontweight="bold")
    return [path.with_suffix(".png"), path.with_suffix(".svg")]


def draw_final_scores(
    groups: Sequence[Group], references: dict[str, dict[str, float]], path: Path
) -> list[Path]:
    """Every seed's final scores as a dot; the IQM and its 95 % interval as a bar."""
    drawn = [group for group in groups if group.finished]
    palette = colours(group.label for group in groups)
    with figure_file(path, (10.5, 1.3 + 0.5 * len(drawn))) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for axes, name in zip(panels, ("true_return", "violation_rate"), strict=True):
            for row, group in enumerate(drawn):
                _draw_strip(axes, row, group.values(name), palette[group.label])
            if EXPERT in references:
                axes.axvline(
                    references[EXPERT][name], color=_EXPERT, lw=1.3, dashes=(5, 3), zorder=1.5
                )
            axes.grid(axis="y", visible=False)
        panels[0].set_yticks(
            range(len(drawn)), [f"{group.name}, n = {len(group.finished)}" for group in drawn]
        )
        panels[0].set(xlabel="final true return (dashed: expert)", ylim=(len(drawn) - 0.5, -0.5))
        panels[1].set(xlabel="final violation rate")
        panels[1].set_xlim(left=-0.03 * panels[1].get_xlim()[1])
        figure.suptitle(
            f"{one_line(groups[0].task)}: every seed, IQM and 95 % interval", fontweight="bold"
        )
    return [path.with_suffix(".png"), path.with_suffix(".svg")]


def draw_zeta_over_x(task: str, views: Sequence[ZetaOverX], truth: str, path: Path) -> list[Path]:
    """ζ over x for each method (above), and where expert and agents are (below);
    the truly forbidden part shaded."""
    with figure_file(path, (max(4.6, 3.7 * len(views)), 5.2)) as figure:
        grid = figure.subplots(
            2, len(views), sharex="col", sharey="row", squeeze=False, height_ratios=(3, 2)
        )
        for column, view in enumerate(views):
            above, below = grid[:, column]
            for axes in (above, below):
                axes.fill_between(
                    view.x,
                    0,
                    1,
                    where=view.forbidden > 0.5,
                    transform=axes.get_xaxis_transform(),
                    color=_FORBIDDEN,
                    alpha=0.10,
                    lw=0,
                    label="truly forbidden",
                )
            colour = colours([view.label])[view.label]
            above.plot(view.x, view.zeta.T, color=colour, lw=0.8, alpha=0.35)
            above.plot(
                view.x,
                view.zeta.mean(axis=0),
                color=colour,
                lw=2.4,
                label="ζ: mean, and every seed",
            )
            above.axhline(0.5, color="#888888", lw=0.8, ls=":")
            title = f"{view.name}, n = {len(view.zeta)}".replace(", ", "\n", 1)
            above.set(title=title, ylim=(-0.03, 1.05), xlim=(view.x[0], view.x[-1]))
            for values, shade, label in (
                (view.expert_x, _EXPERT, EXPERT),
                (view.agent_x, colour, "agents"),
            ):
                _draw_histogram(below, values, view.x, shade, label)
            below.set(xlabel="x")
        grid[0, 0].set_ylabel("feasibility ζ")
        grid[1, 0].set_ylabel("share of states")
        grid[1, 0].set_ylim(bottom=0)
        legend_below(figure, grid[:, 0])
        figure.suptitle(f"{one_line(task)}: learned ζ over x (truth: {truth})", fontweight="bold")
    return [path.with_suffix(".png"), path.with_suffix(".svg")]


def draw_references(axes: Any, references: dict[str, dict[str, float]], name: str) -> None:
    """A level line for each reference agent's final score."""
    for agent, dashes in ((EXPERT_AGENT, (5, 3)), (NOMINAL_AGENT, (1, 2))):
        reference = agent.name
        if reference in references:
            axes.axhline(
                references[reference][name],
                color=agent.colour,
                lw=1.3,
                dashes=dashes,
                zorder=1.5,
                label=f"{reference} (reference)",
            )


def draw_band(axes: Any, curves: Curves, colour: str, label: str) -> None:
    """Every seed, their mean, and the standard error about it."""
    steps, values = curves
    mean = values.mean(axis=0)
    axes.plot(steps, values.T, color=colour, lw=0.8, alpha=0.4, zorder=2)
    if len(values) > 1:
        error = standard_error(values.T)
        axes.fill_between(
            steps, mean - error, mean + error, color=colour, alpha=0.2, lw=0, zorder=2.5
        )
    axes.plot(
        steps,
        mean,
        color=colour,
        lw=2.2,
        zorder=3,
        label=label,
        marker="o",
        ms=3 if len(steps) < 30 else 0,
    )


def _draw_strip(axes: Any, row: int, values: FloatArray, colour: str) -> None:
    interval = stratified_bootstrap([values], interquartile_mean, resamples=2_000)
    heights = np.array([row])
    if len(values) > 1:  # one seed says nothing of how far seeds differ
        # dots are spread in seed order, so that seeds with the same score stay visible
        heights = row + np.linspace(-0.22, 0.22, len(values))
        ends = [interval.low, interval.high]
        axes.plot(ends, [row, row], color=colour, lw=9, alpha=0.25, solid_capstyle="butt")
    axes.plot([interval.value] * 2, [row - 0.33, row + 0.33], color=colour, lw=2.2)
    axes.plot(
        values, heights, ls="", marker="o", ms=5, color=colour, mec="white", mew=0.6, zorder=3
    )


def _draw_histogram(axes: Any, values: FloatArray, x: FloatArray, colour: str, label: str) -> None:
    """Shares of all states; those beyond the shown range are counted but not drawn."""
    counts, edges = np.histogram(values, bins=60, range=(x[0], x[-1]))
    share = counts / max(len(values), 1)
    axes.stairs(share, edges, color=colour, fill=True, alpha=0.18)
    axes.stairs(share, edges, color=colour, lw=1.4, label=label)


def room_for_rates(axes: Any) -> None:
    """Rates start at 0; a panel without violations is not blown up to noise."""
    top = max(0.1, axes.get_ylim()[1])
    axes.set_ylim(-0.02 * top, min(1.02, top))


def steps_formatter() -> Any:
    """Ticks like 200k and 1.5M."""
    from matplotlib.ticker import FuncFormatter

    def shown(steps: float, _: int) -> str:
        if steps >= 1e6:
            return f"{steps / 1e6:g}M"
        if steps >= 1e3:
            return f"{steps / 1e3:g}k"
        return f"{steps:g}"

    return FuncFormatter(shown)


@contextmanager
def figure_file(path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """A figure to draw on; saved as PNG and SVG, each whole or not at all."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08)
    with blank_figure(size, _STYLE, layout) as figure:
        yield figure
        # Without dates and versions: committed figures change when results do, and at no other
        # time.
        save_figure(figure, path.with_suffix(".png"), dpi=180, metadata={"Software": None})
        save_figure(
            figure,
            path.with_suffix(".svg"),
            dpi=180,
            metadata={"Date": None, "Creator": None},
        )
