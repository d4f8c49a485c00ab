"""icrl: learn the constraint an expert was obeying, from its demonstrations.

The names below are the whole public Python interface; each is imported from its room when it
is first used, so that `import icrl` is instant and using a learned constraint needs neither
jax nor mujoco.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

_HOMES = {
    "Callback": "icrl.experiment.run.callbacks",
    "ColumnMapping": "icrl.demos.formats_table",
    "CostInInfo": "icrl.interop.wrappers",
    "Demonstrations": "icrl.demos.dataset",
    "EnvOptions": "icrl.tasks.options",
    "Evaluation": "icrl.api.evaluating",
    "InputError": "icrl.errors",
    "LearnConfig": "icrl.config",
    "LearnedConstraint": "icrl.constraint.learned",
    "Method": "icrl.methods.record",
    "PenalisedReward": "icrl.interop.wrappers",
    "Shield": "icrl.interop.shield",
    "RunResult": "icrl.api.running",
    "SixValueStep": "icrl.interop.wrappers",
    "StopRun": "icrl.experiment.run.callbacks",
    "SuiteCallback": "icrl.api.suites",
    "SuiteResult": "icrl.api.suites",
    "Task": "icrl.tasks.task",
    "TerminateOnViolation": "icrl.interop.wrappers",
    "Trajectories": "icrl.types",
    "VectorCostInInfo": "icrl.interop.wrappers",
    "evaluate": "icrl.api.evaluating",
    "explain": "icrl.api.explaining",
    "export_onnx": "icrl.interop.onnx_export",
    "learn_constraint": "icrl.methods.learners",
    "load_constraint": "icrl.constraint.learned",
    "load_demos": "icrl.demos.formats",
    "load_results": "icrl.report.frames",
    "make_scenario": "icrl.tasks.registry",
    "make_task": "icrl.tasks.registry",
    "preset": "icrl.methods.registry",
    "relabel_minari": "icrl.interop.relabel",
    "run": "icrl.api.running",
    "save_demos": "icrl.demos.formats",
    "shipped_demos": "icrl.demos.dataset",
    "suite": "icrl.api.suites",
    "task_from_env": "icrl.tasks.own",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(
            f"module 'icrl' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    from icrl.errors import naming_the_extra

    with naming_the_extra():
        return getattr(importlib.import_module(_HOMES[name]), name)


class _Package(ModuleType):
    """Two rooms bear the names of public functions (`evaluate`, `explain`).

    To import a room would put it in the place of the function: the function stays, and the room is
    found where every module is (`from icrl.evaluate import ...`).
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
