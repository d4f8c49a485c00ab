"""What these functions start from: a run (its result, or its directory)
and a task (its name, or the thing itself)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from icrl.experiment.run.inputs import scenario_of_run
from icrl.tasks.options import EnvOptions
from icrl.tasks.registry import make_scenario
from icrl.tasks.task import Scenario, Task

OnProgress = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and of how much."""


class Ran(Protocol):
    """A run that was made in this process."""

    @property
    def directory(self) -> Path:
        """Where it is."""

    @property
    def scenario(self) -> Scenario:
        """What it ran on."""


def find_scenario(task: str | Task | Scenario, env: EnvOptions | None = None) -> Scenario:
    """By name, as the command line has it; or a task of the caller's own,
    whose truth nobody knows."""
    if isinstance(task, Scenario):
        return task
    if isinstance(task, Task):
        return Scenario(task=task)
    return make_scenario(task, env)


def directory_of(run: Ran | str | Path) -> Path:
    """Where a run is."""
    if isinstance(run, str | Path):
        return Path(run)
    return run.directory


def scenario_for(
    run: Ran | str | Path,
    config: dict[str, Any],
    task: str | Task | Scenario | None,
    allow_import: bool,
) -> Scenario:
    """What a run ran on: as the caller says, as the run's result holds it,
    or as its `config.json` names it."""
    if isinstance(task, Task | Scenario):
        return find_scenario(task)
    if task is None and not isinstance(run, str | Path):
        return run.scenario
    return scenario_of_run(
        config, directory=directory_of(run), task=task, allow_import=allow_import
    )
