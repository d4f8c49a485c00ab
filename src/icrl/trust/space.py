"""A region's own axes as a space: demonstrated steps,
agents' steps and what is forbidden are places in it.

Along an axis of numbers the range of the data is 1; any two names of one thing are far apart.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.region import Region
from icrl.explain.judged import feature_values
from icrl.types import AnyArray, FloatArray, IntArray, Trajectories

_APART = 10.0
_MOST_NODES = 4_000
_MOST_STEPS = 20_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Space:
    """Where things are, in the axes of a region."""

    constraint: LearnedConstraint
    region: Region
    low: FloatArray
    """[k]"""
    scale: FloatArray
    """[k]"""
    shown: FloatArray
    """[n, k]: demonstrated steps"""
    owners: IntArray
    """[n]: which demonstration each belongs to"""

    def places(self, observations: AnyArray, actions: AnyArray) -> FloatArray:
        """[m, o], [m, a] -> [m, k]."""
        values = feature_values(self.constraint.features, observations, actions)
        return (_along(self.region, values) - self.low) / self.scale

    def from_shown(self, places: FloatArray) -> FloatArray:
        """[m]: distance to the nearest demonstrated step."""
        return np.asarray(cKDTree(self.shown).query(places, workers=1)[0])

    def held_out(self, among: IntArray | None = None) -> FloatArray:
        """[n]: distance of each demonstrated step to the nearest one of another demonstration.

        `among`: only these demonstrations count, as judged and as neighbours;
        the distance of others is 0.
        """
        found = np.zeros(len(self.shown))
        names = np.unique(self.owners)
        if among is not None:
            names = np.asarray(among)
        chosen = np.isin(self.owners, names)
        if len(names) < 2:
            return found
        for name in names:
            mine = self.owners == name
            others = self.shown[chosen & ~mine]
            found[mine] = cKDTree(others).query(self.shown[mine], workers=1)[0]
        return found

    def forbidden(self) -> FloatArray:
        """[m, k]: nodes of the grid where ζ forbids at full caution,
        within the box of the data; thinned."""
        # At full caution, wherever the constraint stands: how far from demonstrations the wall is
        # can then be compared between runs.
        region = self.region.with_caution(1.0)
        index = np.argwhere(region.depth > region.level)
        places = self._nodes(index)
        inside = np.all((places > -0.05) & (places < 1.05 + (_APART * 100) * self._names()), axis=1)
        return _thinned(places[inside], _MOST_NODES)

    def edge(self) -> FloatArray:
        """[m, k]: allowed nodes, within the box of the data, that have a forbidden one beside them
        along an axis of numbers; thinned.

        The last places that are allowed, not the first that are not: where an axis has few values
        (cells of a grid) nobody can be in between.
        """
        region = self.region.with_caution(1.0)
        mask = region.depth > region.level
        beside = np.zeros_like(mask)
        for axis, part in enumerate(region.axes):
            if part.categorical or len(part.nodes) < 2:
                continue
            for step in (1, -1):
                moved = np.roll(mask, step, axis=axis)
                ends = [slice(None)] * mask.ndim
                if step == 1:
                    ends[axis] = slice(0, 1)
                else:
                    ends[axis] = slice(-1, None)
                # beyond the grid lies nothing that is known to be forbidden
                moved[tuple(ends)] = False
                beside |= moved
        places = self._nodes(np.argwhere(~mask & beside))
        inside = np.all((places > -0.05) & (places < 1.05 + (_APART * 100) * self._names()), axis=1)
        return _thinned(places[inside], _MOST_NODES)

    def _names(self) -> IntArray:
        return np.array([int(axis.categorical) for axis in self.region.axes])

    def _nodes(self, index: IntArray) -> FloatArray:
        columns = []
        for place, axis in enumerate(self.region.axes):
            columns.append((axis.nodes[index[:, place]] - self.low[place]) / self.scale[place])
        return np.stack(columns, axis=1)


def space_of(constraint: LearnedConstraint, demos: Trajectories, others: FloatArray) -> Space:
    """The space of a constraint's region; `others` [m, d]:
    features of agents' steps, which the box must hold, too."""
    assert constraint.region is not None
    mask = demos.mask
    owners, _ = np.nonzero(mask)
    values = feature_values(constraint.features, demos.observations[mask], demos.actions[mask])
    shown = _along(constraint.region, values)
    # Of agents, too: a range of the demonstrations alone would make all that is beyond them far.
    everything = np.concatenate([shown, _along(constraint.region, others)])
    low = everything.min(axis=0)
    scale = np.maximum(np.ptp(everything, axis=0), 1e-12)
    for place, axis in enumerate(constraint.region.axes):
        if axis.categorical:
            low[place] = 0.0
            # Names have numbers but no distance: any two are put further apart than all numbers
            # are.
            scale[place] = 1.0 / _APART
    # Rounded up, so that no more than the most are left.
    every = max(1, -(-len(shown) // _MOST_STEPS))
    return Space(
        constraint=constraint,
        region=constraint.region,
        low=low,
        scale=scale,
        shown=((shown - low) / scale)[::every],
        owners=owners[::every],
    )


def _along(region: Region, values: FloatArray) -> FloatArray:
    """[m, d] -> [m, k]: values along the axes; of names their number."""
    columns = []
    for axis in region.axes:
        if axis.categorical:
            columns.append(np.argmax(values[:, list(axis.columns)], axis=1).astype(np.float64))
        else:
            columns.append(values[:, axis.columns[0]])
    return np.stack(columns, axis=1)


def _thinned(places: FloatArray, most: int) -> FloatArray:
    every = max(1, -(-len(places) // most))
    return places[::every]
