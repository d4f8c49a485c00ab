"""What to be wary of in demonstrations: each finding with what it means and what to do."""

from dataclasses import dataclass

import numpy as np

from icrl.demos.columns import ColumnFacts
from icrl.demos.dataset import Demonstrations, find_mismatches, outside_box
from icrl.tasks.task import Task
from icrl.types import IntArray

MANY_DUPLICATES = 0.1
"""Share of repeated rows from which continuous recordings look copied."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something to be wary of."""

    what: str
    meaning: str
    advice: str
    fatal: bool = False
    """The task refuses these demonstrations."""


def judge_task(demos: Demonstrations, task: Task | None) -> list[Finding]:
    """Does the task refuse them, or do they leave its bounds?"""
    if task is None:
        return []
    findings = [
        Finding(
            # Errors are written as what, then what to do: the first colon parts them.
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


def judge_lengths(lengths: IntArray, task: Task | None) -> list[Finding]:
    """Too few episodes, mixed lengths, recordings that were cut."""
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


def judge_rewards(demos: Demonstrations, task: Task | None = None) -> list[Finding]:
    """Rewards that are unknown, or miss what an end paid; episodes that failed."""
    if not demos.has_rewards:
        return [
            Finding(
                what="rewards are unknown",
                meaning=(
                    "samples that earn less than the expert cannot be told from those that break "
                    "the constraint"
                ),
                advice=(
                    "add rewards [N, T] (or a reward column) if you have them, or give your "
                    "environment a method reward_of(observations, actions, next_observations)"
                ),
            )
        ]
    return [*_judge_ends(demos, task), *_judge_failures(demos)]


def _judge_ends(demos: Demonstrations, task: Task | None) -> list[Finding]:
    """What an episode is paid for its end is paid in its last step."""
    if task is None or not demos.rewards_computed:
        return []
    early = int((demos.recorded_lengths < task.horizon).sum())
    if early == 0:
        return []
    return [
        Finding(
            what=(
                f"{early} episodes end before the {task.horizon} steps of task {task.name}, and "
                "their rewards were computed without the last step"
            ),
            meaning=(
                "if ending pays (a goal, a fall), that is not counted, and an agent that earns it "
                "seems to earn more than they do"
            ),
            advice="record rewards if ending pays; nothing, if it does not",
        )
    ]


def _judge_failures(demos: Demonstrations) -> list[Finding]:
    """Episodes that earn far less than the others."""
    returns = demos.trajectories.returns
    # Median and its spread, not mean and deviation: the failures that are looked for would move
    # both.
    median = float(np.median(returns))
    spread = float(np.median(np.abs(returns - median)))
    # Ten times: experts scatter, too, and only plain failures are meant.
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


def judge_columns(columns: tuple[ColumnFacts, ...], demos: Demonstrations) -> list[Finding]:
    """Columns that never change, states and actions that never occur."""
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


def judge_duplicates(copies: int, repeats: float, demos: Demonstrations) -> list[Finding]:
    """Episodes or steps that were recorded twice."""
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
    # In a small world of choices pairs repeat all the time.
    elif not demos.discrete and repeats > MANY_DUPLICATES:
        findings.append(
            Finding(
                what=f"{repeats:.0%} of the steps repeat an earlier one to the bit",
                meaning="continuous recordings rarely do: a frozen sensor, or steps recorded twice",
                advice="compare step times in the log; drop the repeats",
            )
        )
    return findings
