"""Making the runs of a suite that are not finished yet, and keeping its table of scores."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from icrl.constraint.saved import TENSORS
from icrl.errors import InputError
from icrl.experiment.directory.checkpoint import checkpoints
from icrl.experiment.directory.lock import HOLDER, LOCK, only_one, require_unlocked
from icrl.experiment.directory.run_directory import (
    CONFIG,
    CONSTRAINT,
    ERROR,
    RUN_FILES,
    SCORES,
    RunDirectory,
)
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.engine.engine import Engine, Job, Watcher, run_jobs
from icrl.experiment.suite.suite import PlannedRun, differences
from icrl.files import make_folder, move_into_place, write_whole
from icrl.json_files import to_json, write_json

COMMAND = "command.txt"


class Outcome(NamedTuple):
    """How a suite went: directory names."""

    skipped: list[str]
    """Were finished already."""
    finished: list[str]
    failed: list[str]


def make_ready(run: PlannedRun) -> bool:
    """Does the run still have to be made?

    What an interrupted or failed attempt left behind is removed,
    unless the run can go on from there.

    Only a directory that is clearly such an attempt is touched;
    any other content is an `InputError`.
    """
    directory = run.directory
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return True
    if not directory.is_dir():
        raise InputError(f"{directory} is a file, expected a run directory: choose another --out.")
    require_unlocked(directory)  # a run that was started by hand, or by a suite that was killed
    found = {path.name for path in directory.iterdir()}
    if CONFIG in found:
        _require_same(run)
    if SCORES in found:
        _require_its_source(run)
        return False
    temporary = {name for name in found if name.startswith(".")}  # files that were being written
    strange = found - RUN_FILES - temporary
    first_files = (LOCK, HOLDER, f".{CONFIG}", f".{HOLDER}")
    begun = CONFIG in found or ERROR in found or all(name.startswith(first_files) for name in found)
    if strange or not begun:
        raise InputError(
            f"{directory} holds files that no run of this suite wrote "
            f"({', '.join(sorted(strange or found)[:5])}): nothing was touched. Choose another "
            "--out, or move it away."
        )
    # Without a checkpoint there is nothing to go on from, and what is there would stand in the way
    # of a new start.
    if CONFIG not in found or not checkpoints(directory):
        shutil.rmtree(directory)
    return True


def _require_same(run: PlannedRun) -> None:
    advice = (
        "Nothing was touched. Runs with different settings do not belong in one table: choose "
        "another --out, or "
    )
    advice += "move the old runs away."
    try:
        there = RunDirectory(run.directory).spec()
    except InputError as error:
        raise InputError(
            f"{run.directory} holds a run of another version of icrl: {error} {advice}"
        ) from error
    if _resolved(there) != _resolved(run.spec):
        raise InputError(
            f"{run.directory} holds a run with other settings: {differences(there, run.spec)}. "
            f"{advice}"
        )


def _require_its_source(run: PlannedRun) -> None:
    """A finished transfer belongs beside the constraint it was given:
    a source may have been made anew since then."""
    if run.spec.constraint is None:
        return
    now, then = (Path(path) / CONSTRAINT / TENSORS for path in (run.spec.constraint, run.directory))
    # By content: the path is the same, whatever was made anew there.
    if now.exists() and then.exists() and now.read_bytes() != then.read_bytes():
        raise InputError(
            f"{run.directory} was given another constraint than the one that {run.spec.constraint} "
            "holds now. Nothing was touched. Move it away, and it is made again."
        )


def _resolved(spec: RunSpec) -> RunSpec:
    """The same, with the constraint's path written in one way."""
    if spec.constraint is None:
        return spec
    return replace(spec, constraint=str(Path(spec.constraint).resolve()))


def run_suite(
    runs: list[PlannedRun],
    out: Path,
    jobs: int,
    watcher: Watcher,
    command: str,
    engine: Engine = run_jobs,
) -> Outcome:
    """Make all runs that are not finished yet, `jobs` at a time;
    `out/scores.json` always holds what is finished."""
    if jobs < 1:
        raise InputError(f"--jobs must be an integer >= 1, got {jobs}.")
    make_folder(out)
    with only_one(out):  # two suites in one directory would remove each other's runs
        todo = [run for run in runs if make_ready(run)]
        recorder = _Recorder(out, {run.directory.name: run for run in todo}, watcher)
        planned = [_job(run, todo) for run in todo]
        _write_command(out, command)
        # Before the first run too: the table of what is finished is there from the beginning.
        write_scores(out)
        try:
            engine(planned, jobs, recorder)
        finally:
            for job in planned:
                # Of runs that came to their end: what they said is nobody's error.
                job.errors.unlink(missing_ok=True)
    names = {run.directory.name for run in todo}
    skipped = [run.directory.name for run in runs if run.directory.name not in names]
    return Outcome(skipped, recorder.finished, recorder.failed)


class _Recorder:
    """Keeps the suite's files up to date, and passes everything on."""

    def __init__(self, out: Path, runs: dict[str, PlannedRun], watcher: Watcher) -> None:
        self.out = out
        self.runs = runs
        self.watcher = watcher
        self.finished: list[str] = []
        self.failed: list[str] = []

    def started(self, job: Job, process_id: int) -> None:
        self.watcher.started(job, process_id)

    def ended(self, job: Job, exit_code: int) -> None:
        directory = self.runs[job.name].directory
        if exit_code == 0 and RunDirectory(directory).finished:
            self.finished.append(job.name)
            write_scores(self.out)
        else:
            self.failed.append(job.name)
            # A run that died before it wrote anything still gets a directory: its last words, and
            # what it was to be, must be found where its result would have been.
            directory.mkdir(exist_ok=True)
            if not (directory / CONFIG).exists():
                write_json(directory / CONFIG, to_json(self.runs[job.name].spec))
            with job.errors.open("a") as file:
                file.write(f"\nThe run ended with exit code {exit_code}.\n")
            move_into_place(job.errors, directory / ERROR)
        self.watcher.ended(job, exit_code)

    def waiting(self) -> None:
        self.watcher.waiting()


def read_scores(out: Path) -> list[dict[str, Any]]:
    """The scores of all finished runs in a directory, by label and seed."""
    runs = [
        RunDirectory(path)
        for path in sorted(out.iterdir())
        if path.is_dir() and not path.name.startswith(".")
    ]
    scores = [run.scores() for run in runs if run.finished]
    # By what they are, not by when they ended: the file is the same whatever the order of the runs.
    return sorted(scores, key=lambda s: (str(s["scenario"]), str(s.get("label")), int(s["seed"])))


def write_scores(out: Path) -> None:
    """Bring `out/scores.json` up to date."""
    write_json(out / SCORES, read_scores(out))


def _write_command(out: Path, command: str) -> None:
    """Record the command that made the runs in a directory, after those that made others before."""
    path = out / COMMAND
    if path.exists():
        known = path.read_text().splitlines()
    else:
        known = []
    # A suite that is started again is the same command, and stands there once.
    lines = [*(line for line in known if line != command), command]
    write_whole(path, ("\n".join(lines) + "\n").encode())


def _job(run: PlannedRun, todo: list[PlannedRun]) -> Job:
    names = {other.directory.name for other in todo}
    return Job(
        name=run.directory.name,
        module="icrl.experiment.engine.worker",
        arguments=(str(run.directory),),
        message=json.dumps(to_json(run.spec)),
        errors=run.directory.with_name(f".{run.directory.name}.stderr"),
        # A source that is finished already is no job, and would be waited for in vain.
        after=tuple(name for name in run.after if name in names),
        directory=run.directory,
    )
