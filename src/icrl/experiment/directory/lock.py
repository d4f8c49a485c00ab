"""One writer to a directory: a lock, and the host and process that hold it.

The lock is the system's (by the library `filelock`): a process that dies, however it dies, loses
it, and the next one takes it over.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from icrl.errors import InputError
from icrl.files import MOST_JSON_BYTES, not_written, read_bytes, write_whole
from icrl.interrupts import uninterrupted

LOCK = ".lock"
HOLDER = ".lock-holder.json"


@contextmanager
def only_one(directory: Path) -> Iterator[None]:
    """Hold the lock of a directory that exists; `InputError` with the holder's host and
    process id if it is taken."""
    # A lock of the system, not a file that says "taken": that one would outlive a process that was
    # killed.
    lock = FileLock(directory / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise _taken(directory) from error
    except OSError as error:
        raise not_written(directory / LOCK, error) from error
    try:
        who = {"host": socket.gethostname(), "process": os.getpid()}
        write_whole(directory / HOLDER, json.dumps(who).encode())
        yield
    finally:
        # A second signal waits: the first one is often followed by another.
        with uninterrupted():
            # While the lock is still held: a process that waits for the old file finds that it is
            # gone, and starts over.
            for name in (HOLDER, LOCK):
                with suppress(OSError):
                    (directory / name).unlink()
            lock.release()


def require_unlocked(directory: Path) -> None:
    """Raise `InputError` if a living process holds the lock of a directory; one that a dead
    process left is no lock."""
    if not (directory / LOCK).exists():
        return
    lock = FileLock(directory / LOCK)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise _taken(directory) from error
    except OSError:
        return  # a directory that may not be written: nobody can be writing it with our rights
    lock.release()


def _taken(directory: Path) -> InputError:
    who = "another process"
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(read_bytes(directory / HOLDER, MOST_JSON_BYTES))
        who = f"process {found['process']} on {found['host']}"
    return InputError(
        f"{directory} is being written by {who}: wait for it, end it, or choose another --out.",
    )
