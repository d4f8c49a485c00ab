"""`Table`: ζ as a list of places and what is allowed in each. NumPy only.

The form in which a tabular method hands over what it found;
`LearnedConstraint` holds one instead of a network.
"""

from dataclasses import dataclass

import numpy as np

from icrl.errors import InputError
from icrl.types import AnyArray, FloatArray

ALLOWED = 1.0 - 1e-6
FORBIDDEN = 1e-6
"""ζ of a hard constraint: strictly between 0 and 1, so that its logarithm is finite."""
_CHUNK = 1 << 20
"""Most distances that a look-up holds in memory at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """S places, and the feasibility of each of A actions there;
    a place that is not listed counts as the nearest."""

    rows: FloatArray
    """[S, r] float32: the observed features of each place"""
    feasibility: FloatArray
    """[S, A] float32 in (0, 1): ζ; A = 1: the action plays no part"""

    def __post_init__(self) -> None:
        """Validate."""
        for name, array in (("rows", self.rows), ("feasibility", self.feasibility)):
            if (
                not isinstance(array, np.ndarray)
                or array.dtype != np.float32
                or array.ndim != 2
                or 0 in array.shape
            ):
                kind = type(array).__name__
                if isinstance(array, np.ndarray):
                    kind = f"{array.dtype} {list(array.shape)}"
                raise InputError(
                    f"a table's {name} must be a float32 array [S, n] with S, n >= 1, got {kind}."
                )
        if len(self.rows) != len(self.feasibility):
            raise InputError(
                f"a table has {len(self.rows)} places but {len(self.feasibility)} rows of "
                "feasibility."
            )
        if not np.isfinite(self.rows).all():
            raise InputError("a table's rows must be finite.")
        if not ((self.feasibility > 0) & (self.feasibility < 1)).all():
            low = float(np.min(self.feasibility))
            high = float(np.max(self.feasibility))
            raise InputError(
                f"a table's feasibility must be strictly between 0 and 1, got {low:g} to {high:g}; "
                f"use {FORBIDDEN:g} for forbidden and 1 - {FORBIDDEN:g} for allowed."
            )

    @property
    def num_inputs(self) -> int:
        """f: the features of a place, then the action one-hot (nothing when A = 1)."""
        return int(self.rows.shape[1]) + (self.num_actions if self.num_actions > 1 else 0)

    @property
    def num_actions(self) -> int:
        """A."""
        return int(self.feasibility.shape[1])

    def logits(self, inputs: AnyArray) -> FloatArray:
        """log ζ − log(1 − ζ) at the nearest place
        (Euclidean; a tie goes to the earlier). [..., f] -> [...]."""
        width = self.rows.shape[1]
        places = nearest(self.rows, inputs[..., :width].reshape(-1, width))  # [...] -> [M]
        if self.num_actions > 1:
            choices = np.argmax(inputs[..., width:].reshape(-1, self.num_actions), axis=1)
        else:
            choices = np.zeros(len(places), np.int64)
        zeta = self.feasibility[places, choices].astype(np.float64)
        return np.asarray((np.log(zeta) - np.log1p(-zeta)).reshape(inputs.shape[:-1]))


def nearest(rows: FloatArray, points: AnyArray) -> AnyArray:
    """argmin over s of |rows_s − point|². Shapes: [S, r], [M, r] -> [M]."""
    found = np.empty(len(points), np.int64)
    # All distances at once would be places x points: gigabytes for a rollout on a large table.
    size = max(1, _CHUNK // rows.size)
    for begin in range(0, len(points), size):
        # in float64: the square of a float32 need not be one
        gaps = points[begin : begin + size, None, :].astype(np.float64) - rows  # [m, S, r]
        found[begin : begin + size] = np.argmin(np.sum(np.square(gaps), axis=-1), axis=1)
    return found


def hard_table(observations: AnyArray, allowed: AnyArray) -> Table:
    """The table of a hard constraint: places [S, r] and what is allowed there, booleans [S, A]."""
    zeta = np.where(np.asarray(allowed, np.bool_), ALLOWED, FORBIDDEN)
    return Table(rows=np.asarray(observations, np.float32), feasibility=zeta.astype(np.float32))
