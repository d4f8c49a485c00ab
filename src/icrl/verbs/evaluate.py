"""`icrl evaluate DIR`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.errors import InputError
from icrl.verbs.inputs import find_demos, find_scenario, require_counts


@dataclass(frozen=True, kw_only=True)
class EvaluateArgs:
    """Judge a run against the true constraint. Only this verb and collect need it."""

    directory: Positional[Path]
    """A run directory."""
    episodes: int = 100
    """Episodes to run."""
    seed: int = 1
    """Seed of the evaluation."""


def run(arguments: list[str]) -> None:
    """`icrl evaluate DIR`."""
    args = tyro.cli(EvaluateArgs, prog="icrl evaluate", args=arguments)
    require_counts(episodes=args.episodes, seed=args.seed)
    from rich.console import Console

    from icrl.agent.policy_file import load_policy
    from icrl.evaluate import evaluate_policy
    from icrl.experiment.run_directory import POLICY, RunDirectory, write_json
    from icrl.report.summary import print_truth

    run = RunDirectory(args.directory)
    config = run.config()
    scenario = find_scenario(str(config.get("task")))
    policy = load_policy(args.directory / POLICY, scenario.task)
    truth = evaluate_policy(scenario, policy, args.episodes, args.seed)
    try:
        card = find_demos(config.get("demos"), scenario)[0].card
    except InputError:
        card = {}  # the demonstrations have moved: then there is nothing to compare with, but the run can be judged
    write_json(args.directory / "evaluation.json", {**truth._asdict(), "episodes": args.episodes, "seed": args.seed})
    print_truth(truth, scenario, card, args.episodes, Console())
