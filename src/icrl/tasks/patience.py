"""How long a user's environment may take: one that hangs must not hang the run for ever."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from icrl.errors import InputError

_AGAIN_SECONDS = 1.0
"""Python drops what is raised in some places (see `interrupts`): the alarm
rings until it is heard."""


class _Hung(BaseException):
    """Raised into code that takes too long; no `except Exception` of a user's
    takes it for its own."""


@contextmanager
def within(seconds: float | None, say: Callable[[], str]) -> Iterator[None]:
    """Raise `InputError` with the words of `say` if the block takes longer;
    None: it may take for ever.

    The alarm reaches Python code and whatever waits for the system, but no loop inside a C library.
    Only the main thread of a POSIX system has alarms, and one that somebody else uses is left to
    them: elsewhere the block may take for ever. An environment in a process of its own
    (`--processes`) can always be ended.
    """
    usable = (
        seconds is not None
        and hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    )
    if seconds is None or not usable:
        yield
        return
    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
    try:
        yield
    except _Hung:
        raise InputError(f"{say()} {too_long(seconds)}") from None
    finally:
        # First the alarm, then the handler: one that rang in between would end the process.
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _ring(number: int, frame: FrameType | None) -> None:
    raise _Hung


def too_long(seconds: float) -> str:
    """What is said of an environment that hangs."""
    return (
        f"did not come to an end within {seconds:g} s: mend it, or allow it more time with "
        "--env-timeout."
    )
