"""Ctrl-C and SIGTERM: none is lost, and none comes between files that belong together."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, NoReturn

_STOPPING = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what clusters and `kill` send: both mean that the work is to end in order."""
_REPLACED: dict[int, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""Handlers that may be replaced. A shell's background job ignores Ctrl-C, and others may have
handlers of their own: so be it."""
_arrived: list[int] = []
"""Signals that came while `remembered_interrupts` was watching."""
_farewells: list[Callable[[], None]] = []


@contextmanager
def remembered_interrupts() -> Iterator[None]:
    """Within the block both signals raise KeyboardInterrupt, and `heed_interrupts` raises it again.

    The exception can get lost on its way: Python drops what is raised while garbage is collected
    (JAX has a callback there) or an object dies, and JAX has a bare `except:` here and there where
    it traces. The run would then go on as if nothing had been said.
    """
    # signals only ever reach the main thread
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in _STOPPING if signal.getsignal(number) is _REPLACED[number]]
    say_dropped = sys.unraisablehook
    _arrived.clear()
    sys.unraisablehook = partial(_say_unless_remembered, say_dropped)
    for number in ours:
        signal.signal(number, _remember)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _REPLACED[number])
        sys.unraisablehook = say_dropped
        _arrived.clear()


def _remember(number: int, frame: FrameType | None) -> None:
    _arrived.append(number)
    # Remembered first: the exception is what gets lost.
    raise KeyboardInterrupt


def _say_unless_remembered(say: Callable[[Any], Any], dropped: Any) -> None:
    """Python tells of every exception it drops;
    of an interrupt that is remembered, nobody need be told."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        say(dropped)


def heed_interrupts() -> None:
    """End here if a signal came and somebody else took the exception: for
    loops that go on for long."""
    if _arrived:
        raise KeyboardInterrupt


def interrupted_by() -> int | None:
    """The first signal that came, also where its exception was lost; None: there was none."""
    if _arrived:
        return _arrived[0]
    return None


def ignore_interrupts() -> None:
    """The work is ending: another signal must not garble its last words."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)


def before_leaving(act: Callable[[], None]) -> None:
    """Have `act` called by `leave_at_once`, which leaves out what Python does at its end."""
    _farewells.append(act)


def leave_at_once(exit_code: int) -> NoReturn:
    """End the process without Python's own ending.

    JAX compiles in threads that cannot be stopped. When Python takes itself apart under
    them they fall over what is gone already, and the process dies of a segmentation fault
    in place of its exit code.
    """
    for act in _farewells:
        act()
    sys.stdout.flush()
    sys.stderr.flush()
    # It flushes nothing itself: hence the two lines above.
    os._exit(exit_code)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals wait until the block is done, so that files that belong together
    are written together."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    before = {number: signal.signal(number, wait) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if arrived:
        signal.raise_signal(arrived[0])
