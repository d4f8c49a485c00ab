"""What must be set before the libraries that read it are loaded."""

import subprocess
import sys


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
