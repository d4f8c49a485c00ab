"""Where else a threshold could lie: the interval that the data leave open,
and where ζ itself turns.

For a rule `f <= t: forbidden` (mirrored for `f > t`):

- the *proven* end is the lowest f of the demonstrations.
  They obey the constraint, so t lies below it;
- the *needed* end is the lowest t that still explains the evidence. An episode is *flagged* if it
  earns at least a fifth of what demonstrations earn (the expert has no reason to do what pays
  nothing, so that needs no explanation) and ζ forbids at least a tenth of its recorded steps. A
  threshold *explains* it if the episode crosses it at least once. The needed end is the lowest t
  that explains 95 % of the flagged episodes: any lower, and agents would have been flagged that
  never touch what is forbidden. In the likelihood of the paper one forbidden step makes a
  trajectory impossible, so all thresholds between the two ends explain the same episodes: which it
  is, the data cannot say.
"""

import math
from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.explain.judged import Judged, balanced_indices, with_feature
from icrl.explain.search import Condition
from icrl.types import FloatArray, IntArray, Pairs

FLAGGED = 0.1
"""Share of an episode's recorded steps that ζ must forbid for the episode to count as flagged."""
EXPLAINED = 0.95
"""Share of the flagged episodes that a threshold must explain."""
_TURN_PAIRS = 200
_TURN_POINTS = 201
_TURN_SPREAD = 0.05
"""The turning zone leaves out this share of the pairs on either side."""


class OpenInterval(NamedTuple):
    """From `low` to `high` any threshold explains the data;
    an end is None where nothing bounds it."""

    low: float | None
    high: float | None
    proven: float
    """The demonstrations' extreme value."""
    needed: float | None
    """The extreme that the evidence needs; None: no episode is flagged."""
    flagged_episodes: int
    bulk: float | None
    """Beyond this lie 95 % of the flagged episodes' recorded steps that pass
    the demonstrations' extreme."""
    agents_between: int
    """Recorded steps of agents between the two ends."""
    gap: tuple[float, float] | None
    """The widest stretch between the ends where neither agents nor expert were seen
    (at least a tenth of it)."""

    @property
    def contradictory(self) -> bool:
        """What the evidence needs lies beyond what the demonstrations prove:
        no threshold serves both."""
        return self.low is not None and self.high is not None and self.low > self.high


def open_interval(judged: Judged, condition: Condition) -> OpenInterval:
    """The interval that the data leave open for the threshold of a one-sided condition."""
    sign = 1.0
    if condition.low != -math.inf:
        sign = -1.0  # mirrored, every rule reads f <= t
    column = sign * judged.values[:, condition.feature]
    proven = float(column[judged.by_expert].min())
    flagged = _flagged(judged)
    extremes = np.sort([column[judged.episodes == episode].min() for episode in flagged])
    # Of flagged episodes alone, and beyond all demonstrations: what they also do is no evidence.
    steps = column[np.isin(judged.episodes, flagged) & (column < proven)]
    between = column < proven
    needed = None
    gap = None
    if len(extremes):
        # Not the nearest of them: an episode or two may have been flagged for another reason.
        lowest = float(extremes[math.ceil(EXPLAINED * len(extremes)) - 1])
        needed = sign * lowest
        between &= column > lowest
        gap = _widest_gap(column, lowest, proven)
    low: float | None = needed
    high: float | None = sign * proven
    if sign < 0:
        low = sign * proven
        high = needed
    bulk = None
    if len(steps):
        bulk = sign * float(np.quantile(steps, EXPLAINED))
    if gap is not None:
        first, last = sorted((sign * gap[0], sign * gap[1]))
        gap = (first, last)
    return OpenInterval(
        low=low,
        high=high,
        proven=sign * proven,
        needed=needed,
        flagged_episodes=len(flagged),
        bulk=bulk,
        agents_between=int(np.sum(between & judged.by_agents)),
        gap=gap,
    )


def _flagged(judged: Judged) -> IntArray:
    """[m]: the episodes of agents that pay, and of which ζ forbids a good part."""
    if judged.paid is None:
        agents = judged.by_agents
    else:
        agents = judged.by_agents & judged.paid
    episodes, inverse = np.unique(judged.episodes[agents], return_inverse=True)
    steps = np.bincount(inverse, minlength=len(episodes))
    forbidden = np.bincount(inverse, weights=judged.forbidden[agents], minlength=len(episodes))
    return np.asarray(episodes[forbidden >= FLAGGED * steps])


def _widest_gap(column: FloatArray, low: float, high: float) -> tuple[float, float] | None:
    """The widest stretch of [low, high] without data, if it is at least a tenth of it."""
    if low >= high:
        return None
    inside = np.concatenate([[low], np.sort(column[(column >= low) & (column <= high)]), [high]])
    widest = int(np.argmax(np.diff(inside)))
    start = float(inside[widest])
    end = float(inside[widest + 1])
    if end - start >= 0.1 * (high - low):
        return (start, end)
    return None


def turning_zone(
    constraint: LearnedConstraint, judged: Judged, condition: Condition
) -> tuple[float, float] | None:
    """Where ζ crosses its threshold along the rule's feature, all else as recorded:
    the middle 90 % of the crossings.

    Of several crossings of one pair the one nearest to the rule's threshold counts;
    None: hardly any pair has one.
    """
    chosen = balanced_indices(judged.forbidden, _TURN_PAIRS, np.random.default_rng(0))
    column = judged.values[:, condition.feature]
    grid = np.linspace(column.min(), column.max(), _TURN_POINTS)
    crossings = _crossings(constraint, judged, condition, chosen, grid)
    # Where most pairs do not turn along it, the rule's feature is not what ζ goes by.
    if len(crossings) < len(chosen) / 2:
        return None
    step = grid[1] - grid[0]
    # Twice: a first grid finds the zone, a second one, of as many points, looks at it alone.
    fine = np.linspace(crossings.min() - step, crossings.max() + step, _TURN_POINTS)
    low, high = np.quantile(
        _crossings(constraint, judged, condition, chosen, fine), [_TURN_SPREAD, 1 - _TURN_SPREAD]
    )
    return float(low), float(high)


def _crossings(
    constraint: LearnedConstraint,
    judged: Judged,
    condition: Condition,
    chosen: IntArray,
    grid: FloatArray,
) -> FloatArray:
    """Where on the grid the judgement of each of the chosen pairs turns, if it does."""
    pairs = Pairs(
        observations=np.repeat(judged.pairs.observations[chosen], len(grid), axis=0),
        actions=np.repeat(judged.pairs.actions[chosen], len(grid), axis=0),
    )  # [pairs * points, .]
    moved = with_feature(constraint.features, pairs, condition.feature, np.tile(grid, len(chosen)))
    feasible = constraint.is_feasible(moved.observations, moved.actions).reshape(
        len(chosen), len(grid)
    )
    if condition.low == -math.inf:
        threshold = condition.high
    else:
        threshold = condition.low
    middles = (grid[1:] + grid[:-1]) / 2
    turns = [middles[row[1:] != row[:-1]] for row in feasible]
    return np.array(
        [found[np.argmin(np.abs(found - threshold))] for found in turns if len(found)], np.float64
    )
