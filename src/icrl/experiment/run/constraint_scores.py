"""How well a run knows the constraint itself:
judged on every state that its agents or the expert visited."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.demos.dataset import Demonstrations
from icrl.evaluate import boundary, calibration, confusion, judge_constraint
from icrl.experiment.directory.run_directory import CONSTRAINT
from icrl.growing import Growing
from icrl.tasks.task import Scenario
from icrl.trajectories import along, join_pairs, pairs_of
from icrl.types import FloatArray, Pairs, Trajectories
from icrl.visited import VISITED, RecorderState, VisitRecorder, load_visited, save_visited

_EVERY = 10
"""Of each round's samples, every tenth pair is kept for the judgement."""
_GRID = np.arange(-20.0, 10.01, 0.25)
"""Values of x at which the boundary is looked for."""
_PAIRS_ON_GRID = 500


class VisitedState(NamedTuple):
    """All that is carried on of where agents went."""

    pairs: Pairs | None
    """None: nobody went anywhere yet."""
    recorder: RecorderState


class VisitedPairs:
    """Pairs (s, a) of all agents of a run, thinned out."""

    def __init__(self, demos: Trajectories | None, restored: VisitedState | None = None) -> None:
        self.observations: Growing | None = None
        self.actions: Growing | None = None
        if restored is None:
            self.recorder = VisitRecorder()
            if demos is not None:
                # Demonstrated pairs, too: whatever agents did, these are known to be allowed.
                self._keep(pairs_of(demos, _EVERY))
        else:
            self.recorder = VisitRecorder(restored.recorder)
            if restored.pairs is not None:
                self._keep(restored.pairs)

    def state(self) -> VisitedState:
        """What there is now."""
        pairs = None
        if self.observations is not None:
            pairs = self.pairs()
        return VisitedState(pairs, self.recorder.state())

    def add(self, samples: Trajectories, number: int, weights: FloatArray | None) -> None:
        """Keep some of what the agents of round `number` did; `weights`: how much is evidence."""
        self._keep(pairs_of(samples, _EVERY))
        self.recorder.add(samples, number, weights)

    def _keep(self, pairs: Pairs) -> None:
        if self.observations is None or self.actions is None:
            self.observations = Growing(pairs.observations)
            self.actions = Growing(pairs.actions)
        else:
            self.observations.add(pairs.observations)
            self.actions.add(pairs.actions)

    def save(self, directory: Path) -> None:
        """Write `visited.npz`: what can be kept for later, the demonstrations left out."""
        save_visited(self.recorder.visited(), directory / VISITED)

    def pairs(self) -> Pairs:
        """All that was kept, the demonstrations' first."""
        assert self.observations is not None
        assert self.actions is not None
        return Pairs(observations=self.observations.rows, actions=self.actions.rows)


def forbidden_share(constraint: LearnedConstraint, agent: Trajectories) -> float:
    """The share of an agent's steps that the constraint forbids."""
    pairs = pairs_of(agent)
    return float(np.mean(~constraint.is_feasible(pairs.observations, pairs.actions)))


def share_before_forbidden(constraint: LearnedConstraint, agent: Trajectories) -> float:
    """How far episodes get, as a share of their length, before their first step that the constraint
    forbids; the mean over episodes."""
    pairs = pairs_of(agent)
    forbidden = np.zeros(agent.mask.shape, np.bool_)
    forbidden[agent.mask] = ~constraint.is_feasible(pairs.observations, pairs.actions)
    lengths = np.asarray(agent.lengths)
    first = np.where(forbidden.any(axis=1), np.argmax(forbidden, axis=1), lengths)
    return float(np.mean(first / lengths))


def over_constraint(
    scenario: Scenario, constraint: LearnedConstraint, expert: Trajectories
) -> float | None:
    """The share of an expert's feasible steps that the constraint forbids:
    what it takes from the expert for nothing.

    An expert is trained, not perfect: steps of it that break the truth, where that is known, do not
    count. None if no step is left.
    """
    pairs = pairs_of(expert)
    forbidden = ~constraint.is_feasible(pairs.observations, pairs.actions)
    # An expert is trained, so some of its steps do break the rule; flagging those is right.
    if scenario.truth_known:
        forbidden = forbidden[~scenario.violates(pairs.observations, pairs.actions)]
    if forbidden.size:
        return float(np.mean(forbidden))
    return None


