"""ζ fitted again to other demonstrations, on what the run kept of its agents.

Agents are not trained again, so a refit takes seconds. It is approximate for two reasons: the run
would have met other agents under another ζ, and only a thinned record of its samples was kept.

A ζ that took gradient steps replays them.
"""

from collections.abc import Callable

import numpy as np

from icrl.config import LearnConfig
from icrl.constraint.backward_step import backward_step, freeze, init_constraint
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.objective import Objective
from icrl.demos.dataset import Demonstrations
from icrl.demos.fitting import FittedDemos
from icrl.methods.registry import find_method, is_known
from icrl.tasks.task import Task
from icrl.types import Trajectories
from icrl.visited import CHANCE, Visited

Refit = Callable[[FittedDemos], LearnedConstraint]
"""Demonstrations -> the constraint that the run's record and they give."""


def find_refit(
    method: str,
    task: Task,
    constraint: LearnedConstraint,
    config: LearnConfig,
    visited: Visited | None,
) -> Refit | None:
    """How a run's ζ is fitted again; None where that cannot be done: no ζ learned, or no record."""
    if not is_known(method):  # somebody's own, which is not imported because a run names it
        return None
    record = find_method(method)
    if record.inference is not None:
        infer = record.inference()
        return lambda fold: infer(task, fold)
    if record.objective is None or visited is None:
        return None
    # of a rule that was found the record is asked (`demonstrations.py`)
    if constraint.region is not None:
        return None
    kept = visited
    objective = record.objective()
    return lambda fold: replay(fold, kept, constraint.features, config, objective)


def replay(
    demos: Demonstrations,
    visited: Visited,
    features: Features,
    config: LearnConfig,
    objective: Objective,
) -> LearnedConstraint:
    """The run's backward steps, one a round, as the paper has them."""
    # Not the run's own start, which is not kept: the control says whether that matters.
    state = init_constraint(np.random.default_rng(0), features, config.backward)
    for samples in rounds_of(visited):
        state, _ = backward_step(
            state,
            demos.trajectories,
            samples,
            features,
            config.backward,
            objective=objective,
        )
    return freeze(state, features, config.backward, {})


def rounds_of(visited: Visited) -> list[Trajectories]:
    """The kept samples of every round, in order."""
    numbers = [int(number) for number in np.unique(visited.rounds) if number != CHANCE]
    parts = [visited.trajectories(number) for number in numbers]
    return [part for part in parts if part is not None]
