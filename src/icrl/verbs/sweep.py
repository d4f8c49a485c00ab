"""`icrl sweep TASK --space space.toml`."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from tyro.conf import Positional

from icrl.config import LearnConfig, require
from icrl.errors import InputError
from icrl.methods.icrl import ICRL
from icrl.methods.registry import help_text
from icrl.runtime import configure_jax
from icrl.tasks.options import EnvOptions
from icrl.verbs.inputs import Columns, as_folder, find_demos, find_scenario
from icrl.versions import PACKAGE
from icrl.words import say

if TYPE_CHECKING:
    from icrl.demos.fitting import FittedDemos
    from icrl.experiment.suite.sweep import Sweep
    from icrl.experiment.suite.sweep_shortlist import Shortlist
    from icrl.experiment.suite.sweep_space import Space

_TRIALS = 20
"""Of a sweep that draws."""


@dataclass(frozen=True, kw_only=True)
class SweepArgs:
    """Try many settings and keep the best, judged without the truth. When it is stopped, the same
    command goes on."""

    task: Positional[str]
    """A task of ours (see: icrl tasks), a Gymnasium id, or module:function that makes an
    environment of yours."""
    space: Path
    """What to sweep, in TOML: settings with {low, high, log} or {choices} for a value; others are
    fixed."""
    trials: int | None = None
    """Trials in all, those of an earlier start included; None: 20, or as many as --best says."""
    again: Path | None = None
    """Directory of an earlier sweep, of another task as a rule: nothing is drawn, but its best
    choices are tried again, at their places in this space."""
    best: int | None = None
    """How many of them; the settings as they stand come first, where they are none of these."""
    without: tuple[str, ...] = ()
    """NAME=VALUE ...: choices of --again that have all of these values are left out."""
    steps: int | None = None
    """Environment steps of every run; None: as the space says, or the preset."""
    jobs: int = 1
    """Trials at once. Several processes, or machines that share the folder, may work on one sweep
    too."""
    engine: Literal["processes", "ray"] = "processes"
    """Where runs run: processes of this machine, or a Ray cluster (extra ray; docs/scale.md)."""
    address: str | None = None
    """Of the Ray cluster: HOST:PORT, or auto for the one that this machine belongs to;
    None: one of this machine."""
    seeds: int = 1
    """Runs of a trial; two or more also say whether seeds agree."""
    first_seed: int = 0
    """Seed of the first of them: settings that are chosen for a report are chosen on seeds that it
    does not show, e.g. 100."""
    prune: bool = True
    """End trials that are behind most others half-way. Not where a choice is made for a report: a
    trial that is behind by a hundredth is ended, too."""
    method: Annotated[str, tyro.conf.arg(help=help_text(sweepable=True))] = ICRL.name
    preset: str = "default"
    """Settings to start from: default (ours), paper (the paper's table) or authors
    (what the authors' public code does)."""
    demos: str | None = None
    """Demonstrations: a file, a folder or a Minari id; None: the ones that ship with the task. A
    fifth is held out."""
    episodes: int = 20
    """Episodes of each run's final evaluation."""
    objective: Literal["no-truth", "truth"] = "no-truth"
    """truth: judge by the true constraint. For research alone: it marks everything it touches."""
    seed: int = 0
    """Seed of what is tried."""
    out: Path | None = None
    """Folder of the sweep; None: runs/sweep-TASK-METHOD."""
    env: Annotated[EnvOptions, tyro.conf.arg(name="")] = field(default_factory=EnvOptions)
    columns: Columns = field(default_factory=Columns)


def run(arguments: list[str]) -> None:
    """`icrl sweep TASK --space space.toml`."""
    args = tyro.cli(SweepArgs, prog="icrl sweep", args=arguments)
    _require_sense(args)
    configure_jax()

    from rich.console import Console

    from icrl.experiment.suite.sweep import run_sweep
    from icrl.experiment.suite.sweep_study import num_done, open_study
    from icrl.report.sweep_page import BEST, write_sweep

    console = Console()

    def tell(text: str) -> None:
        say(console, text)

    sweep, demos = _sweep_of(args)
    if sweep.again is not None:
        tell(
            f"Again: {len(sweep.again.choices)} of {sweep.again.completed} choices of "
            f"{sweep.again.sweep}, the best first; {sweep.trials} trials in all."
        )
    try:
        study = run_sweep(sweep, demos, tell)
    except KeyboardInterrupt:
        # From the file, not from this process: others may work on the same sweep.
        done = num_done(open_study(sweep.directory))
        raise KeyboardInterrupt(
            f"interrupted after {done} of {sweep.trials} trials; the same command goes on."
        ) from None
    command = shlex.join([PACKAGE, "sweep", *arguments])
    for path in write_sweep(sweep, study, command):
        tell(f"Wrote {path}")
    if (sweep.directory / BEST).exists():
        tell(f"Best: trial {study.best_trial.number}, {study.best_value:.4f}")
    else:
        tell("No trial came to its end: see the table for why.")


def _require_sense(args: SweepArgs) -> None:
    """Counts are counts, and what goes together came together."""
    for name in ("trials", "jobs", "seeds", "episodes", "steps", "best"):
        value = getattr(args, name)
        require(value is None or value >= 1, name, value, "an integer >= 1")
    require(args.first_seed >= 0, "first_seed", args.first_seed, "an integer >= 0")
    if (args.again is None) != (args.best is None):
        raise InputError(
            "--again DIR and --best N go together: expected the directory of an earlier sweep, and "
            "how many of its choices are to be tried again. Give both, or neither."
        )


def _sweep_of(args: SweepArgs) -> "tuple[Sweep, FittedDemos]":
    """What is to be swept, and the demonstrations."""
    from icrl.experiment.directory.spec import RunSpec
    from icrl.experiment.engine.ray_engine import find_engine
    from icrl.experiment.suite.sweep import TRUTH, Sweep
    from icrl.methods.registry import open_method, preset

    space = _space_of(args)
    columns = args.columns.mapping()
    scenario = find_scenario(args.task, args.env)
    demos, source = find_demos(args.demos, scenario, columns)
    if not open_method(args.method).sweepable or demos is None:
        raise InputError(f"--method {args.method} has no constraint to sweep the settings of.")
    if args.objective == TRUTH and not scenario.truth_known:
        raise InputError(f"--objective truth: the true constraint of {args.task} is not known.")
    spec = RunSpec(
        task=args.task,
        method=args.method,
        preset=args.preset,
        seed=args.seed,
        config=preset(args.preset, scenario.task, args.method),
        demos=source,
        episodes=args.episodes,
        env=args.env,
        columns=columns,
    )
    again = _again_of(args, space)
    folder = Path("runs") / f"sweep-{as_folder(args.task)}-{as_folder(args.method)}"
    sweep = Sweep(
        spec=spec,
        space=space,
        scenario=scenario,
        directory=args.out or folder,
        trials=_num_trials(args, space, spec.config, again),
        seeds=args.seeds,
        first_seed=args.first_seed,
        prune=args.prune,
        again=again,
        jobs=args.jobs,
        objective=args.objective,
        engine=find_engine(args.engine, args.address, args.jobs),
    )
    return sweep, demos


def _space_of(args: SweepArgs) -> "Space":
    """What is swept, with the steps that all trials share."""
    from icrl.experiment.suite.sweep_space import read_space

    space = read_space(args.space)
    if args.steps is None:
        return space
    if "steps" in space.fixed or "steps" in space.settings():
        raise InputError(
            f"--steps {args.steps}, but {args.space} says steps too: say it in one place."
        )
    return space._replace(fixed=space.fixed | {"steps": args.steps})


def _again_of(args: SweepArgs, space: "Space") -> "Shortlist | None":
    """What is tried again; None: trials are drawn."""
    from icrl.experiment.suite.sweep_shortlist import read_shortlist
    from icrl.experiment.suite.sweep_table import values_of

    if args.again is None or args.best is None:
        return None
    return read_shortlist(
        args.again,
        args.best,
        space,
        values_of(args.without),
        method=args.method,
        preset=args.preset,
        objective=args.objective,
    )


def _num_trials(
    args: SweepArgs, space: "Space", base: LearnConfig, again: "Shortlist | None"
) -> int:
    """As many as are asked for, or as there are to try again."""
    from icrl.experiment.suite.sweep_shortlist import planned

    if again is None:
        return args.trials or _TRIALS
    number = len(planned(space, base, again))
    if args.trials is not None and args.trials != number:
        raise InputError(
            f"--trials {args.trials}, but --again with --best {args.best} makes {number} trials: "
            f"{len(again.choices)} choices, and the settings as they stand where they are none of "
            "these. Leave --trials away."
        )
    return number
