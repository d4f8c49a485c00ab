"""Where the time of a whole run went, as one bar and as a table."""

from pathlib import Path

from rich.table import Table

from icrl.report.canvas import blank_figure, save_figure
from icrl.spans import PHASES

_COLOURS = {
    "import": "#BBBBBB",
    "compile": "#777777",
    "physics": "#009E73",
    "acting": "#56B4E9",
    "shield": "#E69F00",
    "update": "#0072B2",
    "foresight": "#CC79A7",
    "zeta": "#D55E00",
    "sampling": "#117733",
    "evaluation": "#F0E442",
    "pictures": "#882255",
    "other": "#DDDDDD",
}
_LEAST_SHARE = 0.04
"""A shorter piece of the bar bears no number."""


def time_table(title: str, seconds: dict[str, float]) -> Table:
    """Seconds and shares by phase."""
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("phase")
    table.add_column("seconds", justify="right")
    table.add_column("share", justify="right")
    table.add_column("what it is", overflow="fold")
    whole = sum(seconds.values())
    for name, meaning in PHASES.items():
        table.add_row(name, f"{seconds[name]:.1f}", f"{seconds[name] / whole:.1%}", meaning)
    table.add_section()
    table.add_row("all", f"{whole:.1f}", "100%", "from the start of the process to its last words")
    return table


def draw_time_bar(bars: dict[str, dict[str, float]], path: Path) -> Path:
    """One bar for each name, its phases side by side in seconds."""
    with blank_figure((9.0, 1.4 + 0.6 * len(bars))) as figure:
        axes = figure.subplots()
        for row, seconds in enumerate(bars.values()):
            whole = sum(seconds.values())
            left = 0.0
            for name in PHASES:
                label = None
                if row == 0:
                    label = name
                width = seconds[name]
                axes.barh(row, width, left=left, color=_COLOURS[name], label=label)
                if width > _LEAST_SHARE * whole:
                    axes.text(left + width / 2, row, f"{width:.0f}", ha="center", va="center")
                left += width
        axes.set_yticks(range(len(bars)), list(bars))
        axes.invert_yaxis()
        axes.set_xlabel("seconds")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=6, frameon=False, fontsize=8)
        save_figure(figure, path, dpi=120)
    return path
