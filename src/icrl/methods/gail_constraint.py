"""Baseline GC (Section 4): ζ is GAIL's discriminator; the agent earns log ζ beside its reward."""

from typing import TYPE_CHECKING

from icrl.methods.record import Method, Presses, baseline_settings
from icrl.presets import GAIL_CHOICE

if TYPE_CHECKING:
    from icrl.constraint.objective import Objective


def _objective() -> "Objective":
    # The same loss as the binary classifier's: GAIL's discriminator is one. They differ in how ζ
    # presses.
    from icrl.baselines.binary_classifier import cross_entropy

    return cross_entropy


GAIL_CONSTRAINT = Method(
    name="gail-constraint",
    label="GAIL constraint",
    summary="GAIL's discriminator as a bonus",
    colour="#CC79A7",
    settings=baseline_settings(GAIL_CHOICE),
    presses=Presses.bonus,
    objective=_objective,
)
