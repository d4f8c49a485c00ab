"""The two agents that every method stands between:
one that knows no constraint, one that is told it."""

from typing import TYPE_CHECKING

from icrl.methods.record import Look, Method
from icrl.types import EXPERT, NOMINAL

if TYPE_CHECKING:
    from icrl.methods.learners import Learner


def _learner() -> "Learner":
    from icrl.methods.learners import run_nominal

    return run_nominal


NOMINAL_AGENT = Method(
    name=NOMINAL,
    label="nominal (no constraint)",
    summary="no constraint",
    colour="#7A7A7A",
    presses=None,
    learner=_learner,
    needs_demos=False,
)
EXPERT_AGENT = Method(
    name=EXPERT,
    label="expert (knows the constraint)",
    summary="told the true constraint",
    colour="#111111",
    looks={
        # Told the truth, but with the agent of another preset: the most that can be asked of who
        # learns with that agent.
        "paper": Look("expert-paper", "expert, the paper's agent", "#6E4B2A"),
        "authors": Look("expert-authors", "expert, the authors' agent", "#4B2A6E"),
    },
    presses=None,
    needs_demos=False,
    needs_truth=True,
)
