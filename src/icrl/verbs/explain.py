"""`icrl explain DIR`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from tyro.conf import Positional

from icrl.errors import InputError
from icrl.verbs.inputs import keep_record
from icrl.words import say

if TYPE_CHECKING:
    from rich.console import Console

    from icrl.demos.dataset import Demonstrations
    from icrl.tasks.task import Scenario


@dataclass(frozen=True, kw_only=True)
class ExplainArgs:
    """Read a learned constraint: short rules over named features, what the data leave open, and slices as a picture."""

    directory: Positional[Path]
    """A run directory."""
    demos: str | None = None
    """Demonstrations: a file, a folder or a Minari id; None: those of the run."""
    features: tuple[str, ...] = ()
    """Features to draw slices along, e.g. --features x y; none: those of the rule, then those that matter most."""
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

    from icrl.experiment.directory.provenance import constraint_of_run
    from icrl.experiment.directory.run_directory import RunDirectory
    from icrl.explain.reading import read_constraint
    from icrl.files import NotWritten
    from icrl.report.explain_picture import draw_reading
    from icrl.report.explain_summary import print_reading, reading_as_json
    from icrl.report.trust_summary import print_unfinished
    from icrl.visited import VISITED, load_visited

    console = Console()
    run = RunDirectory(args.directory)
    config = run.config()
    print_unfinished(run, console)
    record = args.directory / VISITED
    picture = args.out or args.directory / "explain.png"
    if picture.suffix != ".png" or not picture.parent.is_dir():
        raise InputError(f"--out must be a .png file in a folder that exists, got {picture}.")
    scenario = _scenario_if_any(args, config, console)
    constraint = constraint_of_run(
        args.directory,
        config,
        None if scenario is None else scenario.task,
    )
    with console.status("reading the constraint"):
        demos = load_run_demos(config, args.demos, scenario)
        visited = load_visited(record) if record.exists() else None
        reading = read_constraint(constraint, demos.trajectories, visited, args.features)
    print_reading(reading, console)
    keep_record(args.directory / "explain.json", reading_as_json(reading), console)
    title = f"{config.get('task')}, {config.get('method')}, seed {config.get('seed')}"
    try:
        draw_reading(reading, title, picture)
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


def _scenario_if_any(
    args: ExplainArgs,
    config: dict[str, Any],
    console: "Console",
) -> "Scenario | None":
    """The run's scenario; None where its environment is gone, or may not be imported: ζ
    can be read without it."""
    from icrl.experiment.run.inputs import ImportRefused, scenario_of_run

    try:
        return scenario_of_run(
            config,
            directory=args.directory,
            task=args.task,
            allow_import=args.allow_import,
        )
    except ImportRefused as error:
        say(console, f"The demonstrations are read as they are: {error}", "yellow")
    except InputError as error:
        if args.task is not None:
            raise
        say(
            console,
            f"The demonstrations are read as they are, for the environment is not there: {error}",
            "yellow",
        )
    return None


def load_run_demos(
    config: dict[str, Any],
    given: str | None,
    scenario: "Scenario | None",
) -> "Demonstrations":
    """The demonstrations of a run, or those given, as its task takes them; as they are if its environment is gone."""
    from icrl.experiment.run.inputs import columns_of_run, demos_as_they_are, demos_of_run, open_demos

    if given is None and config.get("demos") is None:
        raise InputError("this run names no demonstrations: give those that its constraint was learned from, --demos.")
    if scenario is None:
        return demos_as_they_are(given or str(config.get("demos")), None if given else columns_of_run(config))
    return demos_of_run(config, scenario) if given is None else open_demos(given, scenario)[0]
