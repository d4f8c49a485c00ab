"""`explain.png`: slices through ζ with the rule, the interval left open,
and where expert and agents were."""

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from icrl.explain.maps import RegionMap
from icrl.explain.reading import Reading, threshold_of
from icrl.explain.slices import Plane, Slice
from icrl.report.canvas import blank_figure, draw_zeta, save_figure
from icrl.types import BoolArray
from icrl.words import one_line

_EXPERT = "#313695"
_AGENTS = "#d97706"
_RULE = "#a50026"
_CAUTION = "#f4a582"
_BINS = 60
_MOST_POINTS = 400


def draw_reading(reading: Reading, title: str, path: Path) -> None:
    """Draw the slices of a reading; the file is written whole or not at all."""
    slices = (
        list(reading.slices[:1])
        + [reading.zoom] * (reading.zoom is not None)
        + list(reading.slices[1:])
    )
    if reading.maps and not slices:
        _draw_maps(reading, title, path)
        return
    panels = len(slices) + (reading.plane is not None)
    # A legend is as wide as its columns: on a single panel two fit, and it needs more lines below.
    columns = min(4, 2 * panels)
    with blank_figure((max(6.4, 4.3 * panels), 5.6 if panels == 1 else 4.9)) as figure:
        grid = np.atleast_1d(figure.subplots(1, panels))
        for axes, part in zip(grid, slices, strict=False):
            if part is not None:
                _draw_slice(axes, part, reading)
        grid[0].set_ylabel("feasibility ζ")
        if reading.plane is not None:
            _draw_plane(figure, grid[-1], reading.plane, reading)
        _finish(figure, grid, columns, reading, title, path)


def _finish(figure: Any, grid: Any, columns: int, reading: Reading, title: str, path: Path) -> None:
    """One legend for all panels, the rule as the title, the file."""
    named: dict[str, Any] = {}
    for axes in grid:
        handles, labels = axes.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    figure.legend(
        named.values(), named, fontsize=9, loc="outside lower center", ncols=columns, frameon=False
    )
    said = "no short rule fits"
    if reading.rule is not None and reading.rule.fits:
        said = f"forbidden: {reading.rule}"
    figure.suptitle(fill(one_line(f"{title}: {said}"), 64 * len(grid)), fontsize=12)
    save_figure(figure, path, dpi=130, metadata={"Software": None})


def _draw_maps(reading: Reading, title: str, path: Path) -> None:
    """A region in its own axes: forbidden, what only caution forbids, and where everybody was."""
    panels = len(reading.maps)
    with blank_figure((max(6.4, 4.6 * panels), 5.6)) as figure:
        grid = np.atleast_1d(figure.subplots(1, panels))
        for axes, part in zip(grid, reading.maps, strict=True):
            _draw_map(axes, part, reading)
        _finish(figure, grid, min(4, 2 * panels), reading, title, path)


