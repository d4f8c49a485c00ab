"""Ctrl-C: none is lost, and none comes between files that belong together."""

import contextlib
import os
import signal

import jax
import pytest

from icrl.agent.forward_step import forward_step, generator
from icrl.agent.state import init_agent
from icrl.interrupts import heed_interrupts, interrupted_by, remembered_interrupts, uninterrupted
from icrl.tasks.lap_grid import lap_grid
from small_runs import TINY


def swallowed():
    """What JAX does to an interrupt that comes while it traces."""
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_was_swallowed_ends_training_at_the_next_update():
    task, config = lap_grid().task, TINY.forward
    key = jax.random.key(0)
    agent = init_agent(generator(key), task, config)
    env = task.make_env(config.num_envs)
    updates = []

    def on_update(steps):
        updates.append(steps)
        swallowed()

    with remembered_interrupts(), pytest.raises(KeyboardInterrupt):
        forward_step(key, agent, task, env, None, config, on_update=on_update, updates=3)
    assert len(updates) == 1
    heed_interrupts()  # after the block all is forgotten
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Dying:
    """Python drops what is raised while an object dies, and says so."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        if self.error is KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
        raise self.error


def test_an_interrupt_that_python_drops_is_heeded_and_needs_no_words(monkeypatch):
    told = []
    monkeypatch.setattr("sys.unraisablehook", lambda dropped: told.append(dropped.exc_type))
    with remembered_interrupts():
        Dying(KeyboardInterrupt)
        Dying(ValueError)
        with pytest.raises(KeyboardInterrupt):
            heed_interrupts()
    Dying(ValueError)
    assert told == [ValueError, ValueError]


def test_an_interrupt_is_raised_where_it_comes():
    with remembered_interrupts():
        heed_interrupts()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_background_job_that_ignores_interrupts_goes_on_doing_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with remembered_interrupts():
            signal.raise_signal(signal.SIGINT)
            heed_interrupts()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end_of_the_block():
    reached = []

    def write():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            reached.append("end")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert reached == ["end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_sigterm_waits_too_and_is_remembered_as_what_it_is():
    reached = []

    def write():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            reached.append("end")

    with remembered_interrupts():
        assert interrupted_by() is None
        with pytest.raises(KeyboardInterrupt):
            write()
        assert interrupted_by() == signal.SIGTERM
    assert reached == ["end"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_somebody_else_for_sigterm_is_left_alone():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with remembered_interrupts():
            signal.raise_signal(signal.SIGTERM)
            heed_interrupts()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_without_an_interrupt_nothing_happens_and_errors_pass():
    with uninterrupted():
        inside = signal.getsignal(signal.SIGINT)
    assert inside is not signal.default_int_handler
    with pytest.raises(RuntimeError, match="disk"), uninterrupted():
        raise RuntimeError("disk")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
