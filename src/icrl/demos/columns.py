"""The columns of demonstrations: what each holds, over all real steps."""

from dataclasses import dataclass

import gymnasium as gym
import numpy as np

from icrl.demos.dataset import Demonstrations
from icrl.tasks.task import Task
from icrl.trajectories import real_steps
from icrl.types import AnyArray, FloatArray

COVERAGE_BINS = 20
"""Bins per column for `ColumnFacts.coverage`."""
_ROWS_AT_ONCE = 2**13
"""Steps that are looked at together, where all of them would fill the memory."""


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


def describe_columns(demos: Demonstrations, task: Task | None) -> tuple[ColumnFacts, ...]:
    """Observations, then actions; by the task's names and bounds, where they fit one."""
    t = demos.trajectories
    observations = real_steps(t, t.observations)  # [steps, o]
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
        facts = [
            _describe_indicator(name, observations[:, i].astype(np.float64))
            for i, name in enumerate(names)
        ]
    else:
        facts = [
            _describe_column(
                name,
                observations[:, i].astype(np.float64),
                _bound(observation_space, i),
            )
            for i, name in enumerate(names)
        ]
    actions = real_steps(t, t.actions)  # [steps] or [steps, a]
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
        # Names that do not count up to the choices cannot be told which is which.
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
    varies = False
    for start in range(0, len(observations), _ROWS_AT_ONCE):
        # In pieces, and ended by the first that is not: comparisons of all would take as much
        # again.
        rows = observations[start : start + _ROWS_AT_ONCE]
        zeros_and_ones = bool(np.all((rows == 0) | (rows == 1)))
        if not zeros_and_ones or not np.all(rows.sum(axis=1) == 1):
            return False
        # A single row that never changes is also that of a robot at rest.
        varies = varies or bool(np.any(rows != observations[0]))
    return varies


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
    # By the task's own bounds, where it has some: covering all of what was visited says nothing.
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
