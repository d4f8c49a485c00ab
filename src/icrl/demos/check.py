"""What is in a set of demonstrations, and what to be wary of: the content of `icrl demos check`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import gymnasium as gym
import numpy as np

from icrl.demos.dataset import Demonstrations, actions_outside, find_mismatches, outside_box
from icrl.tasks.task import Task
from icrl.types import AnyArray, FloatArray, IntArray
from icrl.words import in_markup

if TYPE_CHECKING:
    from rich.console import Group

COVERAGE_BINS = 20
"""Bins per column for `ColumnFacts.coverage`."""
MANY_DUPLICATES = 0.1
"""Share of repeated rows from which continuous recordings look copied."""


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """One named column over all real steps."""

    name: str
    low: float
    high: float
    mean: float
    coverage: float
    """Share of 20 equal bins that hold a step: of the task's bounds where these are finite,
    else of [low, high]. Of an indicator: the share of steps with this state or action."""
    indicator: bool = False
    """0 or 1: whether the step is in this one of the states, or takes this one of the actions."""

    @property
    def constant(self) -> bool:
        """Every step has the same value."""
        return self.low == self.high


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something to be wary of."""

    what: str
    meaning: str
    advice: str
    fatal: bool = False
    """The task refuses these demonstrations."""


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
    columns: tuple[ColumnFacts, ...]
    """Observations, then actions (one 0/1 column per choice when discrete)."""
    duplicate_episodes: int
    """Episodes that repeat an earlier one to the bit."""
    duplicate_rows: float
    """Share of pairs (s, a) that repeat an earlier one to the bit."""
    actions_outside: int | None
    """Action values outside the task's space; None without a task."""
    findings: tuple[Finding, ...]


@np.errstate(over="ignore", invalid="ignore")
def describe(demos: Demonstrations, task: Task | None = None) -> DemosReport:
    """Count, measure and judge demonstrations; with a task, also whether they fit it."""
    t = demos.trajectories
    returns = t.returns
    range_of_returns = None
    if demos.has_rewards:
        range_of_returns = (float(returns.min()), float(returns.mean()), float(returns.max()))
    name = None
    fitting = None
    outside = None
    if task is not None:
        name = task.name
        if not find_mismatches(demos, task):
            fitting = task
        if _same_layout(demos, task):
            outside = int(actions_outside(demos, task).sum())
    columns = _describe_columns(demos, fitting)
    copies, repeats = _count_duplicates(demos)
    return DemosReport(
        task=name,
        episodes=t.num_trajectories,
        steps=t.num_steps,
        lengths=(int(t.lengths.min()), int(np.median(t.lengths)), int(t.lengths.max())),
        returns=range_of_returns,
        columns=columns,
        duplicate_episodes=copies,
        duplicate_rows=repeats,
        actions_outside=outside,
        findings=(
            *_judge_task(demos, task),
            *_judge_lengths(t.lengths, task),
            *_judge_rewards(demos),
            *_judge_columns(columns, demos),
            *_judge_duplicates(copies, repeats, demos),
        ),
    )


def _same_layout(demos: Demonstrations, task: Task) -> bool:
    if isinstance(task.action_space, gym.spaces.Box):
        return (
            not demos.discrete and demos.trajectories.actions.shape[2:] == task.action_space.shape
        )
    return demos.discrete


def _describe_columns(demos: Demonstrations, task: Task | None) -> tuple[ColumnFacts, ...]:
    t = demos.trajectories
    observations = t.observations[t.mask].astype(np.float64)  # [steps, o]
    if task is not None:
        names = task.observation_names
        one_hot = task.one_hot
        observation_space = task.observation_space
        action_space = task.action_space
    else:
        names = demos.observation_names
        one_hot = _looks_one_hot(observations)
        observation_space = None
        action_space = None
    if one_hot:
        facts = [_describe_indicator(name, observations[:, i]) for i, name in enumerate(names)]
    else:
        facts = [
            _describe_column(
                name,
                observations[:, i],
                _bound(observation_space, i),
            )
            for i, name in enumerate(names)
        ]
    actions = t.actions[t.mask]  # [steps] or [steps, a]
    if demos.discrete:
        choices = np.unique(actions)
        if task is not None and isinstance(task.action_space, gym.spaces.Discrete):
            choices = np.arange(
                task.action_space.start, task.action_space.start + task.action_space.n
            )
        if task is not None:
            labels = task.action_names
        else:
            labels = demos.action_names
        if len(labels) != len(choices):
            labels = tuple(f"action {choice}" for choice in choices)
        return (
            *facts,
            *(
                _describe_indicator(n, (actions == c) * 1.0)
                for n, c in zip(labels, choices, strict=True)
            ),
        )
    if task is not None:
        names = task.action_names
    else:
        names = demos.action_names
    return (
        *facts,
        *(
            _describe_column(
                n,
                actions[:, i].astype(np.float64),
                _bound(action_space, i),
            )
            for i, n in enumerate(names)
        ),
    )


