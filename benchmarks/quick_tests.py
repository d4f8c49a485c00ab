"""Tests as plain calls, again and again in one process: most faults are seen in a moment.

What pytest, a fresh process and JAX's compiler take for each of a thousand mutants is spent once.
Whatever is not seen here, and ends, is left to pytest (`benchmarks/mutants.py`).
"""

import inspect
import itertools
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

START_SECONDS = 4.0
PATIENCE = 10.0
"""A fault with which a test takes so many times its CPU time, and that, never ends."""
BATCH = 60
"""Faults that are tried in one process; after them the room itself must still pass."""
Call = tuple[str, Callable[[], None]]


def seen_quickly(
    room: str, folder: Path, tests: Sequence[str], codes: dict[str, str], source: str
) -> Iterator[set[str]]:
    """Of `codes` (by name), those with which a test of the copy in `folder` fails."""
    waiting = list(codes)
    while waiting:
        found: set[str] = set()
        batch = waiting[:BATCH]
        told = folder / "seen.txt"
        told.write_text("")
        child = os.fork()
        if child == 0:
            try:
                _try_all(room, folder, tests, {name: codes[name] for name in batch}, source, told)
            except BaseException:
                (folder / "said.txt").write_text(traceback.format_exc())
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        lines = [line.split(maxsplit=1) for line in told.read_text().splitlines()]
        tried = [words[1] for words in lines if words[0] in ("seen", "unseen")]
        if lines and lines[-1][0] == "broken":
            tried = batch  # one fault has spoilt the process: all are left to pytest
        else:
            found |= {words[1] for words in lines if words[0] == "seen"}
        if len(tried) < len(batch):  # the next one has ended the process
            if os.WIFSIGNALED(status):
                found.add(batch[len(tried)])
            tried.append(batch[len(tried)])
        waiting = waiting[len(tried) :]
        yield found


def _try_all(
    room: str, folder: Path, tests: Sequence[str], codes: dict[str, str], source: str, told: Path
) -> None:
    with told.open("a", buffering=1) as lines:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        quick = _Quick(room, folder, tests, source)
        for name, code in codes.items():
            seen = quick.fails(code)
            lines.write(f"{'seen' if seen else 'unseen'} {name}\n")
        if quick.fails(source):
            lines.write("broken\n")


class _Quick:
    """The tests of one room, the quickest first."""

    def __init__(self, room: str, folder: Path, tests: Sequence[str], source: str) -> None:
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(folder / "src"), str(folder / "tests")]
        sys.path[:0] = [str((folder / test).parent) for test in tests]
        os.chdir(folder)
        from hypothesis import settings

        settings.register_profile(
            "quick", deadline=None, max_examples=10, database=None, derandomize=True
        )
        settings.load_profile("quick")
        self.name = f"icrl.{room.replace('/', '.')}"
        self.tests = [folder / test for test in tests]
        self.order: dict[str, float] = {}
        """Seconds of each call without a fault; those that fail without one are left out."""
        for name, call in list(self._calls(source)):
            began = time.process_time()
            if not _raises(call):
                self.order[name] = time.process_time() - began
        assert self.order, "no test can be called"

    def fails(self, code: str) -> bool:
        """Some test fails with this code in the room's place."""
        try:
            calls = dict(self._calls(code))
        except Exception:
            return True
        for name in sorted(self.order, key=self.order.__getitem__):
            # which ends this process
            signal.setitimer(signal.ITIMER_PROF, START_SECONDS + PATIENCE * self.order[name])
            failed = _raises(calls[name])
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            if failed:
                return True
        return False

    def _calls(self, code: str) -> Iterator[Call]:
        """All calls of all tests, with the code in the room's place."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self._replace(code)
            for path in self.tests:
                module = ModuleType(path.stem)
                sys.modules[path.stem] = module
                text = path.read_text(encoding="utf-8")
                exec(compile(text, str(path), "exec"), module.__dict__)
                yield from calls_of(module)

    def _replace(self, code: str) -> None:
        package, _, leaf = self.name.rpartition(".")
        module = ModuleType(self.name)
        module.__package__ = package
        import_module(package)
        sys.modules[self.name] = module
        exec(compile(code, leaf, "exec"), module.__dict__)
        if package != "icrl":  # there a verb may have the room's name
            setattr(sys.modules[package], leaf, module)


def calls_of(module: ModuleType) -> Iterator[Call]:
    """The tests of a module as calls without arguments; those with fixtures but `monkeypatch` are
    left out."""
    for name, test in list(vars(module).items()):
        if not name.startswith("test"):
            continue
        marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
        for number, chosen in enumerate(itertools.product(*(_sets(mark) for mark in marks))):
            given: dict[str, Any] = {}
            for part in chosen:
                given |= part
            missing = set(inspect.signature(test).parameters) - set(given)
            if missing <= {"monkeypatch"}:
                yield f"{name}[{number}]", _call(test, given, bool(missing))


def _sets(mark: Any) -> list[dict[str, Any]]:
    names, values = mark.args
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",")]
    found = []
    for value in values:
        parts = getattr(value, "values", value)
        if len(names) == 1 and parts is value:
            parts = (value,)
        found.append(dict(zip(names, parts, strict=True)))
    return found


def _call(test: Callable[..., None], given: dict[str, Any], patched: bool) -> Callable[[], None]:
    def call() -> None:
        if not patched:
            test(**given)
            return
        import pytest

        with pytest.MonkeyPatch.context() as patch:
            test(**given, monkeypatch=patch)

    return call


def _raises(call: Callable[[], None]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call()
        except (Exception, AssertionError):
            return True
        except BaseException as outcome:  # pytest's own, which are no exceptions
            return type(outcome).__name__ == "Failed"
    return False
