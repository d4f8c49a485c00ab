"""A suite: rows of runs (scenario x method x preset x seeds x changes), each made once,
whatever interrupts it."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from icrl.config import LearnConfig
from icrl.constraint.saved import TENSORS
from icrl.demos.formats_table import ColumnMapping
from icrl.errors import InputError, unknown_name
from icrl.experiment.directory.checkpoint import checkpoints, flat
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
from icrl.experiment.run.inputs import open_demos_if_any
from icrl.files import make_folder, move_into_place, write_whole
from icrl.json_files import to_json, write_json
from icrl.methods.icrl import ICRL
from icrl.methods.registry import preset
from icrl.tasks.options import EnvOptions
from icrl.tasks.registry import make_scenario

COMMAND = "command.txt"

Change = Callable[[LearnConfig], LearnConfig]


def unchanged(config: LearnConfig) -> LearnConfig:
    """The preset as it is."""
    return config


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One row of a suite: the same run with several seeds."""

    label: str
    """Name in directories, tables and figures; also tells entries apart."""
    task: str
    method: str = ICRL.name
    preset: str = "default"
    seeds: int = 10
    """Seeds 0, 1, ..., seeds - 1."""
    change: Change = unchanged
    """Made to the preset's settings."""
    demos: str | None = None
    """Path or id of demonstrations; None: those that ship with the task."""
    episodes: int = 100
    """Episodes of the final evaluation."""
    source: str | None = None
    """Label of an earlier entry: the constraint that its run with the same seed learned is
    transferred. None: the entry learns one itself, or is a reference."""
    borrow: str | None = None
    """`SUITE/LABEL`: where the directory SUITE beside this suite's holds a finished run LABEL
    with the same seed (the same task, method, settings and demonstrations), that run is used,
    and none is made."""
    columns: ColumnMapping | None = None
    """Which column of a table of demonstrations holds what; None: told by their names."""
    env: EnvOptions = field(default_factory=EnvOptions)
    """What is said of a user's own environment."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Runs that belong in one table."""

    name: str
    purpose: str
    entries: tuple[Entry, ...]

    def __post_init__(self) -> None:
        """Validate."""
        labels = [entry.label for entry in self.entries]
        if (
            not labels
            or len(set(labels)) != len(labels)
            or not all(_is_file_name(label) for label in labels)
        ):
            raise InputError(
                f"suite {self.name!r} needs entries with different labels fit for file names; got "
                f"{labels}."
            )
        for index, entry in enumerate(self.entries):
            earlier = {e.label: e.seeds for e in self.entries[:index]}
            if entry.source is not None and earlier.get(entry.source, 0) < entry.seeds:
                raise InputError(
                    f"suite {self.name!r}: {entry.label} ({entry.seeds} seeds) transfers from "
                    f"{entry.source!r}, which must be an earlier entry with as many seeds; earlier "
                    f"are {earlier}."
                )


class PlannedRun(NamedTuple):
    """A run of a suite and where it lives."""

    spec: RunSpec
    directory: Path
    after: tuple[str, ...] = ()
    """Directory names of runs that this one needs."""
    lender: Path | None = None
    """Where a finished run would have made this one unnecessary."""


class Outcome(NamedTuple):
    """How a suite went: directory names."""

    skipped: list[str]
    """Were finished already."""
    finished: list[str]
    failed: list[str]


