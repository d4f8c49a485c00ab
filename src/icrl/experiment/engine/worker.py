"""One run of a suite in a process of its own: `python -m icrl.experiment.engine.worker DIRECTORY`.

The spec comes as one line of JSON on standard input. The pipe then stays open as a lifeline: when the parent is gone,
however it went, it closes, and the worker ends too.
"""

import json
import os
import sys
import threading
from pathlib import Path

from icrl.experiment.directory.spec import spec_from_json
from icrl.experiment.run.callbacks import Callback  # shows nothing: the parent reads the run directory
from icrl.experiment.run.inputs import open_demos_if_any
from icrl.experiment.run.making import open_constraint
from icrl.experiment.run.one_run import run_learning
from icrl.methods.registry import open_method
from icrl.tasks.registry import make_scenario

ORPHANED = 130
"""Exit code of a worker whose parent is gone."""


def main() -> None:
    """Make the run."""
    spec = spec_from_json(json.loads(sys.stdin.readline()))
    open_method(spec.method)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    scenario = make_scenario(spec.task, spec.env)
    demos, _ = open_demos_if_any(spec.demos, scenario)
    constraint = None if spec.constraint is None else open_constraint(spec.constraint)
    run_learning(spec, scenario, demos, Path(sys.argv[1]), Callback(), constraint)


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(ORPHANED)


if __name__ == "__main__":
    main()
