"""What each verb of the command line takes and does. Rooms are imported inside the verbs that need them."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional

from icrl.config import LearnConfig, require
from icrl.errors import InputError, unknown_name
from icrl.presets import EPISODES, expert, preset
from icrl.runtime import configure_jax

if TYPE_CHECKING:
    from icrl.demos.dataset import Demonstrations
    from icrl.tasks.task import Scenario


@dataclass(frozen=True, kw_only=True)
class LearnArgs:
    """Learn the constraint that demonstrations obey, and an agent that respects it."""

    task: Positional[str] = "lap-grid"
    """Name of the task (see: icrl tasks)."""
    method: str = "icrl"
    """icrl, binary-classifier, gail-constraint, greedy (lap-grid, bridges), or nominal (no constraint)."""
    preset: str = "default"
    """Settings to start from: default (ours) or paper (the paper's table)."""
    demos: str | None = None
    """Demonstrations: a file, a folder or a Minari id; None: the ones that ship with the task."""
    seed: int = 0
    """Seed of everything random."""
    out: Path | None = None
    """Run directory; None: runs/TASK-METHOD-PRESET-seedN."""
    episodes: int = 100
    """Episodes of the final evaluation."""
    config: Annotated[LearnConfig, tyro.conf.arg(name="")] = field(default_factory=LearnConfig)


@dataclass(frozen=True, kw_only=True)
class CollectArgs:
    """Train an expert under the true constraint and record it; score it, and a nominal agent beside it."""

    task: Positional[str]
    """Name of the task (see: icrl tasks)."""
    out: Path
    """Where to write the demonstrations (.npz)."""
    episodes: int | None = None
    """Episodes to record; None: as many as in the paper."""
    steps: int | None = None
    """Environment steps to train each of the two agents for; None: as set for the task."""
    seed: int = 0
    """Seed of everything random."""


@dataclass(frozen=True, kw_only=True)
class EvaluateArgs:
    """Judge a run against the true constraint. Only this verb and collect need it."""

    directory: Positional[Path]
    """A run directory."""
    episodes: int = 100
    """Episodes to run."""
    seed: int = 1
    """Seed of the evaluation."""


@dataclass(frozen=True, kw_only=True)
class DemosCheckArgs:
    """Describe demonstrations: episodes, lengths, ranges, and findings with what to do about them."""

    path: Positional[str]
    """A file (npz, CSV, Parquet), a folder of such files, or a Minari dataset (id or folder)."""
    task: str | None = None
    """Check the demonstrations against this task."""


@dataclass(frozen=True, kw_only=True)
class SuiteArgs:
    """Make all runs of a suite. Finished ones are skipped: stop it and start it again at any time."""

    name: Positional[str]
    """lap-grid, lap-grid-long, half-cheetah or ant."""
    seeds: int | None = None
    """Seeds of every entry; None: as the suite says."""
    jobs: int = 2
    """Runs at a time, each a process with one thread."""
    out: Path | None = None
    """Where the run directories go; None: runs/NAME."""
    steps: int | None = None
    """Environment steps of every run; None: as the suite says."""
    collect: Path | None = None
    """After the last run, write the report (scores, table, figures) into this directory, e.g. results/NAME."""


@dataclass(frozen=True, kw_only=True)
class ReportArgs:
    """Tables and figures from run directories."""

    directories: Positional[tuple[Path, ...]]
    """Run directories, or directories of run directories (runs/NAME)."""
    out: Path
    """Directory for scores.json, table.md, command.txt and the figures (PNG and SVG)."""


@dataclass(frozen=True, kw_only=True)
class RenderArgs:
    """Animate the policy of a run: the wall where there is one, and what the learned constraint charges."""

    directory: Positional[Path]
    """A run directory."""
    out: Path | None = None
    """Where to write; None: policy.FORMAT in the run directory."""
    seed: int = 0
    """Seed of the episode."""
    steps: int | None = None
    """Most steps to show; None: one episode, or 200 steps of a longer one."""
    format: str = "webp"
    """webp, gif, or mp4 (needs the extra 'video')."""


@dataclass(frozen=True, kw_only=True)
class BenchArgs:
    """Measure speed against the physics alone, in one run, on a quiet machine."""

    name: Positional[str] = "throughput"
    """What to measure: throughput."""
    tasks: tuple[str, ...] = ("half-cheetah-wall", "ant-wall")
    """MuJoCo tasks to measure on."""
    seconds: float = 10.0
    """Time per measurement; there are about twenty per task."""
    peers: bool = False
    """Also Stable-Baselines3's PPO on the same HalfCheetah (needs the extra 'peers')."""
    out: Path = Path("results/bench/throughput.json")
    """Where all numbers go, with versions and machine."""


def learn(arguments: list[str]) -> None:
    """`icrl learn TASK`."""
    args = _parse_learn(arguments)
    scenario = _scenario(args.task)
    demos, source = _demos(args.demos, scenario)
    directory = args.out or Path("runs") / f"{args.task}-{args.method}-{args.preset}-seed{args.seed}"
    configure_jax()

    from rich.console import Console

    from icrl.experiment.display import LiveDisplay
    from icrl.experiment.runs import RunSpec, check_run, run_learning
    from icrl.report.summary import print_scores, write_pictures

    spec = RunSpec(task=args.task, method=args.method, preset=args.preset, seed=args.seed, config=args.config,
                   demos=source, episodes=args.episodes)  # fmt: skip
    rounds = check_run(spec, scenario, demos, directory)
    console = Console()
    display = LiveDisplay(f"{args.method} on {args.task}, seed {args.seed}", args.config.steps, console)
    try:
        with display:
            scores, last = run_learning(spec, scenario, demos, directory, display)
        pictures = write_pictures(scenario, demos, last, directory)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_far(directory, display.rounds_done, rounds)) from None
    print_scores(scores, demos, directory, pictures, console)


