"""A suite while it goes on: one live table on a terminal,
a line for each start and end elsewhere."""

import time
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.table import Table

from icrl.experiment.directory.run_directory import ERROR, RunDirectory
from icrl.experiment.engine.engine import Job
from icrl.experiment.suite.making import Outcome
from icrl.experiment.suite.statistics import num_collapsed
from icrl.experiment.suite.suite import PlannedRun
from icrl.files import require_regular
from icrl.types import NOMINAL
from icrl.words import say, shown

_REFRESH_SECONDS = 0.5
_LAST_BYTES = 100_000
"""Of `error.txt`, where its last lines are looked for: a run may have said gigabytes."""


class SuiteDisplay:
    """Per label: runs finished, failed and going on;
    true return and violation rate of the finished ones."""

    def __init__(self, title: str, runs: list[PlannedRun], console: Console | None = None) -> None:
        self.console = console or Console()
        self.title = title
        self.runs = runs
        self.by_name = {run.directory.name: run for run in runs}
        self.running: list[str] = []
        self.failed: list[str] = []
        # What was finished before says nothing about how fast this machine is now.
        self.steps_before = sum(
            run.spec.config.steps for run in runs if RunDirectory(run.directory).finished
        )
        self.started_at = time.perf_counter()
        self.shown_at = float("-inf")
        self.live = Live(console=self.console, auto_refresh=False)

    def __enter__(self) -> "SuiteDisplay":
        if self.console.is_terminal:
            self.live.start()
            self.live.update(self._table(), refresh=True)
        else:
            done = sum(RunDirectory(run.directory).finished for run in self.runs)
            self._print(f"{self.title}: {len(self.runs)} runs, {done} finished already")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.console.is_terminal:
            self.running = []
            self.live.update(self._table(), refresh=True)
            self.live.stop()

    def started(self, job: Job, process_id: int) -> None:
        """A run was started."""
        self.running.append(job.name)
        if not self.console.is_terminal:
            self._print(f"started   {job.name}")

    def ended(self, job: Job, exit_code: int) -> None:
        """A run ended: finished, or failed."""
        if job.name in self.running:  # a job that waited for one that failed never was
            self.running.remove(job.name)
        run = RunDirectory(self.by_name[job.name].directory)
        if not run.finished:
            self.failed.append(job.name)
        if self.console.is_terminal:
            return
        if run.finished:
            scores = run.scores()
            self._print(
                f"finished  {job.name}  {_in_words(scores)}  {scores['seconds']:,.0f} s "
                f"({scores['steps_per_second']:,.0f}/s)  {self._time_left()}"
            )
        else:
            self._print(f"failed    {job.name}  {last_words(run.path)}")

    def waiting(self) -> None:
        """Refresh."""
        now = time.perf_counter()
        if self.console.is_terminal and now - self.shown_at > _REFRESH_SECONDS:
            self.shown_at = now
            self.live.update(self._table(), refresh=True)

    def _print(self, line: str) -> None:
        say(self.console, line)

    def _table(self) -> Table:
        table = Table(
            title=shown(self.title),
            caption=self._time_left(),
            title_justify="left",
            caption_justify="left",
            header_style="bold",
        )
        for name in (
            "label",
            "finished",
            "failed",
            "true return",
            "of expert",
            "violations",
            "collapsed",
            "now",
        ):
            table.add_column(name, justify="left" if name in ("label", "now") else "right")
        for label in dict.fromkeys(run.spec.label or "" for run in self.runs):
            table.add_row(*self._row(label, [run for run in self.runs if run.spec.label == label]))
        return table

    def _row(self, label: str, runs: list[PlannedRun]) -> tuple[str, ...]:
        scores = [
            RunDirectory(run.directory).scores()
            for run in runs
            if RunDirectory(run.directory).finished
        ]
        failed = sum(run.directory.name in self.failed for run in runs)
        now = [
            f"seed {run.spec.seed} {self._share(run):.0%}"
            for run in runs
            if run.directory.name in self.running
        ]
        values = ["-"] * 4
        known = [s for s in scores if s["true_return"] is not None]
        if known:
            returns, rates = (
                np.array([s[name] for s in known]) for name in ("true_return", "violation_rate")
            )
            expert = scores[0]["expert_return"]
            values = [
                f"{returns.mean():,.1f}",
                f"{returns.mean() / expert:.2f}" if expert else "-",
                f"{rates.mean():.4f}",
                f"{num_collapsed(rates, self._nominal_rate())}",
            ]
        return (
            label,
            f"{len(scores)}/{len(runs)}",
            str(failed) if failed else "-",
            *values,
            "  ".join(now),
        )

    def _nominal_rate(self) -> float | None:
        """Violation rate of the suite's agents that know of no constraint;
        None: none is finished."""
        runs = [RunDirectory(run.directory) for run in self.runs if run.spec.label == NOMINAL]
        rates = [run.scores()["violation_rate"] for run in runs if run.finished]
        known = [rate for rate in rates if rate is not None]
        if known:
            return float(np.mean(known))
        return None

    def _share(self, run: PlannedRun) -> float:
        """How much of the run is done, by its metrics."""
        metrics = RunDirectory(run.directory).metrics()
        if metrics:
            return float(min(1.0, metrics[-1]["steps"] / run.spec.config.steps))
        return 0.0

    def _time_left(self) -> str:
        """By the steps made since the start; steps of different methods count the same."""
        elapsed = time.perf_counter() - self.started_at
        total = sum(
            run.spec.config.steps for run in self.runs if run.directory.name not in self.failed
        )
        done = sum(
            run.spec.config.steps
            * (1.0 if RunDirectory(run.directory).finished else self._share(run))
            for run in self.runs
            # A run that failed will not be waited for.
            if run.directory.name not in self.failed
        )
        made = done - self.steps_before
        left = ""
        if made > 0 and done < total:
            left = f", about {_clock(elapsed * (total - done) / made)} left"
        return f"{_clock(elapsed)} since the start{left}"


def print_outcome(outcome: Outcome, out: Path, console: Console) -> None:
    """What became of the runs, and where they are."""
    lines = [
        f"{len(outcome.finished)} runs made, {len(outcome.skipped)} were finished already, "
        f"{len(outcome.failed)} failed. Everything is in {out}"
    ]
    lines += [
        f"  failed: {name}: {last_words(out / name)} (all of it: {out / name / ERROR})"
        for name in outcome.failed
    ]
    for line in lines:
        say(console, line)


def _in_words(scores: dict[str, Any]) -> str:
    """How a run ended; where nobody knows the truth, what its agent earns."""
    if scores["true_return"] is None:
        return f"return {scores['nominal_return']:,.1f} (the truth is not known)"
    return (
        f"true return {scores['true_return']:,.1f}  violation rate {scores['violation_rate']:.4f}"
    )


def last_words(directory: Path) -> str:
    """The line of a failed run's `error.txt` that says most: its last but the exit code."""
    path = directory / ERROR
    size = require_regular(path)
    with path.open("rb") as stream:
        stream.seek(max(0, size - _LAST_BYTES))
        text = stream.read().decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return f"{ERROR} is empty"
    # The last line is the exit code, which the recorder adds.
    if len(lines) > 1:
        return lines[-2]
    return lines[-1]


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}"
