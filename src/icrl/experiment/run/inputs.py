"""What a run starts from: a scenario by name, and demonstrations,
given or shipped, checked against it."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from icrl.demos.dataset import Demonstrations, shipped_demos
from icrl.demos.fitting import FittedDemos, fit_and_check
from icrl.demos.formats import ColumnMapping, load_demos
from icrl.errors import InputError
from icrl.experiment.directory.parsing import parse_as
from icrl.tasks.factories import blamed, find_function
from icrl.tasks.options import EnvOptions
from icrl.tasks.registry import SCENARIOS, make_scenario
from icrl.tasks.task import Scenario
from icrl.types import AnyArray, BoolArray

SHIPPED = "shipped:"
"""Prefix of the name of demonstrations that come with the package."""


def open_demos(
    source: str | None, scenario: Scenario, columns: ColumnMapping | None = None
) -> tuple[FittedDemos, str]:
    """Demonstrations, and the name they are found by again.

    `source`: a path, an id, `shipped:NAME`; None: shipped.

    `columns` says which column of a table holds what; None: they are told by their names.
    """
    if source is not None and not source.startswith(SHIPPED):
        demos = load_demos(source, columns)
        # a run is read from other folders, too, than the one it was started in
        if Path(source).exists():
            source = os.path.abspath(source)
    elif source is None and scenario.demos is None:
        raise InputError(
            f"no demonstrations ship with {scenario.task.name}: give some with --demos PATH."
        )
    else:
        source = source or f"{SHIPPED}{scenario.demos}"
        demos = load_demos(shipped_demos(source.removeprefix(SHIPPED)))
    try:
        return fit_and_check(demos, scenario.task), source
    except InputError as error:
        raise InputError(f"{source}: {error}") from error


def demos_as_they_are(source: str, columns: ColumnMapping | None = None) -> Demonstrations:
    """Demonstrations by that name, where the task is not at hand to hold them against."""
    if source.startswith(SHIPPED):
        return load_demos(shipped_demos(source.removeprefix(SHIPPED)))
    return load_demos(source, columns)


def open_demos_if_any(
    source: str | None, scenario: Scenario, columns: ColumnMapping | None = None
) -> tuple[FittedDemos | None, str | None]:
    """As `open_demos`, but none where none are given and none ship."""
    if source is None and scenario.demos is None:
        return None, None
    return open_demos(source, scenario, columns)


def scenario_of_run(
    config: dict[str, Any],
    *,
    directory: Path | None = None,
    task: str | None = None,
    allow_import: bool = False,
) -> Scenario:
    """The scenario of a run by its `config.json`: one of ours by its name, a user's own
    as it was described then.

    A run may come from anybody, and to import a module is to execute it: a task `module:function`
    that only the run names is imported with `allow_import` alone. A `task` that the user names
    stands in its place. Modules are never looked for in the run's own `directory`.
    """
    if task is None:
        name = config.get("task")
    else:
        name = task
    if not isinstance(name, str):
        raise InputError(
            f"config.json names no task: expected a name, got {name!r}. Is it a run's?",
        )
    said = config.get("env")
    options = EnvOptions()
    if said is not None:
        options = parse_as(EnvOptions, said, "config.json: env")
    # Opening a run that somebody sent must not be a way to execute code on this machine.
    if must_import(name):
        if task is None and not allow_import:
            raise ImportRefused(
                f"this run's task is {name}, a function that the run names and that would be "
                "executed. If you know "
                "the module and trust it, say so with --allow-import, or name the task yourself: "
                f"--task {name}"
            )
        _require_elsewhere(directory, name)
    return make_scenario(name, options)


class ImportRefused(InputError):
    """A run names code that the user has not allowed to be executed."""


def must_import(name: str) -> bool:
    """To make the task called `name`, a module that the name itself names is imported."""
    return name not in SCENARIOS and ":" in name


def _require_elsewhere(directory: Path | None, name: str) -> None:
    """Raise `InputError` where Python would look for modules in a run's own folder: its
    author could put one there."""
    if directory is None:
        return
    own = directory.resolve()
    # The current folder, too: `_import` puts it on the path.
    for place in {Path.cwd(), *(Path(entry or ".") for entry in sys.path)}:
        if own in (place.resolve(), *place.resolve().parents):
            raise InputError(
                f"{place} is (in) the run's own folder, from which nothing is imported, and Python "
                "would look for "
                f"{name} there: go to another folder, and name the run by its path."
            )


Forbids = Callable[[AnyArray, AnyArray], Any]
"""Observations [n, o] and actions [n, a] ([n] when discrete) in, [n] booleans out:
True where forbidden."""


def with_truth(scenario: Scenario, truth: str | Forbids) -> Scenario:
    """The same scenario with a true constraint that the user knows,
    a function or `module:function`: for judging alone.

    The function sees loose pairs, observations [n, o] and actions [n, a] ([n] when discrete),
    and says [n] booleans.
    """
    if isinstance(truth, str):
        name = truth
        function = find_function(name)
    else:
        name = getattr(truth, "__name__", "the truth")
        function = truth

    def violates(observations: AnyArray, actions: AnyArray) -> BoolArray:
        shape = np.shape(observations)[:-1]
        states = np.reshape(observations, (-1, np.shape(observations)[-1]))
        # Users write the truth for a list of pairs. We ask about [N, T] as well, so leading axes
        # are flattened here and put back below.
        pairs = states, np.reshape(actions, (len(states), *np.shape(actions)[len(shape) :]))
        with blamed(f"{name}(observations {list(pairs[0].shape)}, actions {list(pairs[1].shape)})"):
            found = np.asarray(function(*pairs))
        # Booleans alone: numbers would be read the wrong way round by whoever returns 1 for
        # allowed.
        if found.shape != (len(pairs[0]),) or found.dtype != np.bool_:
            raise InputError(
                f"{name} returned {found.dtype} of shape {list(found.shape)} for {len(pairs[0])} "
                "pairs, expected as many booleans: True where the pair is forbidden."
            )
        return found.reshape(shape)

    return replace(scenario, violates=violates, constraint=f"as {name} says")


def demos_of_run(config: dict[str, Any], scenario: Scenario) -> FittedDemos:
    """The demonstrations of a run by its `config.json`."""
    source = config.get("demos")
    if source is not None and not isinstance(source, str):
        raise InputError(f"config.json: demos must be a path or an id, got {source!r}.")
    return open_demos(source, scenario, columns_of_run(config))[0]


def columns_of_run(config: dict[str, Any]) -> ColumnMapping | None:
    """Which column of a run's demonstrations holds what, where that was said."""
    said = config.get("columns")
    if said is None:
        return None
    columns: ColumnMapping = parse_as(ColumnMapping, said, "config.json: columns")
    return columns
