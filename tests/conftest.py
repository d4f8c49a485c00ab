"""What every test shares.

This file also puts `tests/` on the import path, so that oracles and worlds are found.
"""

import os
import re
import signal
import threading

import pytest
from hypothesis import settings

from icrl.cli import main
from icrl.runtime import configure_jax

# A shell that starts pytest in the background makes it ignore Ctrl-C, and its children too:
# the tests need it back.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# As the command line does: what one worker or child has compiled, the others need not compile
# again. JAX reads both of these when it is imported. And a wrong shape that broadcasts is the bug
# that tests miss most easily: make it loud.
configure_jax()
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")

# Compilation makes a first example slow: no test may depend on the clock.
settings.register_profile("icrl", deadline=None, max_examples=40)
settings.load_profile("icrl")


@pytest.fixture
def refused(capsys):
    """Run `icrl` with these words: it must end with code 2; what it said, in one line."""

    def run(*words):
        with pytest.raises(SystemExit) as caught:
            main(words)
        said = capsys.readouterr()
        assert caught.value.code == 2
        assert "Traceback" not in said.err + said.out
        return re.sub(r"[\s│]+", " ", said.err + said.out)

    return run
