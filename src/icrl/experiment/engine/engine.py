"""Running many jobs in processes of one thread each. Nothing here knows what a job computes.

An engine is a function with the signature of `run_jobs`. There are two: this one, and
`ray_engine.py`, for more than one machine.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

NOT_STARTED = 3
"""Exit code of a job that was never started, because one that it waited for failed."""
ONE_THREAD = {
    "ICRL_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 10.0
"""How long a child may take to end after it was asked to."""


class Job(NamedTuple):
    """A module to run in a process of its own."""

    name: str
    module: str
    arguments: tuple[str, ...]
    message: str
    """One line for its standard input, which then stays open until the job is to end."""
    errors: Path
    """File for its standard error."""
    after: tuple[str, ...] = ()
    """Names of jobs among those to be run that must have succeeded before this one starts."""
    directory: Path | None = None
    """All that it writes. Where its machine does not see this folder,
    it is brought back when the job is over."""


class Watcher(Protocol):
    """Something that is told how the jobs get on."""

    def started(self, job: Job, process_id: int) -> None:
        """A job was started."""

    def ended(self, job: Job, exit_code: int) -> None:
        """A job ended by itself."""

    def waiting(self) -> None:
        """Called several times a second."""


class Engine(Protocol):
    """Something that runs jobs."""

    def __call__(self, jobs: Sequence[Job], num_processes: int, watcher: Watcher) -> None:
        """Run the jobs in order, at most `num_processes` at a time."""


def run_jobs(jobs: Sequence[Job], num_processes: int, watcher: Watcher) -> None:
    """Run the jobs in order, `num_processes` at a time;
    a failing one only disturbs those that come `after` it.

    Whatever raises (Ctrl-C, the watcher) ends the children that are running before it is passed on.
    """
    todo = list(jobs)
    failed = set[str]()
    running: list[tuple[Job, subprocess.Popen[bytes]]] = []
    try:
        while todo or running:
            # Before anything is started: what waits for a run that failed would wait for ever.
            give_up(todo, failed, watcher)
            while (
                len(running) < num_processes
                and (job := next_job(todo, [one for one, _ in running])) is not None
            ):
                todo.remove(job)
                process = start_process(job, job.errors)
                # Before it is spoken to: whatever fails from here on, its process is ended with the
                # others.
                running.append((job, process))
                send_message(process, job.message)
                watcher.started(job, process.pid)
            ended = [(job, process) for job, process in running if process.poll() is not None]
            running = [(job, process) for job, process in running if process.returncode is None]
            for job, process in ended:
                # The pipe is how a child knows that its parent lives. It is closed for those that
                # are done too, or open files would pile up over a long suite.
                close_lifeline(process)
                failed |= {job.name} if process.returncode else set()
                watcher.ended(job, process.returncode)
            watcher.waiting()
            # Where something ended, a place is free: fill it at once.
            if not ended:
                time.sleep(_POLL_SECONDS)
    finally:
        end_processes([process for _, process in running])


def next_job(todo: Sequence[Job], running: Sequence[Job]) -> Job | None:
    """The first job that waits for nothing."""
    unfinished = {job.name for job in [*todo, *running]}
    # In the order given: suites put what others wait for first.
    return next((job for job in todo if not unfinished.intersection(job.after)), None)


def give_up(todo: list[Job], failed: set[str], watcher: Watcher) -> None:
    """End the jobs that wait for one that failed, and those that wait for these."""
    while hopeless := [job for job in todo if failed.intersection(job.after)]:
        for job in hopeless:
            todo.remove(job)
            failed.add(job.name)
            job.errors.write_text(
                f"not started: {', '.join(sorted(failed.intersection(job.after)))} failed.\n"
            )
            watcher.ended(job, NOT_STARTED)


def start_process(job: Job, errors: Path, folder: str | None = None) -> subprocess.Popen[bytes]:
    """The job in a process of its own, which works in `folder`."""
    with errors.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", job.module, *job.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            cwd=folder,
            env={**os.environ, **ONE_THREAD},
            # Ctrl-C reaches this process alone, which then ends its children in order
            start_new_session=True,
        )


def send_message(process: subprocess.Popen[bytes], message: str) -> None:
    """Its one line; the pipe stays open."""
    if process.stdin is not None:
        try:
            process.stdin.write(message.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return  # it died at once: its exit code tells


def close_lifeline(process: subprocess.Popen[bytes]) -> None:
    """The process that waits at the other end is to end."""
    if process.stdin is not None:
        try:
            process.stdin.close()
        except BrokenPipeError:
            return


def end_processes(processes: list[subprocess.Popen[bytes]]) -> None:
    """End them in order, or, after a while, at once."""
    for process in processes:
        process.terminate()
    # One deadline for all: each has the same seconds to save its round, not one after the other.
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # Only now: a worker that finds its lifeline closed takes its parent for dead, and ends
        # itself sooner than it would have to.
        close_lifeline(process)
