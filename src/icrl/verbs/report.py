"""`icrl report DIR... --out PATH`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.words import say


@dataclass(frozen=True, kw_only=True)
class ReportArgs:
    """Tables and figures from run directories."""

    directories: Positional[tuple[Path, ...]]
    """Run directories, or directories of run directories (runs/NAME)."""
    out: Path
    """Directory for scores.json, table.md, command.txt and the figures (PNG and SVG)."""


def run(arguments: list[str]) -> None:
    """`icrl report DIR... --out PATH`."""
    args = tyro.cli(ReportArgs, prog="icrl report", args=arguments)
    from rich.console import Console

    from icrl.report.page import write_report

    for path in write_report(list(args.directories), args.out, f"icrl report {' '.join(arguments)}"):
        say(Console(), f"Wrote {path}")
