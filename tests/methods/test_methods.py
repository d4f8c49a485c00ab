"""Methods by name: those that ship, those of packages, a user's own; and what is never imported."""

import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest

from icrl.config import Respect
from icrl.errors import InputError
from icrl.methods import registry
from icrl.methods.learners import learner_of
from icrl.methods.record import Look, Method, Presses
from icrl.methods.registry import METHODS, find_method, help_text, is_known, open_method, preset

OWN = """
from icrl import Method
HERE = Method(name="here", label="Here", summary="mine", objective=lambda: None)
NUMBER = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module `mine_for_test` beside the user, who names what is in it."""
    (tmp_path / "mine_for_test.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(registry, "_opened", {})
    yield "mine_for_test"
    sys.modules.pop("mine_for_test", None)


def test_a_method_that_the_user_names_is_imported_and_one_that_a_run_names_is_not(module):
    name = f"{module}:HERE"
    with pytest.raises(
        InputError, match=r"code that would be executed.*--method mine_for_test:HERE"
    ):
        find_method(name)
    assert module not in sys.modules
    assert not is_known(name)
    assert open_method(name).label == "Here"
    assert find_method(name) is open_method(name)
    assert is_known(name)


def test_what_is_no_method_is_refused_by_its_type(module):
    with pytest.raises(InputError, match=r"mine_for_test:NUMBER is int, expected an icrl\.Method"):
        open_method(f"{module}:NUMBER")
    with pytest.raises(
        InputError, match="unknown method of mine_for_test 'HER': did you mean 'HERE'"
    ):
        open_method(f"{module}:HER")


def test_a_package_brings_a_method_by_an_entry_point(module, monkeypatch):
    sys.path.insert(0, "")
    entry = EntryPoint(name="here", value=f"{module}:HERE", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints([entry]))
    assert is_known("here")
    assert find_method("here").label == "Here"
    with pytest.raises(InputError, match="unknown method 'her': did you mean 'here'"):
        find_method("her")


def test_a_broken_package_is_named(module, monkeypatch):
    entry = EntryPoint(name="gone", value="no_such_module_at_all:HERE", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints([entry]))
    with pytest.raises(
        InputError, match="gone of the entry point no_such_module_at_all:HERE cannot be imported"
    ):
        find_method("gone")


def test_a_method_learns_in_one_way():
    with pytest.raises(InputError, match="must say how it learns in one way, got 0"):
        Method(name="m", label="m", summary="")
    with pytest.raises(InputError, match="in one way, got 2"):
        Method(name="m", label="m", summary="", objective=lambda: None, learner=lambda: print)
    with pytest.raises(InputError, match="expert learns nothing"):
        learner_of(find_method("expert"))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_record_says_all_that_is_asked(method):
    assert method.look() == Look(method.name, method.label, method.colour)
    assert {"default", "paper", "authors"} <= set(method.settings)
    assert method.preset("default", "lap-grid").steps > 0
    assert method.learns == (method.presses is not None)
    assert method.needs_demos == method.learns
    assert f"{method.name} ({method.summary})" in help_text()
    assert (f"{method.name} (" in help_text(presses=True)) == method.learns
    assert (f"{method.name} (" in help_text(sweepable=True)) == method.sweepable


def test_how_constraints_press():
    assert [name for name, method in METHODS.items() if method.presses is Presses.bonus] == [
        "gail-constraint"
    ]
    assert preset("default", "lap-grid").forward.respect is Respect.terminate
    assert preset("paper", "lap-grid").forward.respect is Respect.lagrangian
    assert "gail-constraint (reward + log zeta)" in help_text(presses=True)


def test_looks_go_by_preset():
    icrl = find_method("icrl")
    assert icrl.look("paper").label == "paper"
    assert icrl.look("authors") == Look("authors", "ICRL (authors' code)", "#AA4499")
    assert icrl.look("other") == Look("icrl (other)", "icrl (other)")
    assert len({method.colour for method in METHODS.values()}) == len(METHODS)
