"""Rays: what is seen from the evidence on the way to what demonstrations show."""

from typing import NamedTuple

import numpy as np
from scipy.ndimage import binary_dilation

from icrl.types import BoolArray, FloatArray, IntArray

_MOST_CENTRES = 200
_NUM_RAYS = {1: 2, 2: 128, 3: 1200}
_GAP = 0.5
"""A gap between demonstrations narrower than this, beside the depth of the evidence, is none."""
_BETWEEN_RAYS = 2
"""Nodes that may lie between two rays."""


class Space(NamedTuple):
    """The grid."""

    grids: tuple[FloatArray, ...]
    mesh: FloatArray
    """[nodes, k]"""
    structure: BoolArray
    """Which neighbours of a node belong to its piece."""
    lift: FloatArray
    few: tuple[bool, ...]
    possible: BoolArray
    """[n1, ...]: nodes near which somebody was, in every two of three axes"""

    @property
    def spacing(self) -> list[float]:
        """Distance of neighbouring nodes along each axis."""
        spacing = []
        for grid, lift in zip(self.grids, self.lift, strict=True):
            step = 1.0
            if len(grid) > 1:
                step = float(grid[1] - grid[0])
            spacing.append(step * float(lift))
        return spacing


def between(
    space: Space,
    from_shown: FloatArray,
    borne: float,
    centres: FloatArray,
    depths: FloatArray,
    moving: BoolArray,
) -> BoolArray:
    """[nodes]: what is seen from the core of the evidence on the way to what demonstrations show.

    From each step of the core rays go out in all directions. Where one meets what is shown, or has
    passed between two demonstrations that are near beside its own distance from them, all before
    that is between the two; where it meets nothing, it ends as far out as the nearest
    demonstration is.
    """
    blocked = from_shown <= borne
    every = max(1, -(-len(centres) // _MOST_CENTRES))
    origins = np.stack(nearest_nodes(space.grids, centres[::every] / space.lift), axis=1)
    steps = (
        np.array([grid[1] - grid[0] if len(grid) > 1 else 1.0 for grid in space.grids]) * space.lift
    )
    limits = depths[::every] / steps[moving].max()  # in nodes
    shape = tuple(len(grid) for grid in space.grids)
    directions = np.zeros((_NUM_RAYS[int(moving.sum())], len(shape)))
    directions[:, moving] = _directions(int(moving.sum()))
    # All rays of all centres side by side: what is asked of one is then asked of thousands at once.
    number = len(directions)
    rays = _Rays(
        origins=[np.repeat(along.astype(np.float64), number) for along in origins.T],
        directions=[np.tile(along, len(origins)) for along in directions.T],
        shape=shape,
        length=max(nodes for nodes, moves in zip(shape, moving, strict=True) if moves),
    )
    reach = _reach(
        rays,
        space.possible.ravel(),
        from_shown,
        borne,
        max(borne, float(steps[moving].max()) / 2),
        np.repeat(limits, number),
        np.repeat(_GAP * depths[::every], number),
    )
    seen = np.zeros(len(from_shown), np.bool_)
    going = np.flatnonzero(reach > 0)
    for step in range(rays.length):
        going = going[reach[going] > step]
        if len(going) == 0:
            break
        nodes, inside = rays.nodes(going, step)
        going = going[inside]
        seen[nodes] = True
    # Rays part as they go out: without this there would be stripes of allowed nodes between them.
    spread = binary_dilation(
        seen.reshape(shape), structure=space.structure, iterations=_BETWEEN_RAYS
    )
    return np.asarray(spread.ravel() & ~blocked)


class _Rays(NamedTuple):
    """Rays through the grid, node by node."""

    origins: list[FloatArray]
    """[rays] of each axis: nodes where they begin"""
    directions: list[FloatArray]
    """[rays] of each axis"""
    shape: tuple[int, ...]
    """Of the grid."""
    length: int
    """In nodes."""

    def nodes(self, which: IntArray, step: int) -> tuple[IntArray, BoolArray]:
        """Where some rays are after so many steps: flat numbers of nodes, of those that are still
        on the grid; and which are. A ray that has left the grid never comes back."""
        flat = np.zeros(len(which), np.int64)
        inside = np.ones(len(which), np.bool_)
        for axis, nodes in enumerate(self.shape):
            place = self.directions[axis][which]
            place *= step
            place += self.origins[axis][which]
            np.rint(place, out=place)
            inside &= place >= 0
            inside &= place < nodes
            flat *= nodes
            flat += place.astype(np.int64)
        return flat[inside], inside


def _reach(
    rays: _Rays,
    possible: BoolArray,
    from_shown: FloatArray,
    borne: float,
    slack: float,
    limits: FloatArray,
    gaps: FloatArray,
) -> FloatArray:
    """[rays]: steps that each goes.

    Up to what is shown, or if it never meets that up to its limit; no further in any case than to
    where nobody can be, or to where it has passed between two demonstrations that are nearer to it
    than its gap, and on by `slack`.
    """
    meets = np.zeros(len(limits), np.bool_)
    # where it meets what is shown, or ends for another reason
    ends = np.full(len(limits), float(rays.length))
    least = np.full(len(limits), np.inf)
    going = np.arange(len(limits))
    for step in range(rays.length):
        nodes, inside = rays.nodes(going, step)
        going = going[inside]
        room = from_shown[nodes]  # how far demonstrations are
        nearest = np.minimum(least[going], room)
        least[going] = nearest
        met = room <= borne
        # It has slipped through between two demonstrations (decision 0020): what lies beyond is
        # seen only because they are thin.
        passed = (nearest <= gaps[going]) & (room > nearest + slack)
        over = met | passed | ~possible[nodes]
        over &= ends[going] == rays.length
        ends[going[over]] = step
        meets[going[met]] = True
        # One that has ended goes on while it matters whether it would have met what is shown.
        ended = ends[going]
        going = going[~met & ((ended == rays.length) | (ended > limits[going]))]
        if len(going) == 0:
            break
    return np.where(meets, ends, np.minimum(ends, limits))


def _directions(dimensions: int) -> FloatArray:
    """Unit vectors in all directions: [rays, dimensions]."""
    number = _NUM_RAYS[dimensions]
    if dimensions == 1:
        return np.array([[1.0], [-1.0]])
    turns = np.arange(number)
    if dimensions == 2:
        angles = 2 * np.pi * turns / number
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    height = 1.0 - 2.0 * (turns + 0.5) / number  # evenly over a sphere: a spiral
    # by the golden ratio, so that no two turns of the spiral line up
    angles = np.pi * (1.0 + 5.0**0.5) * turns
    width = np.sqrt(1.0 - height**2)
    return np.stack([width * np.cos(angles), width * np.sin(angles), height], axis=1)


def nearest_nodes(grids: tuple[FloatArray, ...], places: FloatArray) -> tuple[IntArray, ...]:
    """Index of the node nearest to each place, axis by axis."""
    index = []
    for axis, grid in enumerate(grids):
        middles = (grid[1:] + grid[:-1]) / 2
        index.append(np.searchsorted(middles, places[:, axis]))
    return tuple(index)
