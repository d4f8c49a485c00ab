"""`EnvBundle`: some environments of a user's, stepped one after another,
in this process or in one of their own."""

import os
import pickle
import select
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from icrl.errors import InputError
from icrl.interrupts import before_leaving
from icrl.tasks.answers import called, first_observation, step_result
from icrl.tasks.factories import RGB, Env, EnvFactory, blamed
from icrl.tasks.patience import too_long, within
from icrl.types import AnyArray, BoolArray, FloatArray

_PATIENCE_SECONDS = 5.0
"""How long a process may take to end after its pipe was closed."""
_START_SECONDS = 60.0
"""How long a process may take to start: on a busy machine, importing alone takes seconds."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Stepped(NamedTuple):
    """One step of k environments."""

    observations: FloatArray
    """[k, o]"""
    rewards: FloatArray
    """[k]"""
    terminated: BoolArray
    """[k]"""
    truncated: BoolArray
    """[k]: as the environment itself says"""


class EnvBundle:
    """k environments made by one factory.

    An observation that is one of n states becomes a one-hot row.
    """

    def __init__(self, factory: EnvFactory, count: int, render_mode: str | None = None) -> None:
        self.envs: list[Env] = [factory(render_mode) for _ in range(count)]
        # A factory that returns one environment again and again would mix episodes without an
        # error.
        if len({id(env) for env in self.envs}) < count:
            raise InputError(
                "the function returned the same environment twice: let it make a new one at every "
                "call."
            )
        self.seeds: list[int | None] = [None] * count
        """The seed of each environment's episode."""
        self.counts = [0] * count
        """Steps of each environment's episode, with the one that is being made."""
        self.current = 0
        """The environment that was called last."""

    def reset(self, indices: Sequence[int], seeds: Sequence[int]) -> FloatArray:
        """Start episodes: the first observations [len(indices), o]."""
        rows = []
        for index, seed in zip(indices, seeds, strict=True):
            env = self.envs[index]
            self.current = index
            self.seeds[index] = int(seed)
            self.counts[index] = 0
            try:
                with blamed(f"reset(seed={seed}) of {called(env)}"):
                    answer = env.reset(seed=int(seed))
                rows.append(first_observation(env, answer))
            except InputError as error:
                raise InputError(f"{error} ({self.where()})") from error
        return np.stack(rows)

    def step(self, actions: AnyArray) -> Stepped:
        """Step all with actions [k, a] or [k], inside the space."""
        rows: list[FloatArray] = []
        rewards: list[float] = []
        terminated: list[bool] = []
        truncated: list[bool] = []
        for index, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            self.current = index
            self.counts[index] += 1
            # As Gymnasium documents them: a choice is an int (some environments look it up in a
            # dict), numbers have the space's own type.
            if action.ndim == 0:
                given = int(action)
            else:
                given = action.astype(env.action_space.dtype)
            try:
                with blamed(f"step({given}) of {called(env)}"):
                    answer = env.step(given)
                row, reward, ended, cut = step_result(env, answer)
            except InputError as error:
                raise InputError(f"{error} ({self.where()})") from error
            rows.append(row)
            rewards.append(reward)
            terminated.append(ended)
            truncated.append(cut)
        return Stepped(
            np.stack(rows), np.asarray(rewards), np.asarray(terminated), np.asarray(truncated)
        )

    def where(self) -> str:
        """The episode and the step at which the environment that was called last is."""
        count = self.counts[self.current]
        if count:
            at = f"at step {count}"
        else:
            at = "at its start"
        name = called(self.envs[self.current])
        seed = self.seeds[self.current]
        return f"{name}, the episode of seed {seed}, {at}"

    def render(self, index: int) -> AnyArray:
        """One environment as an RGB image."""
        env = self.envs[index]
        if env.render_mode != RGB:
            raise InputError(
                f"{called(env)} cannot be pictured: its render_mode is {env.render_mode!r}, "
                "expected 'rgb_array'. Let the function that makes it take render_mode and pass it "
                "on, and the environment offer 'rgb_array'."
            )
        with blamed(f"render() of {called(env)}"):
            picture = np.asarray(env.render())
        if picture.ndim != 3 or picture.shape[2] != 3:
            raise InputError(
                f"render() of {called(env)} gave shape {picture.shape}, expected [height, width, "
                "3]."
            )
        return picture.astype(np.uint8)

    def close(self) -> None:
        """Close them all, also after one that fails; then say what that one raised."""
        failed: InputError | None = None
        for env in self.envs:
            try:
                with blamed(f"close() of {called(env)}"):
                    env.close()
            except InputError as error:
                failed = failed or error
        if failed is not None:
            raise failed


