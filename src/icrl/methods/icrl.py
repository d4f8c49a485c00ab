"""ICRL (Algorithm 1): ours by default, the paper's with the preset `paper`."""

from typing import TYPE_CHECKING

from icrl.methods.record import Look, Method

if TYPE_CHECKING:
    from icrl.constraint.objective import Objective


def _objective() -> "Objective":
    from icrl.constraint.objective import loss

    return loss


ICRL = Method(
    name="icrl",
    label="ICRL (ours)",
    summary="a rule found by search, or the paper's gradient steps (preset paper)",
    colour="#0072B2",
    looks={
        # Names and colours of their own: all three may stand in one figure.
        "paper": Look("paper", "ICRL (paper's settings)", "#D55E00"),
        "authors": Look("authors", "ICRL (authors' code)", "#AA4499"),
    },
    objective=_objective,
)
