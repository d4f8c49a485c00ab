"""`icrl.suite`: many runs, every method, many seeds, as `icrl suite NAME` makes them."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.engine.engine import Job
from icrl.experiment.run.callbacks import StopRun
from icrl.experiment.suite.display import SuiteDisplay, print_outcome
from icrl.experiment.suite.making import Outcome, read_scores, run_suite
from icrl.experiment.suite.suite import PlannedRun, Suite, expand
from icrl.experiment.suite.suites import find_suite
from icrl.report.frames import load_results

if TYPE_CHECKING:
    import pandas


class SuiteCallback:
    """Does nothing at any moment: override those that you want.

    One that raises `StopRun` ends the suite:
    what is finished stays, and the same call makes the rest.
    """

    def on_start(self, directories: list[Path]) -> None:
        """Nothing was started yet; these are all runs."""

    def on_run_start(self, directory: Path) -> None:
        """A run was started, in a process of its own."""

    def on_run_end(self, directory: Path, scores: dict[str, Any] | None) -> None:
        """A run ended; None: it failed, and `error.txt` in its directory says why."""

    def on_end(self, result: "SuiteResult") -> None:
        """The suite is over."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SuiteResult:
    """What a suite left behind."""

    directory: Path
    """A folder of run directories: for `icrl report`."""
    scores: list[dict[str, Any]]
    """`scores.json` of every finished run, by label and seed."""
    finished: list[str]
    """Names of the runs that were made now."""
    skipped: list[str]
    """Names of those that were finished already."""
    failed: list[str]

    def frame(self, rounds: bool = False) -> "pandas.DataFrame":
        """A row for each run, or for each round of each run. Needs the extra 'pandas'."""
        return load_results(self.directory, rounds=rounds)


def suite(
    which: str | Path | Suite,
    out: str | Path,
    *,
    only: Sequence[str] = (),
    seeds: int | None = None,
    steps: int | None = None,
    jobs: int = 2,
    callbacks: Sequence[SuiteCallback] = (),
    progress: bool = True,
) -> SuiteResult:
    """Make all runs of a suite, each in a process of its own, `jobs` at a time;
    finished ones are skipped.

    `which`: a name (`icrl suite --help` lists them) or a file of TOML. `only`: labels of the
    entries to run. `seeds` and `steps` replace those of the suite. `callbacks` look on; with
    `progress` so does the table of the terminal.
    """
    found = which
    if not isinstance(found, Suite):
        found = find_suite(str(found))
    directory = Path(out)
    runs = expand(found, directory, seeds, steps, only)
    console = Console(quiet=not progress)
    display = SuiteDisplay(f"suite {found.name}: {found.purpose}", runs, console)
    shown: SuiteDisplay | nullcontext[None] = nullcontext()
    if progress:
        shown = display
    for callback in callbacks:
        callback.on_start([run.directory for run in runs])
    watcher = _Watcher(display, runs, callbacks)
    try:
        with shown:
            outcome = run_suite(runs, directory, jobs, watcher, f"icrl.suite({str(which)!r})")
    except StopRun:
        outcome = watcher.so_far()
    print_outcome(outcome, directory, console)
    result = SuiteResult(
        directory=directory,
        scores=read_scores(directory),
        finished=outcome.finished,
        skipped=outcome.skipped,
        failed=outcome.failed,
    )
    for callback in callbacks:
        callback.on_end(result)
    return result


class _Watcher:
    """Passes on how the runs get on: to the display, then to the callbacks."""

    def __init__(
        self, display: SuiteDisplay, runs: list[PlannedRun], callbacks: Sequence[SuiteCallback]
    ) -> None:
        self.display = display
        self.directories = {run.directory.name: run.directory for run in runs}
        self.callbacks = callbacks
        self.skipped = [
            name for name, path in self.directories.items() if RunDirectory(path).finished
        ]
        self.failed: list[str] = []

    def started(self, job: Job, process_id: int) -> None:
        self.display.started(job, process_id)
        for callback in self.callbacks:
            callback.on_run_start(self.directories[job.name])

    def ended(self, job: Job, exit_code: int) -> None:
        self.display.ended(job, exit_code)
        run = RunDirectory(self.directories[job.name])
        scores = None
        if exit_code == 0 and run.finished:
            scores = run.scores()
        else:
            self.failed.append(job.name)
        for callback in self.callbacks:
            callback.on_run_end(run.path, scores)

    def waiting(self) -> None:
        self.display.waiting()

    def so_far(self) -> Outcome:
        """Where a callback has stopped the suite."""
        done = [name for name, path in self.directories.items() if RunDirectory(path).finished]
        return Outcome(
            self.skipped, [name for name in done if name not in self.skipped], self.failed
        )
