"""`LearnedConstraint`: the artefact. NumPy in, NumPy out; neither jax nor pickle is needed.

How it lies on disk is `saved.py`.
"""

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from icrl.config import Activation
from icrl.constraint.features import Features, extract, match
from icrl.constraint.network import Params, log_feasibility, logits
from icrl.constraint.region import Region
from icrl.constraint.saved import read_constraint, write_constraint
from icrl.constraint.table import Table
from icrl.errors import InputError
from icrl.types import THRESHOLD, AnyArray, BoolArray, FloatArray

if TYPE_CHECKING:  # a task needs gymnasium, using a learned constraint does not
    from icrl.tasks.task import Task


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedConstraint:
    """A constraint that was learned: ζ(s, a), the probability that a pair is allowed."""

    features: Features
    """What zeta looks at."""
    params: Params = ()
    """Layers of zeta, float32 NumPy arrays; none when zeta is a table."""
    activation: Activation = Activation.tanh
    """Non-linearity of the hidden layers."""
    table: Table | None = None
    """Zeta as a table, for the tabular methods; None: zeta is a network or a region."""
    region: Region | None = None
    """Zeta as a region of a few features; None: zeta is a network or a table."""
    threshold: float = THRESHOLD
    """A pair is feasible when ζ is at least this."""
    card: dict[str, Any] = field(default_factory=dict)
    """Provenance: method, task, seed, steps, versions, date; anything that JSON can hold."""

    def __post_init__(self) -> None:
        """Validate."""
        # At 0 or 1 everything, or nothing, would be feasible whatever zeta says.
        if not 0 < self.threshold < 1:
            raise InputError(f"a constraint's threshold must be in (0, 1), got {self.threshold!r}.")
        # Exactly one form: with two, which of them is asked would be an accident of the code below.
        if self.region is not None:
            if (
                self.params
                or self.table is not None
                or self.region.num_inputs > self.features.num_features
            ):
                raise InputError(
                    "a constraint is a network, a table or a region, and a region over "
                    f"{self.region.num_inputs} inputs needs as many features: got "
                    f"{self.features.num_features}."
                )
        elif self.table is None:
            _check_params(self.params, self.features.num_features)
            _check_overflow(self.params, self.features, self.activation)
        elif self.params or self.table.num_inputs != self.features.num_features:
            raise InputError(
                "a constraint is a network or a table, not both, and a table over "
                f"{self.table.num_inputs} inputs needs as many features: got {len(self.params)} "
                f"layers and {self.features.num_features} features."
            )

    def logits(self, observations: AnyArray, actions: AnyArray) -> FloatArray:
        """Logit of ζ.

        Shapes: observations [..., o], actions [..., a] (or integer [...] when discrete) -> [...].
        """
        inputs = _inputs(self.features, observations, actions)
        if self.region is not None:
            return self.region.logits(inputs)
        if self.table is not None:
            return self.table.logits(inputs)
        return np.asarray(logits(self.params, inputs, self.activation))

    def feasibility(self, observations: AnyArray, actions: AnyArray) -> FloatArray:
        """ζ(s, a), strictly between 0 and 1. Shapes as in `logits`; float64."""
        logit = self.logits(observations, actions).astype(np.float64)
        # Strictly between 0 and 1, so that log ζ and log(1 - ζ) are finite for whoever uses them;
        # in float64, for in float32 a logit of 20 is already 1.
        limits = np.finfo(np.float64)
        return np.asarray(np.clip(np.exp(log_feasibility(logit)), limits.tiny, 1 - limits.epsneg))

    def cost(self, observations: AnyArray, actions: AnyArray) -> FloatArray:
        """1 - ζ(s, a). Shapes as in `logits`."""
        return np.asarray(1.0 - self.feasibility(observations, actions))

    def is_feasible(self, observations: AnyArray, actions: AnyArray) -> BoolArray:
        """ζ(s, a) >= threshold. Shapes as in `logits`."""
        return np.asarray(self.feasibility(observations, actions) >= self.threshold)

    def with_caution(self, caution: float) -> "LearnedConstraint":
        """The same constraint with its wall elsewhere between demonstrations (1)
        and evidence (0); both are in it."""
        if self.region is None:
            raise InputError(
                "only a constraint that was found by search has a caution: this one is a network "
                "or a table."
            )
        return replace(self, region=self.region.with_caution(caution))

    def with_card(self, card: dict[str, Any]) -> "LearnedConstraint":
        """The same constraint with another card."""
        return replace(self, card=card)

    def for_task(self, task: "Task") -> "LearnedConstraint":
        """The same constraint on another task: its features are found there by name."""
        return replace(self, features=match(self.features, task))

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write `constraint.safetensors` and `card.json`. A kill at any moment
        leaves the old one or this."""
        write_constraint(self, directory)


def load_constraint(directory: str | os.PathLike[str]) -> LearnedConstraint:
    """Read a constraint that `LearnedConstraint.save` wrote; anything else is an `InputError`."""
    return read_constraint(directory, LearnedConstraint)


def require_constraint(given: Any) -> LearnedConstraint:
    """What was given, if it is a constraint; where it is the path of one, say how to load it."""
    if not isinstance(given, LearnedConstraint):
        path = "path"
        if isinstance(given, str | os.PathLike):
            path = repr(os.fspath(given))
        load = f"icrl.load_constraint({path})"
        raise InputError(
            f"expected a LearnedConstraint, got {type(given).__name__}: load it first with {load}."
        )
    return given


def _inputs(features: Features, observations: AnyArray, actions: AnyArray) -> AnyArray:
    """Zeta's inputs [..., f], after checking what the caller gave."""
    observations = np.asarray(observations)
    actions = np.asarray(actions)
    o = features.num_observations
    a = features.num_actions
    lead = observations.shape[:-1]
    if features.discrete:
        expected = lead
    else:
        expected = (*lead, a)
    if observations.ndim == 0 or observations.shape[-1] != o or actions.shape != expected:
        if features.discrete:
            wanted = "[...] (integers)"
        else:
            wanted = f"[..., {a}]"
        raise InputError(
            f"expected observations [..., {o}] and actions {wanted} with the same leading shape, "
            f"got {list(observations.shape)} and {list(actions.shape)}."
        )
    # 0.7 would equal none of the choices, and be judged as a one-hot of zeros.
    if features.discrete and actions.dtype.kind not in "iu":
        raise InputError(f"expected integer actions in 0..{a - 1}, got dtype {actions.dtype}.")
    if features.discrete and actions.size and (actions.min() < 0 or actions.max() >= a):
        raise InputError(
            f"expected actions in 0..{a - 1}, got {int(actions.min())}..{int(actions.max())}."
        )
    inputs = np.asarray(extract(features, observations, actions))
    # NaN is neither below nor above a threshold: it would be called infeasible by one comparison
    # and feasible by its opposite.
    if np.isnan(inputs).any():
        bad = [features.names[i] for i in np.unique(np.nonzero(np.isnan(inputs))[-1])]
        raise InputError(f"the constraint cannot judge NaN: found it in {', '.join(bad)}.")
    return inputs


