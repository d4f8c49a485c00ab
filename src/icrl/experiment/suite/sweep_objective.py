"""How good a trial is, told without the truth: four shares between 0 and 1, and their mean.

Agreement of seeds alone is no evidence (all may make the same error), nor is any other part: a
constraint that forbids nothing allows every demonstration. Together they leave little room.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.demos.dataset import Demonstrations
from icrl.errors import InputError
from icrl.experiment.directory.run_directory import CONSTRAINT, RunDirectory
from icrl.experiment.run.constraint_scores import share_before_forbidden
from icrl.trajectories import join_pairs, pairs_of
from icrl.types import Pairs
from icrl.visited import VISITED, Visited, load_visited


class Parts(NamedTuple):
    """What a trial is worth; None: cannot be told here, and does not count."""

    demonstrations_allowed: float
    """Share of held-out demonstrated steps that ζ allows."""
    returns_matched: float | None
    """1 − |agent's return − demonstrations'| / |demonstrations'|, at least 0, times how far
    its episodes get before ζ forbids a step, beside those of demonstrations; None: rewards are
    unknown."""
    evidence_explained: float | None
    """Share of recorded episodes that earn more than demonstrations and that ζ flags. 0 where there
    are none: such settings found no evidence, and a ζ without any is not to rank beside one that
    explains some. None: rewards are unknown."""
    seeds_agree: float | None
    """Share of recorded pairs that two seeds judge alike; None: one seed."""

    @property
    def value(self) -> float:
        """The mean of those that can be told."""
        return float(np.mean([part for part in self if part is not None]))


def judge_without_truth(runs: Sequence[Path], held_out: Demonstrations) -> Parts:
    """Judge the finished runs of a trial, one per seed, by demonstrations that none of them saw."""
    constraints = [load_constraint(run / CONSTRAINT) for run in runs]
    visits = [load_visited(run / VISITED) for run in runs]
    shown = pairs_of(held_out.trajectories)
    allowed = [
        float(np.mean(c.is_feasible(shown.observations, shown.actions))) for c in constraints
    ]
    matched: float | None = None
    explained: float | None = None
    if held_out.has_rewards:
        level = float(held_out.trajectories.returns.mean())
        earned = [float(RunDirectory(run).scores()["nominal_return"]) for run in runs]
        obeyed = [_obeyed(r, c, held_out) for r, c in zip(runs, constraints, strict=True)]
        # Too much is as wrong as too little: who out-earns the expert may be breaking what it kept.
        near = [max(0.0, 1 - abs(each - level) / max(abs(level), 1e-9)) for each in earned]
        # On LapGridWorld an agent that has learned nothing earns what the expert earns, half of it
        # by what ζ forbids: it was the best of 24 trials before it was asked to obey.
        matched = float(np.mean(np.multiply(near, obeyed)))
        explained = float(
            np.mean([_explained(c, v, level) for c, v in zip(constraints, visits, strict=True)])
        )
    return Parts(
        demonstrations_allowed=float(np.mean(allowed)),
        returns_matched=matched,
        evidence_explained=explained,
        seeds_agree=_agreement(constraints, join_pairs([shown, *(v.pairs() for v in visits)])),
    )


def judge_by_truth(runs: Sequence[Path]) -> float:
    """For research alone: share of the expert's return, at most 1, less the violation rate; mean
    over seeds."""
    values = []
    for run in runs:
        scores = RunDirectory(run).scores()
        if scores["true_return"] is None:
            raise InputError("--objective truth needs a task whose true constraint is known.")
        share = 0.0
        if scores["expert_return"]:
            share = scores["true_return"] / scores["expert_return"]
        values.append(min(1.0, share) - scores["violation_rate"])
    return float(np.mean(values))


def how_far(metrics: dict[str, float], expert_return: float | None) -> float:
    """A run on its way, by one line of its log: near the demonstrations' return by what ζ allows,
    and they are allowed."""
    value = 1.0 - min(1.0, metrics.get("constraint/cost_demos", 0.0))
    if expert_return:
        away = abs(metrics["agent/return"] - expert_return) / abs(expert_return)
        obeyed = 1.0 - min(1.0, metrics.get("constraint/cost_samples", 0.0))
        value = (value + max(0.0, 1 - away) * obeyed) / 2
    return value


def _obeyed(run: Path, constraint: LearnedConstraint, held_out: Demonstrations) -> float:
    """How far the agent gets before its first step that ζ forbids, beside how far demonstrations
    get; at most 1.

    Beside them, for ζ may forbid a step of theirs here and there, and of the agent then, too.
    """
    agent = RunDirectory(run).scores()["constraint"].get("agent_share_before_forbidden")
    if agent is None:
        raise InputError(
            f"{run} was made by an earlier version, which did not record how far its agent obeys "
            "ζ. Begin the sweep anew in another --out."
        )
    theirs = share_before_forbidden(constraint, held_out.trajectories)
    if agent == 0.0:  # also where everything is forbidden
        return 0.0
    return float(min(1.0, agent / max(theirs, 1e-9)))


def _explained(constraint: LearnedConstraint, visited: Visited, level: float) -> float:
    """Of the agents' recorded episodes that earn more than `level`, the share with a step that ζ
    flags; 0 where there are none."""
    flagged = ~constraint.is_feasible(visited.observations, visited.actions)
    better = np.flatnonzero((visited.returns > level) & (visited.rounds >= 0))
    # Of some episodes no pair was kept: they can neither be flagged nor count against ζ.
    better = better[np.isin(better, visited.episodes)]
    if not len(better):
        return 0.0
    return float(np.mean(np.isin(better, visited.episodes[flagged])))


def _agreement(constraints: Sequence[LearnedConstraint], pairs: Pairs) -> float | None:
    """Mean share of pairs that two of the constraints judge alike."""
    if len(constraints) < 2:
        return None
    # [k, n]
    judged = np.stack([c.is_feasible(pairs.observations, pairs.actions) for c in constraints])
    alike = [np.mean(judged[i] == judged[j]) for i in range(len(judged)) for j in range(i)]
    return float(np.mean(alike))
