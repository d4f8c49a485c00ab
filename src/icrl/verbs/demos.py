"""`icrl demos check PATH`."""

import sys
from dataclasses import dataclass

import tyro
from tyro.conf import Positional

from icrl.errors import unknown_name
from icrl.verbs.inputs import find_scenario


@dataclass(frozen=True, kw_only=True)
class DemosCheckArgs:
    """Describe demonstrations: episodes, lengths, ranges, and findings with what to do about them."""

    path: Positional[str]
    """A file (npz, CSV, Parquet), a folder of such files, or a Minari dataset (id or folder)."""
    task: str | None = None
    """Check the demonstrations against this task."""


def run(arguments: list[str]) -> None:
    """`icrl demos check PATH`."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write("icrl demos check PATH [--task TASK]   describe demonstrations, and what to be wary of\n")
        return
    if arguments[0] != "check":
        raise unknown_name("verb of 'icrl demos'", arguments[0], ("check",))
    args = tyro.cli(DemosCheckArgs, prog="icrl demos check", args=arguments[1:])
    task = None if args.task is None else find_scenario(args.task).task

    from rich.console import Console

    from icrl.demos.check import describe, render_report
    from icrl.demos.formats import load_demos

    report = describe(load_demos(args.path), task)
    Console().print(render_report(report))
    if any(finding.fatal for finding in report.findings):
        raise SystemExit(1)
