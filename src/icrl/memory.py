"""Memory that a run no longer needs goes back to the system."""

import ctypes
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """Let the C library return what is free in its heap, wherever in it that lies.

    A round takes and gives back arrays of ever other sizes. What is in use stays the same, but
    glibc keeps the holes between, and there were more of them with every hour of a run.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """`malloc_trim` of glibc; other C libraries have none, and need none."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
    return found
