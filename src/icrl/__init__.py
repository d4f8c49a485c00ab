"""icrl: learn the constraint an expert was obeying, from its demonstrations.

The names below are the whole public Python interface; each is imported from its room when it is first used, so that
`import icrl` is instant and using a learned constraint needs neither jax nor mujoco.
"""

import importlib
from typing import Any

_HOMES = {
    "Callback": "icrl.experiment.run.callbacks",
    "ColumnMapping": "icrl.demos.formats_table",
    "CostInInfo": "icrl.interop.wrappers",
    "Demonstrations": "icrl.demos.dataset",
    "InputError": "icrl.errors",
    "LearnConfig": "icrl.config",
    "LearnedConstraint": "icrl.constraint.learned",
    "Method": "icrl.methods.record",
    "PenalisedReward": "icrl.interop.wrappers",
    "Shield": "icrl.interop.shield",
    "RunResult": "icrl.experiment.run.api",
    "SixValueStep": "icrl.interop.wrappers",
    "StopRun": "icrl.experiment.run.callbacks",
    "Task": "icrl.tasks.task",
    "TerminateOnViolation": "icrl.interop.wrappers",
    "Trajectories": "icrl.types",
    "VectorCostInInfo": "icrl.interop.wrappers",
    "export_onnx": "icrl.interop.onnx_export",
    "learn_constraint": "icrl.methods.learners",
    "load_constraint": "icrl.constraint.learned",
    "load_demos": "icrl.demos.formats",
    "load_results": "icrl.report.frames",
    "make_scenario": "icrl.tasks.registry",
    "make_task": "icrl.tasks.registry",
    "preset": "icrl.methods.registry",
    "relabel_minari": "icrl.interop.relabel",
    "run": "icrl.experiment.run.api",
    "save_demos": "icrl.demos.formats",
    "shipped_demos": "icrl.demos.dataset",
    "task_from_env": "icrl.tasks.own",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'icrl' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOMES[name]), name)
