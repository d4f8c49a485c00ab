"""Running jobs as tasks of a Ray cluster (extra `ray`): each one core, on whichever machine has it.

Ray schedules, and tries a task again elsewhere when its machine dies; the job itself goes on from
its checkpoint, where the machines share its folder. Where they do not, a task works in a folder of
its own machine, and its files come back when it is over.
"""

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from icrl.errors import InputError
from icrl.experiment.directory.lock import require_unlocked
from icrl.experiment.engine.engine import (
    Engine,
    Job,
    Watcher,
    close_lifeline,
    end_processes,
    give_up,
    next_job,
    run_jobs,
    send_message,
    start_process,
)
from icrl.files import make_folder, move_into_place

_RETRIES = 20
"""Machines that may die under one job."""
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 20.0
"""How long a task may take to end after it was asked to."""
_LOCK_SECONDS = 60.0
"""How long a job that is tried again waits for the one before it to let go of its folder."""
_LOST = -1000
"""Exit code of a job that Ray gave up on; no process has it."""
_TRIES = 3
"""How often a job is handed to Ray again that Ray gave up on."""


PATIENT = {
    "RAY_raylet_start_wait_time_s": "600",
    "RAY_gcs_server_port_wait_time_s": "600",
    "RAY_gcs_server_request_timeout_seconds": "600",
    "RAY_gcs_rpc_server_connect_timeout_s": "60",
    "RAY_py_gcs_connect_timeout_s": "600",
    "RAY_agent_register_timeout_ms": "600000",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_health_check_timeout_ms": "120000",
}
"""Ray gives its own processes 10 to 60 seconds to start and to answer, and takes those that are
late for dead. On a busy machine they are late. A machine that is gone refuses at once, and is
noticed as soon as ever."""


class Ended(NamedTuple):
    """What a task brings back."""

    exit_code: int
    errors: str
    """What the job said on its standard error."""
    files: bytes | None
    """Its folder as a tar file; None: it lies where everybody sees it."""


def find_engine(name: str, address: str | None, cores: int) -> Engine:
    """The engine called `processes` or `ray`;
    a cluster of this machine alone has so many `cores`."""
    if name == "ray":
        import_ray()
        return partial(run_jobs_on_ray, address=address, cores=cores)
    if address is not None:
        raise InputError(
            f"--address {address} is of a Ray cluster: give --engine ray too, or leave it out."
        )
    return run_jobs


def import_ray() -> Any:
    """Ray, told to be patient unless the user's environment says otherwise: it reads such settings
    when it is imported, and hands them to what it starts."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    for name, value in PATIENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise InputError(
            f"--engine ray needs the extra 'ray' ({error}): pip install 'icrl[ray]'."
        ) from error
    return ray


def run_jobs_on_ray(
    jobs: Sequence[Job],
    num_processes: int,
    watcher: Watcher,
    address: str | None = None,
    cores: int | None = None,
) -> None:
    """As `run_jobs`, in the cluster at `address` (HOST:PORT, or auto: the one of this machine),
    with as many at a time as it has cores; None: a cluster of this machine alone, with so many
    `cores`, for as long as the jobs take."""
    ray = import_ray()
    todo = list(jobs)
    failed = set[str]()
    running: dict[Any, Job] = {}
    with _CONNECTION.held(ray, address, cores or num_processes), _mark(jobs) as mark:
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(run_on_node)
        lost = Counter[str]()

        def submit(job: Job) -> None:
            running[task.remote(job, os.getcwd(), mark, _packed_if_any(job, mark))] = job

        try:
            while todo or running:
                give_up(todo, failed, watcher)
                # Asked anew: machines may join and leave while a suite runs.
                places = max(1, int(ray.cluster_resources().get("CPU", 1)))
                while (
                    len(running) < places
                    and (job := next_job(todo, list(running.values()))) is not None
                ):
                    todo.remove(job)
                    submit(job)
                    watcher.started(job, 0)
                if running:
                    over, _ = ray.wait(list(running), timeout=_POLL_SECONDS)
                    for reference in over:
                        job = running.pop(reference)
                        exit_code = _received(ray, reference, job)
                        lost[job.name] += exit_code == _LOST
                        if exit_code == _LOST and lost[job.name] < _TRIES:
                            # of what Ray itself does not try again: it goes on from its checkpoint
                            submit(job)
                            continue
                        if exit_code:
                            failed.add(job.name)
                        watcher.ended(job, exit_code)
                watcher.waiting()
        finally:
            _cancel(ray, list(running))


class _Connection:
    """To one cluster, for all threads of this process: the last one that is done ends it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.ours = False
        """It was made here; who was connected already stays so."""

    @contextmanager
    def held(self, ray: Any, address: str | None, cores: int) -> Iterator[None]:
        """Connected while the block runs."""
        with self.lock:
            # A user's own connection is used, and is not ended here.
            if not ray.is_initialized():
                _connect(ray, address, cores)
                self.ours = True
            self.users += 1
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if self.users == 0 and self.ours:
                    ray.shutdown()
                    self.ours = False


