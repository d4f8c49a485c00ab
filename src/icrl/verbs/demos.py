"""`icrl demos check PATH` and `icrl demos convert SOURCE TARGET`."""

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional

from icrl.errors import unknown_name
from icrl.tasks.options import EnvOptions
from icrl.verbs.inputs import Columns, find_scenario
from icrl.words import say, shown

if TYPE_CHECKING:
    from icrl.tasks.task import Task

OVERVIEW = """\
icrl demos check PATH [--task TASK]             describe demonstrations, and what to be wary of
icrl demos convert SOURCE TARGET [--task TASK]  the same demonstrations in another format, checked

PATH and SOURCE: a file (npz, CSV, Parquet), a folder of such files, or a Minari dataset \
(id or folder).
TARGET: a file (.npz, .csv, .parquet), or minari:ID. `icrl demos check --help` shows all settings.
"""


@dataclass(frozen=True, kw_only=True)
class DemosCheckArgs:
    """Describe demonstrations: episodes, lengths, ranges,
    and findings with what to do about them."""

    path: Positional[str]
    """A file (npz, CSV, Parquet), a folder of such files, or a Minari dataset (id or folder)."""
    task: str | None = None
    """Check the demonstrations against this task:
    one of ours, a Gymnasium id, or module:function."""
    env: Annotated[EnvOptions, tyro.conf.arg(name="")] = field(default_factory=EnvOptions)
    columns: Columns = field(default_factory=Columns)


@dataclass(frozen=True, kw_only=True)
class DemosConvertArgs:
    """Write demonstrations in another format.

    Nothing is overwritten; what was written is read again and compared.
    """

    source: Positional[str]
    """A file (npz, CSV, Parquet), a folder of such files, or a Minari dataset (id or folder)."""
    target: Positional[str]
    """A file (.npz keeps everything, .parquet, .csv),
    or minari:ID for a new Minari dataset (extra 'minari')."""
    task: str | None = None
    """The task that the demonstrations must fit:
    one of ours, a Gymnasium id, or module:function."""
    env: Annotated[EnvOptions, tyro.conf.arg(name="")] = field(default_factory=EnvOptions)
    columns: Columns = field(default_factory=Columns)


def run(arguments: list[str]) -> None:
    """`icrl demos check PATH` and `icrl demos convert SOURCE TARGET`."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write(OVERVIEW)
        return
    verbs = {"check": check, "convert": convert}
    if arguments[0] not in verbs:
        raise unknown_name("verb of 'icrl demos'", arguments[0], verbs)
    verbs[arguments[0]](arguments[1:])


def check(arguments: list[str]) -> None:
    """`icrl demos check PATH`."""
    args = tyro.cli(DemosCheckArgs, prog="icrl demos check", args=arguments)
    columns = args.columns.mapping()
    task = _find_task(args.task, args.env)

    from rich.console import Console

    from icrl.demos.check import describe, render_report
    from icrl.demos.fitting import fit_if_possible
    from icrl.demos.formats import load_demos

    demos = load_demos(args.path, columns)
    if task is not None:
        demos = fit_if_possible(demos, task)
    report = describe(demos, task)
    Console().print(render_report(report))
    # The exit code tells scripts; the report was for people.
    if any(finding.fatal for finding in report.findings):
        raise SystemExit(1)


def convert(arguments: list[str]) -> None:
    """`icrl demos convert SOURCE TARGET`."""
    args = tyro.cli(DemosConvertArgs, prog="icrl demos convert", args=arguments)
    columns = args.columns.mapping()
    task = _find_task(args.task, args.env)

    from rich.console import Console

    from icrl.demos.convert import convert_demos

    console = Console()
    with console.status(shown(f"converting {args.source}")):
        demos = convert_demos(args.source, args.target, columns, task)
    t = demos.trajectories
    say(
        console,
        f"Wrote {t.num_trajectories} episodes, {t.num_steps:,} steps to {args.target}, and read "
        "the same again.",
    )


def _find_task(name: str | None, options: EnvOptions) -> "Task | None":
    if name is None:
        return None
    return find_scenario(name, options).task
