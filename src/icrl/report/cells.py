"""Tables as rows of text, written as Markdown or CSV; names that others chose are text in every
form.

Tasks, features, labels and paths may hold anything: markup, terminal codes, newlines.
"""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

_MARKDOWN = re.compile(r"([\\`*_\[\]|~])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_FORMULA = ("=", "+", "-", "@")
"""A cell that begins with one of these is a formula to a spreadsheet."""


class Table(NamedTuple):
    """Rows of cells under headers; the first column names the row."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The first column to the left, the others, numbers as a rule, to the right."""
        lines = [self.headers, ["---", *["---:"] * (len(self.headers) - 1)], *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"

    def csv(self) -> str:
        """As a spreadsheet reads it: nothing in it is a formula, thousands have no commas."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for row in [self.headers, *self.rows]:
            writer.writerow([_csv_cell(unescaped(cell)) for cell in row])
        return out.getvalue()


def shown(text: object) -> str:
    """What can be seen of a text: terminal codes, newlines and direction marks as escapes, all else
    as it is."""
    return "".join(_visible(character) for character in str(text))


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def escaped(text: object) -> str:
    """A name as a cell, or within a line, of Markdown."""
    seen = _MARKDOWN.sub(r"\\\1", shown(text))
    return "".join(_ENTITIES.get(character, character) for character in seen)


def unescaped(cell: str) -> str:
    """The text behind a cell of Markdown."""
    text = re.sub(r"\\([\\`*_\[\]|~])", r"\1", cell)
    for character, entity in reversed(_ENTITIES.items()):
        text = text.replace(entity, character)
    return text


def fenced(lines: Sequence[str]) -> str:
    """Lines as a block of code that nothing in them can end."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *(shown(line) for line in lines), fence])


def _csv_cell(cell: str) -> str:
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", cell):
        return cell.replace(",", "")
    if cell.startswith(_FORMULA) and not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?|-", cell):
        return f"'{cell}"
    return cell
