"""`icrl sweep`: settings tried one after another, chosen by Optuna, judged without the truth.

The study lives in one SQLite file: a sweep that was stopped goes on where it was, and several
processes (or machines that share the folder) may work on one at once. A trial is one run per seed,
each in a process of its own; one that was stopped in the middle is tried again, from its runs'
checkpoints.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from icrl.config import LearnConfig
from icrl.constraint.backward_step import check_limits
from icrl.demos.dataset import Demonstrations
from icrl.demos.formats import load_demos, save_demos
from icrl.errors import InputError
from icrl.experiment.directory.lock import require_unlocked
from icrl.experiment.directory.parsing import NONE
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.engine.engine import Engine, Job, run_jobs
from icrl.experiment.run.one_run import require_same_settings
from icrl.experiment.suite.sweep_objective import how_far, judge_by_truth, judge_without_truth
from icrl.experiment.suite.sweep_shortlist import Shortlist, planned
from icrl.experiment.suite.sweep_space import Space
from icrl.experiment.suite.sweep_study import MAKING, ask_for, open_study, require_optuna, worth
from icrl.experiment.suite.sweep_table import SWEEP
from icrl.experiment.suite.sweep_turns import DrawnTurns, Turns, WaitingTurns
from icrl.files import make_folder
from icrl.json_files import read_json, to_json, write_json
from icrl.rounds import num_rounds
from icrl.tasks.task import Scenario
from icrl.trajectories import select

TRUTH = "truth"
NO_TRUTH = "no-truth"
_TRAIN = "demos-train.npz"
_HELD_OUT = "demos-held-out.npz"
_HELD_OUT_SHARE = 0.2
_FOLDER = "folder"
"""A trial is tried again under another number;
this remembers the number whose folder holds its runs.
"""

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What is swept, and how."""

    spec: RunSpec
    """Of every run but for its seed, settings and demonstrations."""
    space: Space
    scenario: Scenario
    directory: Path
    trials: int
    seeds: int
    jobs: int
    objective: str
    """`no-truth` or `truth`."""
    engine: Engine = run_jobs
    """Where runs run."""
    first_seed: int = 0
    """Of the runs of a trial: first_seed, first_seed + 1, ..."""
    prune: bool = True
    """End trials that are behind most others, half-way."""
    again: Shortlist | None = None
    """Tried after the settings as they stand, and then nothing is drawn; None: trials are drawn."""


def run_sweep(sweep: Sweep, demos: Demonstrations, say: Say) -> Any:
    """Make trials until as many are done as are wanted; returns the study."""
    # Asked for before anything is written.
    require_optuna()
    make_folder(sweep.directory)
    _remember(sweep)
    _split_demos(sweep.directory, demos)
    study = open_study(sweep.directory, sweep.spec.seed)
    _begin_with_what_is_planned(sweep, study, say)
    stopping = threading.Event()
    turns: Turns = DrawnTurns(study, sweep.trials, stopping)
    if sweep.again is not None:
        turns = WaitingTurns(study, sweep.directory, stopping)

    def attempt(trial: Any) -> float:
        turns.begun()
        try:
            return _try(sweep, trial, stopping)
        except KeyboardInterrupt:
            # not the trial's fault: it is the first to be tried when the sweep goes on
            study.enqueue_trial(trial.params, user_attrs=trial.user_attrs)
            raise

    def tell(_: Any, trial: Any) -> None:
        say(_told(trial))

    def work() -> None:
        while turns.take():
            try:
                study.optimize(attempt, n_trials=1, callbacks=[tell])
            finally:
                turns.leave()

    _in_threads(work, sweep.jobs, stopping)
    return study


