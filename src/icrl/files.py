"""Files that must last, or that others made: written whole or not at all,
sized before they are read.

The one home of writing: a file is written beside its place, synced, and renamed, and then its
folder is synced, so that neither a kill nor a power cut leaves half of one. What cannot be written
is a `NotWritten` that says why in words.
"""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from icrl.errors import InputError

MOST_JSON_BYTES = 64 * 10**6
"""No JSON file of ours comes near this; a larger one is somebody else's, or damaged."""
_REASONS = {
    errno.ENOSPC: "the disk is full: make room on it",
    errno.EDQUOT: "your share of the disk is used up: make room on it",
    errno.EROFS: "it lies on a read-only file system: choose another place",
    errno.EACCES: "you may not write there: change its permissions, or choose another place",
    errno.EPERM: "you may not write there: change its permissions, or choose another place",
    errno.ENOTDIR: "a file stands where a folder is needed: choose another place",
    errno.EISDIR: "it is a folder: choose another place",
    errno.ENAMETOOLONG: "the name is too long: choose a shorter one",
}
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


class NotWritten(InputError):
    """Something could not be written; what was there before is untouched."""


def reason_of(error: OSError) -> str:
    """What the system refused, and what to do about it."""
    known = _REASONS.get(error.errno or 0)
    return known or f"{error.strerror or error}: choose another place"


def not_written(path: Path, error: OSError) -> NotWritten:
    """The error for a file or folder that cannot be written."""
    return NotWritten(f"{path} cannot be written: {reason_of(error)}.")


def make_folder(path: Path) -> None:
    """Create a folder and those above it, or say why it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(f"cannot create the folder {path}: {reason_of(error)}.") from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; once this returns, it lasts."""

    def write(stream: IO[bytes]) -> None:
        stream.write(data)

    write_through(path, write)


def write_through(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """As `write_whole`, for what writes into a stream."""
    # Beside its place, for a rename is atomic within one file system alone; with the process id,
    # for two that write the same file must not share a draft.
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as stream:
            write(stream)
            stream.flush()
            # Else the rename may reach the disk before the content does, and a power cut leaves an
            # empty file of the right name.
            os.fsync(stream.fileno())
        move_into_place(draft, path)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def move_into_place(draft: Path, path: Path) -> None:
    """Rename a file or folder to where it belongs; once this returns, that lasts."""
    try:
        os.replace(draft, path)
        sync_folder(path.parent)
    except OSError as error:
        raise not_written(path, error) from error


def append_line(path: Path, line: str) -> None:
    """Add a line to a file. One that does not fit on the disk is taken back, so
    that none is cut off."""
    data = line.encode() + b"\n"
    size: int | None = None
    try:
        # Unbuffered: what the disk refuses is known here, and not when the file is closed.
        with path.open("ab", buffering=0) as stream:
            size = stream.seek(0, os.SEEK_END)
            written = 0
            while written < len(data):
                written += stream.write(data[written:])
            os.fsync(stream.fileno())
    except OSError as error:
        if size is not None:
            with suppress(OSError):
                os.truncate(path, size)
        raise not_written(path, error) from error


def sync_folder(path: Path) -> None:
    """Make renames in a folder last. Windows has no such thing: there a rename lasts by itself."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def require_regular(path: Path) -> int:
    """The size of a file in bytes; `InputError` for what is none: to open a named
    pipe would wait forever.

    A file that does not exist is the caller's to speak of: `FileNotFoundError`.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        raise InputError(f"{path} is {kind}, expected a file.")
    return found.st_size


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """The content of a file that may be at most so large; more is refused before it is read."""
    size = require_regular(path)
    if size > most_bytes:
        raise InputError(
            f"{path} has {size / 1e6:,.1f} MB, the most that is read is {most_bytes / 1e6:,.0f} "
            "MB: it is damaged, or "
            "not what its name says."
        )
    return path.read_bytes()
