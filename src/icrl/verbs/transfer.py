"""`icrl transfer TASK --constraint PATH`."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional

from icrl.config import ForwardConfig, LearnConfig
from icrl.methods.icrl import ICRL
from icrl.methods.registry import help_text, open_method, preset
from icrl.presets import forward_alone
from icrl.runtime import configure_jax
from icrl.tasks.options import EnvOptions
from icrl.verbs.inputs import Columns, as_folder, find_scenario
from icrl.verbs.loggers import LoggerName
from icrl.verbs.one_run import make_run, say_if_cut_short, write_page

if TYPE_CHECKING:
    from icrl.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class TransferArgs:
    """Train a new agent under a constraint that was learned elsewhere.

    Its features are found in the task by name.

    When it is stopped, the same command goes on.
    """

    task: Positional[str]
    """Name of the task of the new agent (see: icrl tasks)."""
    constraint: Path
    """A run directory that learned a constraint, or the constraint's own folder."""
    method: Annotated[
        str | None,
        tyro.conf.arg(
            help=(
                f"How the constraint acts: {help_text(presses=True)} None: as the method its card "
                "names."
            )
        ),
    ] = None
    preset: str = "default"
    """Settings of the agent to start from: default (ours), paper (the paper's table) or authors
    (what the authors' public code does)."""
    demos: str | None = None
    """Demonstrations of an expert on this task, to compare with;
    None: the ones that ship with it, if any do."""
    seed: int = 0
    """Seed of everything random."""
    out: Path | None = None
    """Run directory; None: runs/TASK-transfer-METHOD-PRESET-seedN."""
    episodes: int = 100
    """Episodes of the final evaluation."""
    log: tuple[LoggerName, ...] = ()
    """Log also to csv, tensorboard or wandb, any number of them:
    --log csv wandb (extras of these names)."""
    steps: int = 500_000
    """Environment steps in all, sampling included."""
    num_samples: int = 10
    """Episodes sampled after each round."""
    forward: ForwardConfig = field(default_factory=ForwardConfig)
    env: Annotated[EnvOptions, tyro.conf.arg(name="")] = field(default_factory=EnvOptions)
    columns: Columns = field(default_factory=Columns)


def run(arguments: list[str]) -> None:
    """`icrl transfer TASK --constraint PATH`."""
    # Twice: whose settings the flags change is written in the constraint, whose path is a flag, and
    # depends on what the task is like.
    first = parse(arguments, ICRL.name)
    scenario = find_scenario(first.task, first.env)
    configure_jax()

    from rich.console import Console

    from icrl.experiment.directory.provenance import open_constraint
    from icrl.experiment.directory.spec import RunSpec
    from icrl.experiment.run.inputs import open_demos_if_any
    from icrl.methods.pressing import method_of

    constraint = open_constraint(str(first.constraint))
    method = first.method or method_of(constraint)
    args = parse(arguments, method, scenario.task)
    columns = args.columns.mapping()
    demos, source = open_demos_if_any(args.demos, scenario, columns)
    folder = f"{as_folder(args.task)}-transfer-{as_folder(method)}-{args.preset}-seed{args.seed}"
    directory = args.out or Path("runs") / folder
    spec = RunSpec(
        task=args.task,
        method=method,
        preset=args.preset,
        seed=args.seed,
        config=config_of(args, method, scenario.task),
        demos=source,
        episodes=args.episodes,
        constraint=str(args.constraint),
        env=args.env,
        columns=columns,
    )
    console = Console()
    # A transfer has no --resume of its own: the same command goes on.
    make_run(spec, scenario, demos, directory, console, args.log, constraint, resume=True)
    planned = forward_alone(preset(args.preset, scenario.task, method)).steps
    say_if_cut_short(args.steps, planned, console)
    write_page(directory, scenario, console)


def parse(arguments: list[str], method: str, seen: "Task | None" = None) -> TransferArgs:
    """Flags change the settings of the task, the preset and the constraint's method,
    wherever they stand.

    `seen`: the task itself, where it was made already.
    """
    task = next((word for word in arguments[:1] if not word.startswith("-")), "point")
    guess = _defaults(task, "default", method)
    args = tyro.cli(TransferArgs, prog="icrl transfer", args=arguments, default=guess)
    if args.method is not None:
        open_method(args.method)
    better = _defaults(seen or args.task, args.preset, args.method or method)
    return tyro.cli(TransferArgs, prog="icrl transfer", args=arguments, default=better)


def config_of(args: TransferArgs, method: str, task: "str | Task") -> LearnConfig:
    """The settings of the run; what concerns the backward step is not used."""
    settings = forward_alone(preset(args.preset, task, method))
    return replace(settings, steps=args.steps, num_samples=args.num_samples, forward=args.forward)


def _defaults(task: "str | Task", name: str, method: str) -> TransferArgs:
    config = forward_alone(preset(name, task, method))
    return TransferArgs(
        task=tyro.MISSING, constraint=tyro.MISSING, preset="default", steps=config.steps,
        num_samples=config.num_samples, forward=config.forward,
    )  # fmt: skip
