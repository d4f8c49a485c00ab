"""The page of one run, written at its end and again whenever more is known of it."""

from pathlib import Path
from typing import TYPE_CHECKING

from icrl.words import say

if TYPE_CHECKING:
    from rich.console import Console


def write_run_page(directory: Path, console: "Console", animate: bool = False) -> None:
    """Write `report.html` into a finished run's directory and say where; what cannot be written is
    said too.

    The run itself is over and safe: nothing that goes wrong here may end in an error.
    """
    from icrl.experiment.directory.run_directory import RunDirectory
    from icrl.report.page import write_run_page as write

    if not RunDirectory(directory).finished:
        return
    if animate:
        with console.status("drawing the agent at work"):
            _animate(directory, console)
    try:
        path = write(directory)
    except Exception as error:  # whatever it is, it must not look as if the run had failed
        say(console, f"No report.html ({type(error).__name__}: {error}).", "yellow")
        return
    say(console, f"Open {path} in a browser")


def _animate(directory: Path, console: "Console") -> None:
    from icrl.report.animation import render_small

    try:
        render_small(directory)
    except Exception as error:  # drivers, displays and environments fail in ways of their own
        say(console, f"No animation of the agent ({type(error).__name__}: {error}).", "yellow")
