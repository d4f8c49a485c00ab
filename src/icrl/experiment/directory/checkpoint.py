"""Checkpoints: the last two states of a run that goes on, each one file, each with its checksum.

A file is a safetensors file whose metadata hold the rest as JSON: which run it is of, and how the
state is put together from the arrays (`icrl.codec`). Nothing in it is ever executed.
"""

import hashlib
import json
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.numpy import load, save

from icrl.codec import pack, unpack
from icrl.errors import InputError
from icrl.experiment.directory.gone import without_gone
from icrl.files import make_folder, read_bytes, write_whole
from icrl.types import AnyArray

FOLDER = "checkpoint"
_FORMAT = 2
"""2: what agents visited is one array of each kind, not one of every round."""
_KEPT = 2
_SAID = "checkpoint"
_NAME = re.compile(r"round-(\d{6,9})\.safetensors")
_MOST_BYTES = 8 * 10**9
_MOST_DIFFERENCES = 5


class Restored(NamedTuple):
    """What was found."""

    value: Any
    path: Path
    damaged: tuple[str, ...]
    """What is wrong with newer ones, which were passed over."""


class Damaged(InputError):
    """A checkpoint that is not whole; there may be an older one that is."""


class OfAnotherRun(InputError):
    """A checkpoint that is whole, and of another version, task, config or seed."""


def write_checkpoint(
    directory: Path, number: int, value: Any, kind: Any, run: dict[str, Any]
) -> Path:
    """Keep the state of a run after round `number`, and the one before it;
    once this returns, it lasts.

    `run` says which run it is, in plain JSON: nobody else may go on from it.
    """
    packed = pack(value, kind)
    body = json.dumps({"format": _FORMAT, "number": number, "run": run, "state": packed.tree})
    said = json.dumps({"sha256": _checksum(body, packed.arrays), "body": body})
    folder = directory / FOLDER
    make_folder(folder)
    path = folder / f"round-{number:06d}.safetensors"
    write_whole(path, save(packed.arrays, metadata={_SAID: said}))
    # Two are kept: should the newest be damaged on its way to the disk, there is one before it.
    for old in checkpoints(directory)[_KEPT:]:
        with suppress(OSError):  # one too many does no harm
            old.unlink()
    return path


def checkpoints(directory: Path) -> list[Path]:
    """The checkpoints of a run, the newest first."""
    folder = directory / FOLDER
    if not folder.is_dir():
        return []
    named = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)]
    return sorted(named, key=_number, reverse=True)


def _number(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    assert found is not None
    return int(found[1])


def newest_checkpoint(directory: Path, kind: Any, run: dict[str, Any]) -> Restored | None:
    """The newest state that is whole; None: there is none at all.

    `OfAnotherRun` if it is not of `run`, with what differs; `Damaged` if none is whole.
    """
    damaged: list[str] = []
    for path in checkpoints(directory):
        try:
            return Restored(read_checkpoint(path, kind, run), path, tuple(damaged))
        # Only damage is passed over. One that is whole but of other settings ends the search: to go
        # on from an older one would hide that.
        except Damaged as error:
            damaged.append(str(error))
    if damaged:
        raise Damaged(" ".join(damaged))
    return None


def read_checkpoint(path: Path, kind: Any, run: dict[str, Any]) -> Any:
    """The state in one file; `Damaged` or `OfAnotherRun` if it cannot be gone on from."""
    try:
        data = read_bytes(path, _MOST_BYTES)
        arrays: dict[str, AnyArray] = load(data)
        body, checksum = _said(data)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        RecursionError,
        SafetensorError,
        InputError,
    ) as error:
        raise Damaged(f"{path} is damaged ({error!s:.120}).") from error
    # safetensors notices a file that is cut off, not a bit that flipped.
    if _checksum(body, arrays) != checksum:
        raise Damaged(f"{path} is damaged (its checksum differs).")
    content = json.loads(body)
    _require_same(path, content, run)
    try:
        return unpack(content["state"], arrays, kind)
    except (InputError, KeyError, TypeError, RecursionError) as error:
        raise Damaged(f"{path} is damaged ({error!s:.120}).") from error


def remove_checkpoints(directory: Path) -> None:
    """The run is finished: nobody goes on from here."""
    shutil.rmtree(directory / FOLDER, ignore_errors=True)


def _said(data: bytes) -> tuple[str, str]:
    """What the metadata hold: the body, and the checksum of all."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    said = json.loads(header["__metadata__"][_SAID])
    body = said["body"]
    if not isinstance(body, str) or not isinstance(json.loads(body), dict):
        raise TypeError("its metadata are not those of a checkpoint")
    return body, str(said["sha256"])


def _checksum(body: str, arrays: dict[str, AnyArray]) -> str:
    """SHA-256 of the body, and of names, types, shapes and values of the arrays."""
    digest = hashlib.sha256(body.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        # Types and shapes, too: the same bytes may be other numbers.
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _require_same(path: Path, content: dict[str, Any], run: dict[str, Any]) -> None:
    if content.get("format") != _FORMAT:
        raise OfAnotherRun(
            f"{path} is of another version of icrl (form {content.get('format')!r:.20}, here "
            f"{_FORMAT}): go on with that version, or remove the run and start it again."
        )
    recorded = content.get("run")
    if isinstance(recorded, dict) and "config" in recorded:
        # An older run names settings that are gone and did nothing: it is still the same run.
        recorded = {**recorded, "config": without_gone(recorded["config"])}
    there = flat(recorded)
    # Through JSON and back, as the recorded one came: tuples are lists there.
    here = flat(json.loads(json.dumps(run)))
    other = [name for name in sorted({*there, *here}) if there.get(name) != here.get(name)]
    if other:
        said = [
            f"{name} is {there.get(name)!r:.60} there, {here.get(name)!r:.60} here"
            for name in other
        ]
        more = ""
        if len(other) > _MOST_DIFFERENCES:
            more = f", and {len(other) - _MOST_DIFFERENCES} more"
        raise OfAnotherRun(
            f"{path} is a checkpoint of another run, and nothing was touched: "
            f"{'; '.join(said[:_MOST_DIFFERENCES])}{more}. Go on with what it was made with, or "
            "start again in another --out."
        )


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings with dotted names."""
    if not isinstance(value, dict):
        return {prefix: value}
    found: dict[str, Any] = {}
    for key, item in value.items():
        name = str(key)
        if prefix:
            name = f"{prefix}.{key}"
        found |= flat(item, name)
    return found
