"""What is published says one version everywhere; what is checked here is checked there."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_citation_names_the_version_of_the_package():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1].strip() == package


def test_the_changelog_has_a_place_for_what_comes_next():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    for heading in headings[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", heading), heading


def test_continuous_integration_runs_what_a_commit_must_pass():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    targets = [line for line in lines if line.startswith("make ")]
    assert targets == ["make lint", "make types", "make test", "make test-extras"]