def score_constraint(
    scenario: Scenario,
    constraint: LearnedConstraint,
    visited: VisitedPairs,
    demos: Demonstrations | None,
) -> dict[str, Any]:
    """AUC, IoU, hits and false alarms on visited pairs (where the truth is known), over-constraint
    on the expert's (the demonstrations of the task that is judged); where there is an x, also where
    the boundary lies."""
    expert = None
    if demos is not None:
        expert = demos.trajectories
    pairs = visited.pairs()
    known = scenario.truth_known
    result: dict[str, Any] = {}
    if known:
        result = judge_constraint(scenario, constraint, pairs)._asdict()
    result["pairs"] = len(pairs.observations)
    result["expert_steps_forbidden"] = None
    if expert is not None:
        result["expert_steps_forbidden"] = over_constraint(scenario, constraint, expert)
    # The paper's walls stand across x; of other tasks no such line can be drawn.
    if known and "x" in scenario.task.observation_names:
        column = scenario.task.observation_names.index("x")
        result |= _score_over_x(scenario, constraint, pairs, expert, column)
    return result


def _score_over_x(
    scenario: Scenario,
    constraint: LearnedConstraint,
    pairs: Pairs,
    expert: Trajectories | None,
    column: int,
) -> dict[str, Any]:
    """False alarms where x > 0, ζ on a grid of x, and the lowest x that was demonstrated."""
    return {
        "false_alarm_rate_right_of_start": false_alarms_right_of_start(constraint, pairs, column),
        **score_on_grid(scenario, constraint, pairs, column),
        "lowest_demonstrated_x": None
        if expert is None
        else float(expert.observations[expert.mask][:, column].min()),
    }


def false_alarms_right_of_start(
    constraint: LearnedConstraint, pairs: Pairs, column: int
) -> float | None:
    """The share of the pairs with x > 0 that is judged infeasible; None without any."""
    right = pairs.observations[:, column] > 0
    alarms = ~constraint.is_feasible(pairs.observations[right], pairs.actions[right])
    if alarms.size:
        return float(np.mean(alarms))
    return None


def score_on_grid(
    scenario: Scenario, constraint: LearnedConstraint, pairs: Pairs, column: int
) -> dict[str, float | None]:
    """AUC and IoU on a grid of x, all else drawn from `pairs`;
    and where mean ζ crosses the threshold."""
    # Always the same draw: a score must not change between two looks at one run.
    chosen = np.random.default_rng(0).integers(0, len(pairs.observations), _PAIRS_ON_GRID)
    sample = Pairs(observations=pairs.observations[chosen], actions=pairs.actions[chosen])
    moved = along(sample, column, _GRID)  # [K, P, .]
    loose = Pairs(
        observations=moved.observations.reshape(-1, moved.observations.shape[-1]),
        actions=moved.actions.reshape(-1, *sample.actions.shape[1:]),
    )
    truth = judge_constraint(scenario, constraint, loose)
    return {
        "grid_auc": truth.auc,
        "grid_iou": truth.iou,
        "boundary_x": boundary(constraint, sample, column, _GRID),
    }


def judge_against_truth(
    directory: Path, scenario: Scenario, demos: Demonstrations | None
) -> dict[str, Any]:
    """How right the constraint is on all recorded pairs:
    hits, false alarms, AUC, IoU, confusion, calibration."""
    constraint = load_constraint(directory / CONSTRAINT)
    parts = []
    if demos is not None:
        parts = [pairs_of(demos.trajectories)]
    if (directory / VISITED).exists():
        parts.append(load_visited(directory / VISITED).pairs())
    if not parts:
        return {"pairs": 0}
    pairs = join_pairs(parts)
    # After learning, and by the evaluator alone: nothing that learns can reach this (fidelity F11).
    forbidden = np.asarray(scenario.violates(pairs.observations, pairs.actions))
    judged = ~constraint.is_feasible(pairs.observations, pairs.actions)
    return {
        "pairs": len(forbidden),
        **judge_constraint(scenario, constraint, pairs)._asdict(),
        "threshold": constraint.threshold,
        "confusion": confusion(judged, forbidden)._asdict(),
        "calibration": calibration(
            constraint.cost(pairs.observations, pairs.actions), forbidden
        )._asdict(),
    }
