"""Run directories as a report sees them: read once, grouped by task and label, in a fixed order."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from icrl.errors import InputError
from icrl.experiment.directory.run_directory import CONFIG, CONSTRAINT, ERROR, SCORES, RunDirectory
from icrl.experiment.suite.display import last_words
from icrl.experiment.suite.making import COMMAND
from icrl.files import MOST_JSON_BYTES, read_bytes
from icrl.report.looks import default_label, rank, written
from icrl.types import FloatArray
from icrl.versions import PACKAGE


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run directory."""

    directory: Path
    task: str
    label: str
    seed: int
    config: dict[str, Any]
    metrics: list[dict[str, Any]]
    scores: dict[str, Any] | None
    """None: the run is not finished."""
    error: str | None
    """What a failed run said last."""

    @property
    def name(self) -> str:
        """Of the directory."""
        return self.directory.name

    @property
    def evaluation(self) -> dict[str, Any]:
        """What `icrl evaluate` found; empty: it was not asked."""
        return RunDirectory(self.directory).evaluation()

    @property
    def constraint_scores(self) -> dict[str, Any]:
        """Of the constraint itself; empty: the run has none, or is not finished."""
        found: dict[str, Any] = (self.scores or {}).get("constraint") or {}
        return found

    @property
    def verdict(self) -> str | None:
        """How far to trust the run's constraint, where it was judged."""
        trust = self.evaluation.get("trust", {})
        if "verdict" in trust:
            return str(trust["verdict"])
        return None


@dataclass(frozen=True, kw_only=True)
class Group:
    """The runs of one task and label, by seed."""

    task: str
    label: str
    runs: tuple[RunRecord, ...]

    @property
    def name(self) -> str:
        """As written in tables and legends."""
        return written(self.label)

    @property
    def finished(self) -> list[RunRecord]:
        """Those with scores."""
        return [run for run in self.runs if run.scores is not None]

    @property
    def failed(self) -> list[RunRecord]:
        """Those that ended with an error."""
        return [run for run in self.runs if run.scores is None and run.error is not None]

    @property
    def unfinished(self) -> list[RunRecord]:
        """Those that are going on or were interrupted."""
        return [run for run in self.runs if run.scores is None and run.error is None]

    def values(self, name: str) -> FloatArray:
        """[n]: a score of every finished run; `InputError` if one has none."""
        for run in self.finished:
            if (run.scores or {}).get(name) is None:
                raise InputError(
                    f"{run.directory / SCORES} has no {name}: it was edited, or is of another "
                    "version."
                )
        return np.array(
            [run.scores[name] for run in self.finished if run.scores is not None], np.float64
        )


def read_groups(directories: Sequence[Path]) -> list[Group]:
    """All runs in the directories (themselves runs, or directories of runs), by task and label."""
    if not directories:
        raise InputError("no directory was named: give run directories, or directories of them.")
    runs = [_read(path) for directory in directories for path in _run_paths(directory)]
    if not any(run.scores is not None for run in runs):
        raise InputError(
            f"none of the {len(runs)} runs in {', '.join(map(str, directories))} is finished (has "
            "a scores.json): nothing to report. Make some with icrl learn or icrl suite."
        )
    # Before anything is averaged: a run that counts twice narrows every interval.
    _require_distinct(runs)
    _require_one_engine(runs)
    keys = sorted(
        {(run.task, run.label) for run in runs},
        key=lambda key: (key[0], rank(key[1]), _natural(key[1])),
    )
    return [
        Group(
            task=task,
            label=label,
            runs=tuple(
                sorted(
                    (run for run in runs if (run.task, run.label) == (task, label)),
                    key=lambda run: run.seed,
                )
            ),
        )
        for task, label in keys
    ]


def steps_planned(run: RunRecord) -> int:
    """Environment steps that the run was given; of a run that does not say, those it made."""
    settings = run.config.get("config")
    if isinstance(settings, dict) and isinstance(settings.get("steps"), int | float):
        return int(settings["steps"])
    return int((run.scores or {}).get("steps", 0))


