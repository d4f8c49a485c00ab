"""What is in a set of demonstrations, and what to be wary of: the content of `icrl demos check`."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import gymnasium as gym
import numpy as np

from icrl.demos.columns import ColumnFacts, describe_columns
from icrl.demos.dataset import Demonstrations, actions_outside, find_mismatches
from icrl.demos.findings import (
    Finding,
    judge_columns,
    judge_duplicates,
    judge_lengths,
    judge_rewards,
    judge_task,
)
from icrl.demos.rewards import HOW_COMPUTED
from icrl.tasks.task import Task
from icrl.trajectories import real_steps
from icrl.types import AnyArray, FloatArray
from icrl.words import in_markup

if TYPE_CHECKING:
    from rich.console import Group

_ROWS_AT_ONCE = 2**13
"""Steps that are looked at together, where all of them would fill the memory."""


@dataclass(frozen=True, kw_only=True)
class DemosReport:
    """Facts about demonstrations, and findings."""

    task: str | None
    episodes: int
    steps: int
    lengths: tuple[int, int, int]
    """Shortest, median, longest episode."""
    returns: tuple[float, float, float] | None
    """Lowest, mean, highest return; None where rewards are unknown."""
    rewards_computed: bool
    """The task computed the rewards, and the last step of each episode was left out."""
    columns: tuple[ColumnFacts, ...]
    """Observations, then actions (one 0/1 column per choice when discrete)."""
    duplicate_episodes: int
    """Episodes that repeat an earlier one to the bit."""
    duplicate_rows: float
    """Share of pairs (s, a) that repeat an earlier one to the bit."""
    actions_outside: int | None
    """Action values outside the task's space; None without a task."""
    findings: tuple[Finding, ...]


# Columns near the largest float may overflow in a mean: that is told as a fact, not as a warning of
# NumPy's.
@np.errstate(over="ignore", invalid="ignore")
def describe(demos: Demonstrations, task: Task | None = None) -> DemosReport:
    """Count, measure and judge demonstrations; with a task, also whether they fit it."""
    t = demos.trajectories
    returns = t.returns
    range_of_returns = None
    if demos.has_rewards:
        range_of_returns = (float(returns.min()), float(returns.mean()), float(returns.max()))
    name = None
    # Only a task that they fit lends them its names and bounds; of another these would be wrong.
    fitting = None
    outside = None
    if task is not None:
        name = task.name
        if not find_mismatches(demos, task):
            fitting = task
        if _same_layout(demos, task):
            outside = int(actions_outside(demos, task).sum())
    columns = describe_columns(demos, fitting)
    copies, repeats = _count_duplicates(demos)
    return DemosReport(
        task=name,
        episodes=t.num_trajectories,
        steps=t.num_steps,
        lengths=(int(t.lengths.min()), int(np.median(t.lengths)), int(t.lengths.max())),
        returns=range_of_returns,
        rewards_computed=demos.rewards_computed,
        columns=columns,
        duplicate_episodes=copies,
        duplicate_rows=repeats,
        actions_outside=outside,
        findings=(
            *judge_task(demos, task),
            # As they were recorded: what was left out here was not clipped.
            *judge_lengths(demos.recorded_lengths, task),
            *judge_rewards(demos, task),
            *judge_columns(columns, demos),
            *judge_duplicates(copies, repeats, demos),
        ),
    )


def _same_layout(demos: Demonstrations, task: Task) -> bool:
    if isinstance(task.action_space, gym.spaces.Box):
        return (
            not demos.discrete and demos.trajectories.actions.shape[2:] == task.action_space.shape
        )
    return demos.discrete


def _count_duplicates(demos: Demonstrations) -> tuple[int, float]:
    """Episodes, and the share of pairs, that repeat an earlier one to the bit.

    Fingerprints are compared, 128 bits of each: the content itself would have to be
    held several times over.
    """
    t = demos.trajectories
    seen = {
        _digest(t.observations[i, :n]) + _digest(t.actions[i, :n]) for i, n in enumerate(t.lengths)
    }
    actions = real_steps(t, t.actions).reshape(t.num_steps, -1)
    prints = _fingerprints(real_steps(t, t.observations), actions)
    return t.num_trajectories - len(seen), 1 - _num_different(prints) / t.num_steps


def _digest(values: AnyArray) -> bytes:
    return blake2b(values.tobytes(), digest_size=16).digest()


def _fingerprints(observations: FloatArray, actions: AnyArray) -> AnyArray:
    """[2, n], two numbers each: Σⱼ wⱼ bⱼ mod 2⁶⁴ of the pair's bits bⱼ, 32 at a time,
    for two sets of odd random wⱼ.

    That two different pairs have the same is less likely than 2⁻⁶⁴.
    """
    width = observations.shape[1] + actions.shape[1]
    weights = np.random.default_rng(0).integers(0, 2**64, (2, 2 * width), np.uint64)
    # Odd, so that no weight has a factor of two in common with 2⁶⁴: a multiple of it would lose
    # bits.
    weights |= np.uint64(1)
    prints = np.empty((2, len(observations)), np.uint64)
    for start in range(0, len(observations), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        pairs = np.concatenate([observations[rows], actions[rows]], axis=1, dtype=np.float64)
        bits = pairs.view(np.uint32).astype(np.uint64)  # [rows, 2 * width]
        prints[0, rows] = (bits * weights[0]).sum(axis=1)
        prints[1, rows] = (bits * weights[1]).sum(axis=1)
    return prints


def _num_different(prints: AnyArray) -> int:
    """How many different columns [2, n] has."""
    ordered = prints[:, np.lexsort(prints)]
    return 1 + int(np.sum((ordered[:, 1:] != ordered[:, :-1]).any(axis=0)))


def _percent(share: float) -> str:
    """What happens seldom is told from what never does."""
    if 0 < share < 0.01:
        return "<1%"
    return f"{share:.0%}"


def render_report(report: DemosReport) -> "Group":
    """The report as a rich renderable: facts, a table of columns, then findings."""
    from rich.console import Group
    from rich.table import Table

    shortest, median, longest = report.lengths
    returns = "returns unknown"
    if report.returns is not None:
        low, mean, high = report.returns
        returns = f"returns {low:.4g} to {high:.4g} (mean {mean:.4g})"
    facts = [
        (
            f"episodes {report.episodes}, steps {report.steps}, lengths {shortest} to {longest} "
            f"(median {median})"
        ),
        returns,
        (
            f"repeated episodes {report.duplicate_episodes}, repeated steps "
            f"{report.duplicate_rows:.1%}; all finite"
        ),
    ]
    if report.rewards_computed:
        facts.append(HOW_COMPUTED)
    if report.actions_outside is not None:
        facts.append(
            f"action values outside the space of {in_markup(report.task or '')}: "
            f"{report.actions_outside}",
        )
    table = Table("column", "low", "mean", "high", "coverage")
    for column in report.columns:
        cells = (f"{value:.4g}" for value in (column.low, column.mean, column.high))
        table.add_row(in_markup(column.name), *cells, _percent(column.coverage))
    findings = []
    for found in report.findings:
        mark = "[bold yellow]warning[/]"
        if found.fatal:
            mark = "[bold red]ERROR[/]"
        said = f"{found.what}: {found.meaning}. To do: {found.advice.rstrip('.')}."
        # Names come from files: what looks like markup in them must not become any.
        findings.append(f"{mark} {in_markup(said)}")
    return Group(*facts, table, *(findings or ["[green]nothing to be wary of[/]"]))
