"""Where every figure of ours is made and saved: names of others are letters in it, and files
are whole or not there."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from icrl.errors import naming_the_extra
from icrl.files import write_through
from icrl.types import FloatArray

_LETTERS = {"text.parse_math": False, "text.usetex": False}
"""A feature may be called `cost_$`: matplotlib would read what follows the sign as
mathematics, and stop."""


@contextmanager
def blank_figure(
    size: tuple[float, float], style: dict[str, Any] | None = None, layout: Any = "constrained"
) -> Iterator[Any]:
    """A figure to draw on, and within the block to save."""
    with naming_the_extra():
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    with mpl.rc_context({**(style or {}), **_LETTERS}):
        figure = Figure(figsize=size, layout=layout)
        FigureCanvasAgg(figure)
        yield figure


def save_figure(figure: Any, path: Path, dpi: int, metadata: dict[str, Any] | None = None) -> None:
    """Write a figure, whole or not at all; the suffix tells the format."""
    form = path.suffix.removeprefix(".")
    write_through(
        path,
        lambda stream: figure.savefig(stream, dpi=dpi, format=form, metadata=metadata),
    )


def draw_zeta(axes: Any, zeta: FloatArray, extent: tuple[float, float, float, float]) -> Any:
    """ζ [y, x] as a map: red is forbidden, blue allowed, the same in every picture."""
    return axes.imshow(
        zeta,
        extent=extent,
        origin="lower",
        aspect="auto",
        cmap="RdYlBu",
        alpha=0.75,
        vmin=0,
        vmax=1,
    )


def legend_below(figure: Any, panels: Iterable[Any]) -> None:
    """One legend for several panels: what they name, each name once."""
    named: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        named.update(zip(labels, handles, strict=True))
    figure.legend(
        named.values(), named, loc="outside lower center", ncols=len(named), frameon=False
    )
