"""`icrl bench growth`: what a run costs as it gets larger, one size at a time.

CPU seconds, not wall seconds: what grows how can be read on a busy machine too. Every point is
measured in a process of its own, which also tells its peak memory. Data are made up: HalfCheetah's
columns, episodes of 1,000 steps.
"""

import multiprocessing as mp
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icrl.errors import InputError
from icrl.experiment.bench.meters import Setting, make_meter
from icrl.experiment.bench.whole_run import peak_megabytes
from icrl.runtime import configure_jax, configure_numpy
from icrl.types import Trajectories

TASK = "half-cheetah-wall"
_HORIZON = 1000
_SECONDS = 3.0
"""CPU seconds of training per point."""
_SHOWN = 20
"""Episodes of made-up demonstrations where something else grows."""


class Point(NamedTuple):
    """One size of one thing."""

    size: int
    cpu_seconds: float
    megabytes: float


class Growing(NamedTuple):
    """Something that grows, and what is measured of it."""

    what: str
    unit: str
    sizes: tuple[int, ...]
    measure: Callable[[int], float]
    """Size -> CPU seconds."""


def _training(setting: Setting) -> float:
    """Per environment step, once everything is compiled."""
    meter = make_meter("terminate", setting)
    # Compiled by then, and the normalisers have seen something.
    for _ in range(3):
        meter()
    began = time.process_time()
    steps = 0
    while time.process_time() - began < _SECONDS:
        steps += meter()
    return (time.process_time() - began) / steps


def _environments(size: int) -> float:
    return _training(Setting(task=TASK, num_envs=size))


def _width(size: int) -> float:
    return _training(Setting(task=TASK, width=size))


def _demonstrations(size: int) -> float:
    """They are read, checked, and put on the axes of the search."""
    from icrl.demos.check import describe
    from icrl.demos.fitting import fit_and_check
    from icrl.demos.formats import load_demos
    from icrl.search.question import values_of
    from icrl.tasks.cheetah import half_cheetah_wall

    task = half_cheetah_wall().task
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demos.npz"
        made_up_file(path, max(1, size // _HORIZON))
        began = time.process_time()
        demos = fit_and_check(load_demos(path), task)
        describe(demos, task)
        values_of(_axes(18), demos.trajectories, discrete=False)
    return time.process_time() - began


def _evidence(size: int) -> float:
    return _search(num_features=18, episodes=max(2, size // _HORIZON))


def _features(size: int) -> float:
    return _search(num_features=size, episodes=30)


GROWING = (
    Growing("environments", "CPU seconds per step", (16, 64, 256, 1024), _environments),
    Growing("hidden units", "CPU seconds per step", (32, 64, 128, 256), _width),
    Growing(
        "steps of demonstrations",
        "CPU seconds to read and check",
        (10**3, 10**4, 10**5, 10**6, 10**7),
        _demonstrations,
    ),
    Growing("features", "CPU seconds of a search", (4, 8, 16, 32, 64), _features),
    Growing(
        "steps of evidence",
        "CPU seconds of a search",
        (3 * 10**3, 10**4, 3 * 10**4, 10**5, 10**6),
        _evidence,
    ),
)


def _axes(num_features: int) -> Any:
    from icrl.search.axes import make_axes

    names = tuple(f"f{number}" for number in range(num_features))
    return make_axes(names, (), False, False, None)


def made_up_file(path: Path, episodes: int) -> None:
    """Demonstrations of HalfCheetah that nobody made; written in pieces, so that what is measured
    is not the making."""
    rng = np.random.default_rng(0)
    shape = (episodes, _HORIZON)
    observations = np.empty((*shape, 18), np.float32)
    actions = np.empty((*shape, 6), np.float32)
    for episode in range(episodes):
        observations[episode] = rng.standard_normal((_HORIZON, 18), np.float32)
        actions[episode] = rng.uniform(-1, 1, (_HORIZON, 6))
    rewards = rng.standard_normal(shape, np.float32)
    lengths = np.full(episodes, _HORIZON)
    np.savez(path, observations=observations, actions=actions, rewards=rewards, lengths=lengths)


def _search(num_features: int, episodes: int) -> float:
    """One search for a rule; agents are not asked: what that takes is physics."""
    from icrl.search.choose import find_rule
    from icrl.search.question import values_of
    from icrl.search.rule import Problem

    rng = np.random.default_rng(0)
    axes = _axes(num_features)
    shown = values_of(axes, _walks(rng, _SHOWN, num_features, 0.0), discrete=False)
    evidence = _walks(rng, episodes, num_features, 3.0)
    began = time.process_time()
    problem = Problem(
        axes=axes,
        shown=shown,
        done=values_of(axes, evidence, discrete=False),
        weights=np.full(episodes, 1.0 / episodes),
        # A view: one row stands for all.
        paid=np.broadcast_to(np.linspace(0.0, 2.0, _HORIZON), (episodes, _HORIZON)),
        strength=1.0,
    )
    find_rule(problem)
    return time.process_time() - began


def _walks(rng: np.random.Generator, number: int, width: int, drift: float) -> Trajectories:
    """Smooth random walks; with a drift along the first feature, where no other goes."""
    steps = rng.standard_normal((number, _HORIZON, width), np.float32)
    walks = np.cumsum(steps, axis=1) / np.float32(np.sqrt(_HORIZON))
    # Demonstrations on one side of 0, evidence on the other: there is a rule to be found.
    walks[..., 0] = np.abs(walks[..., 0])
    if drift:
        walks[..., 0] = -walks[..., 0] - np.float32(drift) * np.linspace(0, 1, _HORIZON)
    return Trajectories(
        observations=walks,
        actions=np.zeros((number, _HORIZON, 0), np.float32),
        rewards=np.ones((number, _HORIZON), np.float32),
        lengths=np.full(number, _HORIZON),
    )


def measure_growth(largest: int | None = None) -> dict[str, list[Point]]:
    """All that grows; `largest`: no size beyond this is tried."""
    found: dict[str, list[Point]] = {}
    for one in GROWING:
        sizes = [size for size in one.sizes if largest is None or size <= largest]
        found[one.what] = [measure_point(one.what, size) for size in sizes]
    return found


def exponent(points: list[Point]) -> float:
    """b of cost ~ size^b between the two largest sizes: 1 is linear, 0 free."""
    if len(points) < 2:
        return float("nan")
    # The two largest: at small sizes what is constant hides what grows.
    small, large = points[-2:]
    ratio = max(large.cpu_seconds, 1e-9) / max(small.cpu_seconds, 1e-9)
    return float(np.log(ratio) / np.log(large.size / small.size))


def measure_point(what: str, size: int) -> Point:
    """One size of one thing, in a fresh process."""
    number = [one.what for one in GROWING].index(what)
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(number, size, theirs))
    process.start()
    # The child's end must be the only one left: else its death is never the end of the pipe.
    theirs.close()
    try:
        return Point(*ours.recv())
    except EOFError:
        process.join()
        raise InputError(
            f"the measurement of {size} {GROWING[number].what} ended without an answer (exit code "
            f"{process.exitcode})."
        ) from None
    finally:
        process.terminate()
        process.join()


def _child(number: int, size: int, answers: Any) -> None:
    os.environ["ICRL_THREADS"] = "1"
    configure_numpy()
    configure_jax()
    seconds = GROWING[number].measure(size)
    answers.send((size, seconds, peak_megabytes()))
