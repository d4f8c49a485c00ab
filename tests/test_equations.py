"""Equation labels are those of the paper: one table says them, and every mention agrees with it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| Eq\. (\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
MENTION = re.compile(r"\bEqs?\. ?(\d+(?:\s*(?:,|-|–|and)\s*\d+)*)")
AROUND = 5
"""Lines before and after a mention in which a word of its equation stands."""


def table():
    """{number: words}, from docs/notation.md."""
    found = ROW.findall((ROOT / "docs" / "notation.md").read_text(encoding="utf-8"))
    return {int(number): [word.strip() for word in words.split(",")] for number, words, _ in found}


def numbers(said):
    """`8, 10-12` -> [8, 10, 11, 12]."""
    found = []
    for part in re.split(r",|and", said):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        found += range(ends[0], ends[-1] + 1)
    return found


def mentions():
    """(file:line, number, the text around) of every equation that code and docs name."""
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    for path in sorted(paths):
        if path.name == "notation.md":
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        for index, line in enumerate(lines):
            for said in MENTION.findall(line):
                around = " ".join(lines[max(0, index - AROUND) : index + AROUND + 1])
                for number in numbers(said):
                    yield f"{path.relative_to(ROOT)}:{index + 1}", number, around.lower()


def test_the_table_has_the_papers_twelve_equations():
    assert sorted(table()) == list(range(1, 13))
    homes = ROW.findall((ROOT / "docs" / "notation.md").read_text(encoding="utf-8"))
    for _, _, home in homes:
        if home.strip() != "none":
            assert (ROOT / "src" / "icrl" / home.strip().strip("`")).exists(), home


@pytest.mark.parametrize(
    ("said", "expected"),
    [("8", [8]), ("8, 10-12", [8, 10, 11, 12]), ("2-6", [2, 3, 4, 5, 6]), ("5, 8", [5, 8])],
)
def test_lists_of_equations_are_read(said, expected):
    assert numbers(said) == expected


def test_every_mention_stands_beside_a_word_of_its_equation():
    words = table()
    found = list(mentions())
    assert len(found) > 30
    wrong = [
        f"{where}: Eq. {number} without any of {words.get(number, [])}"
        for where, number, around in found
        if not any(word in around for word in words.get(number, []))
    ]
    assert wrong == []