def evaluate(arguments: list[str]) -> None:
    """`icrl evaluate DIR`."""
    args = tyro.cli(EvaluateArgs, prog="icrl evaluate", args=arguments)
    _require_counts(episodes=args.episodes, seed=args.seed)
    from rich.console import Console

    from icrl.agent.policy_file import load_policy
    from icrl.evaluate import evaluate_policy
    from icrl.experiment.run_directory import POLICY, RunDirectory, write_json
    from icrl.report.summary import print_truth

    run = RunDirectory(args.directory)
    config = run.config()
    scenario = _scenario(str(config.get("task")))
    policy = load_policy(args.directory / POLICY, scenario.task)
    truth = evaluate_policy(scenario, policy, args.episodes, args.seed)
    try:
        card = _demos(config.get("demos"), scenario)[0].card
    except InputError:
        card = {}  # the demonstrations have moved: then there is nothing to compare with, but the run can be judged
    write_json(args.directory / "evaluation.json", {**truth._asdict(), "episodes": args.episodes, "seed": args.seed})
    print_truth(truth, scenario, card, args.episodes, Console())


def collect(arguments: list[str]) -> None:
    """`icrl collect TASK --out PATH`."""
    args = tyro.cli(CollectArgs, prog="icrl collect", args=arguments)
    scenario = _scenario(args.task)
    if args.out.suffix != ".npz":
        raise InputError(f"--out must name an .npz file, got {args.out}.")
    if args.out.exists():
        raise InputError(
            f"{args.out} exists already: nothing was overwritten. Choose another --out, or remove it first."
        )
    config, steps = expert(args.task)
    episodes = EPISODES.get(args.task, 10) if args.episodes is None else args.episodes
    steps = steps if args.steps is None else args.steps
    _require_counts(episodes=episodes, steps=steps, seed=args.seed)
    configure_jax()

    from rich.console import Console

    from icrl.experiment.collecting import collect_with_references
    from icrl.report.summary import print_references

    console = Console()
    command = f"icrl collect {' '.join(arguments)}"
    demos = collect_with_references(scenario, config, steps, episodes, args.seed, args.out, command, console)
    print_references(demos, args.out, console)


def suite(arguments: list[str]) -> None:
    """`icrl suite NAME`."""
    args = tyro.cli(SuiteArgs, prog="icrl suite", args=arguments)
    configure_jax()

    from rich.console import Console

    from icrl.experiment.suite import expand, run_suite
    from icrl.experiment.suite_display import SuiteDisplay, print_outcome
    from icrl.experiment.suites import find_suite

    found = find_suite(args.name)
    out = args.out or Path("runs") / args.name
    runs = expand(found, out, args.seeds, args.steps)
    console = Console()
    with SuiteDisplay(f"suite {found.name}: {found.purpose}", runs, console) as display:
        outcome = run_suite(runs, out, args.jobs, display, f"icrl suite {' '.join(arguments)}")
    print_outcome(outcome, out, console)
    if args.collect is not None:
        report([str(out), "--out", str(args.collect)])
    if outcome.failed:
        raise SystemExit(1)


def report(arguments: list[str]) -> None:
    """`icrl report DIR... --out PATH`."""
    args = tyro.cli(ReportArgs, prog="icrl report", args=arguments)
    from rich.console import Console

    from icrl.report.page import write_report

    for path in write_report(list(args.directories), args.out, f"icrl report {' '.join(arguments)}"):
        Console().print(f"Wrote {path}", highlight=False, soft_wrap=True)


