"""`icrl learn TASK`."""

import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import Positional

from icrl.config import LearnConfig
from icrl.errors import InputError
from icrl.experiment.directory.config_file import ConfigFile, read_config, write_config
from icrl.experiment.directory.parsing import changed
from icrl.methods.icrl import ICRL
from icrl.methods.registry import help_text, open_method, preset
from icrl.runtime import configure_jax
from icrl.tasks.options import EnvOptions
from icrl.verbs.inputs import Columns, as_folder, find_demos, find_scenario
from icrl.verbs.loggers import LoggerName
from icrl.verbs.one_run import make_run, say_if_cut_short, write_page
from icrl.words import say

if TYPE_CHECKING:
    from icrl.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class LearnArgs:
    """Learn the constraint that demonstrations obey, and an agent that respects it.

    The defaults shown are those of the task, preset and method on the line: icrl learn ant-wall
    --help shows those of the Ant. Of an environment of your own they depend on what it is like:
    --print-config shows them.
    """

    task: Positional[str] = "lap-grid"
    """A task of ours (see: icrl tasks), a Gymnasium id,
    or module:function that makes an environment of yours."""
    method: Annotated[str, tyro.conf.arg(help=help_text())] = ICRL.name
    preset: str = "default"
    """Settings to start from: default (ours), paper (the paper's table) or authors
    (what the authors' public code does)."""
    demos: str | None = None
    """Demonstrations: a file, a folder or a Minari id; None: the ones that ship with the task."""
    seed: int = 0
    """Seed of everything random."""
    out: Path | None = None
    """Run directory; None: runs/TASK-METHOD-PRESET-seedN."""
    episodes: int = 100
    """Episodes of the final evaluation."""
    log: tuple[LoggerName, ...] = ()
    """Log also to csv, tensorboard or wandb, any number of them:
    --log csv wandb (extras of these names)."""
    config_file: Annotated[Path | None, tyro.conf.arg(name="config")] = None
    """Settings to start from instead: a TOML file, or config.json of another run.
    Flags change what it says."""
    resume: Path | None = None
    """Go on with the run in this directory, wherever it was when it ended;
    its settings stay as they are."""
    print_config: tyro.conf.FlagCreatePairsOff[bool] = False
    """Write all settings as such a file to the terminal, and learn nothing."""
    config: Annotated[LearnConfig, tyro.conf.arg(name="")] = field(default_factory=LearnConfig)
    env: Annotated[EnvOptions, tyro.conf.arg(name="")] = field(default_factory=EnvOptions)
    columns: Columns = field(default_factory=Columns)


def run(arguments: list[str]) -> None:
    """`icrl learn TASK`."""
    # Before the flags are read: with --resume nearly all of them would be refused, or ignored.
    if any(word.partition("=")[0] == "--resume" for word in arguments):
        resume(arguments)
        return
    args = parse(arguments)
    if args.print_config:
        sys.stdout.write(as_toml(args))
        return
    columns = args.columns.mapping()
    # All that can be wrong is found before JAX is imported, which takes a second or two.
    scenario = find_scenario(args.task, args.env)
    demos, source = find_demos(
        args.demos, scenario, columns, needed=open_method(args.method).needs_demos
    )
    folder = f"{as_folder(args.task)}-{as_folder(args.method)}-{args.preset}-seed{args.seed}"
    directory = args.out or Path("runs") / folder
    configure_jax()

    from rich.console import Console

    from icrl.experiment.directory.spec import RunSpec

    spec = RunSpec(
        task=args.task,
        method=args.method,
        preset=args.preset,
        seed=args.seed,
        config=args.config,
        demos=source,
        episodes=args.episodes,
        env=args.env,
        columns=columns,
    )
    console = Console()
    make_run(spec, scenario, demos, directory, console, args.log)
    planned = preset(args.preset, scenario.task, args.method).steps
    say_if_cut_short(args.config.steps, planned, console)
    write_page(directory, scenario, console)


@dataclass(frozen=True, kw_only=True)
class ResumeArgs:
    """Go on with a run that did not come to its end.

    Its settings stay as they are, and it ends as if it had never been away.
    """

    task: Positional[str | None] = None
    """The run's own task; to be named where it is a module:function of yours, which is executed."""
    resume: Path
    """The run's directory."""
    allow_import: tyro.conf.FlagCreatePairsOff[bool] = False
    """Execute what the run names: a task module:function, a method module:name."""
    log: tuple[LoggerName, ...] = ()
    """Log also to csv, tensorboard or wandb, any number of them:
    --log csv wandb (extras of these names)."""


