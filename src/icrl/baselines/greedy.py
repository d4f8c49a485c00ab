"""Greedy maximum-likelihood inference (Scobee & Sastry, ICLR 2020) as a method:
the demos and the artefact of ICRL."""

from collections.abc import Callable
from typing import Any

import numpy as np

from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.table import hard_table
from icrl.demos.fitting import FittedDemos
from icrl.tabular.greedy import GreedyConstraint, infer_constraints
from icrl.tabular.worlds import TabularForm, tabular_form
from icrl.tasks.task import Task
from icrl.types import THRESHOLD

Inference = Callable[[Task, FittedDemos], LearnedConstraint]
"""Finds a constraint from demonstrations alone: no agent is trained for it."""


def infer_greedy(task: Task, demos: FittedDemos) -> LearnedConstraint:
    """What the demonstrations avoid in the tabular form of `task`, as the artefact."""
    return learn_greedy(task, demos)[0]


def learn_greedy(
    task: Task, demos: FittedDemos, card: dict[str, Any] | None = None
) -> tuple[LearnedConstraint, GreedyConstraint]:
    """What the demonstrations avoid in the tabular form of `task`,
    as the artefact and as the list of findings."""
    form = tabular_form(task.name)
    found = infer_constraints(
        form.mdp, form.to_walks(demos.trajectories), form.hypotheses, beta=form.beta
    )
    return freeze_findings(task, form, found, card or {}), found


def freeze_findings(
    task: Task, form: TabularForm, found: GreedyConstraint, card: dict[str, Any]
) -> LearnedConstraint:
    """A table over the states of the tabular form;
    its card lists the findings with the likelihood each gained."""
    if form.sees_actions:
        names = task.feature_names
    else:
        names = task.observation_names
    allowed = found.feasibility >= THRESHOLD  # [S, A]
    if not form.sees_actions:
        allowed = np.all(allowed, axis=1, keepdims=True)  # [S, 1]
    bound = max(1.0, float(np.max(np.abs(form.mdp.observations))))
    findings = {
        "kind": "table",
        "findings": [
            {
                "forbidden": finding.hypothesis.describe(form.mdp),
                "gain": finding.gain,
                "log_likelihood": finding.log_likelihood,
            }
            for finding in found.findings
        ],
        "nominal_log_likelihood": found.nominal_log_likelihood,
        "min_gain": found.min_gain,
        "next_gain": found.next_gain,
        "beta": form.beta,
    }
    return LearnedConstraint(
        features=select_features(task, names, input_clip=bound),
        table=hard_table(form.mdp.observations, allowed),
        card={**card, **findings},
    )
