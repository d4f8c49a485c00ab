"""The only room that judges by the truth: true return and violation rate of a policy,
and how right a constraint is."""

from typing import NamedTuple

import numpy as np

from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import Policy
from icrl.constraint.learned import LearnedConstraint
from icrl.spans import span
from icrl.tasks.task import Scenario, Task
from icrl.trajectories import along
from icrl.types import BoolArray, FloatArray, Pairs, Trajectories


class Truth(NamedTuple):
    """What holds of a set of trajectories in the constrained world."""

    true_return: float
    """Mean return in the constrained world, where a violation ends the episode."""
    violation_rate: float
    """Share of steps that violate in the nominal world."""
    nominal_return: float
    """Mean return in the nominal world."""
    violating_episodes: float
    """Share of episodes with at least one violation."""


def evaluate_policy(scenario: Scenario, policy: Policy, episodes: int, seed: int) -> Truth:
    """Run the stochastic policy for whole episodes in the nominal world and judge them."""
    return judge(scenario, play_episodes(scenario.task, policy, episodes, seed))


@span("evaluation")
def play_episodes(task: Task, policy: Policy, episodes: int, seed: int) -> Trajectories:
    """Whole episodes of the stochastic policy in the nominal world:
    what is judged, and needs no truth."""
    env = task.make_env(episodes)
    # A stream of its own, so that no episode that is judged was trained on.
    rng = np.random.default_rng([seed, 0xE7A1])
    return sample_trajectories(rng, policy, env, task.horizon, int(rng.integers(2**31)))


@span("evaluation")
def judge(scenario: Scenario, trajectories: Trajectories) -> Truth:
    """Both metrics from nominal trajectories:
    up to the first violation both worlds are the same."""
    # One set of episodes gives both numbers. The nominal world does not end at a violation, so how
    # often it happens can be counted; the constrained return is what was earned before the first.
    violations = violations_of(scenario, trajectories)
    true_returns = constrained_returns(trajectories, violations, scenario.violation_reward)
    return Truth(
        true_return=float(np.mean(true_returns)),
        violation_rate=float(violations.sum() / trajectories.num_steps),
        nominal_return=float(np.mean(trajectories.returns)),
        violating_episodes=float(np.mean(violations.any(axis=1))),
    )


def violations_of(scenario: Scenario, trajectories: Trajectories) -> BoolArray:
    """[N, T]: True on real steps that are truly forbidden."""
    return np.asarray(
        scenario.violates(trajectories.observations, trajectories.actions) & trajectories.mask
    )


def constrained_returns(
    trajectories: Trajectories, violations: BoolArray, violation_reward: float
) -> FloatArray:
    """Returns [N] in the constrained world: rewards before the first violation,
    which pays `violation_reward`."""
    # The violating step itself is not before it: its reward is replaced by `violation_reward`.
    before_first = np.cumsum(violations, axis=1) == 0
    kept = np.sum(trajectories.rewards * (before_first & trajectories.mask), axis=1)
    return np.asarray(kept + violation_reward * violations.any(axis=1))


class ConstraintTruth(NamedTuple):
    """How right a learned constraint is on a set of pairs; None where the set cannot say."""

    hit_rate: float | None
    """Share of truly forbidden pairs that are judged infeasible."""
    false_alarm_rate: float | None
    """Share of truly allowed pairs that are judged infeasible."""
    auc: float | None
    """Chance that a forbidden pair has a higher cost than an allowed one."""
    iou: float | None
    """Of the pairs forbidden in truth or by judgement, the share that are both."""


def judge_constraint(
    scenario: Scenario, constraint: LearnedConstraint, pairs: Pairs
) -> ConstraintTruth:
    """Compare 1 − ζ with the truth on pairs (s, a)."""
    forbidden = np.asarray(scenario.violates(pairs.observations, pairs.actions))
    # AUC by the cost itself, all else at the threshold: a wall in the wrong place can still rank
    # well.
    cost = constraint.cost(pairs.observations, pairs.actions)
    judged = ~constraint.is_feasible(pairs.observations, pairs.actions)
    either = int(np.sum(judged | forbidden))
    return ConstraintTruth(
        hit_rate=_share(judged[forbidden]),
        false_alarm_rate=_share(judged[~forbidden]),
        auc=area_under_curve(cost, forbidden),
        iou=float(np.sum(judged & forbidden) / either) if either else None,
    )


class Confusion(NamedTuple):
    """Pairs by what is true and what is judged at the constraint's threshold."""

    forbidden_judged_infeasible: int
    forbidden_judged_feasible: int
    allowed_judged_infeasible: int
    allowed_judged_feasible: int


def confusion(judged: BoolArray, forbidden: BoolArray) -> Confusion:
    """The confusion matrix of judged infeasible against truly forbidden. Shapes: [n], [n]."""
    return Confusion(
        int(np.sum(judged & forbidden)),
        int(np.sum(~judged & forbidden)),
        int(np.sum(judged & ~forbidden)),
        int(np.sum(~judged & ~forbidden)),
    )


class Calibration(NamedTuple):
    """Whether 1 − ζ can be read as a probability:
    in bins of equal width over [0, 1], those with pairs in them."""

    error: float
    """Σ_b n_b/n · |mean cost − share forbidden|: the expected calibration error."""
    pairs: list[int]
    mean_cost: list[float]
    share_forbidden: list[float]


def calibration(cost: FloatArray, forbidden: BoolArray, bins: int = 10) -> Calibration:
    """Reliability of the cost 1 − ζ as the probability of being forbidden. Shapes: [n], [n]."""
    # A cost of exactly 1 belongs to the last bin, not to one beyond it.
    index = np.minimum((np.asarray(cost) * bins).astype(np.int64), bins - 1)
    used = [b for b in range(bins) if np.any(index == b)]
    pairs = [int(np.sum(index == b)) for b in used]
    mean_cost = [float(np.mean(cost[index == b])) for b in used]
    share = [float(np.mean(forbidden[index == b])) for b in used]
    gaps = [n * abs(c - s) for n, c, s in zip(pairs, mean_cost, share, strict=True)]
    return Calibration(sum(gaps) / max(len(index), 1), pairs, mean_cost, share)


def area_under_curve(scores: FloatArray, positives: BoolArray) -> float | None:
    """P(score of a positive > score of a negative) + ½ P(equal), by ranks;
    [n], [n] -> None without both kinds."""
    num_positive = int(np.sum(positives))
    num_negative = len(positives) - num_positive
    if num_positive == 0 or num_negative == 0:
        return None
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]  # mean rank of ties, from 1
    return float(
        (ranks[positives].sum() - num_positive * (num_positive + 1) / 2)
        / (num_positive * num_negative)
    )


def boundary(
    constraint: LearnedConstraint, pairs: Pairs, column: int, grid: FloatArray
) -> float | None:
    """Where mean ζ rises above the threshold along a grid of one observation; None: nowhere.

    Midway between the last two values around it.

    All other features keep the values they have in `pairs`.
    """
    # A mean over recorded pairs, not zeta at one made-up state: what else the world looks like at
    # an x is not ours to choose.
    moved = along(pairs, column, grid)
    means = np.mean(constraint.feasibility(moved.observations, moved.actions), axis=1)
    crossings = [i for i in range(len(grid) - 1) if means[i] < constraint.threshold <= means[i + 1]]
    if crossings:
        return float((grid[crossings[-1]] + grid[crossings[-1] + 1]) / 2)
    return None


def _share(judged: BoolArray) -> float | None:
    if judged.size:
        return float(np.mean(judged))
    return None
