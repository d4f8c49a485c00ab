"""`icrl report DIR... --out PATH`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.versions import PACKAGE
from icrl.words import one_line, say


@dataclass(frozen=True, kw_only=True)
class ReportArgs:
    """Tables, figures and one page (index.html, opens from disk in any browser)
    from run directories."""

    directories: Positional[tuple[Path, ...]]
    """Run directories, or directories of run directories (runs/NAME)."""
    out: Path
    """Directory for index.html, table.md, every table as CSV, scores.json,
    command.txt and the figures."""


def run(arguments: list[str]) -> None:
    """`icrl report DIR... --out PATH`."""
    args = tyro.cli(ReportArgs, prog="icrl report", args=arguments)
    import shlex

    from rich.console import Console

    from icrl.report.page import write_report
    from icrl.report.records import read_groups
    from icrl.report.table import mixed_lengths

    console = Console()
    command = shlex.join([PACKAGE, "report", *arguments])
    for path in write_report(list(args.directories), args.out, command):
        say(console, f"Wrote {path}")
    groups = read_groups(list(args.directories))
    for task in dict.fromkeys(group.task for group in groups):
        # Said here, too, and not on the page alone: runs of different lengths in one row compare
        # nothing.
        for line in mixed_lengths([group for group in groups if group.task == task]):
            say(console, one_line(f"{task}: {line}"), "yellow")
