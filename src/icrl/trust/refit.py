"""ζ fitted again to other demonstrations, on the samples that the run kept: agents are not trained again.

The replay of a run's backward steps: which samples are evidence is decided as in the run; the demonstrations that ζ is
held to are those given. It is cheap (seconds) because the agents stay as they were, and approximate for two reasons:
the run would have met other agents under another ζ, and only a thinned record of its samples was kept.
"""

from collections.abc import Callable

import numpy as np

from icrl.baselines.binary_classifier import cross_entropy
from icrl.baselines.greedy import learn_greedy
from icrl.config import LearnConfig
from icrl.constraint.backward_step import backward_step, freeze, init_constraint
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.objective import Objective, loss
from icrl.demos.dataset import Demonstrations
from icrl.evidence import convicts, evidence_of
from icrl.tasks.task import Task
from icrl.trajectories import select
from icrl.types import Trajectories
from icrl.visited import CHANCE, Visited
from icrl.zeta_fit import fit_zeta

Refit = Callable[[Demonstrations], LearnedConstraint]
"""Demonstrations -> the constraint that the run's record and they give."""

OBJECTIVES: dict[str, Objective] = {"icrl": loss, "binary-classifier": cross_entropy, "gail-constraint": cross_entropy}
"""What ζ descends, by method."""


def find_refit(
    method: str, task: Task, features: Features, config: LearnConfig, demos: Demonstrations, visited: Visited | None
) -> Refit | None:
    """How a run's ζ is fitted again; None where that cannot be done (no constraint learned, or no record kept)."""
    if method == "greedy":
        return lambda fold: learn_greedy(task, fold, {})[0]
    if method not in OBJECTIVES or visited is None:
        return None
    record, objective = visited, OBJECTIVES[method]
    if config.scouts == 0:
        return lambda fold: replay(fold, record, features, config, objective)
    guilty = record.evidence_trajectories()
    if not guilty:
        return None
    innocents = record.trajectories(CHANCE)
    found = evidence_of(guilty)

    def refit(fold: Demonstrations) -> LearnedConstraint:
        rng = np.random.default_rng(0)
        fit = fit_zeta(rng, fold.trajectories, found, innocents, features, config, objective)
        return freeze(fit.state, features, config.backward, {})

    return refit


def is_missing(
    constraint: LearnedConstraint, config: LearnConfig, demos: Demonstrations, visited: Visited, played: Trajectories
) -> bool | None:
    """The agent under ζ earns too much: do its episodes show something that is missing from ζ?

    It is what the learner asks of such samples: a ζ fitted to them too must convict them, and acquit nobody. None: the
    run learned without evidence.
    """
    guilty = visited.evidence_trajectories()
    if config.scouts == 0 or not guilty:
        return None
    newest = select(played, np.arange(played.num_trajectories) < config.num_samples)
    evidence, rng = evidence_of([*guilty, newest]), np.random.default_rng(0)
    innocents = visited.trajectories(CHANCE)
    fit = fit_zeta(rng, demos.trajectories, evidence, innocents, constraint.features, config, loss)
    return convicts(evidence, constraint.cost, fit.cost, config.restart_above or 0.0)


def replay(
    demos: Demonstrations, visited: Visited, features: Features, config: LearnConfig, objective: Objective
) -> LearnedConstraint:
    """The run's backward steps, one a round, as the paper has them."""
    state = init_constraint(np.random.default_rng(0), features, config.backward)
    innocents = visited.trajectories(CHANCE)
    for samples in rounds_of(visited):
        state, _ = backward_step(
            state, demos.trajectories, samples, features, config.backward, None, objective, innocents
        )
    return freeze(state, features, config.backward, {})


def rounds_of(visited: Visited) -> list[Trajectories]:
    """The kept samples of every round, in order."""
    parts = [visited.trajectories(int(number)) for number in np.unique(visited.rounds) if number != CHANCE]
    return [part for part in parts if part is not None]