class Here:
    """A bundle in this process: asked, it answers at once."""

    def __init__(
        self,
        factory: EnvFactory,
        count: int,
        render_mode: str | None,
        timeout: float | None,
    ) -> None:
        self.timeout = timeout
        with within(timeout, lambda: f"making {count} environments"):
            self.bundle = EnvBundle(factory, count, render_mode)
        self.given: Any = None

    def ask(self, verb: str, *arguments: Any) -> None:
        """Do it."""
        with within(self.timeout, lambda: f"{verb} of {self.bundle.where()}"):
            self.given = getattr(self.bundle, verb)(*arguments)

    def answer(self) -> Any:
        """What came of it."""
        return self.given

    def hang_up(self) -> None:
        """Nobody else is waiting."""

    def close(self) -> None:
        """Close the environments."""
        self.bundle.close()


class Elsewhere:
    """A bundle in a process of its own (`env_worker`): asked, it works while others are asked.

    The process hears no Ctrl-C, and ends when its pipe closes: when this object goes, or the whole
    program, however. One that does not answer in time is ended.
    """

    def __init__(
        self,
        factory: EnvFactory,
        count: int,
        render_mode: str | None,
        timeout: float | None,
    ) -> None:
        self.timeout = timeout
        self.starting = _START_SECONDS
        """Seconds more for the first answer."""
        parent = str(os.getpid())
        main_thread = threading.current_thread() is threading.main_thread()
        # The empty entry means the folder where one is: the process must find the user's module
        # from there, too.
        path = os.pathsep.join(place or os.getcwd() for place in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "icrl.tasks.env_worker", parent, str(int(main_thread))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
            start_new_session=os.name == "posix",
        )
        # Also where nobody calls close(): with the object goes its process.
        self.close = weakref.finalize(self, _end, self.process)
        _living.add(self)
        # By value where it must be (a function of a script or a notebook), by name where it can be.
        self._send((cloudpickle.dumps(factory), count, render_mode))

    def ask(self, verb: str, *arguments: Any) -> None:
        """Let the process begin."""
        self._send((verb, arguments))

    def answer(self) -> Any:
        """Wait for what comes of it."""
        assert self.process.stdout is not None
        if not self._answers_in_time():
            raise WorkerLost(
                f"a step or a reset in process {self.process.pid} {too_long(self.timeout or 0.0)}",
            )
        try:
            good, value = pickle.load(self.process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise self._gone() from error
        if not good:
            raise InputError(value)
        return value

    def _answers_in_time(self) -> bool:
        """Wait for the first byte of the answer. A process that lets us wait
        for too long is ended."""
        assert self.process.stdout is not None
        if self.timeout is None or os.name != "posix":  # elsewhere pipes cannot be waited for so
            return True
        # Of the first byte alone: who has begun to answer is not hung.
        ready, _, _ = select.select([self.process.stdout], [], [], self.timeout + self.starting)
        self.starting = 0.0
        if not ready:
            self.process.kill()
        return bool(ready)

    def hang_up(self) -> None:
        """Nothing more will be asked: the process may begin to end while others are told."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(pickle.dumps(message))
            self.process.stdin.flush()
        except OSError as error:
            raise self._gone() from error

    def _gone(self) -> "WorkerLost":
        return WorkerLost(
            f"a process with environments ended by itself (exit code {self.process.wait()}): what "
            "it said last stands above. Use --processes 1 to run the environment in this process."
        )


class WorkerLost(InputError):
    """A process with environments died, or hung and was ended."""


_living: "weakref.WeakSet[Elsewhere]" = weakref.WeakSet()
"""Those whose processes may still be running."""


def _end_all() -> None:
    """End all processes at once: who interrupts a run does not want to wait for
    each of them in turn."""
    # All pipes first, then one deadline for all: each in turn would take seconds a process.
    living = [each for each in _living if each.close.alive]
    for each in living:
        each.hang_up()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for each in living:
        try:
            each.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            each.process.kill()
        each.close()


before_leaving(_end_all)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close the pipe, and be firm with a process that does not end by itself
    (it is in the middle of a long step)."""
    assert process.stdin is not None
    assert process.stdout is not None
    # From polite to firm, each with time to be heeded.
    for act in (process.stdin.close, process.terminate, process.kill):
        try:
            act()
            process.wait(_PATIENCE_SECONDS)
            break
        except (subprocess.TimeoutExpired, OSError):
            continue
    process.stdout.close()
