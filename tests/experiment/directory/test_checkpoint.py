"""Checkpoints as files: their form, how many are kept, and which of them is gone on from."""

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load

from icrl.experiment.directory import checkpoint
from icrl.experiment.directory.checkpoint import (
    FOLDER,
    Damaged,
    OfAnotherRun,
    checkpoints,
    newest_checkpoint,
    remove_checkpoints,
    write_checkpoint,
)

RUN = {"task": "lap-grid", "seed": 0}


def write(directory, *numbers):
    for number in numbers:
        write_checkpoint(directory, number, (number, np.arange(3.0)), tuple, RUN)


def names(directory):
    return [path.name for path in checkpoints(directory)]


def test_the_last_two_are_kept_and_none_when_the_run_is_finished(tmp_path):
    write(tmp_path, 8, 9, 10)
    assert names(tmp_path) == ["round-000010.safetensors", "round-000009.safetensors"]
    assert len(list((tmp_path / FOLDER).iterdir())) == 2  # and no draft
    remove_checkpoints(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_safetensors_and_json(tmp_path):
    write(tmp_path, 1)
    data = checkpoints(tmp_path)[0].read_bytes()
    (array,) = load(data).values()
    np.testing.assert_array_equal(array, np.arange(3.0))
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    said = json.loads(header["__metadata__"]["checkpoint"])
    assert json.loads(said["body"])["run"] == RUN
    assert len(said["sha256"]) == 64


def test_every_bit_that_flips_is_noticed(tmp_path):
    write(tmp_path, 1)
    (path,) = checkpoints(tmp_path)
    good = path.read_bytes()
    for place in range(0, len(good), 7):
        data = bytearray(good)
        data[place] ^= 4
        path.write_bytes(bytes(data))
        with pytest.raises(Damaged, match=r"round-000001.safetensors is damaged"):
            newest_checkpoint(tmp_path, tuple, RUN)


def test_a_damaged_one_is_passed_over_and_told_of(tmp_path):
    write(tmp_path, 1, 2)
    newest, before = checkpoints(tmp_path)
    newest.unlink()
    os.mkfifo(newest)  # to open it would wait for ever
    found = newest_checkpoint(tmp_path, tuple, RUN)
    assert (found.value[0], found.path) == (1, before)
    (said,) = found.damaged
    assert "round-000002.safetensors is damaged" in said


def test_one_of_another_version_is_refused_with_both_and_not_passed_over(tmp_path, monkeypatch):
    write(tmp_path, 1)
    monkeypatch.setattr(checkpoint, "_FORMAT", checkpoint._FORMAT + 1)
    write(tmp_path, 2)
    monkeypatch.undo()
    with pytest.raises(
        OfAnotherRun, match=r"round-000002.* another version of icrl \(form 3, here 2\)"
    ):
        newest_checkpoint(tmp_path, tuple, RUN)


def test_one_of_another_run_says_what_differs_and_is_not_passed_over(tmp_path):
    write(tmp_path, 1)
    write_checkpoint(tmp_path, 2, (2,), tuple, RUN | {"seed": 7})
    with pytest.raises(OfAnotherRun, match=r"round-000002.*seed is 7 there, 0 here"):
        newest_checkpoint(tmp_path, tuple, RUN)
