"""`icrl evaluate DIR`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.errors import InputError
from icrl.verbs.inputs import require_counts
from icrl.verbs.run_page import write_run_page


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


def run(arguments: list[str]) -> None:
    """`icrl evaluate DIR`."""
    args = tyro.cli(EvaluateArgs, prog="icrl evaluate", args=arguments)
    require_counts(episodes=args.episodes, seed=args.seed)
    from rich.console import Console

    from icrl.agent.policy_file import load_policy
    from icrl.evaluate import judge, play_episodes
    from icrl.experiment.inputs import demos_of_run, scenario_of_run, with_truth
    from icrl.experiment.run_directory import EVALUATION, POLICY, RunDirectory, write_json
    from icrl.experiment.trusting import has_constraint, judge_against_truth, judge_run
    from icrl.report.summary import print_played, print_truth
    from icrl.report.trust_summary import (
        print_constraint_truth,
        print_unfinished,
        print_verdict,
        progress_bar,
        stage,
    )

    console = Console()
    run = RunDirectory(args.directory)
    config = run.config()
    print_unfinished(run, console)
    scenario = scenario_of_run(config)
    if args.truth is not None:
        scenario = with_truth(scenario, args.truth)
    policy = load_policy(args.directory / POLICY, scenario.task)
    with stage(f"playing {args.episodes} episodes", console):
        played = play_episodes(scenario.task, policy, args.episodes, args.seed)
    try:
        demos = demos_of_run(config, scenario)
    except InputError as error:
        demos = None  # they have moved: then there is nothing to compare with, but the run can be judged
        said = f"The demonstrations of this run cannot be read, so it is judged without them: {error}"
        console.print(said, style="yellow", highlight=False, soft_wrap=True, markup=False)
    found = (
        judge(scenario, played)._asdict() if scenario.truth_known else {"nominal_return": float(played.returns.mean())}
    )
    found |= {"episodes": args.episodes, "seed": args.seed}
    if has_constraint(args.directory):
        with progress_bar("fitting ζ again with demonstrations left out (a minute or two)", console) as on_fold:
            verdict = judge_run(args.directory, scenario.task, demos, played, args.others, on_fold)
        right = judge_against_truth(args.directory, scenario, demos) if scenario.truth_known else None
        found |= {"trust": verdict.as_json()} | ({} if right is None else {"constraint": right})
    write_json(args.directory / EVALUATION, found)
    if scenario.truth_known:
        print_truth(judge(scenario, played), scenario, {} if demos is None else demos.card, args.episodes, console)
    else:
        print_played(played, demos, console)
    if has_constraint(args.directory):
        if right is not None:
            print_constraint_truth(right, console)
        print_verdict(verdict, console)
    write_run_page(args.directory, console)