def _check_params(params: Params, num_inputs: int) -> None:
    """Layers fit together, start at `num_inputs`, end in one logit,
    and are finite float32 arrays."""
    width = num_inputs
    for i, layer in enumerate(params):
        weight = layer.weight
        bias = layer.bias
        if not all(isinstance(x, np.ndarray) and x.dtype == np.float32 for x in layer):
            raise InputError(f"layer {i} of the constraint must hold float32 NumPy arrays.")
        if weight.ndim != 2 or weight.shape[0] != width or bias.shape != weight.shape[1:]:
            raise InputError(
                f"layer {i} of the constraint has weight {list(weight.shape)} and bias "
                f"{list(bias.shape)}; expected [{width}, n] and [n]."
            )
        if not all(np.isfinite(x).all() for x in layer):
            raise InputError(f"layer {i} of the constraint holds values that are not finite.")
        width = weight.shape[1]
    if not params or width != 1:
        raise InputError(f"a constraint must end in 1 logit, got {width if params else 0}.")


def _check_overflow(params: Params, features: Features, activation: Activation) -> None:
    """|x| <= bounds leads to finite logits: |x W + b| <= |x| |W| + |b|, layer by layer,
    stays within float32."""
    # Checked once for all inputs that there can be, so that no call has to look for infinities.
    most = np.max(np.abs(features.bounds.astype(np.float64)), axis=0)  # [f]
    for i, layer in enumerate(params):
        most = most @ np.abs(layer.weight.astype(np.float64)) + np.abs(
            layer.bias.astype(np.float64)
        )
        if np.max(most) > np.finfo(np.float32).max:
            raise InputError(
                f"layer {i} of the constraint overflows: its weights are too large for its inputs."
            )
        if activation is Activation.tanh:
            most = np.minimum(most, 1.0)
