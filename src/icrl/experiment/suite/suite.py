"""A suite: rows of runs (scenario x method x preset x seeds x changes), each made once,
whatever interrupts it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from icrl.config import LearnConfig
from icrl.demos.formats_table import ColumnMapping
from icrl.errors import InputError, unknown_name
from icrl.experiment.directory.checkpoint import flat
from icrl.experiment.directory.run_directory import (
    RunDirectory,
)
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.run.inputs import open_demos_if_any
from icrl.json_files import to_json
from icrl.methods.icrl import ICRL
from icrl.methods.registry import preset
from icrl.tasks.options import EnvOptions
from icrl.tasks.registry import make_scenario

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
            # Seed by seed: each transfer needs the constraint of its own seed.
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
    opened = {entry.label: _opened(entry) for entry in entries}
    runs: list[PlannedRun] = []
    # Seed by seed, not row by row: a suite that is stopped early has every row with fewer seeds,
    # which can be compared, in place of some rows complete and others missing.
    for seed in range(seeds or max(entry.seeds for entry in entries)):
        learned: dict[str, Path] = {}
        for entry in entries:
            if seed < (seeds or entry.seeds):
                directory = out / _run_name(entry, seed)
                given = opened[entry.label]
                learned[entry.label] = _borrowed(entry, seed, steps, given, directory) or directory
                if learned[entry.label] == directory:
                    source = None
                    if entry.source is not None:
                        source = learned[entry.source]
                    spec = _spec(entry, seed, steps, given, source)
                    # a transfer waits for the run whose constraint it is given, if it is made here
                    after: tuple[str, ...] = ()
                    if source is not None and source.parent == out:
                        after = (source.name,)
                    runs.append(PlannedRun(spec, directory, after, _lender(entry, seed, out)))
    return runs


class _Opened(NamedTuple):
    """What all seeds of an entry have in common."""

    config: LearnConfig
    demos: str | None


def _opened(entry: Entry) -> _Opened:
    scenario = make_scenario(entry.task, entry.env)
    config = entry.change(preset(entry.preset, scenario.task, entry.method))
    return _Opened(config, open_demos_if_any(entry.demos, scenario, entry.columns)[1])


def _spec(
    entry: Entry, seed: int, steps: int | None, given: _Opened, source: Path | None
) -> RunSpec:
    config = given.config
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
        demos=given.demos,
        episodes=entry.episodes,
        label=entry.label,
        constraint=constraint,
        env=entry.env,
        columns=entry.columns,
    )


def _borrowed(
    entry: Entry, seed: int, steps: int | None, given: _Opened, directory: Path
) -> Path | None:
    """The finished run of another suite that makes this one unnecessary;
    none once this one has been begun."""
    lender = _lender(entry, seed, directory.parent)
    if lender is None or directory.exists() or not RunDirectory(lender).finished:
        return None
    found = RunDirectory(lender).spec()
    # With the suite's own steps or those asked for now; under whatever label the lender has it.
    wanted = [replace(_spec(entry, seed, s, given, None), label=found.label) for s in (None, steps)]
    if found not in wanted:
        raise InputError(
            f"{lender} is not the run that {entry.label} stands for: "
            f"{differences(found, wanted[0])}. Move it away, or choose an --out that is not "
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


def differences(found: RunSpec, wanted: RunSpec) -> str:
    """In which settings two runs differ, the first five."""
    old = flat(to_json(found))
    new = flat(to_json(wanted))
    return ", ".join(
        [f"{key} {old.get(key)!r} (now {new[key]!r})" for key in new if old.get(key) != new[key]][
            :5
        ]
    )


def _is_file_name(label: str) -> bool:
    # Labels become folders: no separators, no dots that lead elsewhere.
    return bool(label) and all(c.isalnum() or c in "-_+=" for c in label)
