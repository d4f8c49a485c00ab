"""Where every figure of ours is made and saved: names of others are letters in it, and files
are whole or not there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from icrl.errors import naming_the_extra
from icrl.files import write_through

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
