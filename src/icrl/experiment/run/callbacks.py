"""Five moments of a run at which others may look on: its start, every policy update, every round,
every checkpoint, its end.

The live display and the loggers are such callbacks; so is whatever a user writes. One that
raises `StopRun` ends the run after the last round that was finished, which is then scored as if
it had been the last.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from icrl.methods.learners import Snapshot
from icrl.rounds import Progress
from icrl.types import Scores


class StopRun(Exception):
    """Raised by a callback: the run shall end here."""


class Started(NamedTuple):
    """What is known when a run begins."""

    directory: Path
    config: dict[str, Any]
    """As in `config.json`: task, method, seed, every setting."""
    rounds: int
    """Rounds that will be made."""
    before: tuple[dict[str, Any], ...] = ()
    """Of a run that goes on: the lines of `metrics.jsonl` of the rounds that are made already."""


class Callback:
    """Does nothing at any moment: override those that you want."""

    def on_start(self, started: Started) -> None:
        """The run's directory is made, and nothing was learned yet."""

    def on_update(self, progress: Progress) -> None:
        """A policy update was made."""

    def on_round(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """A round was finished and saved; `metrics` is its line of `metrics.jsonl`."""

    def on_checkpoint(self, path: Path, seconds: float) -> None:
        """A checkpoint was written, which took so long."""

    def on_end(self, scores: Scores, details: dict[str, Any]) -> None:
        """The run is over and scored; `details` is what `scores.json` holds beside the scores."""


class Callbacks(Callback):
    """Several as one, in order."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = list(callbacks)

    def on_start(self, started: Started) -> None:
        """To each."""
        for callback in self.callbacks:
            callback.on_start(started)

    def on_update(self, progress: Progress) -> None:
        """To each."""
        for callback in self.callbacks:
            callback.on_update(progress)

    def on_round(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """To each."""
        for callback in self.callbacks:
            callback.on_round(snapshot, metrics)

    def on_checkpoint(self, path: Path, seconds: float) -> None:
        """To each."""
        for callback in self.callbacks:
            callback.on_checkpoint(path, seconds)

    def on_end(self, scores: Scores, details: dict[str, Any]) -> None:
        """To each."""
        for callback in self.callbacks:
            callback.on_end(scores, details)
