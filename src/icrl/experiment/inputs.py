"""What a run starts from: a scenario by name, and demonstrations, given or shipped, checked against it."""

from icrl.demos.dataset import Demonstrations, check_against, shipped_demos
from icrl.demos.formats import load_demos
from icrl.errors import InputError
from icrl.tasks.task import Scenario

SHIPPED = "shipped:"
"""Prefix of the name of demonstrations that come with the package."""


def open_demos(source: str | None, scenario: Scenario) -> tuple[Demonstrations, str]:
    """Demonstrations, and the name they are found by again. `source`: a path, an id, `shipped:NAME`; None: shipped."""
    if source is not None and not source.startswith(SHIPPED):
        demos = load_demos(source)
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
