"""What must be set before the libraries that read it are loaded."""

import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import icrl
from icrl.runtime import one_thread
from small_runs import TINY


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout.split()


REPORT = "import os, sys, icrl.cli as c; loaded = 'numpy' in sys.modules; c.main(['tasks']); "


def test_numpy_gets_one_thread_before_it_is_loaded():
    words = run(REPORT + "print(); print(loaded, os.environ['OPENBLAS_NUM_THREADS'])")
    assert words[-2:] == ["False", "1"]


def test_what_the_user_set_is_kept():
    assert (
        run(
            REPORT + "print(); print(os.environ['OPENBLAS_NUM_THREADS'])", OPENBLAS_NUM_THREADS="2"
        )[-1]
        == "2"
    )


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


class Looks(icrl.Callback):
    def __init__(self):
        self.seen = []

    def on_round(self, *_):
        self.seen.append(blas_threads())


@pytest.fixture
def two_threads(monkeypatch):
    """NumPy was imported long ago, as in a notebook, and nobody said anything of threads."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with threadpool_limits(limits=2, user_api="blas"):
        assert blas_threads() == {2}
        yield


def test_a_run_in_a_script_has_one_thread_and_gives_the_others_back(two_threads, tmp_path):
    looks = Looks()
    icrl.run(
        "lap-grid", tmp_path / "run", config=TINY, episodes=3, callbacks=[looks], progress=False
    )
    assert looks.seen == [{1}, {1}]
    assert blas_threads() == {2}


def test_threads_that_the_user_asked_for_are_kept(two_threads, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with one_thread():
        assert blas_threads() == {2}