def _looks_one_hot(observations: FloatArray) -> bool:
    """Every row of [steps, o] is 1 in one column and 0 in all others,
    and not always the same one."""
    zeros_and_ones = bool(np.all((observations == 0) | (observations == 1)))
    return (
        zeros_and_ones
        and bool(np.all(observations.sum(axis=1) == 1))
        and bool(np.any(observations != observations[0]))
    )


def _describe_indicator(name: str, values: FloatArray) -> ColumnFacts:
    share = float(values.mean())
    return ColumnFacts(
        name=name,
        low=float(values.min()),
        high=float(values.max()),
        mean=share,
        coverage=share,
        indicator=True,
    )


def _bound(
    space: gym.Space[AnyArray] | gym.spaces.Discrete | None, column: int
) -> tuple[float, float] | None:
    if not isinstance(space, gym.spaces.Box):
        return None
    low = float(space.low[column])
    high = float(space.high[column])
    if np.isfinite(low) and np.isfinite(high):
        return (low, high)
    return None


def _describe_column(
    name: str, values: FloatArray, bound: tuple[float, float] | None
) -> ColumnFacts:
    low = float(values.min())
    high = float(values.max())
    start, end = bound or (low, high)
    # Scaled before it is summed, so that columns near the largest float do not overflow.
    scale = max(abs(low), abs(high), 1.0)
    share = np.clip(
        (values / scale - start / scale) / max(end / scale - start / scale, 1e-300), 0, 1
    )
    bins = np.minimum(share * COVERAGE_BINS, COVERAGE_BINS - 1).astype(np.int64)
    coverage = len(np.unique(bins)) / COVERAGE_BINS
    return ColumnFacts(
        name=name,
        low=low,
        high=high,
        mean=float((values / scale).mean() * scale),
        coverage=coverage,
    )


def _count_duplicates(demos: Demonstrations) -> tuple[int, float]:
    t = demos.trajectories
    seen = {
        (t.observations[i, :n].tobytes(), t.actions[i, :n].tobytes())
        for i, n in enumerate(t.lengths)
    }
    actions = t.actions[t.mask].reshape(t.num_steps, -1)
    pairs = np.concatenate(
        [t.observations[t.mask].astype(np.float64), actions.astype(np.float64)], axis=1
    )
    rows = np.ascontiguousarray(pairs).view(
        np.dtype((np.void, pairs.dtype.itemsize * pairs.shape[1]))
    )
    return t.num_trajectories - len(seen), 1 - len(np.unique(rows)) / t.num_steps


def _judge_task(demos: Demonstrations, task: Task | None) -> list[Finding]:
    if task is None:
        return []
    findings = [
        Finding(
            what=problem.split(": ", 1)[0],
            meaning=f"they cannot be used with task {task.name}",
            advice=problem.split(": ", 1)[-1],
            fatal=True,
        )
        for problem in find_mismatches(demos, task)
    ]
    if findings:
        return findings
    t = demos.trajectories
    outside = outside_box(t.observations, task.observation_space) & t.mask[..., None]
    if outside.any():
        columns = np.flatnonzero(np.any(outside, axis=(0, 1)))[:4]
        names = ", ".join(task.observation_names[i] for i in columns)
        return [
            Finding(
                what=(
                    f"{int(outside.sum())} observed values lie outside the observation space "
                    f"({names})"
                ),
                meaning="the recording may be in other units, or normalised",
                advice="record raw observations, as the task gives them",
            )
        ]
    return []


