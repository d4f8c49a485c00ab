"""`icrl.evaluate`: how far to trust a run; and against the true constraint, where it is known."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from icrl.agent.policy_file import load_policy
from icrl.api.inputs import OnProgress, Ran, directory_of, scenario_for
from icrl.config import require
from icrl.constraint.found import cost_function
from icrl.demos.dataset import Demonstrations
from icrl.demos.fitting import FittedDemos
from icrl.errors import InputError
from icrl.evaluate import Truth, judge, play_episodes
from icrl.experiment.directory.provenance import constraint_of_run
from icrl.experiment.directory.run_directory import EVALUATION, POLICY, RunDirectory
from icrl.experiment.directory.spec import spec_from_json
from icrl.experiment.run.constraint_scores import judge_against_truth
from icrl.experiment.run.inputs import Forbids, demos_of_run, with_truth
from icrl.report.kept import keep_record, print_unfinished, write_run_page
from icrl.report.trust_summary import progress_bar, stage
from icrl.runtime import one_thread
from icrl.tasks.task import Scenario, Task
from icrl.trust.check import Verdict
from icrl.trust.fresh import Fresh, train_judge
from icrl.trust.of_run import has_constraint, judge_run
from icrl.types import Trajectories
from icrl.words import say


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """What was found out about a run."""

    directory: Path
    scenario: Scenario
    played: Trajectories
    """Fresh episodes of its agent."""
    demos: Demonstrations | None
    """None: there are none, or they cannot be read."""
    verdict: Verdict | None
    """How far to trust its constraint, without the truth (`.text`, `.checks`);
    None: it learned none."""
    truth: Truth | None
    """True return and violation rate of the agent; None: nobody knows the truth."""
    constraint_truth: dict[str, Any] | None
    """How right the constraint is: hits, false alarms, AUC, IoU, confusion,
    calibration; None likewise."""
    details: dict[str, Any]
    """All of `evaluation.json`."""


@one_thread()
def evaluate(
    run: Ran | str | Path,
    *,
    episodes: int = 100,
    seed: int = 1,
    others: Sequence[str | Path] | None = None,
    judge_steps: int | None = None,
    truth: str | Forbids | None = None,
    task: str | Task | Scenario | None = None,
    allow_import: bool = False,
    progress: bool = True,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """How far to trust a run's constraint, as `icrl evaluate DIR` says it;
    `evaluation.json` and `report.html` keep it.

    `run`: what `icrl.run` returned, or a run directory. `others`: runs of the same kind with other
    seeds; None: those in the same folder. `truth`: a true constraint that you know, a function or
    module:function; it is used here alone.

    `judge_steps`: train a fresh agent under the constraint for so many steps, whom no demonstration
    helps. `task`, `allow_import`: where the run's task is a function of yours, name it or allow its
    import. With `progress` what goes on is shown; `on_progress` is told it too.
    """
    console = Console(quiet=not progress)
    directory = directory_of(run)
    config = RunDirectory(directory).config()
    scenario = scenario_for(run, config, task, allow_import)
    if truth is not None:
        scenario = with_truth(scenario, truth)
    found = evaluate_run(
        directory,
        scenario,
        episodes=episodes,
        seed=seed,
        others=None if others is None else [Path(path) for path in others],
        judge_steps=judge_steps,
        console=console,
        on_progress=on_progress,
    )
    keep_evaluation(found, console)
    return found


def keep_evaluation(found: Evaluation, console: Console) -> None:
    """Into the run's directory."""
    keep_record(found.directory / EVALUATION, found.details, console)
    write_run_page(found.directory, console)


def evaluate_run(
    directory: Path,
    scenario: Scenario,
    *,
    episodes: int,
    seed: int,
    others: Sequence[Path] | None,
    judge_steps: int | None = None,
    console: Console,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Play the agent, judge the constraint; nothing is written."""
    require(episodes >= 1, "episodes", episodes, "an integer >= 1")
    require(seed >= 0, "seed", seed, "an integer >= 0")
    run = RunDirectory(directory)
    config = run.config()
    print_unfinished(run, console)
    cost = None
    if has_constraint(directory):
        # before the work, not after it
        spec_from_json(config)
        cost = cost_function(constraint_of_run(directory, config, scenario.task))
    policy = load_policy(directory / POLICY, scenario.task, cost)
    playing = f"playing {episodes} episodes"
    _tell(on_progress, playing, 0, 1)
    with stage(playing, console):
        played = play_episodes(scenario.task, policy, episodes, seed)
    _tell(on_progress, playing, 1, 1)
    demos = _demos_if_readable(config, scenario, console)
    details: dict[str, Any] = {"nominal_return": float(played.returns.mean())}
    truth = None
    if scenario.truth_known:
        truth = judge(scenario, played)
        details = truth._asdict()
    details |= {"episodes": episodes, "seed": seed}
    verdict = None
    right = None
    if has_constraint(directory):
        fresh = None
        if judge_steps is not None:
            fresh = _fresh_judge(directory, config, scenario, judge_steps, seed, console)
        with _folds(console, on_progress) as on_fold:
            verdict = judge_run(directory, scenario.task, demos, played, others, on_fold, fresh)
        details["trust"] = verdict.as_json()
        if scenario.truth_known:
            right = judge_against_truth(directory, scenario, demos)
            details["constraint"] = right
    return Evaluation(
        directory=directory,
        scenario=scenario,
        played=played,
        demos=demos,
        verdict=verdict,
        truth=truth,
        constraint_truth=right,
        details=details,
    )


def _fresh_judge(
    directory: Path,
    config: dict[str, Any],
    scenario: Scenario,
    steps: int,
    seed: int,
    console: Console,
) -> Fresh:
    """A fresh agent under the run's constraint, whom no demonstration helps."""
    constraint = constraint_of_run(directory, config, scenario.task)
    with stage(f"training a fresh agent under ζ for {steps:,} steps", console):
        return train_judge(constraint, scenario.task, spec_from_json(config).config, steps, seed)


@contextmanager
def _folds(
    console: Console, on_progress: OnProgress | None
) -> Iterator[Callable[[int, int], None]]:
    """The long part: shown, and told."""
    fitting = "asking the record; fitting ζ again where it is a network"
    with progress_bar(fitting, console) as show:

        def on_fold(done: int, of: int) -> None:
            show(done, of)
            _tell(on_progress, fitting, done, of)

        yield on_fold


def _tell(on_progress: OnProgress | None, what: str, done: int, of: int) -> None:
    if on_progress is not None:
        on_progress(what, done, of)


def _demos_if_readable(
    config: dict[str, Any], scenario: Scenario, console: Console
) -> FittedDemos | None:
    """They may have moved: then there is nothing to compare with, but the run can be judged."""
    try:
        return demos_of_run(config, scenario)
    except InputError as error:
        say(
            console,
            f"The demonstrations of this run cannot be read, so it is judged without them: {error}",
            "yellow",
        )
        return None
