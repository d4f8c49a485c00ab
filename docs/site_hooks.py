"""For the site: links that lead out of docs/ (to code, to results) or to a folder become names.

The site has no such files; the same pages read in the repository keep their links.
"""

import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)")
_DOCS = Path(__file__).parent


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite what leads out of docs/; what leads nowhere is left for
    the strict build to refuse."""
    here = (_DOCS / page.file.src_uri).parent

    def rewritten(match: re.Match[str]) -> str:
        picture, words, target, _ = match.groups()
        if "://" in target:
            return match.group(0)
        found = (here / target).resolve()
        if not found.exists() or (found.is_relative_to(_DOCS) and found.is_file()):
            return match.group(0)
        name = found.relative_to(_DOCS.parent)
        if picture or words.strip("`") == str(name):
            return f"`{name}`"
        return f"{words} (`{name}`)"

    return _LINK.sub(rewritten, markdown)
