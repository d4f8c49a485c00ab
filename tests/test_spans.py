"""Where time goes: spans add up, what lies within one is taken from it, compiling is told apart."""

import threading

import pytest

from icrl import spans
from icrl.spans import PHASES, begin_run, go_on_as, seconds_taken, span


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(spans, "time", clock)
    monkeypatch.setattr(spans, "_record", spans._Record())
    return clock


def taken():
    return {name: seconds for name, seconds in seconds_taken().items() if seconds}


def test_phases_add_up_and_what_lies_within_is_taken_from_what_lies_around(clock):
    clock.now += 1
    with span("update"):
        clock.now += 2
        with span("physics"):
            clock.now += 4
        clock.now += 8
    clock.now += 16
    assert taken() == {"other": 17, "update": 10, "physics": 4}
    assert taken() == {}


def test_every_phase_is_there_even_if_nothing_happened(clock):
    assert seconds_taken() == dict.fromkeys(PHASES, 0.0)


def test_what_an_evaluation_does_is_evaluation(clock):
    with span("evaluation"):
        clock.now += 1
        with span("sampling"):
            clock.now += 2
            with span("acting"):
                clock.now += 4
                go_on_as("shield")
                clock.now += 8
        clock.now += 16
    clock.now += 32
    assert taken() == {"evaluation": 31, "other": 32}


def test_the_rest_of_a_span_may_be_of_another_phase(clock):
    with span("acting"):
        clock.now += 1
        go_on_as("shield")
        clock.now += 2
    clock.now += 4
    assert taken() == {"acting": 1, "shield": 2, "other": 4}
    go_on_as("shield")  # no span is open: nothing to go on with
    clock.now += 8
    assert taken() == {"other": 8}


def test_a_function_may_be_a_span_and_an_error_ends_it(clock):
    @span("foresight")
    def fails():
        clock.now += 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    clock.now += 2
    assert taken() == {"foresight": 1, "other": 2}


def test_compiling_is_told_apart_and_counted_once(clock):
    with span("zeta"):
        clock.now += 3
        spans._compiled("/jax/core/compile/jaxpr_trace_duration", 2.0)  # within the next
        clock.now += 1
        spans._compiled("/jax/core/compile/jaxpr_trace_duration", 4.0)
        clock.now += 5
        spans._compiled("/jax/core/compile/backend_compile_duration", 5.0)
        spans._compiled("/jax/something/else", 1.0)
        clock.now += 10
    assert taken() == {"compile": 9, "zeta": 10}


def test_of_what_was_before_a_run_only_the_loading_of_libraries_counts(clock):
    with span("import"):
        clock.now += 1
    with span("physics"):
        clock.now += 2
    clock.now += 4
    begin_run()
    clock.now += 8
    assert taken() == {"import": 1, "other": 8}


def test_threads_have_records_of_their_own(clock):
    def work():
        with span("physics"):
            clock.now += 1

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert taken() == {"other": 1}


def test_jax_tells_when_it_compiles():
    jax = pytest.importorskip("jax")
    begin_run()
    jax.jit(lambda x: 3.0 * x + 1.0)(2.0)
    assert seconds_taken()["compile"] > 0


def test_an_unknown_phase_is_an_error():
    with pytest.raises(KeyError):
        span("waiting")
