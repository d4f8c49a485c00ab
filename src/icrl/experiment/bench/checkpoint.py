"""`icrl bench checkpoint`: what a run spends on not being lost, as a share of its time."""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from icrl.config import LearnConfig
from icrl.demos.fitting import FittedDemos
from icrl.experiment.bench.throughput import machine_facts
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.run.callbacks import Callback
from icrl.experiment.run.one_run import run_learning
from icrl.methods.icrl import ICRL
from icrl.methods.learners import Snapshot
from icrl.tasks.task import Scenario

MOST_SHARE = 0.02
"""Of a run's time: the budget."""


class _Counted(Callback):
    """Seconds and sizes of checkpoints; the clock starts after the first round, which compiles."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.megabytes: list[float] = []
        self.rounds = 0
        self.began = 0.0

    def on_round(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """Count."""
        self.rounds += 1
        if self.rounds == 1:
            self.began = time.perf_counter()

    def on_checkpoint(self, path: Path, seconds: float) -> None:
        """Count."""
        self.seconds.append(seconds)
        self.megabytes.append(path.stat().st_size / 1e6)


def measure_checkpoints(
    task: str, scenario: Scenario, demos: FittedDemos, source: str | None, config: LearnConfig
) -> dict[str, Any]:
    """Make a run in a folder that is thrown away, and tell what its checkpoints took."""
    spec = RunSpec(
        task=task,
        method=ICRL.name,
        preset="default",
        seed=0,
        config=config,
        demos=source,
        episodes=1,
    )
    counted = _Counted()
    # On the disk of temporary files, and thrown away: what is measured is the writing, synced as
    # ever.
    with tempfile.TemporaryDirectory() as folder:
        run_learning(spec, scenario, demos, Path(folder) / "run", counted)
    whole = time.perf_counter() - counted.began
    return {
        "task": task,
        "steps": config.steps,
        "rounds": counted.rounds,
        "checkpoints": len(counted.seconds),
        "median_seconds": float(np.median(counted.seconds)),
        "largest_megabytes": max(counted.megabytes),
        "run_seconds": whole,
        "share_of_run": sum(counted.seconds) / whole,
        "budget": MOST_SHARE,
        "machine": machine_facts(),
    }
