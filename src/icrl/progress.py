"""How agents get on: whether they improve, what they earned up to what is forbidden, which was
best."""

import dataclasses

import numpy as np

from icrl.agent.training import Measurement, Training, measure
from icrl.evidence.expected import Expected
from icrl.evidence.gathered import OUT_EARNS
from icrl.state import LearnState, Scout
from icrl.types import CostFunction, Trajectories

HARDLY = 0.05
"""Share of steps that may be forbidden of an agent that missed its goal and is handed out all the
same, and of a clone that was never trained: as much as the wall forbids of demonstrations that are
held out."""
_IMPROVES = 0.1
"""An agent that has not earned more by so many deviations of the demonstrations within
its last few pieces is done."""
_FEW = 4
_MORE_IF_POOR = 10
"""Pieces: of an agent that out-earns demonstrations, and of one that does not."""


def improving(curve: tuple[float, ...]) -> bool:
    """Its last few pieces were better than all before; who does not out-earn yet has more time."""
    patience = _FEW
    # An agent that shows nothing yet is worth waiting for: without one that out-earns nobody can be
    # asked (decision 0020).
    if max(curve) < OUT_EARNS:
        patience = _MORE_IF_POOR
    if len(curve) <= patience:
        return True
    # Against the best so far, not the last: returns swing from piece to piece.
    return max(curve[-patience:]) > max(curve[:-patience]) + _IMPROVES


def counted(training: Training, passed: bool) -> Training:
    """How often in a row."""
    passes = 0
    if passed:
        passes = training.passes + 1
    return training._replace(passes=passes)


def measured(
    samples: Trajectories, permitted: Trajectories, cost: CostFunction | None, expected: Expected
) -> Measurement:
    """What an agent earned up to what is forbidden, and how much of what it did is."""
    earned = float(np.mean(expected.returns_of(permitted)))
    return Measurement(earned, measure(samples, cost).forbidden)


def scouted(state: LearnState, scout: Scout) -> tuple[Scout, ...]:
    """All scouts, the one that is out as good as it ever was."""
    back = state.scouted[: state.scouts]
    out = state.scouted[state.scouts :]
    # At its best, not as it ended: what it could do is what must be explained.
    if out and out[0].earned >= scout.earned:
        return state.scouted
    return (*back, scout)


def with_best(state: LearnState, training: Training, done: Measurement) -> LearnState:
    """The agent that earned most so far, up to what is forbidden, of those that hardly enter it.

    Before there is one, the first.
    """
    worth = -np.inf
    if done.forbidden <= HARDLY:
        worth = done.mean_return
    if state.best is not None and worth <= state.best_return:
        return state
    return dataclasses.replace(state, best=training.agent, best_return=worth)
