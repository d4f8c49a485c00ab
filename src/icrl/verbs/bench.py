"""`icrl bench throughput`, `run`, `growth`, `checkpoint` and `page`."""

import tempfile
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.errors import InputError, unknown_name
from icrl.runtime import configure_jax, configure_numpy
from icrl.spans import span
from icrl.verbs.inputs import as_folder, find_scenario
from icrl.words import say

_NAMES = ("throughput", "run", "growth", "checkpoint", "page")


@dataclass(frozen=True, kw_only=True)
class BenchArgs:
    """Measure speed against the physics alone, in one run, on a quiet machine."""

    name: Positional[str] = "throughput"
    """What to measure: throughput, run (where the time of a whole run goes), growth (what
    environments, width, demonstrations, features and evidence cost as they get more),
    checkpoint (what a run spends on not being lost), or page (the report of a suite)."""
    task: Positional[str | None] = None
    """Of the run; None: the first of --tasks."""
    tasks: tuple[str, ...] = ("half-cheetah-wall", "ant-wall")
    """MuJoCo tasks to measure on."""
    seconds: float = 10.0
    """Time per measurement; there are about twenty per task."""
    peers: bool = False
    """Also Stable-Baselines3's PPO on the same HalfCheetah (needs the extra 'sb3')."""
    steps: int | None = None
    """Of the run that is measured; None: as its preset says."""
    processes: int = 1
    """Whole runs side by side, each with a seed of its own."""
    threads: int = 1
    """Threads of the physics in each of them."""
    largest: int | None = None
    """Of growth: no size beyond this; None: all, demonstrations of 10^7 steps among them."""
    cold: tyro.conf.FlagCreatePairsOff[bool] = False
    """The run finds nothing that an earlier one compiled."""
    runs: int = 30
    """Of the suite whose page is measured: short real ones of every method, and copies."""
    directories: tuple[Path, ...] = ()
    """Runs to report in place of those, as `icrl report` takes them."""
    out: Path | None = None
    """Where all numbers go, with versions and machine; None: results/bench/NAME.json,
    of a run results/bench/run-TASK.json with its picture beside it."""


def run(arguments: list[str]) -> None:
    """`icrl bench NAME`."""
    args = tyro.cli(BenchArgs, prog="icrl bench", args=arguments)
    if args.name not in _NAMES:
        raise unknown_name("benchmark", args.name, _NAMES)
    command = f"icrl bench {' '.join(arguments)}"
    out = args.out or Path("results/bench") / f"{args.name}.json"
    if args.name == "checkpoint":
        _bench_checkpoint(args, out, command)
        return
    if args.name == "growth":
        _bench_growth(args, out, command)
        return
    if args.name == "page":
        _bench_page(args, out, command)
        return
    if not args.seconds > 0:
        raise InputError(f"--seconds must be above 0, got {args.seconds}.")
    if args.name == "run":
        _bench_run(args, command)
        return
    from rich.console import Console

    from icrl.experiment.bench.table import bench_throughput
    from icrl.experiment.bench.throughput import throughput_settings

    for name in args.tasks:
        # Made for its errors alone: a misspelt task is told before the first measurement.
        find_scenario(name)
    settings = throughput_settings(args.tasks, args.seconds, args.peers)
    bench_throughput(settings, out, command, Console())


def _bench_run(args: BenchArgs, command: str) -> None:
    """Whole runs of one task, by phase."""
    for name, number in (("--processes", args.processes), ("--threads", args.threads)):
        if number < 1:
            raise InputError(f"{name} must be an integer >= 1, got {number}.")
    task = args.task or args.tasks[0]
    find_scenario(task)
    from rich.console import Console

    from icrl.experiment.bench.whole_run import as_json, cold_cache, facts_before, measure_runs
    from icrl.files import make_folder
    from icrl.json_files import write_json
    from icrl.report.time_bar import draw_time_bar, time_table

    out = args.out or Path("results/bench") / f"run-{as_folder(task)}.json"
    console = Console()
    make_folder(out.parent)
    facts = facts_before()
    if facts["warning"] is not None:
        say(console, f"Warning: {facts['warning']}", "yellow")
    words = []
    if args.steps is not None:
        words = ["--steps", str(args.steps)]
    with cold_cache() if args.cold else nullcontext(), console.status(f"learning on {task}"):
        measured = measure_runs(
            learn_in_this_process, task, words, args.processes, args.threads, args.seconds
        )
    write_json(out, {"command": command, "task": task, **facts, **as_json(measured)})
    picture = draw_time_bar({task: measured.phases}, out.with_suffix(".png"))
    console.print(time_table(f"{task}, {args.processes} x {args.threads}", measured.phases))
    said = (
        f"{measured.runs[0].steps:,} steps in {measured.runs[0].wall:.1f} s: "
        f"{measured.share:.2f} of the speed of the physics alone "
        f"({measured.share_by_cpu:.2f} by CPU time), which made "
        f"{measured.before.steps_per_second:,.0f} steps/s before and "
        f"{measured.after.steps_per_second:,.0f} after."
    )
    say(console, said)
    say(console, f"Wrote {out} and {picture}")


