"""ζ fitted again to other demonstrations, on what the run kept of its agents.

Agents are not trained again, so a refit takes seconds. It is approximate for two reasons: the run
would have met other agents under another ζ, and only a thinned record of its samples was kept.

A ζ that took gradient steps replays them. A ζ that was found by search keeps its axes, and its wall
is placed anew.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from icrl.config import LearnConfig
from icrl.constraint.backward_step import backward_step, freeze, init_constraint
from icrl.constraint.features import Features
from icrl.constraint.found import region_constraint
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.objective import Objective
from icrl.demos.dataset import Demonstrations
from icrl.evidence.expected import expected_of
from icrl.evidence.gathered import Evidence, weights_of
from icrl.methods.registry import find_method, is_known
from icrl.search.axes import Axis, make_axes
from icrl.search.find import score
from icrl.search.question import put_question, values_of
from icrl.search.rule import Problem, wall_in
from icrl.tasks.task import Task
from icrl.trajectories import join
from icrl.types import FloatArray, Trajectories
from icrl.visited import CHANCE, Visited

Refit = Callable[[Demonstrations], LearnedConstraint]
"""Demonstrations -> the constraint that the run's record and they give."""

MOST_AXES = 3
"""Of a rule."""


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
    if constraint.region is not None:
        return _find_search_refit(task, constraint, config, visited)
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


def _find_search_refit(
    task: Task, constraint: LearnedConstraint, config: LearnConfig, visited: Visited
) -> Refit | None:
    """How the wall of a ζ that was found is placed anew; None where card or record is wanting."""
    assert constraint.region is not None
    caution = constraint.region.caution
    found = constraint.card.get("search")
    if not isinstance(found, dict):
        return None
    if "axes" not in found:  # no rule was found: no axes to place a wall in
        return lambda fold: region_constraint(None, (), task, {})
    axes = make_axes(
        task.observation_names,
        task.action_names,
        task.one_hot,
        task.discrete,
        config.features,
    )
    chosen = _places(found["axes"], [axis.name for axis in axes])
    parts = visited.evidence_trajectories()
    if chosen is None or not parts:
        return None
    evidence = evidence_of(parts, _num_counter_examples(found))
    chance = _least_trained(visited)

    def refit(fold: Demonstrations) -> LearnedConstraint:
        weights = evidence_weights(evidence, fold, chance, task.horizon)
        placed = place_anew(task, axes, chosen, fold, evidence, weights)
        return placed.with_caution(caution)

    return refit


def evidence_of(parts: list[Trajectories], num_counter_examples: int) -> Evidence:
    """The kept evidence, round by round, as generations: scouts first, then counter-examples.

    A counter-example is the evidence of one round; those of scouts are one generation together.
    """
    first = len(parts) - num_counter_examples
    generations = []
    for place, part in enumerate(parts):
        generation = max(0, place - first + 1)
        generations.append(np.full(part.num_trajectories, generation, np.int64))
    return Evidence(join(parts), np.concatenate(generations))


def evidence_weights(
    evidence: Evidence,
    demos: Demonstrations,
    chance: Trajectories,
    horizon: int,
) -> FloatArray:
    """[M]: how much each kept trajectory needs explaining; every generation has the same sum.

    Where what demonstrations earn is unknown, all of one generation count alike.
    """
    if demos.has_rewards:
        expected = expected_of(demos.trajectories, chance, horizon)
        # The first step that was kept of an episode need not be its start, and its rewards are
        # spread evenly: it is compared with the mean demonstration, over whole episodes.
        scatter = max(expected.scatter, float(np.std(expected.returns)))
        expected = dataclasses.replace(expected, kind="mean", scatter=scatter, steps=None)
        return weights_of(evidence, expected)
    _, place, counts = np.unique(evidence.generations, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / (len(counts) * counts[place]))


def place_anew(
    task: Task,
    axes: tuple[Axis, ...],
    chosen: tuple[int, ...],
    demos: Demonstrations,
    evidence: Evidence,
    weights: FloatArray,
) -> LearnedConstraint:
    """The wall that demonstrations and evidence give in the axes `chosen` [places among `axes`]."""
    trajectories = evidence.trajectories
    problem = Problem(
        axes=axes,
        shown=values_of(axes, demos.trajectories, task.discrete),
        done=values_of(axes, trajectories, task.discrete),
        weights=weights,
        paid=np.zeros(trajectories.rewards.shape),  # only a choice of axes looks at it
        strength=1.0,
        newest=np.asarray(evidence.generations == evidence.generations.max()),
    )
    question = put_question(axes, problem.shown, problem.done, weights, problem.paid)
    candidate = score(question, chosen)
    if not question.tables.look(chosen, candidate.scale).novel.any():
        return region_constraint(None, (), task, {})
    rule = wall_in(problem, candidate, question)
    return region_constraint(rule.region, [axis.columns for axis in rule.axes], task, {})


def _places(wanted: Any, names: list[str]) -> tuple[int, ...] | None:
    """Where the axes that a card names stand among all; None where they do not."""
    if not isinstance(wanted, list) or not 1 <= len(wanted) <= MOST_AXES:
        return None
    if not all(name in names for name in wanted):
        return None
    return tuple(names.index(name) for name in wanted)


def _num_counter_examples(found: dict[str, Any]) -> int:
    """Agents under ζ that out-earned the demonstrations: all that a card has judged but the last."""
    judged = found.get("judged")
    if not isinstance(judged, list):
        return 0
    return max(0, len(judged) - 1)


def _least_trained(visited: Visited) -> Trajectories:
    """What stands in for chance: old records hold it, of others the first round.

    Where axes are fixed, all it does is to bound the scatter of demonstrated returns from below.
    """
    chance = visited.trajectories(CHANCE)
    if chance is not None:
        return chance
    return rounds_of(visited)[0]
