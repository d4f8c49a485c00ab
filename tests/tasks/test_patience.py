"""An environment that hangs is ended with words; one that does not is left alone."""

import signal
import threading
import time

import pytest

from icrl.errors import InputError
from icrl.tasks.patience import within


def test_what_takes_too_long_is_ended_and_says_what_it_was():
    words = r"step of world 3 did not come to an end within 0\.05 s.*--env-timeout"
    with pytest.raises(InputError, match=words), within(0.05, lambda: "step of world 3"):
        time.sleep(5)


def test_a_users_except_does_not_take_the_alarm_for_its_own():
    def stubborn():
        try:
            time.sleep(5)
        except Exception:
            time.sleep(5)

    with pytest.raises(InputError, match="did not come to an end"), within(0.05, lambda: "step"):
        stubborn()


def test_afterwards_no_alarm_is_left():
    with within(5.0, lambda: "step"):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_without_a_limit_and_outside_of_the_main_thread_there_is_no_alarm():
    rung = []

    def work():
        with within(0.01, lambda: "step"):
            time.sleep(0.03)
            rung.append("not")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with within(None, lambda: "step"):
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    assert rung == ["not"]


def test_an_alarm_that_somebody_else_uses_is_left_to_them():
    def theirs(number, frame):
        raise AssertionError("never rung")

    signal.signal(signal.SIGALRM, theirs)
    try:
        with within(0.01, lambda: "step"):
            time.sleep(0.03)
        assert signal.getsignal(signal.SIGALRM) is theirs
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
