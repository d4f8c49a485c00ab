"""`icrl bench page`: how long the report of a whole suite takes, and how large its page is.

Real suites take hours, so its runs may be stand-ins: one short real run of every method, and
copies of them under other seeds. What a report reads depends on how many rounds a run has and how
many pairs it kept, not on how many steps it made: these have as many rounds as the preset's, of
few steps each, and keep as many pairs.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from icrl.constraint.learned import load_constraint
from icrl.errors import InputError
from icrl.experiment.directory.run_directory import CONFIG, CONSTRAINT, SCORES
from icrl.json_files import read_json, write_json
from icrl.methods.icrl import ICRL
from icrl.methods.registry import METHODS, preset
from icrl.versions import PACKAGE

MOST_SECONDS = 20.0
"""For the report of a suite of 30 runs: the budget."""
MOST_MEGABYTES = 8.0
"""For its page."""


class Measured(NamedTuple):
    """One report."""

    wall: float
    """Seconds from the start of its process."""
    cpu: float
    """CPU seconds of its process."""
    megabytes: float
    """Of its page."""


def stand_ins(
    task: str, horizon: int, runs: int, folder: Path, words: Sequence[str] = ()
) -> tuple[Path, int]:
    """A folder of so many runs, and how many of them were made: the others are copies.

    `words` are given to every `icrl learn`.
    """
    made = [
        _make(method, name, task, horizon, folder / "made", words)
        for method, name in list(_methods())[:runs]
    ]
    suite = folder / "suite"
    for number in range(runs):
        source = made[number % len(made)]
        seed = number // len(made)
        copy_under_seed(source, suite / f"{source.name}-seed{seed}", seed)
    return suite, len(made)


def copy_under_seed(source: Path, target: Path, seed: int) -> None:
    """The run once more, as if it had been made with another seed."""
    shutil.copytree(source, target)
    for name in (CONFIG, SCORES):
        write_json(target / name, {**read_json(target / name), "seed": seed})
    # A report refuses a constraint that says it is of another run.
    constraint = load_constraint(target / CONSTRAINT)
    constraint.with_card({**constraint.card, "seed": seed}).save(target / CONSTRAINT)


def measure_report(directories: Iterable[Path], out: Path) -> Measured:
    """`icrl report` in a process of its own, as a user starts it."""
    before = os.times()
    began = time.perf_counter()
    _icrl(["report", *map(str, directories), "--out", str(out)])
    wall = time.perf_counter() - began
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Measured(wall, cpu, (out / "index.html").stat().st_size / 1e6)


def as_json(measured: Measured) -> dict[str, Any]:
    """What was measured, beside its budget."""
    return {
        "wall_seconds": measured.wall,
        "cpu_seconds": measured.cpu,
        "page_megabytes": measured.megabytes,
        "budget": {"seconds": MOST_SECONDS, "page_megabytes": MOST_MEGABYTES},
    }


def _methods() -> Iterable[tuple[str, str]]:
    """Methods and presets that a suite compares."""
    yield ICRL.name, "default"
    yield ICRL.name, "paper"
    for method in METHODS.values():
        if method.sweepable and method.name != ICRL.name:
            yield method.name, "default"


def _make(
    method: str, name: str, task: str, horizon: int, folder: Path, words: Sequence[str]
) -> Path:
    config = preset(name, task, method)
    # One update of the policy a round; samples as the preset has them, whose KL limits need them.
    batch = config.forward.num_envs * config.forward.rollout_steps
    sampled = config.num_samples * horizon
    rounds = max(1, config.steps // (config.forward.steps + sampled))
    out = folder / f"{method}-{name}"
    arguments = ["learn", task, "--method", method, "--preset", name, "--out", str(out)]
    arguments += ["--steps", str(rounds * (batch + sampled)), "--forward.steps", str(batch)]
    _icrl([*arguments, *words])
    return out


def _icrl(arguments: list[str]) -> None:
    # A process of its own, as a user starts it: imports count, and nothing is left in memory from
    # the runs that were made just before.
    done = subprocess.run(
        [sys.executable, "-m", PACKAGE, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise InputError(
            f"icrl {arguments[0]} of the benchmark ended with {done.returncode}: "
            f"{done.stderr.strip()[-500:]}"
        )
