"""Reading files that others may have made: any failure names the file and the reason."""

import io
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from icrl.demos.dataset import FREE_BYTES, MAX_BYTES, MOST_INFLATION
from icrl.errors import InputError
from icrl.files import require_regular
from icrl.types import AnyArray


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises on foreign or damaged bytes into an
    `InputError` that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no such file: check the spelling and the folder (relative paths begin at "
            f"{Path.cwd()})."
        ) from error
    # Parsers of damaged files raise anything from zlib.error to AssertionError;
    # the reader's answer is one type.
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or "no reason given"
        raise InputError(
            f"{path}: not a readable {kind} file ({type(error).__name__}: {reason}): "
            "it is damaged, cut short or of another format; copy or export it again."
        ) from error


def require_size(
    num_bytes: int,
    most_bytes: int | None = None,
    file_bytes: int | None = None,
) -> None:
    """Raise `InputError` where a file declares more than is read: a damaged header, or a zip bomb.

    With `file_bytes`, the size of a packed file: one that declares very much more than
    it holds is refused too.
    """
    most_bytes = most_bytes or MAX_BYTES
    if num_bytes > most_bytes:
        raise InputError(
            f"declares {num_bytes / 1e9:.2f} GB of arrays, the most that is read is "
            f"{most_bytes / 1e9:g} GB: "
            "select fewer episodes; if you expect less, the file is damaged."
        )
    if file_bytes is not None and num_bytes > max(FREE_BYTES, MOST_INFLATION * file_bytes):
        raise InputError(
            f"has {file_bytes / 1e6:.2f} MB and declares {num_bytes / 1e9:.2f} GB of arrays: more "
            "than "
            f"{MOST_INFLATION} times what it holds is not unpacked (beyond {FREE_BYTES / 1e9:g} "
            "GB). It is damaged, "
            "or made to fill memory; save it without compression if it is neither."
        )


def read_npz(path: Path, wanted: Collection[str], most_bytes: int) -> dict[str, AnyArray]:
    """The arrays of an npz file, never pickled; sizes are read off the headers, and
    refused, before any is unpacked.

    Members of other names are empty: they are never unpacked, but their names help in messages.
    """
    file_bytes = require_regular(path)
    with zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        require_size(sum(info.file_size for info in members), most_bytes, file_bytes)
        arrays: dict[str, AnyArray] = {}
        for info in members:
            name = info.filename.removesuffix(".npy")
            arrays[name] = np.empty(0)
            if name in wanted:
                arrays[name] = _parse_array(name, archive.read(info))
        return arrays


def _parse_array(name: str, data: bytes) -> AnyArray:
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_2_0
    if version == (1, 0):
        read_header = np.lib.format.read_array_header_1_0
    shape, in_columns, dtype = read_header(stream)
    if dtype.hasobject:
        raise InputError(
            f"{name} holds pickled Python objects, which are never loaded: save plain numeric "
            "arrays.",
        )
    # The declared shape is held against the bytes there are before NumPy allocates it.
    declared = dtype.itemsize
    for extent in shape:
        declared *= extent
    if declared != len(data) - stream.tell():
        raise InputError(
            f"{name} declares shape {list(shape)} ({declared} bytes) but holds "
            f"{len(data) - stream.tell()} bytes."
        )
    if declared == 0:
        return np.empty(shape, dtype)
    # a view of the bytes, not a copy: demonstrations may be as large as the memory
    flat = np.frombuffer(data, dtype, offset=stream.tell())
    if in_columns:
        return flat.reshape(shape[::-1]).T
    return flat.reshape(shape)


def require_extra(module: str, extra: str, path: Path) -> InputError:
    """The error for a format whose library is not installed."""
    return InputError(
        f"{path}: reading or writing this needs {module}, an extra: pip install 'icrl[{extra}]'."
    )
