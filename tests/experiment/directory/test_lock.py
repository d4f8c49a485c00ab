"""One writer to a directory: a second is refused with the first one's host and process; a
dead one holds nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from icrl.cli import main
from icrl.errors import InputError
from icrl.experiment.directory.lock import HOLDER, LOCK, only_one, require_unlocked
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.run.one_run import run_learning
from icrl.experiment.suite.making import make_ready
from icrl.experiment.suite.suite import PlannedRun
from icrl.interrupts import remembered_interrupts
from icrl.tasks.lap_grid import lap_grid
from small_runs import TINY_FLAGS, Quiet, lap_demos, tiny_spec

HOLDS = """
import sys
from pathlib import Path
from icrl.experiment.directory.lock import only_one
with only_one(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of the folder `run`."""
    (tmp_path / "run").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_run_is_refused_with_host_and_process(holder, tmp_path, capsys):
    words = rf"is being written by process {holder.pid} on {socket.gethostname()}"
    with pytest.raises(InputError, match=words):
        run_learning(tiny_spec(), lap_grid(), lap_demos(), tmp_path / "run", Quiet())
    with pytest.raises(SystemExit) as stop:
        main(["learn", "lap-grid", "--out", str(tmp_path / "run"), *TINY_FLAGS])
    assert stop.value.code == 2
    assert f"process {holder.pid} on" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path / "run")) == [LOCK, HOLDER]


def test_a_suite_does_not_remove_a_run_that_is_being_written(holder, tmp_path):
    (tmp_path / "run" / "config.json").write_text(json.dumps({"task": "lap-grid"}))
    with pytest.raises(InputError, match=f"process {holder.pid}"):
        make_ready(PlannedRun(tiny_spec(), tmp_path / "run"))
    assert (tmp_path / "run" / "config.json").exists()


def test_a_lock_that_a_dead_process_left_is_taken_over(holder, tmp_path):
    holder.kill()
    holder.wait()
    assert sorted(os.listdir(tmp_path / "run")) == [LOCK, HOLDER]
    require_unlocked(tmp_path / "run")
    assert make_ready(PlannedRun(tiny_spec(), tmp_path / "run"))
    with RunDirectory(tmp_path / "run").held():
        assert json.loads((tmp_path / "run" / HOLDER).read_text())["process"] == os.getpid()
    assert list((tmp_path / "run").iterdir()) == []


def test_who_comes_between_look_and_lock_is_not_mixed_with(tmp_path, monkeypatch):
    looked = RunDirectory.check_free

    def look_and_be_overtaken(run, resume=False):
        looked(run, resume)
        run.path.mkdir()
        (run.path / "config.json").write_text("the other run's")

    monkeypatch.setattr(RunDirectory, "check_free", look_and_be_overtaken)
    with (
        pytest.raises(InputError, match="already holds a run"),
        RunDirectory(tmp_path / "run").held(),
    ):
        raise AssertionError("two runs write one directory")
    assert (tmp_path / "run" / "config.json").read_text() == "the other run's"


def test_a_lock_is_let_go_of_when_the_work_fails(tmp_path):
    with pytest.raises(RuntimeError, match="work"), only_one(tmp_path):
        raise RuntimeError("work")
    assert list(tmp_path.iterdir()) == []


def test_a_second_signal_does_not_keep_a_run_from_letting_go_of_its_lock(tmp_path, monkeypatch):
    unlink = Path.unlink

    def unlink_and_be_asked_again(path):
        monkeypatch.setattr(Path, "unlink", unlink)
        signal.raise_signal(signal.SIGTERM)
        path.unlink()

    def work():
        monkeypatch.setattr(Path, "unlink", unlink_and_be_asked_again)
        signal.raise_signal(signal.SIGTERM)

    with remembered_interrupts(), pytest.raises(KeyboardInterrupt), only_one(tmp_path):
        work()
    assert list(tmp_path.iterdir()) == []
    with only_one(tmp_path):  # and it is nobody's
        assert (tmp_path / LOCK).exists()