def resume(arguments: list[str]) -> None:
    """`icrl learn --resume DIR`."""
    args = tyro.cli(ResumeArgs, prog="icrl learn", args=arguments)
    configure_jax()

    from rich.console import Console

    from icrl.experiment.directory.provenance import open_constraint
    from icrl.experiment.directory.run_directory import RunDirectory
    from icrl.experiment.directory.spec import spec_from_json
    from icrl.experiment.run.inputs import open_demos_if_any, scenario_of_run

    console = Console()
    run_directory = RunDirectory(args.resume)
    config = run_directory.config()
    spec = spec_from_json(config)
    if args.task is not None and args.task != spec.task:
        raise InputError(
            f"{args.resume} is a run on {spec.task}, not on {args.task}: leave the task out."
        )
    # Who allows the one allows the other: both are code that the run names.
    if args.allow_import:
        open_method(spec.method)
    scenario = scenario_of_run(
        config, directory=args.resume, task=args.task, allow_import=args.allow_import
    )
    if run_directory.finished:
        say(console, f"{args.resume} is finished: there is nothing left to do.")
    else:
        demos, _ = open_demos_if_any(spec.demos, scenario, spec.columns)
        constraint = None
        if spec.constraint is not None:
            constraint = open_constraint(spec.constraint)
        make_run(spec, scenario, demos, args.resume, console, args.log, constraint, resume=True)
    write_page(args.resume, scenario, console)


def parse(arguments: list[str]) -> LearnArgs:
    """Flags change the settings of the task, preset and method asked for,
    wherever these stand on the line."""
    said = _config_file(arguments)
    _require_own_method(said, arguments)
    guess = _learn_defaults(arguments, said)
    args = tyro.cli(LearnArgs, prog="icrl learn", args=arguments, default=guess)
    _require_own_words(args, said, arguments)
    # The defaults that flags change depend on task, preset and method, which are flags themselves,
    # and on what a task of the user's own is like: they are guessed, and where the guess was wrong,
    # read again.
    args.columns.mapping()  # what the line alone gets wrong is said before a task is made
    scenario = find_scenario(args.task, args.env)
    better = _defaults(args.task, args.preset, args.method, said, scenario.task)
    if better.config == guess.config and better.method == guess.method:
        return args
    return tyro.cli(LearnArgs, prog="icrl learn", args=arguments, default=better)


def _require_own_words(args: LearnArgs, said: ConfigFile, arguments: list[str]) -> None:
    """A run's config.json may be anybody's: a function that only it names is not executed."""
    from icrl.experiment.run.inputs import ImportRefused, must_import

    path = args.config_file
    # A TOML file was written by hand, a run's config.json came with a run: only what the user
    # wrote, or types, is executed.
    theirs = path is not None and (path.is_dir() or path.suffix == ".json")
    if (
        theirs
        and must_import(args.task)
        and args.task == said.run.get("task")
        and args.task not in arguments
    ):
        raise ImportRefused(
            f"{path} names the task {args.task}, a function that would be executed. If you know "
            f"the module and trust it, name the task yourself: icrl learn {args.task} --config "
            f"{path}"
        )


def _require_own_method(said: ConfigFile, arguments: list[str]) -> None:
    """Nor is a method `module:name`."""
    from icrl.experiment.run.inputs import ImportRefused

    path = Path(_word_after(arguments, "--config") or "")
    method = said.run.get("method", ICRL.name)
    theirs = path.suffix == ".json" or (path != Path() and path.is_dir())
    if theirs and ":" in method and _word_after(arguments, "--method") is None:
        raise ImportRefused(
            f"{path} names the method {method}, code that would be executed. If you know the "
            f"module and trust it, name it yourself: --method {method}"
        )


def as_toml(args: LearnArgs) -> str:
    """All settings as a file that --config takes."""
    run = {
        name: getattr(args, name)
        for name in ("task", "method", "preset", "demos", "seed", "episodes")
    }
    tables = {"env": asdict(args.env), "columns": {}}
    # What nobody said is not written: such a file would pin the columns of other logs.
    if args.columns != Columns():
        tables["columns"] = asdict(args.columns)
    return write_config(run, args.config, tables)


def _config_file(arguments: list[str]) -> ConfigFile:
    """What the file of --config says; nothing, if there is none."""
    path = _word_after(arguments, "--config")
    if path is None:
        return ConfigFile(run={}, settings={}, tables={})
    return read_config(Path(path))


def _word_after(arguments: list[str], wanted: str) -> str | None:
    """The value of a flag, written as `--flag value` or `--flag=value`."""
    found = None
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        flag, equals, value = word.partition("=")
        if flag == wanted:
            if equals:
                found = value
            else:
                found = following
    return found


def _learn_defaults(arguments: list[str], said: ConfigFile) -> LearnArgs:
    """The preset of the task named in the arguments, so that --help shows,
    and flags change, that task's values."""
    # Only the first word: a later one may be the value of a flag.
    task = next((word for word in arguments[:1] if not word.startswith("-")), None)
    return _defaults(
        task or said.run.get("task", "lap-grid"),
        _word_after(arguments, "--preset") or said.run.get("preset", "default"),
        _word_after(arguments, "--method") or said.run.get("method", ICRL.name),
        said,
    )


def _defaults(
    task: str, name: str, method: str, said: ConfigFile, seen: "Task | None" = None
) -> LearnArgs:
    """`seen`: the task itself, where it was made already."""
    rest = {key: value for key, value in said.run.items() if key in ("demos", "seed", "episodes")}
    open_method(method)
    return LearnArgs(
        task=task,
        preset=name,
        method=method,
        config=said.changes(preset(name, seen or task, method)),
        env=changed(EnvOptions(), said.tables.get("env", {}), "env"),
        columns=changed(Columns(), said.tables.get("columns", {}), "columns"),
        **rest,
    )
