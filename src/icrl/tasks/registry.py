"""Every scenario by name: a plain dict of lazily imported factories,
so that listing them imports no simulator.

Any other name is that of a user's own environment: a registered Gymnasium id, or `module:function`.
"""

import importlib
from typing import cast

from icrl.errors import InputError, naming_the_extra, unknown_name
from icrl.tasks.options import EnvOptions, env_options
from icrl.tasks.shapes.names import FAMILY, NAMES
from icrl.tasks.task import Scenario, Task

SCENARIOS: dict[str, str] = {
    "lap-grid": "icrl.tasks.lap_grid:lap_grid",
    "bridges": "icrl.tasks.bridges:bridges",
    "half-cheetah-wall": "icrl.tasks.cheetah:half_cheetah_wall",
    "ant-wall": "icrl.tasks.ant:ant_wall",
    "half-cheetah-back": "icrl.tasks.cheetah:half_cheetah_back",
    "ant-broken": "icrl.tasks.ant:ant_broken",
    "ant-broken-turned": "icrl.tasks.ant:ant_broken_turned",
    "point": "icrl.tasks.point:point",
    **{FAMILY + name: "icrl.tasks.shapes.scenarios:make_shape" for name in NAMES},
}
"""Name -> module:function. Those of the family `shapes/` are made by one function,
which is given the name."""


def make_scenario(name: str, options: EnvOptions | None = None) -> Scenario:
    """The scenario of that name: one of ours, or, with its truth unknown,
    a user's own environment."""
    if name in SCENARIOS:
        if options not in (None, EnvOptions()):
            raise InputError(
                f"{name} is a task of ours: its horizon, names and processes are fixed; --horizon, "
                "--feature-names, --processes and --env-timeout are for environments of your own."
            )
        module, function = SCENARIOS[name].split(":")
        with naming_the_extra():
            factory = getattr(importlib.import_module(module), function)
            if name.startswith(FAMILY):
                return cast(Scenario, factory(name))
            return cast(Scenario, factory())
    from icrl.tasks.factories import close_ids, is_own_name
    from icrl.tasks.own import make_own_task

    if not is_own_name(name):
        # Ids that are close, not all that are registered: the message must stay readable.
        error = unknown_name("task", name, [*SCENARIOS, *close_ids(name)])
        raise InputError(
            f"{error} An environment of your own is named by its Gymnasium id, or as "
            "module:function."
        )
    return Scenario(task=make_own_task(name, options))


def make_task(
    name: str,
    *,
    horizon: int | None = None,
    feature_names: tuple[str, ...] | None = None,
    processes: int | None = None,
    env_timeout: float | None = 600.0,
) -> Task:
    """What a learner may see of a task of ours, of any registered Gymnasium id,
    or of `module:function`."""
    options = env_options(horizon, feature_names, processes, env_timeout)
    return make_scenario(name, options).task
