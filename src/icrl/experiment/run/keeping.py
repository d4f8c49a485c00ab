"""What a run must not lose: all that it carries from round to round, written as often as is cheap.

When it is written has no influence on what the run does: from whichever round it goes on, it ends
with the same bytes.
"""

import hashlib
import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from icrl.codec import pack
from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.errors import InputWarning
from icrl.experiment.directory.checkpoint import newest_checkpoint, write_checkpoint
from icrl.experiment.run.callbacks import Callback
from icrl.experiment.run.constraint_scores import VisitedState
from icrl.files import NotWritten
from icrl.interrupts import uninterrupted
from icrl.json_files import to_json
from icrl.memory import give_back
from icrl.methods.learners import Carried
from icrl.types import Trajectories
from icrl.versions import library_versions

_SHARE = 0.02
"""Of a run's time, for checkpoints at most."""


class SavedRun(NamedTuple):
    """A run after a round."""

    carried: Carried
    visited: VisitedState
    seconds: float
    """That it has taken so far."""


class Keeper:
    """Keeps a run's last states in its directory."""

    def __init__(self, directory: Path, run: dict[str, Any], watcher: Callback) -> None:
        self.directory = directory
        self.run = run
        """Which run it is."""
        self.watcher = watcher
        self.pending: SavedRun | None = None
        """The last state, where it is not on disk."""
        self.cost = 0.0
        # Long ago, so that the first round is written at once.
        self.written_at = -1e9

    def restored(self) -> SavedRun | None:
        """The newest state on disk that is whole; None: there is none."""
        found = newest_checkpoint(self.directory, SavedRun, self.run)
        if found is None:
            return None
        for what in found.damaged:
            warnings.warn(
                f"{what} Going on from {found.path.name}, the one before it.",
                InputWarning,
                stacklevel=2,
            )
        saved: SavedRun = found.value
        return saved

    def keep(self, saved: SavedRun) -> None:
        """Remember a state; write it, unless that would cost more of the
        run's time than is spent."""
        # Remembered even if it is not written: it may be the last there is (see `at_the_latest`).
        self.pending = saved
        # Writing took `cost` seconds; wait until that is 2 % of the time since. Short rounds and
        # slow disks need no setting of their own.
        if time.monotonic() - self.written_at >= self.cost / _SHARE:
            self.write()

    def write(self) -> None:
        """Write the last state, if it is not on disk yet: before the run ends, whatever ends it."""
        if self.pending is None:
            return
        began = time.monotonic()
        with uninterrupted():
            number = self.pending.carried.number
            path = write_checkpoint(self.directory, number, self.pending, SavedRun, self.run)
            self.pending = None
        # What was packed for the file is free now, and the C library would keep it.
        give_back()
        self.written_at = time.monotonic()
        self.cost = self.written_at - began
        self.watcher.on_checkpoint(path, self.cost)

    @contextmanager
    def at_the_latest(self) -> Iterator[None]:
        """Whatever ends the block early, the last state is on disk when it has."""
        try:
            yield
        except BaseException:
            # What ends the run is worth more words than a full disk; a second signal waits.
            with suppress(NotWritten), uninterrupted():
                self.write()
            raise


def identity(
    spec: dict[str, Any], demos: Demonstrations | None, constraint: LearnedConstraint | None
) -> dict[str, Any]:
    """Which run it is: its settings, and what it is given, by content.

    Where files lie does not matter.
    """
    # Not the label, nor how many episodes are judged at the end: neither changes what is learned.
    named = ("task", "method", "preset", "seed", "config", "env")
    run: dict[str, Any] = {name: to_json(spec[name]) for name in named}
    shown = None
    if demos is not None:
        shown = _digest(demos.trajectories, Trajectories)
    given = None
    if constraint is not None:
        # Without its card: dates and paths in it change, and the constraint is the same.
        given = _digest(constraint.with_card({}), LearnedConstraint)
    return {**run, "demonstrations": shown, "constraint": given, "versions": library_versions()}


def _digest(value: Any, kind: Any) -> str:
    """SHA-256 of all that a value holds."""
    packed = pack(value, kind)
    digest = hashlib.sha256(json.dumps(packed.tree).encode())
    for array in packed.arrays.values():
        digest.update(array.tobytes())
    return digest.hexdigest()