def expand(
    suite: Suite,
    out: Path,
    seeds: int | None = None,
    steps: int | None = None,
    only: Sequence[str] = (),
) -> list[PlannedRun]:
    """Every run of the suite, seed by seed; `seeds` and `steps` replace those of all entries.

    With labels in `only`: the runs of those entries, and of the entries whose constraint they need.
    """
    for name, value in (("--seeds", seeds), ("--steps", steps)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be an integer >= 1, got {value}.")
    unknown = set(only) - {entry.label for entry in suite.entries}
    if unknown:
        raise unknown_name("entry", sorted(unknown)[0], [entry.label for entry in suite.entries])
    wanted = {*only, *(entry.source for entry in suite.entries if entry.label in only)}
    entries = [entry for entry in suite.entries if not only or entry.label in wanted]
    demos = {
        e.label: open_demos_if_any(e.demos, make_scenario(e.task, e.env), e.columns)[1]
        for e in entries
    }
    runs: list[PlannedRun] = []
    for seed in range(seeds or max(entry.seeds for entry in entries)):
        learned: dict[str, Path] = {}
        for entry in entries:
            if seed < (seeds or entry.seeds):
                directory = out / _run_name(entry, seed)
                shown = demos[entry.label]
                learned[entry.label] = _borrowed(entry, seed, steps, shown, directory) or directory
                if learned[entry.label] == directory:
                    source = None
                    if entry.source is not None:
                        source = learned[entry.source]
                    spec = _spec(entry, seed, steps, shown, source)
                    after: tuple[str, ...] = ()
                    if source is not None and source.parent == out:
                        after = (source.name,)
                    runs.append(PlannedRun(spec, directory, after, _lender(entry, seed, out)))
    return runs


def _spec(
    entry: Entry, seed: int, steps: int | None, demos: str | None, source: Path | None
) -> RunSpec:
    config = entry.change(preset(entry.preset, entry.task, entry.method))
    if steps is not None:
        config = replace(config, steps=steps)
    constraint = None
    if source is not None:
        constraint = str(source)
    return RunSpec(
        task=entry.task,
        method=entry.method,
        preset=entry.preset,
        seed=seed,
        config=config,
        demos=demos,
        episodes=entry.episodes,
        label=entry.label,
        constraint=constraint,
        env=entry.env,
        columns=entry.columns,
    )


def _borrowed(
    entry: Entry, seed: int, steps: int | None, demos: str | None, directory: Path
) -> Path | None:
    """The finished run of another suite that makes this one unnecessary;
    none once this one has been begun."""
    lender = _lender(entry, seed, directory.parent)
    if lender is None or directory.exists() or not RunDirectory(lender).finished:
        return None
    found = RunDirectory(lender).spec()
    wanted = [replace(_spec(entry, seed, s, demos, None), label=found.label) for s in (None, steps)]
    if found not in wanted:
        raise InputError(
            f"{lender} is not the run that {entry.label} stands for: "
            f"{_differences(found, wanted[0])}. Move it away, or choose an --out that is not "
            f"beside {lender.parent}."
        )
    return lender


def _lender(entry: Entry, seed: int, out: Path) -> Path | None:
    if entry.borrow is None:
        return None
    suite, label = entry.borrow.split("/")
    return out.parent / suite / f"{label}-seed{seed}"


def _run_name(entry: Entry, seed: int) -> str:
    return f"{entry.label}-seed{seed}"


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
            f"{run.directory} holds a run with other settings: {_differences(there, run.spec)}. "
            f"{advice}"
        )


def _require_its_source(run: PlannedRun) -> None:
    """A finished transfer belongs beside the constraint it was given:
    a source may have been made anew since then."""
    if run.spec.constraint is None:
        return
    now, then = (Path(path) / CONSTRAINT / TENSORS for path in (run.spec.constraint, run.directory))
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


def _differences(found: RunSpec, wanted: RunSpec) -> str:
    old = flat(to_json(found))
    new = flat(to_json(wanted))
    return ", ".join(
        [f"{key} {old.get(key)!r} (now {new[key]!r})" for key in new if old.get(key) != new[key]][
            :5
        ]
    )


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
        write_scores(out)
        try:
            engine(planned, jobs, recorder)
        finally:
            for job in planned:
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
        after=tuple(name for name in run.after if name in names),
        directory=run.directory,
    )


def _is_file_name(label: str) -> bool:
    return bool(label) and all(c.isalnum() or c in "-_+=" for c in label)