_CONNECTION = _Connection()


def _connect(ray: Any, address: str | None, cores: int) -> None:
    settings: dict[str, Any] = {"address": address}
    if address is None:
        settings = {"address": "local", "num_cpus": cores, "include_dashboard": False}
    try:
        ray.init(**settings, log_to_driver=False, logging_level="error")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(
            f"no Ray cluster answers at {address}: {error!s:.200}. Start one with ray start --head "
            "(docs/scale.md), or leave --address out."
        ) from error


@contextmanager
def _mark(jobs: Sequence[Job]) -> Iterator[Path | None]:
    """A file beside the jobs' folders: a machine that sees it sees them too."""
    folders = [job.directory for job in jobs if job.directory is not None]
    if not folders:
        yield None
        return
    mark = folders[0].resolve().parent / f".ray-{uuid.uuid4().hex}"
    make_folder(mark.parent)
    mark.touch()
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def _packed_if_any(job: Job, mark: Path | None) -> bytes | None:
    """What an earlier attempt left, for a machine that does not see it."""
    if job.directory is None or mark is None or not job.directory.is_dir():
        return None
    return _packed(job.directory)


def _packed(folder: Path) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            if not path.name.startswith("."):  # locks, and files that were being written
                archive.add(path, path.name)
    return data.getvalue()


def _unpack(data: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        # "data" refuses members and links that lead out of the folder, and devices.
        archive.extractall(folder, filter="data")


def run_on_node(job: Job, folder: str, mark: Path | None, given: bytes | None) -> Ended:
    """One job, on the machine where this is called: in a process, as the other engine does it."""
    shared = job.directory is None or mark is None or mark.exists()
    place = None
    if Path(folder).is_dir():
        place = folder
    with tempfile.TemporaryDirectory(prefix="icrl-") as own:
        errors = Path(own) / "errors"
        directory = job.directory
        if directory is not None:
            # tasks have working directories of their own
            if shared:
                directory = Path(folder, directory)
            else:
                directory = Path(own) / directory.name
            job = job._replace(arguments=(str(directory), *job.arguments[1:]))
            if not shared:
                make_folder(directory)
                if given is not None:
                    _unpack(given, directory)
            _wait_for(directory)
        exit_code = _run(start_process(job, errors, place), job.message)
        files = None
        if directory is not None and not shared:
            files = _packed(directory)
        return Ended(exit_code, errors.read_text(errors="replace"), files)


def _run(process: subprocess.Popen[bytes], message: str) -> int:
    try:
        send_message(process, message)
        while process.poll() is None:
            # Ray's way to cancel a task waits for Python: no long call here
            time.sleep(_POLL_SECONDS)
    finally:  # a task that is cancelled ends its process in order
        if process.poll() is None:
            end_processes([process])
    close_lifeline(process)
    return process.returncode


def _wait_for(directory: Path) -> None:
    """The process of a task that died may still be ending, and hold the folder."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while time.monotonic() < deadline:
        with suppress(InputError):
            require_unlocked(directory)
            return
        time.sleep(_POLL_SECONDS)


def _received(ray: Any, reference: Any, job: Job) -> int:
    """The exit code of a task that is over; its words and files are where they belong."""
    try:
        ended: Ended = ray.get(reference)
    except ray.exceptions.RayError as error:
        job.errors.write_text(f"Ray gave the job up: {error}\n")
        return _LOST
    job.errors.write_text(ended.errors)
    if ended.files is not None and job.directory is not None:
        _bring_back(ended.files, job.directory)
    return ended.exit_code


def _bring_back(data: bytes, directory: Path) -> None:
    """The files of a run that was made elsewhere;
    scores last, since they say that it is finished."""
    make_folder(directory)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".ray-") as folder:
        _unpack(data, Path(folder))
        for path in sorted(Path(folder).iterdir(), key=lambda one: one.name == "scores.json"):
            if path.is_dir():
                shutil.rmtree(directory / path.name, ignore_errors=True)
            move_into_place(path, directory / path.name)


def _cancel(ray: Any, references: list[Any]) -> None:
    for reference in references:
        # One that is over already cannot be cancelled, and need not be.
        with suppress(ray.exceptions.RayError):
            ray.cancel(reference)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while references and time.monotonic() < deadline:
        _, references = ray.wait(references, timeout=_POLL_SECONDS)
