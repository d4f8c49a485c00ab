"""`icrl explain DIR`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.errors import MissingExtra
from icrl.words import say


@dataclass(frozen=True, kw_only=True)
class ExplainArgs:
    """Read a learned constraint: short rules over named features, what the data leave open,
    and slices as a picture."""

    directory: Positional[Path]
    """A run directory."""
    demos: str | None = None
    """Demonstrations: a file, a folder or a Minari id; None: those of the run."""
    features: tuple[str, ...] = ()
    """Features to draw slices along, e.g. --features x y;
    none: those of the rule, then those that matter most."""
    out: Path | None = None
    """Where to write the picture; None: explain.png in the run directory."""
    task: str | None = None
    """The run's task in your words, where it is a function of yours (module:function);
    None: as the run names it."""
    allow_import: bool = False
    """Import the module that the run names as its task. That executes it: only
    for runs that you trust."""


def run(arguments: list[str]) -> None:
    """`icrl explain DIR`."""
    args = tyro.cli(ExplainArgs, prog="icrl explain", args=arguments)
    from rich.console import Console

    from icrl.api.explaining import (
        keep_reading,
        read_run,
        require_picture,
        scenario_if_any,
        title_of,
    )
    from icrl.experiment.directory.run_directory import RunDirectory
    from icrl.files import NotWritten
    from icrl.report.explain_picture import draw_reading
    from icrl.report.explain_summary import print_reading
    from icrl.report.kept import print_unfinished

    console = Console()
    run = RunDirectory(args.directory)
    config = run.config()
    print_unfinished(run, console)
    picture = args.out or args.directory / "explain.png"
    # Before the reading, which takes a while.
    require_picture(picture)
    scenario = scenario_if_any(args.directory, config, args.task, args.allow_import, console)
    with console.status("reading the constraint"):
        reading = read_run(args.directory, config, args.demos, scenario, args.features)
    print_reading(reading, console)
    keep_reading(args.directory, reading, console)
    try:
        draw_reading(reading, title_of(config), picture)
    # What can be said without matplotlib was said: only who asked for a picture is refused.
    except MissingExtra as error:
        if args.out is not None:
            raise
        say(console, f"There is no picture: {error}", "yellow")
        return
    except NotWritten as error:
        if args.out is not None:
            raise
        say(
            console,
            f"There is no picture: {error} Or name a file that can be written, with --out.",
            "yellow",
        )
        return
    say(console, f"Look at {picture}")
