"""Greedy maximum-likelihood inference (Scobee & Sastry, ICLR 2020) in a task's tabular form."""

from typing import TYPE_CHECKING

from icrl.methods.record import Method

if TYPE_CHECKING:
    from icrl.baselines.greedy import Inference
    from icrl.methods.learners import Learner


def _learner() -> "Learner":
    from icrl.methods.learners import run_greedy

    return run_greedy


def _inference() -> "Inference":
    from icrl.baselines.greedy import infer_greedy

    return infer_greedy


GREEDY = Method(
    name="greedy",
    label="greedy",
    summary="exact inference in a small world: lap-grid, bridges",
    learner=_learner,
    inference=_inference,
    needs_tabular=True,
)