def _bench_growth(args: BenchArgs, out: Path, command: str) -> None:
    """Everything that grows, one size at a time."""
    from rich.console import Console

    from icrl.experiment.bench.growth import measure_growth
    from icrl.experiment.bench.throughput import machine_facts
    from icrl.files import make_folder
    from icrl.json_files import write_json
    from icrl.report.growth import draw_growth, growth_table

    console = Console()
    make_folder(out.parent)
    facts = machine_facts()
    with console.status("growing"):
        found = measure_growth(args.largest)
    points = {what: [point._asdict() for point in own] for what, own in found.items()}
    write_json(out, {"command": command, "machine": facts, "growth": points})
    picture = draw_growth(found, out.with_suffix(".png"))
    console.print(growth_table(found))
    say(console, f"Wrote {out} and {picture}")


def learn_in_this_process(arguments: list[str]) -> None:
    """`icrl learn`, as the command line begins it."""
    configure_numpy()
    with span("import"):
        from icrl.verbs import learn
    learn.run(arguments)


def _bench_checkpoint(args: BenchArgs, out: Path, command: str) -> None:
    """One run of the first task."""
    configure_jax()

    from rich.console import Console

    from icrl.experiment.bench.checkpoint import measure_checkpoints
    from icrl.experiment.run.inputs import open_demos
    from icrl.files import make_folder
    from icrl.json_files import write_json
    from icrl.methods.registry import preset

    task = args.task or args.tasks[0]
    scenario = find_scenario(task)
    demos, source = open_demos(None, scenario)
    config = preset("default", task)
    if args.steps is not None:
        config = replace(config, steps=args.steps)
    found = measure_checkpoints(task, scenario, demos, source, config)
    make_folder(out.parent)
    write_json(out, {"command": command, **found})
    say(
        Console(),
        f"{found['checkpoints']} checkpoints of at most {found['largest_megabytes']:.1f} MB took "
        f"{found['share_of_run']:.2%} of a run of {found['run_seconds']:.0f} s (budget "
        f"{found['budget']:.0%}): {out}",
    )


def _bench_page(args: BenchArgs, out: Path, command: str) -> None:
    """The report of a suite, in a process of its own."""
    if args.runs < 1:
        raise InputError(f"--runs must be an integer >= 1, got {args.runs}.")
    task = args.task or args.tasks[0]
    scenario = find_scenario(task)
    from rich.console import Console

    from icrl.experiment.bench.pages import as_json, measure_report, stand_ins
    from icrl.experiment.bench.whole_run import facts_before
    from icrl.files import make_folder
    from icrl.json_files import write_json

    console = Console()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        directories = args.directories
        which: dict[str, object] = {"directories": [str(path) for path in directories]}
        if not directories:
            with console.status("making the runs"):
                suite, made = stand_ins(task, scenario.task.horizon, args.runs, folder)
            directories = (suite,)
            which = {"task": task, "runs": args.runs, "made": made, "copies": args.runs - made}
        # Before the measurement: afterwards the load would be our own.
        facts = facts_before()
        with console.status("writing the report"):
            measured = measure_report(directories, folder / "report")
    make_folder(out.parent)
    write_json(out, {"command": command, **which, **as_json(measured), **facts})
    said = (
        f"The report took {measured.wall:.1f} s ({measured.cpu:.1f} CPU seconds), "
        f"its page has {measured.megabytes:.1f} MB: {out}"
    )
    say(console, said)
