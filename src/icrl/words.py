"""Words of others (paths, labels, names of columns) where they are shown: as
letters, never as commands.

A terminal obeys escape sequences, rich reads `[/b]` as markup, Markdown readers obey HTML, and
matplotlib reads `$` as mathematics (that one is turned off where figures are made:
`report.canvas`). This is the one place that escapes.
"""

import html
import re
import shlex
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_MARKDOWN = re.compile(r"([\\`*_\[\]|~])")


def printable(text: object) -> str:
    """The same text with control characters spelt out: \\x1b in place of the escape that
    a terminal would obey; the end of a line and tabs stay."""
    words = str(text)
    # Nearly all are: asked at once, a picture of a megabyte in a page costs nothing.
    if words.isprintable():
        return words
    return "".join(_spelt(letter) for letter in words)


def _spelt(letter: str) -> str:
    """What moves the cursor, changes colours, turns the direction of text or cannot be seen, and
    halves of letters, which cannot be written, as escapes."""
    if letter.isprintable() or letter in "\n\t" or unicodedata.category(letter) == "Zs":
        return letter
    return letter.encode("unicode_escape").decode("ascii")


def one_line(text: object) -> str:
    """`printable`, with line ends and tabs spelt out too: for names."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def quoted(name: object) -> str:
    """A name as a word of a command that people copy: in quotes where a shell needs them."""
    return shlex.quote(str(name))


def in_markdown(text: object) -> str:
    """A name as Markdown shows it: no table is broken, no HTML, link or emphasis begins in it."""
    return html.escape(_MARKDOWN.sub(r"\\\1", one_line(text)), quote=False)


def from_markdown(text: str) -> str:
    """What `in_markdown` was given, but for control characters, which stay spelt out."""
    plain = re.sub(r"\\([\\`*_\[\]|~])", r"\1", text)
    for entity, letter in (("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&")):
        plain = plain.replace(entity, letter)
    return plain


def shown(text: str) -> "Text":
    """A name in a table of rich, or its title: letters, no markup."""
    from rich.text import Text

    return Text(one_line(text))


def in_markup(text: str) -> str:
    """A name among markup of ours."""
    from rich.markup import escape

    return escape(one_line(text))


def say(console: "Console", text: str, style: str | None = None) -> None:
    """Print a line as it is: no markup, no colours for numbers, no line breaks of rich's."""
    console.print(printable(text), style=style, highlight=False, soft_wrap=True, markup=False)
