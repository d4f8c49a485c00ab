"""`icrl bench throughput`: training speed as a share of the physics' own,
on one machine in one run.

Meters take turns in slices of time, so that a drifting clock or a noisy neighbour hits all of them;
a ratio is the median over the turns of (meter / raw). Every setting runs in fresh processes; side
by side means between barriers.
"""

import multiprocessing as mp
import os
import platform
import queue
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Protocol

from icrl.errors import InputError
from icrl.experiment.bench.meters import Meter, Setting, make_meter
from icrl.json_files import to_json
from icrl.runtime import configure_jax
from icrl.versions import library_versions

BUDGETS = {
    ("half-cheetah-wall", 1, 2): 0.45,
    ("half-cheetah-wall", 2, 1): 0.60,
    ("ant-wall", 1, 2): 0.65,
    ("ant-wall", 2, 1): 0.80,
}
"""(task, processes, threads) -> least ratio of training to raw physics on two quiet cores."""
PEERS = ("sb3-subproc", "sb3-dummy", "ours")
"""In this order: the peer's processes are forked before JAX has threads."""
LARGEST_WAIT = 600.0
"""Seconds that a process waits at a barrier before it gives up."""
QUIET_LOAD = 0.5
"""Load average (runnable processes) above which timings are noise."""


class Turn(NamedTuple):
    """One slice of one meter in one process."""

    steps_per_second: float
    cpu_share: float
    """CPU seconds over wall seconds: well below the number of threads
    when others hold the cores."""


class Result(NamedTuple):
    """One meter of one setting; the rates of processes side by side are added up."""

    steps_per_second: float
    """Median over the turns."""
    ratio_to_raw: float | None
    """Median over the turns of this rate over the raw one of the same turn;
    None where there is no raw meter."""
    cpu_share: float
    """Median, per process."""
    rates: list[float]


class Waits(Protocol):
    """A barrier."""

    def wait(self, timeout: float | None = None) -> int:
        """Until all have come."""


def throughput_settings(tasks: Sequence[str], seconds: float, peers: bool) -> list[Setting]:
    """All rows of the table: threads and processes, then environments, then width;
    lap-grid; the peers."""
    rows: list[Setting] = []
    for task in tasks:
        base = Setting(task=task, seconds=seconds)
        rows += [base, replace(base, threads=2), replace(base, processes=2)]
        slim = replace(base, meters=("raw", "terminate"))
        rows += [replace(slim, num_envs=count) for count in (16, 256)]
        rows += [replace(slim, width=width) for width in (128, 256)]
    rows.append(
        Setting(task="lap-grid", seconds=seconds, meters=("rollout", "terminate", "lagrangian"))
    )
    if peers:
        peer = Setting(task="half-cheetah-wall", seconds=seconds, rounds=3, meters=PEERS)
        rows += [peer, replace(peer, threads=2)]
    return rows


def measure(setting: Setting, barrier: Waits | None = None) -> dict[str, list[Turn]]:
    """Warm every meter up (compilation), then let them take turns;
    one process's share of the setting."""
    meters = {name: make_meter(name, setting) for name in setting.meters}
    for meter in meters.values():
        for _ in range(2):
            meter()
    turns: dict[str, list[Turn]] = {name: [] for name in meters}
    for _ in range(setting.rounds):
        for name, meter in meters.items():
            if barrier is not None:
                barrier.wait(LARGEST_WAIT)
            turns[name].append(take_turn(meter, setting.seconds / setting.rounds))
    return turns


def take_turn(meter: Meter, seconds: float) -> Turn:
    """Whole chunks until the time is up, one at least."""
    wall = time.perf_counter()
    cpu = time.process_time()
    steps = 0
    while steps == 0 or time.perf_counter() - wall < seconds:
        steps += meter()
    elapsed = time.perf_counter() - wall
    return Turn(steps / elapsed, (time.process_time() - cpu) / elapsed)


def combine(processes: Sequence[dict[str, list[Turn]]]) -> dict[str, Result]:
    """Rates of processes side by side add up; ratios are taken turn by turn."""
    rates = {
        name: [
            sum(turn.steps_per_second for turn in turns)
            for turns in zip(*(p[name] for p in processes), strict=True)
        ]
        for name in processes[0]
    }
    results: dict[str, Result] = {}
    for name, own in rates.items():
        raw = rates.get("raw")
        ratio = None
        if raw is not None:
            # Turn by turn: a clock that drifts, or a neighbour, hits both of a turn alike.
            ratio = median(mine / limit for mine, limit in zip(own, raw, strict=True))
        share = median(turn.cpu_share for process in processes for turn in process[name])
        results[name] = Result(median(own), ratio, share, own)
    return results


def run_setting(setting: Setting) -> dict[str, Result]:
    """Measure a setting in fresh processes, side by side when there are several."""
    context = mp.get_context("spawn")
    barrier = context.Barrier(setting.processes)
    answers = context.Queue()
    workers = [
        context.Process(target=_work, args=(setting, barrier, answers))
        for _ in range(setting.processes)
    ]
    for worker in workers:
        worker.start()
    try:
        return combine([_answer(answers, workers) for _ in workers])
    finally:
        for worker in workers:
            worker.join(5.0)  # time to end what it started itself
            worker.terminate()
            worker.join()


def as_json(setting: Setting, results: dict[str, Result]) -> dict[str, Any]:
    """A setting and what was measured, as plain JSON values."""
    return {
        **to_json(setting),
        "results": {name: result._asdict() for name, result in results.items()},
    }


def machine_facts() -> dict[str, Any]:
    """What the timings depend on."""
    names = [
        line.split(":", 1)[1].strip()
        for line in _lines("/proc/cpuinfo")
        if line.startswith("model name")
    ]
    return {
        "system": platform.platform(terse=True),
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "versions": library_versions(),
    }


def load_warning(facts: dict[str, Any]) -> str | None:
    """What is wrong with measuring now, if anything."""
    load = float(facts["load_average"][0])
    if load <= QUIET_LOAD:
        return None
    return (
        f"the load average is {load:.2f} on {facts['cores']} cores before the first measurement: "
        "other programs are running, so rates mean little and ratios not much more. Measure on a "
        "quiet machine."
    )


def _lines(path: str) -> list[str]:
    if Path(path).exists():
        return Path(path).read_text().splitlines()
    return []


def _answer(answers: Any, workers: Sequence[Any]) -> dict[str, list[Turn]]:
    """The next process's measurements; a process that died or failed is an error,
    not a wait for ever."""
    while True:
        try:
            answer = answers.get(timeout=1.0)
        except queue.Empty:
            if any(worker.exitcode not in (None, 0) for worker in workers):
                codes = [worker.exitcode for worker in workers]
                raise InputError(
                    f"a benchmark process ended without an answer (exit codes {codes})."
                ) from None
            continue
        if isinstance(answer, str):
            raise InputError(answer)
        return {name: [Turn(*turn) for turn in turns] for name, turns in answer.items()}


def _work(setting: Setting, barrier: Any, answers: Any) -> None:
    """In a fresh process: flags first, then everything heavy."""
    os.environ["ICRL_THREADS"] = str(setting.threads)
    configure_jax()
    try:
        turns = measure(setting, barrier)
    except InputError as error:
        answers.put(str(error))
        return
    answers.put({name: [tuple(turn) for turn in own] for name, own in turns.items()})
