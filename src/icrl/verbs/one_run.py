"""What `icrl learn`, `learn --resume` and `transfer` share:
one run with its display, its loggers, its pictures and its last words."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from icrl.spans import span
from icrl.verbs.loggers import open_loggers
from icrl.words import quoted, say

if TYPE_CHECKING:
    from rich.console import Console

    from icrl.constraint.learned import LearnedConstraint
    from icrl.demos.fitting import FittedDemos
    from icrl.experiment.directory.spec import RunSpec
    from icrl.tasks.task import Scenario


def make_run(
    spec: "RunSpec",
    scenario: "Scenario",
    demos: "FittedDemos | None",
    directory: Path,
    console: "Console",
    log: Sequence[str] = (),
    constraint: "LearnedConstraint | None" = None,
    resume: bool = False,
) -> None:
    """Make the run, or go on with it, and show what came of it."""
    with span("import"):
        from icrl.demos.rewards import HOW_COMPUTED
        from icrl.experiment.run.callbacks import Callbacks
        from icrl.experiment.run.display import LiveDisplay
        from icrl.experiment.run.one_run import check_run, run_learning
        from icrl.report.summary import describe_task, print_scores, write_pictures

    # Before the display: what is wrong is said in one line, not under a progress bar.
    rounds = check_run(spec, scenario, demos, directory, constraint, resume)
    title = f"{spec.method} on {spec.task}, seed {spec.seed}"
    if constraint is not None:
        title = f"constraint of {title}"
    elif not scenario.truth_known:
        say(console, describe_task(scenario.task))
    if demos is not None and demos.rewards_computed:
        say(console, HOW_COMPUTED)
    display = LiveDisplay(title, spec.config.steps, console)
    callbacks = Callbacks([display, *open_loggers(log, scenario, demos, console)])
    try:
        with display:
            scores, last = run_learning(
                spec, scenario, demos, directory, callbacks, constraint, resume
            )
        # the scores first: who waits for them need not wait for a picture
        print_scores(scores, demos, directory, console)
        with span("pictures"):
            pictures = write_pictures(scenario, demos, last, directory)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(how_far(directory, display.rounds_done, rounds)) from None
    for picture in pictures:
        say(console, f"Look at {picture}")


def say_if_cut_short(steps: int, planned: int, console: "Console") -> None:
    """A bad score of a run cut short is no result: who tries --steps 20000 cannot know that."""
    if steps < planned:
        said = (
            f"This run had {steps:,} of the {planned:,} steps of its preset: the agent may not be "
            "trained out, and its scores may say little."
        )
        say(console, said, "yellow")


def write_page(directory: Path, scenario: "Scenario", console: "Console") -> None:
    """The page of a run that is over."""
    from icrl.report.kept import write_run_page

    with span("pictures"):
        write_run_page(directory, console, animate=scenario.truth_known)


def how_far(directory: Path, rounds_done: int, rounds: int) -> str:
    """What an interrupted run says of itself, and how to go on."""
    if rounds_done:
        holds = f"{directory} holds all of it up to round {rounds_done}"
    elif directory.exists():
        holds = f"{directory} holds the configuration only"
    else:
        holds = "Nothing was written"
    done = f"interrupted after {rounds_done} of {rounds} rounds"
    return f"{done}. {holds}. {_how_to_go_on(directory)}"


def _how_to_go_on(directory: Path) -> str:
    if not directory.exists():
        return "The same command starts it."
    return f"To go on: icrl learn --resume {quoted(directory)}"
