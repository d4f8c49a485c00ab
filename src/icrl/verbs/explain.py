"""`icrl explain DIR`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from tyro.conf import Positional

from icrl.errors import InputError

if TYPE_CHECKING:
    from icrl.demos.dataset import Demonstrations


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


def run(arguments: list[str]) -> None:
    """`icrl explain DIR`."""
    args = tyro.cli(ExplainArgs, prog="icrl explain", args=arguments)
    from rich.console import Console

    from icrl.constraint.learned import load_constraint
    from icrl.experiment.run_directory import CONSTRAINT, RunDirectory, write_json
    from icrl.explain.reading import read_constraint
    from icrl.report.explain_picture import draw_reading
    from icrl.report.explain_summary import print_reading, reading_as_json
    from icrl.report.trust_summary import print_unfinished
    from icrl.visited import VISITED, load_visited

    console = Console()
    run = RunDirectory(args.directory)
    config = run.config()
    print_unfinished(run, console)
    constraint = load_constraint(args.directory / CONSTRAINT)
    record = args.directory / VISITED
    picture = args.out or args.directory / "explain.png"
    if picture.suffix != ".png" or not picture.parent.is_dir():
        raise InputError(f"--out must be a .png file in a folder that exists, got {picture}.")
    with console.status("reading the constraint"):
        demos = load_run_demos(config, args.demos)
        visited = load_visited(record) if record.exists() else None
        reading = read_constraint(constraint, demos.trajectories, visited, args.features)
        draw_reading(reading, f"{config.get('task')}, {config.get('method')}, seed {config.get('seed')}", picture)
    write_json(args.directory / "explain.json", reading_as_json(reading))
    print_reading(reading, console)
    console.print(f"Look at {picture}", highlight=False, soft_wrap=True)


def load_run_demos(config: dict[str, Any], given: str | None) -> "Demonstrations":
    """The demonstrations of a run, or those given, as its task takes them; as they are if its environment is gone."""
    from icrl.demos.formats import load_demos
    from icrl.experiment.inputs import columns_of_run, demos_of_run, open_demos, scenario_of_run

    if given is None and config.get("demos") is None:
        raise InputError("this run names no demonstrations: give those that its constraint was learned from, --demos.")
    try:
        scenario = scenario_of_run(config)
    except InputError:
        return load_demos(given or str(config.get("demos")), None if given else columns_of_run(config))
    return demos_of_run(config, scenario) if given is None else open_demos(given, scenario)[0]
