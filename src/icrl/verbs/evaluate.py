"""`icrl evaluate DIR`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from tyro.conf import Positional

from icrl.errors import InputError
from icrl.verbs.inputs import keep_record, require_counts
from icrl.verbs.run_page import write_run_page
from icrl.words import say

if TYPE_CHECKING:
    from rich.console import Console

    from icrl.demos.dataset import Demonstrations
    from icrl.tasks.task import Scenario


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
    """Runs of the same kind with other seeds, to see where they disagree; None: those in the same folder."""
    truth: str | None = None
    """A true constraint that you know, as module:function; the function takes observations [n, o] and actions [n, a]
    ([n] when discrete) and returns n booleans: True where forbidden. It is used here alone, never for learning."""
    task: str | None = None
    """The run's task in your words, where it is a function of yours (module:function);
    None: as the run names it."""
    allow_import: bool = False
    """Import the module that the run names as its task. That executes it: only
    for runs that you trust."""


def run(arguments: list[str]) -> None:
    """`icrl evaluate DIR`."""
    args = tyro.cli(EvaluateArgs, prog="icrl evaluate", args=arguments)
    require_counts(episodes=args.episodes, seed=args.seed)
    from rich.console import Console

    from icrl.agent.policy_file import load_policy
    from icrl.evaluate import judge, play_episodes
    from icrl.experiment.directory.provenance import constraint_of_run
    from icrl.experiment.directory.run_directory import EVALUATION, POLICY, RunDirectory
    from icrl.experiment.directory.spec import spec_from_json
    from icrl.experiment.run.constraint_scores import judge_against_truth
    from icrl.experiment.run.inputs import scenario_of_run, with_truth
    from icrl.report.summary import print_played, print_truth
    from icrl.report.trust_summary import (
        print_constraint_truth,
        print_unfinished,
        print_verdict,
        progress_bar,
        stage,
    )
    from icrl.trust.of_run import has_constraint, judge_run

    console = Console()
    run = RunDirectory(args.directory)
    config = run.config()
    print_unfinished(run, console)
    scenario = scenario_of_run(config, directory=args.directory, task=args.task, allow_import=args.allow_import)
    if args.truth is not None:
        scenario = with_truth(scenario, args.truth)
    cost = None
    if has_constraint(args.directory):
        # before the work, not after it
        spec_from_json(config)
        cost = constraint_of_run(args.directory, config, scenario.task).cost
    policy = load_policy(args.directory / POLICY, scenario.task, cost)
    with stage(f"playing {args.episodes} episodes", console):
        played = play_episodes(scenario.task, policy, args.episodes, args.seed)
    demos = _demos_if_readable(config, scenario, console)
    found: dict[str, Any] = {"nominal_return": float(played.returns.mean())}
    if scenario.truth_known:
        found = judge(scenario, played)._asdict()
    found |= {"episodes": args.episodes, "seed": args.seed}
    right = None
    if has_constraint(args.directory):
        with progress_bar("fitting ζ again with demonstrations left out (a minute or two)", console) as on_fold:
            verdict = judge_run(args.directory, scenario.task, demos, played, args.others, on_fold)
        found["trust"] = verdict.as_json()
        if scenario.truth_known:
            right = judge_against_truth(args.directory, scenario, demos)
            found["constraint"] = right
    if scenario.truth_known:
        print_truth(judge(scenario, played), scenario, {} if demos is None else demos.card, args.episodes, console)
    else:
        print_played(played, demos, console)
    if has_constraint(args.directory):
        if right is not None:
            print_constraint_truth(right, console)
        print_verdict(verdict, console)
    keep_record(args.directory / EVALUATION, found, console)
    write_run_page(args.directory, console)


def _demos_if_readable(
    config: dict[str, Any],
    scenario: "Scenario",
    console: "Console",
) -> "Demonstrations | None":
    """They may have moved: then there is nothing to compare with, but the run can be judged."""
    from icrl.experiment.run.inputs import demos_of_run

    try:
        return demos_of_run(config, scenario)
    except InputError as error:
        say(
            console,
            f"The demonstrations of this run cannot be read, so it is judged without them: {error}",
            "yellow",
        )
        return None