def _judge_lengths(lengths: IntArray, task: Task | None) -> list[Finding]:
    findings = []
    shortest = int(lengths.min())
    longest = int(lengths.max())
    at_longest = int((lengths == longest).sum())
    if len(lengths) < 3:
        findings.append(
            Finding(
                what=f"there are {len(lengths)} episodes",
                meaning="what the expert happened not to visit looks forbidden",
                advice="record more episodes, from different starts",
            )
        )
    if shortest != longest:
        findings.append(
            Finding(
                what=f"lengths are mixed, from {shortest} to {longest} steps",
                meaning="episodes ended early (the task terminates, or recording stopped)",
                advice="make sure that no episode was cut because it broke the constraint",
            )
        )
    # Episodes that end by themselves rarely share the greatest length;
    # a recorder's limit cuts most of them there.
    often = shortest == longest or (at_longest >= 2 and 2 * at_longest >= len(lengths))
    if task is not None and longest < task.horizon and often:
        if shortest == longest:
            who = "every episode has"
        else:
            who = f"{at_longest} of {len(lengths)} episodes have exactly"
        findings.append(
            Finding(
                what=f"{who} {longest} steps, task {task.name} has {task.horizon}",
                meaning=(
                    "the recording was probably clipped: late states look as if the expert avoided "
                    "them"
                ),
                advice=(
                    f"record whole episodes, or learn with a horizon of {longest}; nothing, if the "
                    "task ends there"
                ),
            )
        )
    return findings


def _judge_rewards(demos: Demonstrations) -> list[Finding]:
    if not demos.has_rewards:
        return [
            Finding(
                what="rewards are unknown",
                meaning=(
                    "samples that earn less than the expert cannot be told from those that break "
                    "the constraint"
                ),
                advice="add rewards [N, T] (or a reward column) if you have them",
            )
        ]
    returns = demos.trajectories.returns
    median = float(np.median(returns))
    spread = float(np.median(np.abs(returns - median)))
    low = np.flatnonzero(returns < median - 10 * max(spread, 0.01 * abs(median), 1e-12))
    if low.size == 0:
        return []
    return [
        Finding(
            what=(
                f"{low.size} episodes earn far below the median {median:.4g} (number {low[0]}: "
                f"{returns[low[0]]:.4g})"
            ),
            meaning="a failed episode teaches that its states are what the expert wanted",
            advice="look at them; leave failures out",
        )
    ]


def _judge_columns(columns: tuple[ColumnFacts, ...], demos: Demonstrations) -> list[Finding]:
    width = demos.trajectories.observations.shape[2]
    constant = [column.name for column in columns if column.constant and not column.indicator]
    unvisited = [column.name for column in columns[:width] if column.indicator and column.high == 0]
    never = [column.name for column in columns[width:] if column.indicator and column.high == 0]
    findings = []
    if constant:
        findings.append(
            Finding(
                what=f"{len(constant)} columns never change ({', '.join(constant[:6])})",
                meaning="any other value of them looks forbidden, for want of evidence",
                advice="leave them out of what the constraint may see (--features)",
            )
        )
    if unvisited:
        findings.append(
            Finding(
                what=(
                    f"{len(unvisited)} of {width} states are never visited "
                    f"({', '.join(unvisited[:6])})"
                ),
                meaning="the constraint may forbid them, or going there may merely not pay",
                advice="nothing, if the expert was free to go there",
            )
        )
    if never:
        if len(never) == 1:
            actions = "action is"
        else:
            actions = "actions are"
        findings.append(
            Finding(
                what=f"{len(never)} {actions} never taken ({', '.join(never[:6])})",
                meaning="the constraint may forbid them, or they may merely pay less",
                advice="nothing, if the expert was free to take them",
            )
        )
    return findings


def _judge_duplicates(copies: int, repeats: float, demos: Demonstrations) -> list[Finding]:
    findings = []
    if copies:
        findings.append(
            Finding(
                what=f"{copies} episodes repeat an earlier one to the bit",
                meaning=(
                    "they add no evidence: expected only where task and expert are deterministic"
                ),
                advice=(
                    "if the task is random, look for a file that was added twice or a seed that "
                    "was reused"
                ),
            )
        )
    elif not demos.discrete and repeats > MANY_DUPLICATES:
        findings.append(
            Finding(
                what=f"{repeats:.0%} of the steps repeat an earlier one to the bit",
                meaning="continuous recordings rarely do: a frozen sensor, or steps recorded twice",
                advice="compare step times in the log; drop the repeats",
            )
        )
    return findings


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
        findings.append(f"{mark} {in_markup(said)}")
    return Group(*facts, table, *(findings or ["[green]nothing to be wary of[/]"]))
