"""Baseline BC (Section 4): ζ tells demonstrations from samples; the agent pays 1 − ζ."""

from typing import TYPE_CHECKING

from icrl.methods.record import Method, baseline_settings
from icrl.presets import CLASSIFIER_CHOICE

if TYPE_CHECKING:
    from icrl.constraint.objective import Objective


def _objective() -> "Objective":
    # Here and not above: it imports JAX, and `icrl --help` asks every method for its name.
    from icrl.baselines.binary_classifier import cross_entropy

    return cross_entropy


BINARY_CLASSIFIER = Method(
    name="binary-classifier",
    label="binary classifier",
    summary="demonstrations against samples",
    colour="#009E73",
    settings=baseline_settings(CLASSIFIER_CHOICE),
    objective=_objective,
)