def render(arguments: list[str]) -> None:
    """`icrl render DIR`."""
    args = tyro.cli(RenderArgs, prog="icrl render", args=arguments)
    _require_counts(args.seed, steps=1 if args.steps is None else args.steps)
    from rich.console import Console
    from rich.progress import Progress

    from icrl.report.animation import render_run

    console = Console()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("playing", total=None)
        path = render_run(
            args.directory, args.out, args.seed, args.steps, args.format,
            lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip
    size = path.stat().st_size / 1e6
    console.print(f"Wrote {path} ({size:.1f} MB)", highlight=False, soft_wrap=True)


def bench(arguments: list[str]) -> None:
    """`icrl bench throughput`."""
    args = tyro.cli(BenchArgs, prog="icrl bench", args=arguments)
    if args.name != "throughput":
        raise unknown_name("benchmark", args.name, ("throughput",))
    if not args.seconds > 0:
        raise InputError(f"--seconds must be above 0, got {args.seconds}.")
    from rich.console import Console

    from icrl.experiment.bench import throughput_settings
    from icrl.experiment.bench_table import bench_throughput

    for name in args.tasks:
        _scenario(name)
    settings = throughput_settings(args.tasks, args.seconds, args.peers)
    bench_throughput(settings, args.out, f"icrl bench {' '.join(arguments)}", Console())


def demos(arguments: list[str]) -> None:
    """`icrl demos check PATH`."""
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.stdout.write("icrl demos check PATH [--task TASK]   describe demonstrations, and what to be wary of\n")
        return
    if arguments[0] != "check":
        raise unknown_name("verb of 'icrl demos'", arguments[0], ("check",))
    args = tyro.cli(DemosCheckArgs, prog="icrl demos check", args=arguments[1:])
    task = None if args.task is None else _scenario(args.task).task

    from rich.console import Console

    from icrl.demos.check import describe, render_report
    from icrl.demos.formats import load_demos

    report = describe(load_demos(args.path), task)
    Console().print(render_report(report))
    if any(finding.fatal for finding in report.findings):
        raise SystemExit(1)


def tasks(arguments: list[str]) -> None:
    """`icrl tasks`."""
    if arguments and arguments[0] not in ("-h", "--help"):
        raise InputError(f"icrl tasks takes no arguments, got {' '.join(arguments)}.")
    from rich.console import Console

    from icrl.report.summary import print_tasks
    from icrl.tasks.registry import SCENARIOS, make_scenario

    print_tasks([make_scenario(name) for name in SCENARIOS], Console())


def _parse_learn(arguments: list[str]) -> LearnArgs:
    """Flags change the settings of the task, preset and method asked for, wherever these stand on the line."""
    guess = _learn_defaults(arguments)
    args = tyro.cli(LearnArgs, prog="icrl learn", args=arguments, default=guess)
    if (args.task, args.preset, args.method) == (guess.task, guess.preset, guess.method):
        return args
    _scenario(args.task)
    better = _defaults(args.task, args.preset, args.method)
    return tyro.cli(LearnArgs, prog="icrl learn", args=arguments, default=better)


def _learn_defaults(arguments: list[str]) -> LearnArgs:
    """The preset of the task named in the arguments, so that --help shows, and flags change, that task's values."""
    task = next((word for word in arguments[:1] if not word.startswith("-")), "lap-grid")
    found = {"--preset": "default", "--method": "icrl"}
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        flag, equals, value = word.partition("=")
        if flag in found:
            found[flag] = value if equals else following
    return _defaults(task, found["--preset"], found["--method"])


def _defaults(task: str, name: str, method: str) -> LearnArgs:
    return LearnArgs(task=task, preset=name, method=method, config=preset(name, task, method))


def _scenario(name: str) -> "Scenario":
    from icrl.tasks.registry import make_scenario

    return make_scenario(name)


def _demos(path: str | None, scenario: "Scenario") -> "tuple[Demonstrations, str]":
    """Demonstrations, given or shipped, checked against the task; and where they came from."""
    from icrl.experiment.inputs import open_demos

    return open_demos(path, scenario)


def _require_counts(seed: int, **counts: int) -> None:
    require(seed >= 0, "seed", seed, "an integer >= 0")
    for name, value in counts.items():
        require(value >= 1, name, value, "an integer >= 1")


def _how_far(directory: Path, rounds_done: int, rounds: int) -> str:
    """What an interrupted run says of itself."""
    if rounds_done:
        holds = f"{directory} holds the metrics, the constraint and the policy of round {rounds_done}"
    elif directory.exists():
        holds = f"{directory} holds the configuration only"
    else:
        holds = "Nothing was written"
    return f"interrupted after {rounds_done} of {rounds} rounds. {holds}."