def _draw_map(axes: Any, part: RegionMap, reading: Reading) -> None:
    step_x = (part.xs[1] - part.xs[0]) / 2
    step_y = 0.5
    if not part.choices:
        step_y = (part.ys[1] - part.ys[0]) / 2
    extent = (part.xs[0] - step_x, part.xs[-1] + step_x, part.ys[0] - step_y, part.ys[-1] + step_y)
    for mask, colour, label in (
        (part.forbidden, _CAUTION, "forbidden out of caution"),
        (part.without_caution, _RULE, "forbidden with no caution, too"),
    ):
        # As colours of its own, transparent elsewhere: two masks and the points show through each
        # other.
        shade = np.zeros((*mask.shape, 4))
        shade[mask] = (*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)), 0.55)
        axes.imshow(shade, extent=extent, origin="lower", aspect="auto", interpolation="nearest")
        axes.fill([], [], color=colour, alpha=0.55, label=label)
    for chosen, colour, label in reversed(_groups(reading)):
        rows = np.flatnonzero(chosen & part.shown)
        rows = rows[:: max(1, len(rows) // _MOST_POINTS)]
        x, y = part.places[rows].T
        marker = {"demonstrations": "o", "agents": "X"}[label]
        axes.scatter(
            x, y, s=13, marker=marker, color=colour, edgecolors="white", linewidths=0.4, label=label
        )
    if part.choices:
        axes.set_yticks(part.ys, [one_line(choice) for choice in part.choices])
    names = [one_line(name) for name in part.names]
    axes.set(
        xlabel=names[0],
        ylabel=names[1],
        xlim=extent[:2],
        ylim=extent[2:],
        title=one_line(part.layer),
    )


def _draw_slice(axes: Any, part: Slice, reading: Reading) -> None:
    if part.choices:
        _draw_choices(axes, part, reading)
        return
    condition = threshold_of(reading.rule)
    interval = reading.interval
    if condition is not None and condition.name == part.name:
        if interval is not None and interval.low is not None and interval.high is not None:
            axes.axvspan(
                interval.low,
                interval.high,
                color="#888888",
                alpha=0.15,
                lw=0,
                label="left open by the data",
            )
        if condition.low == -np.inf:
            threshold = condition.high
        else:
            threshold = condition.low
        axes.axvline(
            threshold,
            color=_RULE,
            lw=1.6,
            ls="--",
            label=f"the rule: {one_line(condition.name)} = {threshold:.4g}",
        )
    axes.fill_between(
        part.values,
        part.low,
        part.high,
        color="#222222",
        alpha=0.15,
        lw=0,
        label="5 % to 95 % of pairs",
    )
    axes.plot(part.values, part.mean, color="#222222", lw=1.8, label="mean ζ")
    _draw_threshold(axes, reading)
    column = reading.judged.values[:, reading.judged.names.index(part.name)]
    edges = np.linspace(part.values[0], part.values[-1], _BINS + 1)
    for chosen, colour, label in _groups(reading):
        counts = np.histogram(column[chosen], edges)[0]
        heights = 0.25 * counts / max(int(counts.max()), 1)
        axes.stairs(
            heights, edges, fill=True, color=colour, alpha=0.35, label=f"where they were: {label}"
        )
    axes.set(
        xlabel=one_line(f"{part.name}, close up" if part is reading.zoom else part.name),
        xlim=(part.values[0], part.values[-1]),
        ylim=(-0.02, 1.04),
    )


def _draw_choices(axes: Any, part: Slice, reading: Reading) -> None:
    axes.bar(part.values, part.mean, width=0.6, color="#8c8c8c", label="mean ζ")
    spread = np.maximum([part.mean - part.low, part.high - part.mean], 0)
    axes.errorbar(
        part.values,
        part.mean,
        spread,
        fmt="none",
        color="black",
        lw=1,
        label="5 % to 95 % of pairs",
    )
    _draw_threshold(axes, reading)
    axes.set_xticks(part.values, [one_line(choice) for choice in part.choices])
    axes.set(xlabel=one_line(part.name), ylim=(-0.02, 1.04))


def _draw_threshold(axes: Any, reading: Reading) -> None:
    label = f"infeasible below ζ = {reading.threshold:g}"
    axes.axhline(reading.threshold, color="#777777", lw=0.9, ls=":", label=label)


def _draw_plane(figure: Any, axes: Any, plane: Plane, reading: Reading) -> None:
    extent = (plane.xs[0], plane.xs[-1], plane.ys[0], plane.ys[-1])
    image = draw_zeta(axes, plane.mean, extent)
    columns = [reading.judged.names.index(name) for name in plane.names]
    for chosen, colour, label in reversed(_groups(reading)):
        inside = (reading.judged.values[:, columns[0]] >= extent[0]) & (
            reading.judged.values[:, columns[0]] <= extent[1]
        )
        rows = np.flatnonzero(chosen & inside)
        rows = rows[:: max(1, len(rows) // _MOST_POINTS)]
        x, y = reading.judged.values[rows][:, columns].T
        # White rims keep both apart from the map and from each other;
        # shapes tell them apart without colour.
        marker = {"demonstrations": "o", "agents": "X"}[label]
        axes.scatter(
            x,
            y,
            s=13,
            marker=marker,
            color=colour,
            edgecolors="white",
            linewidths=0.4,
            label=f"map: {label}",
        )
    names = [one_line(name) for name in plane.names]
    axes.set(xlabel=names[0], ylabel=names[1], xlim=extent[:2], ylim=extent[2:])
    figure.colorbar(image, ax=axes, label="mean ζ", shrink=0.8, pad=0.01)


def _groups(reading: Reading) -> list[tuple[BoolArray, str, str]]:
    groups = [(reading.judged.by_expert, _EXPERT, "demonstrations")]
    if reading.recorded:
        groups.append((reading.judged.by_agents, _AGENTS, "agents"))
    return groups
