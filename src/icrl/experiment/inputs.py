"""What a run starts from: a scenario by name, and demonstrations, given or shipped, checked against it."""

from dataclasses import replace
from typing import Any

import numpy as np

from icrl.demos.dataset import Demonstrations, check_against, shipped_demos
from icrl.demos.fitting import fit_to_task
from icrl.demos.formats import ColumnMapping, load_demos
from icrl.errors import InputError
from icrl.tasks.factories import blamed, find_function
from icrl.tasks.options import EnvOptions
from icrl.tasks.registry import make_scenario
from icrl.tasks.task import Scenario
from icrl.types import AnyArray, BoolArray

SHIPPED = "shipped:"
"""Prefix of the name of demonstrations that come with the package."""


def open_demos(
    source: str | None, scenario: Scenario, columns: ColumnMapping | None = None
) -> tuple[Demonstrations, str]:
    """Demonstrations, and the name they are found by again. `source`: a path, an id, `shipped:NAME`; None: shipped.

    `columns` says which column of a table holds what; None: they are told by their names.
    """
    if source is not None and not source.startswith(SHIPPED):
        demos = fit_to_task(load_demos(source, columns), scenario.task)
    elif source is None and scenario.demos is None:
        raise InputError(f"no demonstrations ship with {scenario.task.name}: give some with --demos PATH.")
    else:
        name = scenario.demos if source is None else source.removeprefix(SHIPPED)
        source = f"{SHIPPED}{name}"
        demos = load_demos(shipped_demos(str(name)))
    try:
        check_against(demos, scenario.task)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    return demos, source


def open_demos_if_any(
    source: str | None, scenario: Scenario, columns: ColumnMapping | None = None
) -> tuple[Demonstrations | None, str | None]:
    """As `open_demos`, but none where none are given and none ship."""
    return (None, None) if source is None and scenario.demos is None else open_demos(source, scenario, columns)


def scenario_of_run(config: dict[str, Any]) -> Scenario:
    """The scenario of a run by its `config.json`: one of ours by its name, a user's own as it was described then."""
    said = _object(config, "env") or {}
    names = said.get("feature_names")
    if not isinstance(config.get("task"), str):
        raise InputError(f"config.json names no task: expected a name, got {config.get('task')!r}. Is it a run's?")
    if names is not None and not isinstance(names, list):
        raise InputError(f"config.json: feature_names must be a list of names, got {names!r}.")
    options = EnvOptions(
        horizon=said.get("horizon"),
        feature_names=None if names is None else tuple(str(name) for name in names),
        processes=said.get("processes"),
    )
    return make_scenario(str(config.get("task")), options)


def with_truth(scenario: Scenario, name: str) -> Scenario:
    """The same scenario with a true constraint that the user knows, `module:function`: for judging alone.

    The function sees loose pairs, observations [n, o] and actions [n, a] ([n] when discrete), and says [n] booleans.
    """
    function = find_function(name)

    def violates(observations: AnyArray, actions: AnyArray) -> BoolArray:
        shape = np.shape(observations)[:-1]
        states = np.reshape(observations, (-1, np.shape(observations)[-1]))
        pairs = states, np.reshape(actions, (len(states), *np.shape(actions)[len(shape) :]))
        with blamed(f"{name}(observations {list(pairs[0].shape)}, actions {list(pairs[1].shape)})"):
            found = np.asarray(function(*pairs))
        if found.shape != (len(pairs[0]),) or found.dtype != np.bool_:
            raise InputError(
                f"{name} returned {found.dtype} of shape {list(found.shape)} for {len(pairs[0])} pairs, expected "
                "as many booleans: True where the pair is forbidden."
            )
        return found.reshape(shape)

    return replace(scenario, violates=violates, constraint=f"as {name} says")


def demos_of_run(config: dict[str, Any], scenario: Scenario) -> Demonstrations:
    """The demonstrations of a run by its `config.json`."""
    source = config.get("demos")
    if source is not None and not isinstance(source, str):
        raise InputError(f"config.json: demos must be a path or an id, got {source!r}.")
    return open_demos(source, scenario, columns_of_run(config))[0]


def columns_of_run(config: dict[str, Any]) -> ColumnMapping | None:
    """Which column of a run's demonstrations holds what, where that was said."""
    said = _object(config, "columns")
    if said is None:
        return None
    if not all(isinstance(said.get(what), list) for what in ("observations", "actions")):
        raise InputError(f"config.json: columns must list observations and actions, got {said!r}.")
    observations, actions = (tuple(str(name) for name in said[what]) for what in ("observations", "actions"))
    return ColumnMapping(
        observations=observations,
        actions=actions,
        episode=said.get("episode"),
        step=said.get("step"),
        reward=said.get("reward"),
    )


def _object(config: dict[str, Any], name: str) -> dict[str, Any] | None:
    """An entry of a `config.json` that holds named values, or nothing."""
    found = config.get(name)
    if found is not None and not isinstance(found, dict):
        raise InputError(f"config.json: {name} must hold named values, got {found!r}: it is damaged.")
    return found
