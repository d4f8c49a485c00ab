"""Reading and writing files that others may have made: any failure names the file and the reason."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from icrl.demos.dataset import MAX_BYTES
from icrl.errors import InputError


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises on foreign or damaged bytes into an `InputError` that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no such file: check the spelling and the folder (relative paths begin at {Path.cwd()})."
        ) from error
    # Parsers of damaged files raise anything from zlib.error to AssertionError; the reader's answer is one type.
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or "no reason given"
        raise InputError(
            f"{path}: not a readable {kind} file ({type(error).__name__}: {reason}): "
            "it is damaged, cut short or of another format; copy or export it again."
        ) from error


def require_size(num_bytes: int) -> None:
    """Raise `InputError` where a file declares more than fits in memory (a damaged header, or a zip bomb)."""
    if num_bytes > MAX_BYTES:
        raise InputError(
            f"declares {num_bytes / 1e9:.1f} GB of arrays, the most that is read is {MAX_BYTES // 10**9} GB: "
            "select fewer episodes; if you expect less, the file is damaged."
        )


def require_extra(module: str, extra: str, path: Path) -> InputError:
    """The error for a format whose library is not installed."""
    return InputError(f"{path}: reading or writing this needs {module}, an extra: pip install 'icrl[{extra}]'.")


def write_atomically(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write through a neighbour and rename it, so that a reader never sees half a file."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}. Choose another place.") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
