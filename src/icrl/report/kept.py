"""What is written beside a run when it is over, and again whenever more is known of it;
and what is said of one that is not over. Needs no JAX: a constraint is read without it."""

from pathlib import Path
from typing import Any

from rich.console import Console

from icrl.experiment.directory.run_directory import RunDirectory
from icrl.files import NotWritten
from icrl.json_files import write_json
from icrl.words import say


def print_unfinished(run: RunDirectory, console: Console) -> None:
    """Say so if a run is going on or was stopped: what is read then is not its result."""
    if not run.finished:
        said = (
            f"{run.path} is not finished (it has no scores.json): this is what its constraint and "
            "agent are so far."
        )
        say(console, said, "yellow")


def keep_record(path: Path, content: dict[str, Any], console: Console) -> None:
    """Write what was found beside what was read.

    A run that may not be written can still be read: then say so.
    """
    try:
        write_json(path, content)
    except NotWritten as error:
        say(console, f"This is shown, but not kept: {error}", "yellow")


def write_run_page(directory: Path, console: Console, animate: bool = False) -> None:
    """Write `report.html` into a finished run's directory and say where; what cannot be written is
    said too.

    The run itself is over and safe: nothing that goes wrong here may end in an error.
    """
    from icrl.report.page import write_run_page as write

    # A page of half a run would look like its result.
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


def _animate(directory: Path, console: Console) -> None:
    from icrl.report.animation import render_small

    try:
        render_small(directory)
    except Exception as error:  # drivers, displays and environments fail in ways of their own
        say(console, f"No animation of the agent ({type(error).__name__}: {error}).", "yellow")
