"""Every scenario by name: a plain dict of lazily imported factories, so that listing them imports no simulator."""

import importlib
from typing import cast

from icrl.errors import unknown_name
from icrl.tasks.task import Scenario

SCENARIOS: dict[str, str] = {
    "lap-grid": "icrl.tasks.lap_grid:lap_grid",
    "bridges": "icrl.tasks.bridges:bridges",
    "half-cheetah-wall": "icrl.tasks.cheetah:half_cheetah_wall",
    "ant-wall": "icrl.tasks.ant:ant_wall",
    "ant-broken": "icrl.tasks.ant:ant_broken",
    "point": "icrl.tasks.point:point",
}


def make_scenario(name: str) -> Scenario:
    """The scenario of that name."""
    if name not in SCENARIOS:
        raise unknown_name("task", name, SCENARIOS)
    module, function = SCENARIOS[name].split(":")
    return cast(Scenario, getattr(importlib.import_module(module), function)())
