"""Free memory goes back to the system, where the C library can do that."""

import ctypes

import pytest

from icrl import memory


@pytest.fixture(autouse=True)
def looked_for_anew():
    memory._trim.cache_clear()
    yield
    memory._trim.cache_clear()


def test_the_whole_heap_is_trimmed(monkeypatch):
    asked = []

    class Library:
        @staticmethod
        def malloc_trim(pad):
            asked.append(pad)

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library)
    memory.give_back()
    memory.give_back()
    assert asked == [0, 0]


@pytest.mark.parametrize("error", [OSError, TypeError, AttributeError])
def test_where_nothing_can_be_given_back_nothing_happens(monkeypatch, error):
    def no_library(name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    assert memory.give_back() is None


def test_what_the_library_here_offers_can_be_called():
    has_one = hasattr(ctypes.CDLL(None), "malloc_trim")
    assert (memory._trim() is not None) == has_one
    assert memory.give_back() is None
