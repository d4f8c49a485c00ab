"""HTML as strings: what is put into it is text, unless it is `Html` already."""

import html
import json
from collections.abc import Sequence
from typing import Any

from icrl.report.cells import Table
from icrl.words import from_markdown, one_line


class Html(str):
    """Text that is markup."""

    __slots__ = ()


def text(value: object) -> Html:
    """Anything as text: control characters are seen, markup is not obeyed."""
    return Html(html.escape(one_line(value)))


def element(name: str, *children: object, **attributes: str | bool | None) -> Html:
    """`<name attribute="…">children</name>`; a trailing underscore of an attribute is dropped
    (`class_`)."""
    parts = [name]
    for attribute, value in attributes.items():
        written = attribute.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(written)
        elif value is not None and value is not False:
            parts.append(f'{written}="{html.escape(one_line(value))}"')
    return Html(f"<{' '.join(parts)}>{joined(children)}</{name}>")


def joined(parts: Sequence[object]) -> Html:
    """Parts one after the other; each is text unless it is `Html`."""
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts))


def table_element(table: Table, caption: str) -> Html:
    """A table that scrolls by itself where it is wider than the screen."""
    head = element("tr", *(element("th", _plain(cell), scope="col") for cell in table.headers))
    rows = [
        element(
            "tr",
            element("th", _plain(row[0]), scope="row"),
            *(element("td", _plain(cell)) for cell in row[1:]),
        )
        for row in table.rows
    ]
    inner = element(
        "table", element("caption", caption), element("thead", head), element("tbody", *rows)
    )
    return element("div", inner, class_="wide", tabindex="0", role="region", aria_label=caption)


def json_element(content: Any, id_: str) -> Html:
    """Data for the page's script; no text in it can end the element."""
    written = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{id_}">{written}</script>')


def _plain(cell: str) -> str:
    """A cell of Markdown as text."""
    if cell.startswith("*") and cell.endswith("*"):
        cell = cell[1:-1]
    return from_markdown(cell)
