"""`icrl bench run`: a whole run from the start of its process to its page, by phase,
beside the physics alone in the minutes before and after."""

import contextlib
import multiprocessing as mp
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from icrl.errors import InputError
from icrl.experiment.bench.meters import Setting, has_physics
from icrl.experiment.bench.throughput import Result, load_warning, machine_facts, run_setting
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.spans import PHASES, seconds_taken

Learn = Callable[[list[str]], None]
"""`icrl learn` with these words after it."""
_CACHE = "JAX_COMPILATION_CACHE_DIR"


class WholeRun(NamedTuple):
    """What one run took."""

    steps: int
    wall: float
    """Seconds from the start of its process."""
    cpu: float
    """CPU seconds of its process."""
    phases: dict[str, float]
    """Wall seconds by phase; they add up to `wall`."""
    peak_megabytes: float = 0.0
    """Largest resident memory of its process."""


class Alone(NamedTuple):
    """The physics without anything else."""

    steps_per_second: float
    steps_per_cpu_second: float


class WholeRuns(NamedTuple):
    """Runs side by side, and the physics before and after them."""

    runs: list[WholeRun]
    before: Alone
    after: Alone

    @property
    def share(self) -> float:
        """Steps per second of the whole runs, over those of the physics alone."""
        # Rates add up, for the runs were made side by side.
        rate = sum(run.steps / run.wall for run in self.runs)
        return rate / mean([self.before.steps_per_second, self.after.steps_per_second])

    @property
    def share_by_cpu(self) -> float:
        """The same per CPU second, which neighbours on the machine disturb less."""
        rate = sum(run.steps for run in self.runs) / sum(run.cpu for run in self.runs)
        return rate / mean([self.before.steps_per_cpu_second, self.after.steps_per_cpu_second])

    @property
    def phases(self) -> dict[str, float]:
        """Mean seconds by phase."""
        return {name: mean([run.phases[name] for run in self.runs]) for name in PHASES}


def measure_runs(
    learn: Learn, task: str, words: Sequence[str], processes: int, threads: int, seconds: float
) -> WholeRuns:
    """The physics for some seconds, whole runs of seeds 0, 1, ... side by side,
    the physics again."""
    before = _alone(task, processes, threads, seconds)
    with tempfile.TemporaryDirectory() as folder:
        runs = _runs(learn, task, words, Path(folder), processes, threads)
    return WholeRuns(runs, before, _alone(task, processes, threads, seconds))


@contextlib.contextmanager
def cold_cache() -> Iterator[None]:
    """As on the first day: nothing that was compiled is kept from earlier processes."""
    kept = os.environ.get(_CACHE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[_CACHE] = folder
        try:
            yield
        finally:
            del os.environ[_CACHE]
            if kept is not None:
                os.environ[_CACHE] = kept


def as_json(measured: WholeRuns) -> dict[str, Any]:
    """All that was measured, as plain JSON values."""
    return {
        "share_of_physics_alone": measured.share,
        "share_of_physics_alone_by_cpu": measured.share_by_cpu,
        "seconds_by_phase": measured.phases,
        "physics_alone": {
            "before": measured.before._asdict(),
            "after": measured.after._asdict(),
        },
        "runs": [run._asdict() for run in measured.runs],
    }


def facts_before() -> dict[str, Any]:
    """The machine, and what is wrong with measuring now."""
    facts = machine_facts()
    return {"machine": facts, "warning": load_warning(facts)}


def _alone(task: str, processes: int, threads: int, seconds: float) -> Alone:
    name = "world"
    if has_physics(task):
        name = "raw"
    setting = Setting(
        task=task, processes=processes, threads=threads, meters=(name,), seconds=seconds
    )
    found: Result = run_setting(setting)[name]
    return Alone(
        found.steps_per_second, found.steps_per_second / max(processes * found.cpu_share, 1e-9)
    )


def _runs(
    learn: Learn, task: str, words: Sequence[str], folder: Path, processes: int, threads: int
) -> list[WholeRun]:
    """In fresh processes, all at once."""
    context = mp.get_context("spawn")
    started = []
    for seed in range(processes):
        directory = folder / str(seed)
        arguments = [task, *words, "--seed", str(seed), "--out", str(directory)]
        ours, theirs = context.Pipe()
        process = context.Process(target=_child, args=(learn, arguments, threads, theirs))
        began = time.perf_counter()
        process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        started.append((process, ours, began, directory))
    found: list[WholeRun] = []
    try:
        while len(found) < processes:
            waiting = [one for one in started if not one[1].closed]
            ready = mp.connection.wait([ours for _, ours, _, _ in waiting])
            for process, ours, began, directory in waiting:
                if ours in ready:
                    found.append(_heard(process, ours, began, directory))
    finally:
        for process, _, _, _ in started:
            process.terminate()
            process.join()
    return found


def _heard(process: Any, answers: Any, began: float, directory: Path) -> WholeRun:
    """What a run took, once it is over."""
    try:
        last, cpu, peak = answers.recv()
    except EOFError:
        process.join()
        raise InputError(
            f"a run of the benchmark ended without an answer (exit code {process.exitcode})."
        ) from None
    wall = time.perf_counter() - began
    answers.close()
    run = RunDirectory(directory)
    rounds = run.metrics()
    # rounds tell their own time; what came after the last one was told just now
    phases = {name: last[name] + sum(row[f"time/{name}"] for row in rounds) for name in PHASES}
    phases["other"] += wall - sum(phases.values())  # the interpreter, and before the run began
    return WholeRun(run.scores()["steps"], wall, cpu, phases, peak)


def peak_megabytes() -> float:
    """Largest resident memory of this process so far; NaN where the system does not say."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return float("nan")


def _child(learn: Learn, arguments: list[str], threads: int, answers: Any) -> None:
    """In a fresh process: the run, with nobody to watch it."""
    os.environ["ICRL_THREADS"] = str(threads)
    with open(os.devnull, "w") as nobody, contextlib.redirect_stdout(nobody):
        learn(arguments)
    answers.send((seconds_taken(), time.process_time(), peak_megabytes()))
