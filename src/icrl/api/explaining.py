"""`icrl.explain`: a learned constraint as short rules, and what the data leave open.

Needs no JAX.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from icrl.api.inputs import Ran, directory_of, scenario_for
from icrl.demos.dataset import Demonstrations
from icrl.demos.formats_table import ColumnMapping
from icrl.errors import InputError
from icrl.experiment.directory.provenance import constraint_of_run
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.run.inputs import (
    ImportRefused,
    columns_of_run,
    demos_as_they_are,
    demos_of_run,
    open_demos,
)
from icrl.explain.reading import Reading, read_constraint
from icrl.report.explain_picture import draw_reading
from icrl.report.explain_summary import reading_as_json
from icrl.report.kept import keep_record
from icrl.tasks.task import Scenario, Task
from icrl.visited import VISITED, load_visited
from icrl.words import say


def explain(
    run: Ran | str | Path,
    *,
    demos: str | Path | None = None,
    features: Sequence[str] = (),
    picture: str | Path | None = None,
    task: str | Task | Scenario | None = None,
    allow_import: bool = False,
    progress: bool = True,
) -> Reading:
    """Read a run's constraint, as `icrl explain DIR` does: `.rule` (printed: its words), `.longer`,
    what the data leave open (`.interval`), what matters (`.influence`). `explain.json` keeps it.

    `run`: what `icrl.run` returned, or a run directory. `demos`: None: those of the run. `picture`:
    a .png to draw slices into, along `features` (none: those of the rule, then those that matter
    most). `task`, `allow_import`: where the run's task is a function of yours, name it or allow its
    import; ζ can be read without either.
    """
    console = Console(quiet=not progress)
    directory = directory_of(run)
    if picture is not None:
        require_picture(Path(picture))
    source = None
    if demos is not None:
        source = str(demos)
    config = RunDirectory(directory).config()
    scenario = scenario_if_any(run, config, task, allow_import, console)
    with console.status("reading the constraint"):
        reading = read_run(directory, config, source, scenario, features)
    keep_reading(directory, reading, console)
    if picture is not None:
        draw_reading(reading, title_of(config), Path(picture))
    return reading


def read_run(
    directory: Path,
    config: dict[str, Any],
    demos: str | None,
    scenario: Scenario | None,
    features: Sequence[str] = (),
) -> Reading:
    """The reading alone; nothing is written."""
    task = None
    if scenario is not None:
        task = scenario.task
    constraint = constraint_of_run(directory, config, task)
    shown = load_run_demos(config, demos, scenario)
    record = directory / VISITED
    visited = None
    if record.exists():
        visited = load_visited(record)
    return read_constraint(constraint, shown.trajectories, visited, features)


def keep_reading(directory: Path, reading: Reading, console: Console) -> None:
    """Into the run's directory."""
    keep_record(directory / "explain.json", reading_as_json(reading), console)


def title_of(config: dict[str, Any]) -> str:
    """What stands above the picture."""
    return f"{config.get('task')}, {config.get('method')}, seed {config.get('seed')}"


def require_picture(picture: Path) -> None:
    """Raise `InputError` if no picture can go there."""
    if picture.suffix != ".png" or not picture.parent.is_dir():
        raise InputError(f"--out must be a .png file in a folder that exists, got {picture}.")


def scenario_if_any(
    run: Ran | str | Path,
    config: dict[str, Any],
    task: str | Task | Scenario | None,
    allow_import: bool,
    console: Console,
) -> Scenario | None:
    """The run's scenario; None where its environment is gone, or may not be imported: ζ
    can be read without it."""
    try:
        return scenario_for(run, config, task, allow_import)
    except ImportRefused as error:
        say(console, f"The demonstrations are read as they are: {error}", "yellow")
    except InputError as error:
        if task is not None:
            raise
        say(
            console,
            f"The demonstrations are read as they are, for the environment is not there: {error}",
            "yellow",
        )
    return None


def load_run_demos(
    config: dict[str, Any], given: str | None, scenario: Scenario | None
) -> Demonstrations:
    """The demonstrations of a run, or those given, as its task takes them;
    as they are if its environment is gone.

    Columns are called in what is given as they were in what the run learned from,
    where that was said.
    """
    if given is None and config.get("demos") is None:
        raise InputError(
            "this run names no demonstrations: give those that its constraint was learned from, "
            "--demos."
        )
    if given is None:
        if scenario is None:
            return demos_as_they_are(str(config.get("demos")), columns_of_run(config))
        return demos_of_run(config, scenario)
    columns = columns_of_run(config)
    try:
        return _given_demos(given, scenario, columns)
    except InputError:
        if columns is None:
            raise
        try:
            return _given_demos(given, scenario, None)  # a table with names of the usual kind
        except InputError:
            pass
        raise  # what is wrong with it as the run's columns have it


def _given_demos(
    given: str, scenario: Scenario | None, columns: ColumnMapping | None
) -> Demonstrations:
    if scenario is None:
        return demos_as_they_are(given, columns)
    return open_demos(given, scenario, columns)[0]
