"""Files: written whole or not at all, in one place; sized before they are read; and what
cannot be written is said."""

import ast
import errno
import os
import stat
from pathlib import Path

import pytest

from icrl.errors import InputError
from icrl.files import (
    NotWritten,
    append_line,
    make_folder,
    read_bytes,
    require_regular,
    write_whole,
)

SOURCE = Path(__file__).parents[1] / "src" / "icrl"
REFUSALS = [
    (errno.ENOSPC, "the disk is full: make room on it"),
    (errno.EROFS, "read-only file system"),
    (errno.EACCES, "you may not write there"),
]


def fails_with(number):
    def fail(*arguments):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(("number", "words"), REFUSALS)
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_says_why(
    tmp_path, monkeypatch, number, words, call
):
    path = tmp_path / "scores.json"
    write_whole(path, b"old")
    monkeypatch.setattr(os, call, fails_with(number))
    with pytest.raises(NotWritten, match=rf"scores.json cannot be written: .*{words}"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["scores.json"]


def test_what_is_written_is_synced_with_its_folder_after_it_has_its_name(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def record(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append(("folder" if is_folder else "file", (tmp_path / "a").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    write_whole(tmp_path / "a", b"x")
    assert synced == [("file", False), ("folder", True)]


def test_a_line_that_does_not_fit_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    append_line(path, "one")
    monkeypatch.setattr(os, "fsync", fails_with(errno.ENOSPC))
    with pytest.raises(NotWritten, match="the disk is full"):
        append_line(path, "two")
    assert path.read_text() == "one\n"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(
        NotWritten,
        match=r"cannot create the folder .*below: a file stands where a folder is needed",
    ):
        make_folder(tmp_path / "file" / "below")


def test_a_file_is_sized_before_it_is_read(tmp_path):
    path = tmp_path / "big.json"
    path.write_bytes(b"")
    # takes no room on the disk, and would take five terabytes of memory
    os.truncate(path, 5 * 10**12)
    with pytest.raises(InputError, match=r"has 5,000,000.0 MB, the most that is read is 64 MB"):
        read_bytes(path, 64 * 10**6)


def test_what_is_no_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="pipe is a named pipe, expected a file"):
        require_regular(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a folder, expected a file"):
        require_regular(tmp_path)
    with pytest.raises(FileNotFoundError):
        require_regular(tmp_path / "missing")


def writers(path):
    """Calls that write a file by themselves."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        modes = [
            arg.value
            for arg in node.args
            if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
        ]
        opens = name == "open" and any(mode[:1] in "wax" for mode in modes if mode)
        moves = name == "replace" and ast.unparse(node.func.value) == "os"
        if name in ("write_text", "write_bytes", "fsync", "savetxt", "rename") or opens or moves:
            found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    return found


def test_files_are_written_in_one_place():
    # what a job says before it dies goes straight into a file, and is moved when it is known to
    # have failed; an archive is made in memory; a trial of a sweep that is tried again takes over
    # the folder of its runs
    allowed = {
        "files.py",
        "experiment/engine/engine.py",
        "experiment/engine/ray_engine.py",
        "experiment/suite/making.py",
        "experiment/suite/sweep.py",
    }
    found = [place for path in SOURCE.rglob("*.py") for place in writers(path)]
    assert {place.split(":")[0] for place in found} <= allowed
    assert any(place.startswith("files.py") for place in found)
