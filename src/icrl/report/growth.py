"""What grows how, as a figure and a table."""

from pathlib import Path

from rich.table import Table

from icrl.experiment.bench.growth import GROWING, Point, exponent
from icrl.report.canvas import blank_figure, save_figure


def growth_table(found: dict[str, list[Point]]) -> Table:
    """One row per point; the exponent is that of the last two sizes."""
    table = Table(title="icrl bench growth", title_justify="left", header_style="bold")
    table.add_column("what grows")
    table.add_column("size", justify="right")
    table.add_column("cost", justify="right")
    table.add_column("MB", justify="right")
    table.add_column("of what", overflow="fold")
    for one in GROWING:
        points = found[one.what]
        for number, point in enumerate(points):
            said = ""
            if number == 0:
                said = one.unit
            elif number == len(points) - 1:
                said = f"grows as size^{exponent(points):.2f}"
            table.add_row(
                one.what if number == 0 else "",
                f"{point.size:,}",
                f"{point.cpu_seconds:.3g} s",
                f"{point.megabytes:,.0f}",
                said,
                end_section=number == len(points) - 1,
            )
    return table


def draw_growth(found: dict[str, list[Point]], path: Path) -> Path:
    """Cost against size on logarithmic scales, one panel for each thing that grows."""
    columns = 3
    rows = -(-len(GROWING) // columns)
    with blank_figure((3.6 * columns, 3.2 * rows)) as figure:
        panels = list(figure.subplots(rows, columns).flat)
        for spare in panels[len(GROWING) :]:
            spare.set_visible(False)
        for axes, one in zip(panels, GROWING, strict=False):
            points = found[one.what]
            sizes = [point.size for point in points]
            costs = [point.cpu_seconds for point in points]
            axes.loglog(sizes, costs, marker="o", color="#0072B2", label="measured")
            if points:
                linear = [costs[-1] * size / sizes[-1] for size in sizes]
                axes.loglog(sizes, linear, linestyle=":", color="#777777", label="linear")
                axes.set_ylim(min(costs) / 3, max(costs) * 3)
            axes.set_xticks(sizes, [_short(size) for size in sizes])
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            for each in (axes.xaxis, axes.yaxis):
                each.set_minor_formatter(lambda *_: "")
            axes.set_xlabel(one.what)
            axes.set_ylabel(one.unit, fontsize=8)
            axes.spines[["top", "right"]].set_visible(False)
        panels[0].legend(frameon=False, fontsize=8)
        save_figure(figure, path, dpi=120)
    return path


def _short(size: int) -> str:
    """1,000 as 1k."""
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if size % unit == 0:
            return f"{size // unit}{letter}"
    return f"{size:,}"
