"""`icrl evaluate DIR`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.verbs.inputs import require_counts


@dataclass(frozen=True, kw_only=True)
class EvaluateArgs:
    """How far to trust a run's constraint; and against the true one, where it is known."""

    directory: Positional[Path]
    """A run directory."""
    episodes: int = 100
    """Episodes to run."""
    seed: int = 1
    """Seed of the evaluation."""
    others: tuple[Path, ...] | None = None
    """Runs of the same kind with other seeds, to see where they disagree;
    None: those in the same folder."""
    judge: int | None = None
    """Train a fresh agent under the constraint, whom no demonstration helps, for so many
    environment steps: what it earns tells rules apart that the record cannot. 150000 is a fair
    number on small tasks; None: no such agent."""
    truth: str | None = None
    """A true constraint that you know, as module:function; the function takes observations [n, o]
    and actions [n, a] ([n] when discrete) and returns n booleans: True where forbidden. It is used
    here alone, never for learning."""
    task: str | None = None
    """The run's task in your words, where it is a function of yours (module:function);
    None: as the run names it."""
    allow_import: bool = False
    """Import the module that the run names as its task. That executes it: only
    for runs that you trust."""


def run(arguments: list[str]) -> None:
    """`icrl evaluate DIR`."""
    args = tyro.cli(EvaluateArgs, prog="icrl evaluate", args=arguments)
    require_counts(episodes=args.episodes, seed=args.seed, judge=_steps_of(args))
    from rich.console import Console

    from icrl.api.evaluating import evaluate_run, keep_evaluation
    from icrl.experiment.directory.run_directory import RunDirectory
    from icrl.experiment.run.inputs import scenario_of_run, with_truth
    from icrl.report.summary import print_played, print_truth
    from icrl.report.trust_summary import print_constraint_truth, print_rim, print_verdict

    console = Console()
    config = RunDirectory(args.directory).config()
    scenario = scenario_of_run(
        config, directory=args.directory, task=args.task, allow_import=args.allow_import
    )
    # For judging alone: the run is over, and nothing here learns.
    if args.truth is not None:
        scenario = with_truth(scenario, args.truth)
    found = evaluate_run(
        args.directory,
        scenario,
        episodes=args.episodes,
        seed=args.seed,
        others=args.others,
        judge_steps=args.judge,
        console=console,
    )
    if found.truth is None:
        print_played(found.played, found.demos, console)
    else:
        card = {}
        if found.demos is not None:
            card = found.demos.card
        print_truth(found.truth, scenario, card, args.episodes, console)
        print_rim(found.truth, console)
    if found.constraint_truth is not None:
        print_constraint_truth(found.constraint_truth, console)
    if found.verdict is not None:
        print_verdict(found.verdict, console)
    keep_evaluation(found, console)


def _steps_of(args: EvaluateArgs) -> int:
    """Of the fresh judge; without one, any number that counts."""
    if args.judge is None:
        return 1
    return args.judge
