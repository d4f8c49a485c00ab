"""Plain values as typed settings: what fits is taken, what does not is named."""

import enum
from dataclasses import dataclass, field

import pytest

from icrl.errors import InputError
from icrl.experiment.directory.parsing import changed, dotted_names, parse_as


class Colour(enum.StrEnum):
    red = "red"
    blue = "blue"


@dataclass(frozen=True, kw_only=True)
class Inner:
    rate: float = 0.5
    limit: float | None = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    steps: int
    names: tuple[str, ...] = ()
    colour: Colour = Colour.red
    inner: Inner = field(default_factory=Inner)


def test_nested_values_become_the_dataclasses():
    said = {"steps": 3, "names": ["x", "y"], "colour": "blue", "inner": {"rate": 1}}
    found = parse_as(Outer, said, "file")
    assert found == Outer(steps=3, names=("x", "y"), colour=Colour.blue, inner=Inner(rate=1))


def test_none_is_null_or_the_word():
    assert parse_as(Inner, {"limit": None}, "file").limit is None
    assert parse_as(Inner, {"limit": "none"}, "file").limit is None
    assert parse_as(Inner, {"limit": 2}, "file").limit == 2


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"steps": "3"}, "steps is '3', expected int"),
        ({"steps": True}, "steps is True, expected int"),  # for Python True is a number
        ({"steps": 3, "names": "xy"}, "names holds 'xy', expected a list"),
        ({"steps": 3, "colour": "green"}, "colour is 'green', expected one of red, blue"),
        ({"steps": 3, "speed": 1}, "does not know: speed"),
        ({}, "is incomplete"),
        ([], r"holds \[\], expected an object"),
    ],
)
def test_what_does_not_fit_is_named(said, words):
    with pytest.raises(InputError, match=words):
        parse_as(Outer, said, "file")


def test_changes_leave_the_rest_as_it_was():
    base = Outer(steps=3, inner=Inner(rate=0.1, limit=4.0))
    assert changed(base, {"inner": {"rate": 0.2}}) == Outer(
        steps=3, inner=Inner(rate=0.2, limit=4.0)
    )
    with pytest.raises(InputError, match=r"inner\.rote.*did you mean 'inner\.rate'"):
        changed(base, {"inner": {"rote": 1}})


def test_settings_have_dotted_names():
    assert dotted_names(Outer) == ["steps", "names", "colour", "inner.rate", "inner.limit"]
