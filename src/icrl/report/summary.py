"""What a person reads when a verb has finished: short tables, and where the pictures are."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from icrl.demos.dataset import Demonstrations
from icrl.evaluate import Truth
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.methods.learners import Snapshot
from icrl.methods.references import EXPERT_AGENT, NOMINAL_AGENT
from icrl.report.constraint_picture import draw_constraint
from icrl.tasks.task import Scenario, Task
from icrl.trajectories import select
from icrl.types import Scores, Trajectories
from icrl.words import quoted, say


def write_pictures(
    scenario: Scenario, demos: Demonstrations | None, last: Snapshot, directory: Path
) -> list[Path]:
    """`constraint.png` beside the run's files, when there is a constraint to draw."""
    if last.constraint is None:
        return []
    path = directory / "constraint.png"
    nobody = select(last.samples, np.zeros(last.samples.num_trajectories, np.bool_))
    if demos is None:
        shown = nobody
    else:
        shown = demos.trajectories
    draw_constraint(scenario, last.constraint, shown, last.samples, path)
    return [path]


def picture_of(scenario: Scenario, demos: Demonstrations | None, last: Snapshot) -> bytes | None:
    """ζ after a round as PNG; None: the method learns none."""
    with TemporaryDirectory() as folder:
        pictures = write_pictures(scenario, demos, last, Path(folder))
        if pictures:
            return pictures[0].read_bytes()
        return None


def print_scores(
    scores: Scores,
    demos: Demonstrations | None,
    directory: Path,
    console: Console,
) -> None:
    """The table at the end of `icrl learn` and `icrl transfer`."""
    if scores.true_return is None or scores.violation_rate is None:
        _print_without_truth(scores, demos, directory, console)
    else:
        table = _table()
        _add(table, f"{scores.method} (this run)", scores.true_return, scores.violation_rate)
        _add_references(table, {} if demos is None else demos.card)
        console.print(table)
    say(
        console,
        f"{scores.steps:,} environment steps in {scores.seconds:.1f} s "
        f"({scores.steps_per_second:,.0f}/s). Everything is in {directory}",
    )


def _print_without_truth(
    scores: Scores, demos: Demonstrations | None, directory: Path, console: Console
) -> None:
    """Where nobody knows the truth: the agent beside the demonstrations,
    and what ζ forbids of either."""
    found = RunDirectory(directory).scores()
    judged: dict[str, float | None] = found.get("constraint", {})
    table = _table("return", "steps an episode", "judged infeasible")

    def row(name: str, mean_return: float | None, steps: float, share: float | None) -> None:
        if mean_return is None:
            shown = "unknown"
        else:
            shown = f"{mean_return:,.1f}"
        table.add_row(name, shown, f"{steps:,.1f}", "-" if share is None else f"{share:.4f}")

    agent = judged.get("agent_steps_forbidden")
    row(f"{scores.method} (this run)", found["nominal_return"], found["episode_steps"], agent)
    if demos is not None:
        steps = float(demos.trajectories.lengths.mean())
        row("demonstrations", scores.expert_return, steps, judged.get("expert_steps_forbidden"))
    console.print(table)
    named = ""
    if ":" in scores.scenario:  # a function is only ever called on the user's own word
        named = f" --task {scores.scenario}"
    say(
        console,
        "The true constraint is not known here. How far to trust what was learned: icrl evaluate "
        f"{quoted(directory)}{named}",
    )


def print_played(played: Trajectories, demos: Demonstrations | None, console: Console) -> None:
    """The table of `icrl evaluate` where nobody knows the truth."""
    table = _table("return", "steps an episode")
    episodes = f"this run ({played.num_trajectories} episodes)"
    table.add_row(episodes, f"{played.returns.mean():,.1f}", f"{played.lengths.mean():,.1f}")
    if demos is not None:
        if demos.has_rewards:
            mean = f"{demos.trajectories.returns.mean():,.1f}"
        else:
            mean = "unknown"
        table.add_row("demonstrations", mean, f"{demos.trajectories.lengths.mean():,.1f}")
    console.print(table)
    say(console, "The true constraint is not known here; if you know it: --truth module:function")


def print_truth(
    truth: Truth, scenario: Scenario, card: dict[str, Any], episodes: int, console: Console
) -> None:
    """The table of `icrl evaluate`; `card` is that of the demonstrations."""
    table = _table()
    _add(table, f"this run ({episodes} episodes)", truth.true_return, truth.violation_rate)
    _add_references(table, card)
    console.print(table)
    say(console, f"True constraint: {scenario.constraint}.")


def print_references(demos: Demonstrations, path: Path, console: Console) -> None:
    """The table of `icrl collect`."""
    table = _table()
    _add_references(table, demos.card)
    console.print(table)
    card = demos.card
    say(
        console,
        f"Wrote {card['episodes']} clean episodes to {path} "
        f"({card['rejected_episodes']} with violations were left out).",
    )


def describe_task(task: Task) -> str:
    """A user's own environment in one line."""
    action = f"{len(task.action_names)} action{'s' * (len(task.action_names) > 1)}"
    return (
        f"{task.name}: {len(task.observation_names)} observations, {action}, horizon "
        f"{task.horizon}; {task.description}"
    )


def print_tasks(scenarios: list[Scenario], console: Console) -> None:
    """The table of `icrl tasks`; a name is what one must type, so it is never cut,
    however narrow the terminal."""
    table = Table(header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(
        "task", no_wrap=True, min_width=max(len(scenario.task.name) for scenario in scenarios)
    )
    for name in ("obs.", "action", "horizon"):
        table.add_column(name, justify="right")
    table.add_column("demos")
    table.add_column("what it is", overflow="fold")
    for scenario in scenarios:
        task = scenario.task
        action = f"{len(task.action_names)} {'choices' if task.discrete else 'numbers'}"
        if scenario.demos:
            shipped = "shipped"
        else:
            shipped = "-"
        table.add_row(
            task.name,
            str(len(task.observation_names)),
            action,
            str(task.horizon),
            shipped,
            task.description,
        )
    console.print(table)


def _table(*columns: str) -> Table:
    table = Table(header_style="bold")
    table.add_column("agent")
    for name in columns or ("true return", "violation rate"):
        table.add_column(name, justify="right")
    return table


def _add(table: Table, name: str, true_return: float, violation_rate: float) -> None:
    table.add_row(name, f"{true_return:,.1f}", f"{violation_rate:.4f}")


def _add_references(table: Table, card: dict[str, Any]) -> None:
    """Expert and nominal agents as the demonstrations' card records them."""
    references: dict[str, dict[str, Any]] = card.get("references", {})
    for agent in (EXPERT_AGENT, NOMINAL_AGENT):
        if agent.name in references:
            score = references[agent.name]
            _add(table, agent.label, score["true_return"], score["violation_rate"])
