"""`icrl paper DIR... --out PATH`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.versions import PACKAGE
from icrl.words import say


@dataclass(frozen=True, kw_only=True)
class PaperArgs:
    """Each figure and table of the paper, ours beside it, and whether what it says holds here."""

    directories: Positional[tuple[Path, ...]]
    """Directories of suites (runs/NAME) or of their reports (results/NAME): those with a
    scores.json."""
    out: Path
    """The page, in Markdown: docs/paper.md."""


def run(arguments: list[str]) -> None:
    """`icrl paper DIR... --out PATH`."""
    args = tyro.cli(PaperArgs, prog="icrl paper", args=arguments)
    import shlex

    from rich.console import Console

    from icrl.report.paper.page import write_paper

    command = shlex.join([PACKAGE, "paper", *arguments])
    path = write_paper(list(args.directories), args.out, command)
    say(Console(), f"Wrote {path}")
