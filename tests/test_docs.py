"""The pages that describe the code keep up with it:
the Python interface, every method, every logged number."""

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
    assert (DOCS / "api.md").read_text() == builder("build_api").page(), (
        "run: python docs/build_api.py"
    )


def test_the_numbers_of_reliability_are_those_that_were_measured():
    text = (DOCS / "reliability.md").read_text()
    assert text == builder("build_reliability").page(), "run: python docs/build_reliability.py"


@pytest.mark.parametrize(
    "method", sorted(name for name, method in METHODS.items() if not method.needs_truth)
)
def test_every_method_has_a_page(method):
    page = DOCS / "methods" / f"{method}.md"
    assert page.exists()
    assert f"`{method}`" in page.read_text()


@pytest.mark.parametrize("method", ["icrl", "greedy", "gail-constraint"])
def test_every_logged_number_is_explained(tmp_path, method):
    run_learning(tiny_spec(method=method), lap_grid(), lap_demos(), tmp_path / "run", Callback())
    explained = set(
        re.findall(r"`([a-z_]+(?:/[a-z_]+)?)`", (DOCS / "methods" / "metrics.md").read_text())
    )
    logged = set(RunDirectory(tmp_path / "run").metrics()[0])
    assert len(logged) > 15
    assert logged <= explained


def test_every_number_of_a_search_is_explained(tmp_path):
    config = replace(TINY, steps=30_000, num_samples=6, scouts=2)
    config = replace(
        config, forward=replace(TINY.forward, steps=256, learning_rate=1e-3, shield=True)
    )
    run_learning(tiny_spec(config=config), lap_grid(), lap_demos(), tmp_path / "run", Callback())
    explained = set(
        re.findall(r"`([a-z_]+(?:/[a-z_]+)?)`", (DOCS / "methods" / "metrics.md").read_text())
    )
    logged = set().union(*RunDirectory(tmp_path / "run").metrics())
    assert {
        "constraint/strength",
        "constraint/rivals",
        "constraint/axes",
        "constraint/score",
    } <= logged
    assert logged <= explained


STARTS = {"index.md"}
"""Pages that speak to every reader."""
TO_FOLLOW = {"suites.md", "transfer.md"}
"""Pages that others are writing."""
RECORDS = {"collapse.md"}
"""Pages that may stay dense: what was found then."""
PAGES = sorted(
    path for path in [*DOCS.glob("*.md"), *DOCS.glob("methods/*.md")] if path.name not in STARTS
)
LINES = 4


def of_page(path):
    return path.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "suites.md"], ids=of_page)
def test_a_page_opens_with_whom_it_is_for(page):
    paragraphs = page.read_text().split("\n\n")
    assert paragraphs[0].startswith("# ")
    assert paragraphs[1].startswith("For who"), paragraphs[1][:80]


def paragraphs_of(text):
    """Paragraphs and items of lists; no blocks of code, no tables."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    items = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose)
    return [item.strip() for item in items if not item.strip().startswith(("|", "$$"))]


def test_paragraphs_are_told_from_items_code_and_tables():
    text = "one\ntwo\n\n- three\n- four\n  five\n\n```\nsix\n```\n\n| seven |\n"
    assert [item for item in paragraphs_of(text) if item] == [
        "one\ntwo",
        "- three",
        "- four\n  five",
    ]


@pytest.mark.parametrize(
    "page",
    [
        *(page for page in PAGES if page.name not in TO_FOLLOW | RECORDS | {"api.md"}),
        DOCS / "index.md",
        DOCS.parent / "README.md",
        DOCS.parent / "CONTRIBUTING.md",
    ],
    ids=lambda path: path.name,
)
def test_a_paragraph_has_at_most_four_lines(page):
    long = [text[:60] for text in paragraphs_of(page.read_text()) if text.count("\n") >= LINES]
    assert long == []


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


ANCHOR = re.compile(r"\]\(([^)#:]*)#([^)]+)\)")


def anchors_of(page):
    """What GitHub calls the headings of a page: small letters, hyphens, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page",
    sorted([*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "results" / "README.md"]),
    ids=lambda path: str(path.relative_to(DOCS.parent)),
)
def test_links_lead_to_headings_that_are_there(page):
    broken = [
        f"{target}#{anchor}"
        for target, anchor in ANCHOR.findall(page.read_text())
        if anchor not in anchors_of((page.parent / target) if target else page)
    ]
    assert broken == []


def test_no_line_of_the_readme_is_wider_than_100_columns():
    lines = (DOCS.parent / "README.md").read_text().splitlines()
    assert [line for line in lines if len(line) > 100] == []


def test_every_departure_is_marked_where_it_happens_and_every_named_test_exists():
    table = (DOCS / "fidelity.md").read_text()
    rows = set(re.findall(r"^\| \*\*(F\d+)[a-z]?\*\*", table, re.MULTILINE))
    assert len(rows) >= 20
    code = "\n".join(path.read_text() for path in (DOCS.parent / "src").rglob("*.py"))
    assert rows - set(re.findall(r"\bF\d+\b", code)) == set()
    tests = "\n".join(path.read_text() for path in (DOCS.parent / "tests").rglob("test_*.py"))
    assert (
        set(re.findall(r"::(test_\w+)", table)) - set(re.findall(r"def (test_\w+)", tests)) == set()
    )


def test_every_line_of_algorithm_1_names_code_that_is_there():
    page = (DOCS / "notation.md").read_text()
    table = page.split("## Algorithm 1, line by line")[1].split("## ")[0]
    named = set(re.findall(r"`([A-Za-z_]+(?:\.[a-z_]+)?)`", table.split("|---|---|---|")[1]))
    code = "\n".join(path.read_text() for path in (DOCS.parent / "src").rglob("*.py"))
    defined = set(re.findall(r"^ *(?:def|class) (\w+)", code, re.MULTILINE)) | {"while"}
    assert len(named) > 15
    assert {part for name in named for part in name.split(".")} - defined == set()