def read_commands(directories: Sequence[Path]) -> list[str]:
    """The commands that made the runs, where they were recorded; else what makes them again."""
    lines = []
    for directory in directories:
        # A suite records its command beside its runs, and one of them may be given by itself.
        paths = [path / COMMAND for path in (directory, directory.parent)]
        recorded = [line for path in paths if path.is_file() for line in _text(path).splitlines()]
        if recorded:
            lines += recorded
        else:
            lines += [_command_again(path) for path in _run_paths(directory)]
    return list(dict.fromkeys(lines))


def _command_again(path: Path) -> str:
    """The task is named: one that only a file names, `module:function`, would not be executed."""
    config = RunDirectory(path).config()
    task = str(config.get("task"))
    method = str(config.get("method"))
    if config.get("constraint") is None:
        words = ["learn", task, "--config", str(path)]
        if ":" in method:
            words += ["--method", method]
        return shlex.join([PACKAGE, *words])
    words = ["transfer", task, "--constraint", str(config["constraint"]), "--method", method]
    words += ["--preset", str(config.get("preset")), "--seed", str(config.get("seed"))]
    return f"{shlex.join([PACKAGE, *words])}  # and the settings that differ from the preset"


def _text(path: Path) -> str:
    return read_bytes(path, MOST_JSON_BYTES).decode(errors="replace")


def _run_paths(directory: Path) -> list[Path]:
    if (directory / CONFIG).exists():
        return [directory]
    if not directory.is_dir():
        raise InputError(
            f"{directory} is not a directory: give run directories, or directories of them."
        )
    found = [path for path in sorted(directory.iterdir()) if (path / CONFIG).exists()]
    if not found:
        raise InputError(
            f"{directory} holds no runs: expected {CONFIG} in it, or in the directories inside it."
        )
    return found


def _read(path: Path) -> RunRecord:
    run = RunDirectory(path)
    config = run.config()
    try:
        label = config.get("label") or _default_label(config)
        task = str(config["task"])
        seed = int(config["seed"])
    except KeyError as error:
        raise InputError(
            f"{path / CONFIG} has no entry {error}: expected the configuration of a run."
        ) from error
    return RunRecord(
        directory=path,
        task=task,
        label=label,
        seed=seed,
        config=config,
        metrics=run.metrics(),
        scores=run.scores() if run.finished else None,
        error=last_words(path) if (path / ERROR).exists() else None,
    )


def _default_label(config: dict[str, Any]) -> str:
    """Of a run that no suite named: as the suites that ship would have named it;
    a transfer by what it was given."""
    label = default_label(str(config["method"]), str(config["preset"]))
    if config.get("constraint") is None:
        return label
    given = Path(config["constraint"])
    return f"{label} from {given.parent if given.name == CONSTRAINT else given}"


def _natural(label: str) -> list[tuple[str, int]]:
    """Sorts B5 before B20."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", label)]


def _require_distinct(runs: list[RunRecord]) -> None:
    seen: dict[tuple[str, str, int], Path] = {}
    first: dict[tuple[str, str], RunRecord] = {}
    for run in runs:
        one = first.setdefault((run.task, run.label), run)
        if (one.config.get("constraint") is None) != (run.config.get("constraint") is None):
            raise InputError(
                f"{one.directory} and {run.directory} are both called {run.label} on {run.task}, "
                "but one learned its constraint there and the other was given one: report them "
                "separately."
            )
        other = seen.setdefault((run.task, run.label, run.seed), run.directory)
        if other != run.directory:
            raise InputError(
                f"{other} and {run.directory} are the same run ({run.label} on {run.task}, seed "
                f"{run.seed}): a seed counts once. Leave one out."
            )


def _require_one_engine(runs: list[RunRecord]) -> None:
    scored = [run.scores for run in runs if run.scores and "versions" in run.scores]
    versions = sorted({str(scores["versions"].get("mujoco")) for scores in scored})
    if len(versions) > 1:
        raise InputError(
            f"the runs used different versions of MuJoCo ({', '.join(versions)}), whose returns "
            "cannot be compared: report them separately, or make the older runs again."
        )
