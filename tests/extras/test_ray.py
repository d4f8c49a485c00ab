"""A suite on a Ray cluster of three nodes, two of which die under it:
every run ends, with the bytes of processes."""

import json
import os
import threading
import time
from _thread import interrupt_main
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from runpy import run_path

import pytest

from icrl.errors import InputError
from icrl.experiment.directory.checkpoint import checkpoints
from icrl.experiment.directory.run_directory import RunDirectory, without_times
from icrl.experiment.engine import ray_engine
from icrl.experiment.engine.engine import Job, run_jobs
from icrl.experiment.engine.ray_engine import find_engine, import_ray, run_jobs_on_ray
from icrl.experiment.suite.making import run_suite
from icrl.experiment.suite.suite import Entry, Suite, expand

import_ray()  # before anything else imports it: it reads its settings then

# Ray's own: sockets and files that it leaves to the end of the process.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SEEDS = 6
PATIENCE = 1200.0
"""Seconds that one test may take, ten times what it does alone: others may keep the cores busy."""


def short(config):
    forward = replace(
        config.forward, steps=256, num_envs=4, rollout_steps=32, minibatch=32, epochs=1, hidden=(4,)
    )
    backward = replace(config.backward, updates=2, max_kl_new_old=None, hidden=(4,))
    return replace(
        config, steps=30_000, num_samples=2, scouts=0, forward=forward, backward=backward
    )


ENTRIES = (
    Entry(label="icrl", task="lap-grid", seeds=SEEDS, change=short, episodes=2),
    Entry(
        label="nominal", task="lap-grid", method="nominal", seeds=SEEDS, change=short, episodes=2
    ),
)
SUITE = Suite(name="small", purpose="test", entries=ENTRIES)


class Watch:
    """Remembers what happened."""

    def __init__(self):
        self.events = []

    def started(self, job, process_id):
        self.events.append(("started", job.name))

    def ended(self, job, exit_code):
        self.events.append(("ended", job.name, exit_code))

    def waiting(self):
        pass


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    script = run_path(str(Path(__file__).parents[2] / "benchmarks" / "ray_nodes.py"))
    with script["three_nodes"](tmp_path_factory.mktemp("bin")) as made:
        yield made


@pytest.fixture(autouse=True)
def in_time():
    """A test that hangs ends, as with Ctrl-C, and says where."""
    timer = threading.Timer(PATIENCE, interrupt_main)
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()


def content(directory):
    """Constraint, policy, metrics and scores, without the seconds."""
    rows = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    scores = json.loads((directory / "scores.json").read_text())
    names = [
        "policy.safetensors",
        "config.json",
        "constraint/constraint.safetensors",
        "constraint/card.json",
    ]
    files = [(directory / name).read_bytes() for name in names if (directory / name).exists()]
    return (
        [without_times(row) for row in rows],
        without_times(scores),
        files,
    )


def wait_until(true):
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_twelve_runs_outlive_two_nodes(cluster, tmp_path):
    runs = expand(SUITE, tmp_path / "ray")
    assert len(runs) == 12
    removed = []

    def remove_nodes():
        """A node dies when two of three runs have checkpoints to lose,
        and another one, of two, after more runs are finished."""
        for number, node in enumerate(list(cluster.nodes_to_die)):
            wait_until(
                lambda n=number: sum(RunDirectory(run.directory).finished for run in runs) >= 3 * n
            )
            wait_until(
                lambda n=number: sum(bool(checkpoints(run.directory)) for run in runs) >= 2 - n
            )
            cluster.remove_node(node, allow_graceful=False)
            removed.append(node)

    reaper = threading.Thread(target=remove_nodes, daemon=True)
    reaper.start()
    watch = Watch()
    outcome = run_suite(
        runs, tmp_path / "ray", 2, watch, "icrl suite small --engine ray", run_jobs_on_ray
    )
    reaper.join()
    assert len(removed) == 2
    assert outcome.failed == []
    assert len(outcome.finished) == 12
    assert sum(event[0] == "started" for event in watch.events) == 12
    assert not list((tmp_path / "ray").glob(".*"))

    again = run_suite(runs, tmp_path / "ray", 2, Watch(), "again", run_jobs_on_ray)
    assert len(again.skipped) == 12
    here = expand(SUITE, tmp_path / "processes")
    run_suite(here, tmp_path / "processes", 2, Watch(), "icrl suite small", run_jobs)
    for there, straight in zip(runs, here, strict=True):
        assert content(there.directory) == content(straight.directory)


def test_runs_of_machines_that_share_no_folder_are_brought_back(cluster, tmp_path, monkeypatch):
    """The mark is where no machine sees it: the run is made elsewhere,
    from the checkpoint that it is given."""
    (run, *_) = expand(SUITE, tmp_path / "ray", seeds=1)
    monkeypatch.setattr(ray_engine, "_mark", lambda jobs: nullcontext(tmp_path / "nowhere"))
    outcome = run_suite(
        [run], tmp_path / "ray", 1, Watch(), "icrl suite small --engine ray", run_jobs_on_ray
    )
    assert outcome.finished == ["icrl-seed0"]
    (here, *_) = expand(SUITE, tmp_path / "processes", seeds=1)
    run_suite([here], tmp_path / "processes", 1, Watch(), "icrl suite small", run_jobs)
    assert content(run.directory) == content(here.directory)


def test_a_run_that_fails_fails_alone_and_says_why(cluster, tmp_path):
    broken = Entry(label="broken", task="lap-grid", seeds=1, change=short)
    (run,) = expand(Suite(name="small", purpose="test", entries=(broken,)), tmp_path)
    run = run._replace(spec=replace(run.spec, method="no-such-method"))
    outcome = run_suite(
        [run], tmp_path, 1, Watch(), "icrl suite small --engine ray", run_jobs_on_ray
    )
    assert outcome.failed == ["broken-seed0"]
    assert "unknown method 'no-such-method'" in (run.directory / "error.txt").read_text()


def test_an_interrupted_suite_leaves_no_process(cluster, tmp_path, monkeypatch):
    class Interrupt(Watch):
        def waiting(self):
            if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
                raise KeyboardInterrupt

    script = tmp_path / "sleeper.py"
    script.write_text(
        "import os, pathlib, sys, time\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "sys.stdin.read()\n"
    )
    monkeypatch.chdir(tmp_path)  # where a task's module is looked for
    with pytest.raises(KeyboardInterrupt):
        run_jobs_on_ray([Job("sleeper", "sleeper", (), "go", tmp_path / "errors")], 1, Interrupt())
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_an_address_is_of_a_cluster():
    with pytest.raises(InputError, match="give --engine ray too"):
        find_engine("processes", "auto", 2)
    assert find_engine("processes", None, 2) is run_jobs