def _in_threads(work: Callable[[], None], count: int, stopping: threading.Event) -> None:
    """Do the same in so many threads; where one fails, or all are stopped, the others are told."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # handed to the main thread, which raises it
            errors.append(error)
            stopping.set()

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                # Not for ever: a main thread that waits in a join hears no Ctrl-C.
                thread.join(0.2)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


def _told(trial: Any) -> str:
    """What came of a trial, in a line."""
    found = worth(trial)
    value = "pruned"
    if found is not None:
        value = f"{found:.4f}"
    reason = trial.user_attrs.get("error")
    if reason is not None:
        value = f"failed: {reason}"
    return f"trial {trial.number}: {value}  {trial.params}"


def best_config(sweep: Sweep, study: Any) -> LearnConfig:
    """The settings of the best trial."""
    from optuna.trial import FixedTrial

    best = FixedTrial(study.best_trial.params)
    values = {dimension.name: dimension.suggest(best) for dimension in sweep.space.dimensions}
    return sweep.space.config_of(sweep.spec.config, values)


def trial_runs(sweep: Sweep, number: int) -> dict[int, Path]:
    """The run directories of a trial, by seed."""
    seeds = range(sweep.first_seed, sweep.first_seed + sweep.seeds)
    return {seed: sweep.directory / f"trial-{number:04d}" / f"seed-{seed}" for seed in seeds}


def _remember(sweep: Sweep) -> None:
    """What the sweep is; one that goes on must be the same."""
    again = None
    if sweep.again is not None:
        again = sweep.again.sweep
    kept = to_json(
        {
            "task": sweep.spec.task,
            "method": sweep.spec.method,
            "preset": sweep.spec.preset,
            "seeds": sweep.seeds,
            "first_seed": sweep.first_seed,
            "objective": sweep.objective,
            "prune": sweep.prune,
            "dimensions": [d._asdict() for d in sweep.space.dimensions],
            "fixed": sweep.space.fixed,
            "again": again,
        }
    )
    path = sweep.directory / SWEEP
    if path.exists():
        # older sweeps do not say these
        before = {"first_seed": 0, "prune": True, "again": None} | read_json(path)
        changed = [name for name in kept if before.get(name) != kept[name]]
        if changed:
            raise InputError(
                f"{sweep.directory} holds another sweep (it differs in {', '.join(changed)}): "
                "nothing was overwritten. Choose another --out, or give the same arguments to go "
                "on with it."
            )
    write_json(path, kept)


def _begin_with_what_is_planned(sweep: Sweep, study: Any, say: Say) -> None:
    """The first trial of a fresh study has the swept settings as they stand: what is chosen in the
    end was compared with them. Not where the space leaves one of them out."""
    base = sweep.spec.config
    held = sweep.space.holding(base)
    missing = [each for each in sweep.space.dimensions if held[each.name] is None]
    # Of two processes that begin at once, one.
    with FileLock(sweep.directory / MAKING):
        fresh = not study.get_trials(deepcopy=False)
        if fresh and missing:
            named = ", ".join(f"{each.name} = {_written(each.value_of(base))}" for each in missing)
            say(
                f"The settings as they stand (preset {sweep.spec.preset}) are no trial: {named} "
                "is not in the space. Add it there to see what they are worth."
            )
        # Where nothing is drawn, what is planned is all there is: one that goes on may have been
        # killed before all of it was asked for.
        if fresh or sweep.again is not None:
            ask_for(study, planned(sweep.space, base, sweep.again))


def _written(value: Any) -> Any:
    """A setting as a file of settings has it."""
    if value is None:
        return NONE
    return to_json(value)


def _split_demos(directory: Path, demos: Demonstrations) -> None:
    """A fifth of the episodes is kept from all trials, to judge them by; a single episode cannot be
    spared."""
    if (directory / _HELD_OUT).exists():
        return
    count = demos.trajectories.num_trajectories
    held = np.zeros(count, np.bool_)
    spared = max(1, round(_HELD_OUT_SHARE * count))
    # Always the same: trials of one sweep must be judged by the same demonstrations.
    held[np.random.default_rng(0).permutation(count)[:spared]] = True
    train = demos
    # A single demonstration is both taught and asked about; its share of allowed steps then says
    # little, but all other parts still count.
    if count > 1:
        train = replace(demos, trajectories=select(demos.trajectories, ~held))
    save_demos(train, directory / _TRAIN)
    save_demos(replace(demos, trajectories=select(demos.trajectories, held)), directory / _HELD_OUT)


def _try(sweep: Sweep, trial: Any, stopping: threading.Event) -> float:
    """One trial: its runs, and what they are worth."""
    import optuna

    try:
        values = {dimension.name: dimension.suggest(trial) for dimension in sweep.space.dimensions}
        config = sweep.space.config_of(sweep.spec.config, values)
        rounds = num_rounds(sweep.scenario.task, config)
        if config.scouts == 0:
            check_limits(config.backward, config.num_samples, sweep.scenario.task.horizon)
    except InputError as error:
        # settings that do not fit together: no more is to be learned from them
        trial.set_user_attr("error", str(error))
        raise optuna.TrialPruned(str(error)) from error
    by_seed = trial_runs(sweep, trial.number)
    runs = list(by_seed.values())
    held_out = load_demos(sweep.directory / _HELD_OUT)
    expert_return = None
    if held_out.has_rewards:
        expert_return = float(held_out.trajectories.returns.mean())
    watcher = _Watcher(trial, runs, rounds, expert_return, stopping, prune=sweep.prune)
    # Trials learn from the part that is not held out, which lies in the sweep's own folder in the
    # form of ours: the columns that were named are those of the user's table.
    shared = replace(sweep.spec, config=config, demos=str(sweep.directory / _TRAIN), columns=None)
    specs = [replace(shared, seed=seed) for seed in by_seed]
    _take_over(sweep, trial, specs)
    trial.set_user_attr(_FOLDER, trial.number)
    make_folder(runs[0].parent)
    jobs = [
        _job(spec, run)
        for spec, run in zip(specs, runs, strict=True)
        if not RunDirectory(run).finished
    ]
    sweep.engine(jobs, 1, watcher)
    if watcher.failed is not None:
        trial.set_user_attr("error", watcher.failed)
        raise optuna.TrialPruned(watcher.failed)
    if sweep.objective == TRUTH:
        trial.set_user_attr("judged_by", "the truth, which no user has")
        return judge_by_truth(runs)
    parts = judge_without_truth(runs, held_out)
    for name, value in parts._asdict().items():
        trial.set_user_attr(name, value)
    return parts.value


def _take_over(sweep: Sweep, trial: Any, specs: list[RunSpec]) -> None:
    """Where the trial was begun under another number, move its runs here, so that they go on.

    Not where somebody still writes them, or where their settings are no longer asked for.
    """
    number = trial.user_attrs.get(_FOLDER)
    if number is None:
        return
    runs = list(trial_runs(sweep, number).values())
    try:
        for spec, run in zip(specs, runs, strict=True):
            require_unlocked(run)
            require_same_settings(RunDirectory(run), spec)
    except InputError:
        return
    if runs[0].parent.exists():
        here = next(iter(trial_runs(sweep, trial.number).values()))
        # Moved, not copied: two trials must not go on with the same runs.
        runs[0].parent.rename(here.parent)


def _job(spec: RunSpec, run: Path) -> Job:
    message = json.dumps(to_json(spec))
    return Job(
        run.name,
        "icrl.experiment.engine.worker",
        (str(run),),
        message,
        run.with_suffix(".err"),
        directory=run,
    )


class _Watcher:
    """Tells Optuna how a trial gets on, and ends it where that is hopeless or the sweep is to
    stop."""

    def __init__(
        self,
        trial: Any,
        runs: list[Path],
        rounds: int,
        expert_return: float | None,
        stopping: threading.Event,
        *,
        prune: bool = True,
    ) -> None:
        self.trial = trial
        self.runs = runs
        self.rounds = rounds
        self.expert_return = expert_return
        self.stopping = stopping
        self.prune = prune
        self.reported = 0
        self.failed: str | None = None

    def started(self, job: Job, process_id: int) -> None:
        """Nothing."""

    def ended(self, job: Job, exit_code: int) -> None:
        """Remember what a run that failed said last."""
        if exit_code != 0:
            lines = job.errors.read_text().strip().splitlines() or [f"exit code {exit_code}"]
            self.failed = lines[-1]

    def waiting(self) -> None:
        """Report the rounds that are new."""
        import optuna

        if self.stopping.is_set():
            raise KeyboardInterrupt
        lines = [
            (i, line) for i, run in enumerate(self.runs) for line in RunDirectory(run).metrics()
        ]
        for seed, line in lines[self.reported :]:
            step = seed * self.rounds + int(line["round"])
            self.trial.report(how_far(line, self.expert_return), step)
            self.reported += 1
            # In the first half of a run agents only scout: nothing is hopeless yet.
            if self.prune and step >= self.rounds // 2 and self.trial.should_prune():
                raise optuna.TrialPruned
