"""`icrl suite NAME`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro
from tyro.conf import Positional

from icrl.runtime import configure_jax
from icrl.verbs import report
from icrl.verbs.inputs import as_folder
from icrl.words import say


@dataclass(frozen=True, kw_only=True)
class SuiteArgs:
    """Make all runs of a suite.

    Finished ones are skipped: stop it and start it again at any time.
    """

    name: Positional[str]
    """lap-grid, lap-grid-long, half-cheetah, ant, transfer-point, transfer-ant-broken,
    transfer-ant-broken-turned, transfer-half-cheetah-back, ablation-half-cheetah,
    ablation-half-cheetah-short or shapes; fair-lap-grid, fair-half-cheetah, fair-ant,
    fair-transfer-point, fair-transfer-ant-broken (docs/fair.md); or a suite of your own, a file
    my-suite.toml."""
    only: tuple[str, ...] = ()
    """Labels of the entries to run, e.g. icrl paper
    (and those whose constraints they need); none: all."""
    seeds: int | None = None
    """Seeds of every entry; None: as the suite says."""
    jobs: int = 2
    """Runs at a time, each a process with one thread; of a cluster's cores all are used."""
    engine: Literal["processes", "ray"] = "processes"
    """Where runs run: processes of this machine, or a Ray cluster (extra ray; docs/scale.md)."""
    address: str | None = None
    """Of the Ray cluster: HOST:PORT, or auto for the one that this machine belongs to;
    None: one of this machine."""
    out: Path | None = None
    """Where the run directories go; None: runs/NAME (the name that a file gives itself)."""
    steps: int | None = None
    """Environment steps of every run; None: as the suite says."""
    collect: Path | None = None
    """After the last run, write the report (scores, table, figures)
    into this directory, e.g. results/NAME."""


def run(arguments: list[str]) -> None:
    """`icrl suite NAME`."""
    args = tyro.cli(SuiteArgs, prog="icrl suite", args=arguments)
    configure_jax()

    from rich.console import Console

    from icrl.experiment.engine.ray_engine import find_engine
    from icrl.experiment.suite.display import SuiteDisplay, print_outcome
    from icrl.experiment.suite.making import run_suite
    from icrl.experiment.suite.suite import expand
    from icrl.experiment.suite.suites import find_suite

    engine = find_engine(args.engine, args.address, args.jobs)
    found = find_suite(args.name)
    out = args.out or Path("runs") / as_folder(found.name)
    runs = expand(found, out, args.seeds, args.steps, args.only)
    console = Console()
    for run in runs:
        if run.spec.constraint is not None and not run.after:
            line = f"{run.directory.name} uses the constraint of {run.spec.constraint}"
            say(console, line)
        # A suite that borrows runs costs hours more where there are none to borrow: say so at its
        # start.
        if run.lender is not None and not run.directory.exists():
            line = f"{run.directory.name} is made here: there is no finished run in {run.lender}"
            say(console, line)
    try:
        with SuiteDisplay(f"suite {found.name}: {found.purpose}", runs, console) as display:
            command = f"icrl suite {' '.join(arguments)}"
            outcome = run_suite(runs, out, args.jobs, display, command, engine)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted. {out} keeps what was done: the same command goes on."
        ) from None
    print_outcome(outcome, out, console)
    if args.collect is not None:
        report.run([str(out), "--out", str(args.collect)])
    # After the report: what did come to its end is worth having.
    if outcome.failed:
        raise SystemExit(1)
