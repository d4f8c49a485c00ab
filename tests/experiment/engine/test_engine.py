"""Jobs in processes: how they are ended, and what is done of one that had come to its end."""

from dataclasses import replace

import pytest

from icrl.errors import InputError
from icrl.experiment.engine import engine
from icrl.experiment.engine.engine import Job, run_jobs
from icrl.experiment.engine.worker import make
from small_runs import tiny_spec

SLEEPER = """
import pathlib, select, signal, sys, time

def ending(number, frame):
    # time for a second word, if there is one
    said = f"{len(select.select([sys.stdin], [], [], 0.5)[0])} {number}"
    pathlib.Path(sys.argv[1]).write_text(said)
    sys.exit(0)

sys.stdin.readline()
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, ending)
pathlib.Path(sys.argv[1]).write_text("up")
time.sleep(600)
"""


class Impatient:
    """Wants no more as soon as the job is up."""

    def __init__(self, path):
        self.path = path
        self.process_id = 0

    def started(self, job, process_id):
        self.process_id = process_id

    def ended(self, job, exit_code):
        raise AssertionError("it ends only when it is asked to")

    def waiting(self):
        if self.path.exists() and self.path.read_text() == "up":
            raise KeyboardInterrupt


def interrupted(tmp_path, monkeypatch, how):
    """Run a job until it is up, and end it; its last words."""
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = tmp_path / "said"
    job = Job("sleeper", "sleeper", (str(said), how), "go", tmp_path / "errors")
    with pytest.raises(KeyboardInterrupt):
        run_jobs([job], 1, Impatient(said))
    return said.read_text()


def test_a_job_is_asked_once_to_end(tmp_path, monkeypatch):
    """Its lifeline is open while it does: a worker that finds it closed asks itself once more, and
    an end in order is disturbed."""
    assert interrupted(tmp_path, monkeypatch, "hearing") == "0 15"


def test_a_job_that_does_not_hear_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "_PATIENCE_SECONDS", 0.1)
    assert interrupted(tmp_path, monkeypatch, "deaf") == "up"


def test_a_run_that_is_finished_is_not_made_again(tmp_path):
    """As when a machine dies after the last byte of a run, and before it could say so."""
    spec = tiny_spec()
    make(spec, tmp_path / "run")
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    make(spec, tmp_path / "run")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == files
    with pytest.raises(InputError, match="other settings, and nothing was touched: seed"):
        make(replace(spec, seed=7), tmp_path / "run")
