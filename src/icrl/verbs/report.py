"""`icrl report DIR... --out PATH`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional


@dataclass(frozen=True, kw_only=True)
class ReportArgs:
    """Tables, figures and one page (index.html, opens from disk in any browser) from run directories."""

    directories: Positional[tuple[Path, ...]]
    """Run directories, or directories of run directories (runs/NAME)."""
    out: Path
    """Directory for index.html, table.md, every table as CSV, scores.json, command.txt and the figures."""


def run(arguments: list[str]) -> None:
    """`icrl report DIR... --out PATH`."""
    args = tyro.cli(ReportArgs, prog="icrl report", args=arguments)
    import shlex

    from rich.console import Console

    from icrl.report.page import write_report

    for path in write_report(list(args.directories), args.out, shlex.join(["icrl", "report", *arguments])):
        Console().print(f"Wrote {path}", highlight=False, soft_wrap=True)
