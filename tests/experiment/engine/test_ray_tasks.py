"""What a task of a cluster does on its machine, without a cluster:
`tests/extras/test_ray.py` has one."""

import os
import sys
from types import ModuleType, SimpleNamespace

import pytest

from icrl.errors import InputError
from icrl.experiment.engine.engine import Job, run_jobs
from icrl.experiment.engine.ray_engine import (
    PATIENT,
    Ended,
    _bring_back,
    _packed,
    find_engine,
    import_ray,
    run_jobs_on_ray,
    run_on_node,
)

WORK = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
before = (folder / "made.txt").read_text() if (folder / "made.txt").exists() else ""
(folder / "made.txt").write_text(before + sys.stdin.readline())
(folder / "scores.json").write_text("{}")
(folder / ".lock").write_text("")
sys.stderr.write("a word")
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def job(tmp_path):
    """A module in a folder of its own, which is where the job works."""
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "out").mkdir()
    directory = tmp_path / "out" / "run"
    return Job(
        "run", "work", (str(directory), "0"), "hello", tmp_path / "errors", directory=directory
    )


def test_a_machine_that_sees_the_folder_works_in_it(job, tmp_path):
    mark = tmp_path / "out" / ".mark"
    mark.touch()
    ended = run_on_node(job, str(tmp_path), mark, None)
    assert (ended.exit_code, ended.errors, ended.files) == (0, "a word", None)
    assert (job.directory / "made.txt").read_text() == "hello\n"


def test_a_folder_may_be_named_from_where_the_suite_was_started(job, tmp_path):
    relative = job._replace(directory=job.directory.relative_to(tmp_path))
    (tmp_path / "out" / ".mark").touch()
    assert run_on_node(relative, str(tmp_path), tmp_path / "out" / ".mark", None).exit_code == 0
    assert (tmp_path / "out" / "run" / "made.txt").exists()


def test_a_machine_that_does_not_see_it_sends_everything_back(job, tmp_path):
    job.directory.mkdir()
    (job.directory / "made.txt").write_text("before ")
    (job.directory / "old").mkdir()
    ended = run_on_node(job, str(tmp_path), tmp_path / "nowhere", _packed(job.directory))
    assert ended.exit_code == 0
    assert (job.directory / "made.txt").read_text() == "before "  # nothing was written here
    assert ended.files is not None
    _bring_back(ended.files, job.directory)
    assert (job.directory / "made.txt").read_text() == "before hello\n"
    # and no lock
    assert {path.name for path in job.directory.iterdir()} == {"made.txt", "scores.json", "old"}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run"]


def test_the_exit_code_is_the_jobs(job, tmp_path):
    (tmp_path / "out" / ".mark").touch()
    failing = job._replace(arguments=(job.arguments[0], "3"))
    assert run_on_node(failing, str(tmp_path), tmp_path / "out" / ".mark", None).exit_code == 3


def test_engines_by_name(monkeypatch):
    assert find_engine("processes", None, 2) is run_jobs
    with pytest.raises(InputError, match="--address auto is of a Ray cluster"):
        find_engine("processes", "auto", 2)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"needs the extra 'ray'.*pip install 'icrl\[ray\]'"):
        find_engine("ray", None, 2)


def test_ray_is_told_to_be_patient_unless_the_user_says_otherwise(monkeypatch):
    """Its own limits fail where cores are busy."""
    given = {"RAY_health_check_timeout_ms": "7"}
    monkeypatch.setattr(os, "environ", given)
    loaded = ModuleType("ray")
    monkeypatch.setitem(sys.modules, "ray", loaded)
    assert import_ray() is loaded
    assert given == {**PATIENT, "RAY_health_check_timeout_ms": "7", "RAY_USAGE_STATS_ENABLED": "0"}


class FakeRay(ModuleType):
    """A cluster of one core that loses a job as often as it is told."""

    class exceptions:
        RayError = RuntimeError

    def __init__(self, losses):
        super().__init__("ray")
        self.losses = losses
        self.options = {}
        self.calls = []

    def is_initialized(self):
        return True

    def cluster_resources(self):
        return {"CPU": 1.0}

    def remote(self, **options):
        self.options = options
        return lambda function: SimpleNamespace(remote=self._submit)

    def _submit(self, job, *rest):
        self.calls.append(job.name)
        return len(self.calls)

    def wait(self, references, timeout):
        return references, []

    def get(self, reference):
        if reference <= self.losses:
            raise RuntimeError("the node died")
        return Ended(0, "", None)


@pytest.mark.parametrize(("losses", "tries", "code"), [(0, 1, 0), (2, 3, 0), (9, 3, -1000)])
def test_a_job_is_one_task_of_one_core_that_is_tried_again(job, monkeypatch, losses, tries, code):
    """Ray tries again when a node dies; what it gives up on is handed to it again."""
    ray = FakeRay(losses)
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    told = []
    watcher = SimpleNamespace(
        started=lambda job, process_id: told.append("started"),
        ended=lambda job, exit_code: told.append(exit_code),
        waiting=lambda: None,
    )
    run_jobs_on_ray([job], 2, watcher)
    assert ray.options["num_cpus"] == 1
    assert ray.options["max_retries"] > 2
    assert ray.calls == ["run"] * tries
    assert told == ["started", code]
    assert list(job.directory.parent.iterdir()) == []  # the mark is gone
