"""Whose turn it is to begin a trial, where several threads, processes and machines work on one
sweep."""

import threading
import time
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock

from icrl.experiment.suite.sweep_study import MAKING, is_making, num_done, patience, waits

_PAUSE = 1.0
"""Seconds between looks at what others make."""


class Turns(Protocol):
    """What a thread asks before, while and after it makes a trial."""

    def take(self) -> bool:
        """Wait until a trial may be begun; False: none is left."""

    def begun(self) -> None:
        """The trial is one of the study's."""

    def leave(self) -> None:
        """The trial has ended."""


class DrawnTurns:
    """Trials are drawn until as many are done as are wanted."""

    def __init__(self, study: Any, trials: int, stopping: threading.Event) -> None:
        self._study = study
        self._trials = trials
        self._stopping = stopping
        self._places = threading.Lock()
        self._busy = 0

    def take(self) -> bool:
        """Is another trial wanted, beside those that are being made here?"""
        with self._places:
            # With those that are being made: else every thread would begin one trial too many.
            # Counted in the study, not here: other processes may work on the same one.
            done = num_done(self._study)
            if self._stopping.is_set() or done + self._busy >= self._trials:
                return False
            self._busy += 1
            return True

    def begun(self) -> None:
        """Nothing: another trial can always be drawn."""

    def leave(self) -> None:
        """One is being made here no more."""
        with self._places:
            self._busy -= 1


class WaitingTurns:
    """Trials that wait in the study are made, and no others: asked for a trial where none waits,
    Optuna would draw one."""

    def __init__(self, study: Any, directory: Path, stopping: threading.Event) -> None:
        self._study = study
        self._stopping = stopping
        # each thread has one of its own
        self._lock = FileLock(directory / MAKING, thread_local=True)

    def take(self) -> bool:
        """Is there a trial that waits, or soon will since its sweep was killed?"""
        until = time.monotonic() + patience()
        while not self._stopping.is_set():
            # Held until the trial is begun: else two may see one that waits.
            self._lock.acquire()
            if waits(self._study):
                return True
            self._lock.release()
            # What is still made after so long a time lives, and is for others to end.
            if time.monotonic() > until or not is_making(self._study):
                return False
            self._stopping.wait(_PAUSE)
        return False

    def begun(self) -> None:
        """The next one may look."""
        self._lock.release()

    def leave(self) -> None:
        """Where the trial could not be begun, the next one may look too."""
        if self._lock.is_locked:
            self._lock.release()
