"""Ctrl-C: none is lost, and none comes between files that belong together."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

_arrived: list[int] = []
"""Interrupts that came while `remembered_interrupts` was watching."""


@contextmanager
def remembered_interrupts() -> Iterator[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt, as ever, and `heed_interrupts` raises it again.

    The exception can get lost on its way: Python drops what is raised while garbage is collected (JAX has a callback
    there) or an object dies, and JAX has a bare `except:` here and there where it traces. The run would
    then go on as if nothing had been said.
    """
    if threading.current_thread() is not threading.main_thread():  # signals only ever reach the main thread
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # a shell's background job ignores Ctrl-C: so be it
        yield
        return
    say_dropped = sys.unraisablehook
    _arrived.clear()
    sys.unraisablehook = partial(_say_unless_remembered, say_dropped)
    signal.signal(signal.SIGINT, _remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = say_dropped
        _arrived.clear()


def _remember(number: int, frame: FrameType | None) -> None:
    _arrived.append(number)
    raise KeyboardInterrupt


def _say_unless_remembered(say: Callable[[Any], Any], dropped: Any) -> None:
    """Python tells of every exception it drops; of an interrupt that is remembered, nobody need be told."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        say(dropped)


def heed_interrupts() -> None:
    """End here if Ctrl-C was pressed and somebody else took the exception: for loops that go on for long."""
    if _arrived:
        raise KeyboardInterrupt


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block is done, so that files that belong together are written together."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if arrived:
        signal.raise_signal(signal.SIGINT)
