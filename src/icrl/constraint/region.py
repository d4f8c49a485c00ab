"""`Region`: zeta as a region of a few features, which can be read, drawn, moved and exported.

NumPy only.

On a grid over one to three axes it holds the depth g: 0 wherever demonstrations allow, and beyond
them how far a place lies from the nearest demonstrated step, in units of the distance that held-out
demonstrations bear. Forbidden is where g > level; the level is 1 at full caution, and moves out
towards the evidence with less.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from icrl.errors import InputError
from icrl.types import AnyArray, FloatArray, IntArray

SHARPNESS = 20.0
"""Logit of zeta per unit of g: from 0.9 to 0.1 within a fifth of the distance that
held-out demonstrations bear."""
_MOST_LOGIT = 20.0
MAX_NODES = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionAxis:
    """One axis of the grid."""

    columns: tuple[int, ...]
    """Which of the constraint's features it is;
    several: a one-hot block, whose nodes are its members."""
    nodes: FloatArray
    """[n] rising: values at which the depth is known; of a block 0, 1, ..., n - 1."""

    @property
    def categorical(self) -> bool:
        """Its values are names, not numbers: nothing lies between them."""
        return len(self.columns) > 1

    def places(self, inputs: AnyArray) -> FloatArray:
        """Index of each input [..., f] along the axis, as a fraction:
        beyond the ends it is the end's."""
        if self.categorical:
            first = self.columns[0]
            block = inputs[..., first : first + len(self.columns)]
            return np.asarray(np.argmax(block, axis=-1), np.float64)
        return self.places_of(inputs[..., self.columns[0]])

    def places_of(self, values: AnyArray) -> FloatArray:
        """The same for values [...] of an axis of numbers."""
        return np.asarray(np.interp(values, self.nodes, self._numbers))

    @cached_property
    def _numbers(self) -> FloatArray:
        """[n]: 0, 1, ...; made once, for millions of calls."""
        return np.arange(len(self.nodes), dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """A region of a few features, by its depth on a grid."""

    axes: tuple[RegionAxis, ...]
    depth: FloatArray
    """[n1, ...] float32 ≥ 0: g at the nodes"""
    evidence_depth: float
    """g where the evidence lies: the level at no caution at all."""
    caution: float = 1.0
    """1: forbidden as near to demonstrations as held-out ones bear;
    0: only where the evidence went."""

    def __post_init__(self) -> None:
        """Validate."""
        shape = tuple(len(axis.nodes) for axis in self.axes)
        if not 1 <= len(self.axes) <= 3 or self.depth.shape != shape or self.depth.size > MAX_NODES:
            raise InputError(
                f"a region has one to three axes and a depth at each of at most {MAX_NODES} nodes: "
                f"got axes of {shape} nodes and a depth of {self.depth.shape}."
            )
        if (
            self.depth.dtype != np.float32
            or not np.isfinite(self.depth).all()
            or np.any(self.depth < 0)
        ):
            raise InputError(
                "the depth of a region must be finite float32 numbers >= 0, got "
                f"{self.depth.dtype} from {self.depth.min()} to {self.depth.max()}."
            )
        for axis in self.axes:
            if (
                len(axis.nodes) < 1
                or not np.isfinite(axis.nodes).all()
                or np.any(np.diff(axis.nodes) <= 0)
            ):
                raise InputError(
                    f"the nodes of a region's axis must be finite and rise, got {len(axis.nodes)} "
                    f"nodes, {int(np.sum(np.diff(axis.nodes) <= 0))} of which do not."
                )
            if axis.columns != tuple(range(axis.columns[0], axis.columns[0] + len(axis.columns))):
                raise InputError(
                    f"the columns of a region's axis must be in a row, got {axis.columns}."
                )
            if axis.categorical and len(axis.nodes) != len(axis.columns):
                raise InputError(
                    "a one-hot axis of a region has a node for each of its columns: got "
                    f"{len(axis.nodes)} nodes for {len(axis.columns)} columns."
                )
        if not 0 <= self.caution <= 1:
            raise InputError(f"caution must be a number in [0, 1], got {self.caution!r}.")
        if not (np.isfinite(self.evidence_depth) and self.evidence_depth >= 1):
            raise InputError(
                f"the depth of the evidence must be at least 1, got {self.evidence_depth!r}."
            )

    @property
    def num_inputs(self) -> int:
        """f: features that it looks at."""
        return 1 + max(max(axis.columns) for axis in self.axes)

    @property
    def level(self) -> float:
        """Forbidden is where g exceeds this."""
        # evenly in ratios: depths may be of 2 or of 2,000
        return float(self.evidence_depth ** (1.0 - self.caution))

    def with_caution(self, caution: float) -> "Region":
        """The same region with its wall elsewhere between demonstrations and evidence."""
        return replace(self, caution=caution)

    def depths(self, inputs: AnyArray) -> FloatArray:
        """g at inputs [..., f] -> [...]: linear between nodes, constant beyond the ends."""
        return self.depths_at([axis.places(inputs) for axis in self.axes])

    def depths_at(self, places: Sequence[FloatArray]) -> FloatArray:
        """g at places [...] along each axis, as fractions of its nodes' numbers."""
        below = np.zeros(places[0].shape, np.int64)
        shares = []
        stride = self.depth.size
        for axis, along in zip(self.axes, places, strict=True):
            stride //= len(axis.nodes)
            # Nothing to interpolate along: an axis of one node, as that of the empty constraint.
            if len(axis.nodes) == 1:
                continue
            # The last node belongs to the cell before it: there is none behind.
            index = np.minimum(along.astype(np.int64), len(axis.nodes) - 2)
            shares.append(along - index)
            below += index * stride
        # all corners of a cell at once, the last axis fastest: [corners, ...]
        corners = self._corners.reshape((-1,) + (1,) * below.ndim)
        values = self._flat.take(below[None] + corners)
        for share in reversed(shares):
            values = values[0::2] + share * (values[1::2] - values[0::2])
        return np.asarray(values[0], np.float64)

    @cached_property
    def _flat(self) -> FloatArray:
        return self.depth.ravel()

    @cached_property
    def _corners(self) -> IntArray:
        """[2^k]: offsets of a cell's corners in the flat grid; k: axes with several nodes."""
        corners = np.zeros(1, np.int64)
        stride = self.depth.size
        for axis in self.axes:
            stride //= len(axis.nodes)
            if len(axis.nodes) > 1:
                corners = (corners[:, None] + np.array([0, stride])).ravel()
        return corners

    def nodes_around(self, inputs: AnyArray) -> list[tuple[IntArray, ...]]:
        """Indices of the corners of the cells that inputs [n, f] lie in, corner by corner."""
        lower = []
        for axis in self.axes:
            lower.append(
                np.minimum(axis.places(inputs).astype(np.int64), max(len(axis.nodes) - 2, 0))
            )
        corners = []
        for corner in np.ndindex(*(2,) * len(self.axes)):
            index = []
            for axis, below, upper in zip(self.axes, lower, corner, strict=True):
                index.append(np.minimum(below + upper, len(axis.nodes) - 1))
            corners.append(tuple(index))
        return corners

    def logits(self, inputs: AnyArray) -> FloatArray:
        """Logit of ζ: s (level − g), so that ζ < ½ exactly where g > level.

        Shapes: [..., f] -> [...].
        """
        return self.logits_at(self.depths(inputs))

    def logits_at(self, depths: FloatArray) -> FloatArray:
        """The same at depths [...]."""
        logit = SHARPNESS * (self.level - depths)
        # Clipped at ζ = 2e-9: depths of thousands would be ζ = 0, whose logarithm is not finite.
        # Not by `np.clip`, which takes longer than all the rest for the few rows of a step.
        return np.asarray(np.minimum(np.maximum(logit, -_MOST_LOGIT), _MOST_LOGIT))
