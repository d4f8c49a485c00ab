"""`make docs`: the site builds without a broken link, and its pages load nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(out),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr  # strict: a broken link is an error
    return out


def test_every_page_of_the_documentation_is_on_the_site(site):
    pages = [
        path.relative_to(ROOT / "docs").with_suffix(".html")
        for path in (ROOT / "docs").rglob("*.md")
    ]
    assert len(pages) > 30
    assert [page for page in pages if not (site / page).exists()] == []


def test_nothing_is_loaded_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert re.findall(r"<(?:script|img|iframe)[^>]+src=\"?https?:[^ >]+", text) == []
        assert re.findall(r"<link[^>]+(?:stylesheet|preconnect)[^>]+https?:[^>]+", text) == []


def test_the_site_can_be_searched(site):
    index = (site / "search" / "search_index.json").read_text()
    assert "collapsed seeds" in index.lower()
