"""Tables as rows of text, written as Markdown or CSV; names that others chose are text in both
(`icrl.words`)."""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

from icrl.words import from_markdown, one_line

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
            writer.writerow([_csv_cell(from_markdown(cell)) for cell in row])
        return out.getvalue()


def fenced(lines: Sequence[str]) -> str:
    """Lines as a block of code that nothing in them can end."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *(one_line(line) for line in lines), fence])


def _csv_cell(cell: str) -> str:
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d+)?", cell):
        return cell.replace(",", "")
    if cell.startswith(_FORMULA) and not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?|-", cell):
        return f"'{cell}"
    return cell
