"""What a run does, by its method: learn from demonstrations, transfer a frozen constraint,
or train a reference agent.

The expert is trained under the truth. That is why its method has no learner (whose signature cannot
reach the truth) but is made here, where the scenario is at hand; it is a line to compare with,
never a way to learn.
"""

from dataclasses import replace
from typing import Any

from icrl.config import LearnConfig
from icrl.constraint.backward_step import check_limits
from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint
from icrl.demos.collect import true_cost
from icrl.demos.fitting import FittedDemos
from icrl.errors import InputError
from icrl.methods.learners import (
    FROM_THE_START,
    Continuation,
    OnSnapshot,
    Snapshot,
    learner_of,
    run_agent,
)
from icrl.methods.pressing import pressure_of
from icrl.methods.registry import find_method
from icrl.tasks.task import Scenario
from icrl.transfer import OnProgress, Pressure


def check_method(
    method: str,
    scenario: Scenario,
    demos: FittedDemos | None,
    constraint: LearnedConstraint | None,
    config: LearnConfig,
) -> None:
    """Raise `InputError` if the method cannot be run with what there is."""
    if constraint is not None:
        # Made for its errors alone, as below.
        pressure_of(constraint.for_task(scenario.task), method)
        return
    record = find_method(method)
    if record.needs_truth and not scenario.truth_known:
        raise InputError(
            f"an {record.name} is trained under the true constraint, which is not known for "
            f"{scenario.task.name}."
        )
    if record.needs_demos:
        if demos is None:
            raise InputError(
                f"no demonstrations ship with {scenario.task.name}: give some with --demos PATH."
            )
        # Made for their errors alone: a name that is misspelt should be told now, not after the
        # first forward step.
        select_features(scenario.task, config.features, config.backward.input_clip)
        check_limits(config.backward, config.num_samples, scenario.task.horizon)


def run_method(
    method: str,
    scenario: Scenario,
    demos: FittedDemos | None,
    constraint: LearnedConstraint | None,
    config: LearnConfig,
    seed: int,
    card: dict[str, Any],
    on_snapshot: OnSnapshot,
    on_progress: OnProgress,
    continuation: Continuation = FROM_THE_START,
) -> Snapshot:
    """Run to the end of `config.steps`; with a `constraint`,
    transfer it instead of learning one.

    Whether that can be done, `check_method` has said.
    """
    if constraint is not None:
        matched = constraint.for_task(scenario.task)
        # Who learned the constraint stays in its card; who used it is added.
        kept = replace(matched, card={**matched.card, "transfer": card})
        pressure = pressure_of(matched, method)
        return run_agent(
            pressure, kept, scenario.task, config, seed, {}, on_snapshot, on_progress, continuation
        )
    record = find_method(method)
    if demos is None or not record.needs_demos:
        pressure = Pressure()
        if record.needs_truth:
            pressure = Pressure(cost=true_cost(scenario))
        return run_agent(
            pressure, None, scenario.task, config, seed, {}, on_snapshot, on_progress, continuation
        )
    return learner_of(record)(
        scenario.task, demos, config, seed, card, on_snapshot, on_progress, continuation
    )
