"""What every test shares. This file also puts `tests/` on the import path, so that oracles and worlds are found."""

import signal
import threading

from hypothesis import settings

from icrl.runtime import configure_jax

configure_jax()  # as the command line does: what one worker or child has compiled, the others need not compile again

import jax  # noqa: E402 - reads what was set above

# A shell that starts pytest in the background makes it ignore Ctrl-C, and its children too: the tests need it back.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A wrong shape that broadcasts is the bug that tests miss most easily: make it loud.
jax.config.update("jax_numpy_rank_promotion", "raise")

# Compilation makes a first example slow: no test may depend on the clock.
settings.register_profile("icrl", deadline=None, max_examples=40)
settings.load_profile("icrl")
