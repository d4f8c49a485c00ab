"""The pages that describe the code keep up with it: the Python interface, every method, every logged number."""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import pytest

from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.run.callbacks import Callback
from icrl.experiment.run.one_run import run_learning
from icrl.methods.registry import METHODS
from icrl.tasks.lap_grid import lap_grid
from small_runs import TINY, lap_demos, tiny_spec

DOCS = Path(__file__).parents[1] / "docs"


def builder(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_python_interface_is_documented_as_it_is():
    assert (DOCS / "api.md").read_text() == builder("build_api").page(), "run: python docs/build_api.py"


def test_the_numbers_of_reliability_are_those_that_were_measured():
    text = (DOCS / "reliability.md").read_text()
    assert text == builder("build_reliability").page(), "run: python docs/build_reliability.py"


@pytest.mark.parametrize("method", sorted(name for name, method in METHODS.items() if not method.needs_truth))
def test_every_method_has_a_page(method):
    page = DOCS / "methods" / f"{method}.md"
    assert page.exists()
    assert f"`{method}`" in page.read_text()


@pytest.mark.parametrize("method", ["icrl", "greedy", "gail-constraint"])
def test_every_logged_number_is_explained(tmp_path, method):
    run_learning(tiny_spec(method=method), lap_grid(), lap_demos(), tmp_path / "run", Callback())
    explained = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)?)`", (DOCS / "methods" / "metrics.md").read_text()))
    logged = set(RunDirectory(tmp_path / "run").metrics()[0])
    assert len(logged) > 15
    assert logged <= explained


def test_every_number_of_a_search_is_explained(tmp_path):
    config = replace(TINY, steps=30_000, num_samples=6, scouts=2)
    config = replace(config, forward=replace(TINY.forward, steps=256, learning_rate=1e-3, shield=True))
    run_learning(tiny_spec(config=config), lap_grid(), lap_demos(), tmp_path / "run", Callback())
    explained = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)?)`", (DOCS / "methods" / "metrics.md").read_text()))
    logged = set().union(*RunDirectory(tmp_path / "run").metrics())
    assert {"constraint/strength", "constraint/rivals", "constraint/axes", "constraint/score"} <= logged
    assert logged <= explained


STARTS = {"index.md", "tutorial.md"}
"""Pages that speak to every reader."""
TO_FOLLOW = {"explain.md", "trust.md", "scale.md", "suites.md"}
"""Pages that others are writing."""


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md") if path.name not in STARTS | TO_FOLLOW))
def test_a_page_opens_with_whom_it_is_for(page):
    paragraphs = (DOCS / page).read_text().split("\n\n")
    assert paragraphs[0].startswith("# ")
    assert paragraphs[1].startswith("For who"), paragraphs[1][:80]


LINK = re.compile(r"\]\(([^)#]+?)(?:#[^)]*)?\)")


@pytest.mark.parametrize(
    "page",
    sorted([*DOCS.rglob("*.md"), DOCS.parent / "README.md"]),
    ids=lambda path: str(path.relative_to(DOCS.parent)),
)
def test_links_between_pages_lead_somewhere(page):
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    broken = [target for target in targets if not (page.parent / target).exists()]
    assert broken == []


def test_every_departure_is_marked_where_it_happens_and_every_named_test_exists():
    table = (DOCS / "fidelity.md").read_text()
    rows = set(re.findall(r"^\| \*\*(F\d+)\*\*", table, re.MULTILINE))
    assert len(rows) >= 20
    code = "\n".join(path.read_text() for path in (DOCS.parent / "src").rglob("*.py"))
    assert rows - set(re.findall(r"\bF\d+\b", code)) == set()
    tests = "\n".join(path.read_text() for path in (DOCS.parent / "tests").rglob("test_*.py"))
    assert set(re.findall(r"::(test_\w+)", table)) - set(re.findall(r"def (test_\w+)", tests)) == set()
