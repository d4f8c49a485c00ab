"""One run of a suite in a process of its own: `python -m icrl.experiment.engine.worker DIRECTORY`.

The spec comes as one line of JSON on standard input. The pipe then stays open as a lifeline: when
the parent is gone, however it went, it closes, and the worker ends too.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from icrl.experiment.directory.provenance import open_constraint
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.directory.spec import RunSpec, spec_from_json

# shows nothing: the parent reads the run directory
from icrl.experiment.run.callbacks import Callback
from icrl.experiment.run.inputs import open_demos_if_any
from icrl.experiment.run.one_run import require_same_settings, run_learning
from icrl.interrupts import interrupted_by, leave_at_once, remembered_interrupts
from icrl.methods.registry import open_method
from icrl.tasks.registry import make_scenario

ORPHANED = 130
"""Exit code of a worker whose parent is gone, and which did not end in order soon enough."""
_PATIENCE_SECONDS = 5.0


def main() -> None:
    """Make the run, or go on with it."""
    spec = spec_from_json(json.loads(sys.stdin.readline()))
    with remembered_interrupts():
        try:
            # A parent that is killed cannot end its children. They notice by themselves that its
            # end of the pipe is gone.
            threading.Thread(target=_end_with_parent, daemon=True).start()
            make(spec, Path(sys.argv[1]))
        except KeyboardInterrupt:
            leave_at_once(128 + (interrupted_by() or signal.SIGINT))


def make(spec: RunSpec, directory: Path) -> None:
    """The run of a spec, from wherever its directory says it was."""
    run = RunDirectory(directory)
    if run.finished:
        # A machine may die after the last byte of a run, and before it could say so: its job is
        # tried again, and nothing is left to do.
        require_same_settings(run, spec)
        return
    open_method(spec.method)
    scenario = make_scenario(spec.task, spec.env)
    demos, _ = open_demos_if_any(spec.demos, scenario, spec.columns)
    constraint = None
    if spec.constraint is not None:
        constraint = open_constraint(spec.constraint)
    run_learning(spec, scenario, demos, directory, Callback(), constraint, resume=True)


def _end_with_parent() -> None:
    """Ask for an end in order, so that the last round is saved; do not wait for long."""
    # Not by a signal: a parent that is killed sends none.
    while os.read(0, 1024):
        pass
    # To itself: the main thread hears it as it hears any other, and saves its round.
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_PATIENCE_SECONDS)
    os._exit(ORPHANED)


if __name__ == "__main__":
    main()
