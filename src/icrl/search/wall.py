"""Where the wall stands: evidence says which piece of undemonstrated space is forbidden,
demonstrations where it ends.

In the chosen axes, measured by their rulers: allowed is what lies within t of what demonstrations
show, gaps between them closed; t is such that few steps of held-out demonstrations are forbidden.

What is left falls into connected pieces. Forbidden are those that the evidence enters: all of one
that demonstrations surround, of another what lies between them and the deepest evidence.
"""

from typing import NamedTuple

import numpy as np
from scipy.ndimage import distance_transform_edt, label, map_coordinates
from scipy.spatial import cKDTree

from icrl.search.axes import Ruler
from icrl.search.rays import Space, between, nearest_nodes
from icrl.types import BoolArray, FloatArray, IntArray

NODES = {1: 4000, 2: 320, 3: 72}
"""Nodes along each axis of numbers, by how many axes there are."""
_FINEST = 0.125
"""Of a step between nodes: a wall may stand so near to what is shown."""
_MOST_FLAGGED = 0.05
"""Share of the steps of held-out demonstrations that may be forbidden."""
_USUAL = 0.95
"""Quantile of the distances of demonstrated steps from other demonstrations:
gaps of twice that size mean nothing."""
_CORE = 0.5
"""Steps of the evidence that are deeper than this share of the deepest of their
trajectory show what is forbidden."""
_HEAVY = 0.3
"""Of the largest weight: lighter trajectories do not say how far the forbidden reaches."""
_SOMEBODY = 0.05
"""Of the ruler: places further from everybody, in two of three axes, are no places."""
_THIN = 0.3
"""Of the ruler: a gap narrower than twice this between those who were there is no gap."""
_PIECE = 0.02
"""Share of the evidence, by weight, that must enter a piece."""
_MOST_STEPS = 40_000
_SPACING = 0.02
_LONGEST = 0.2
"""Two steps of a demonstration that are nearer than this were joined by a way."""
_APART = 10.0
_BEYOND = 0.15
"""The grid goes on beyond the ruler by this share of it:
agents may go further than anybody was seen."""


class Wall(NamedTuple):
    """A region over a grid of places."""

    grids: tuple[FloatArray, ...]
    """Places of the nodes along each axis."""
    depth: FloatArray
    """[n1, ...]: distance from demonstrations over t where forbidden pieces are, else 0"""
    borne: float
    """t."""
    evidence_depth: float
    """Median depth at which trajectories of the evidence lie deepest."""
    flagged_held_out: float
    """p: share of held-out demonstrations that enter what is forbidden."""
    reached: FloatArray
    """[demonstrations]: depth of the deepest step of each, had only the others been shown."""


def place_wall(
    rulers: tuple[Ruler, ...],
    shown: FloatArray,
    shown_owners: IntArray,
    done: FloatArray,
    done_owners: IntArray,
    weights: FloatArray,
    flagged: BoolArray,
) -> Wall:
    """The wall in some axes of places: shown [n, k],
    done [m, k] with weights of their trajectories.

    `flagged` [m]: steps in cells that no demonstration visits, at the scale that explains most.
    """
    few = tuple(ruler.few for ruler in rulers)
    lift = np.where(np.array(few), _APART, 1.0)  # names are further apart than any two places
    shown, shown_owners = _thinned(shown, shown_owners, _MOST_STEPS)
    shown = shown * lift
    done = done * lift
    grids = tuple(_grid(ruler, len(rulers)) for ruler in rulers)
    space = Space(
        grids=grids,
        mesh=np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(rulers)) * lift,
        structure=_structure(few),
        lift=lift,
        few=few,
        possible=_possible(grids, few, np.concatenate([shown, done]) / lift),
    )
    tree = cKDTree(shown)
    seen = _Seen(
        away=np.minimum(tree.query(done, workers=1)[0], _APART),
        done=done,
        owners=done_owners,
        weights=weights,
        flagged=flagged,
    )
    from_shown, nearest = tree.query(space.mesh, workers=1)
    from_shown = np.minimum(from_shown, _APART)  # any two names are equally far apart
    apart = _held_out_distances(shown, shown_owners)
    steps = [grid[1] - grid[0] for grid, names in zip(grids, few, strict=True) if not names]
    # Between names nothing lies: there a wall is no nearer, and no edge is crossed.
    step = max(steps, default=0.0)
    cell = max(steps, default=1.0) / 2
    finest = cell
    if steps:
        finest = _FINEST * step
    alike = apart < _APART  # another name is not a distance
    wide = max(_typical(apart[alike], _USUAL), cell)
    closed = _closed(space, from_shown, wide)
    # Once with the widest t, only to see which demonstrations face the evidence; then with the true
    # t.
    forbidden, _ = _forbidden(space, seen, closed, wide)
    # how far held-out demonstrations get from the others matters where they face what is forbidden
    facing = np.unique(nearest[forbidden & (from_shown <= 2 * wide)])
    facing = facing[alike[facing]]
    borne = finest
    beyond = np.zeros(len(shown))
    if len(facing):
        # a new demonstration must be able to live there: few of its steps may be forbidden
        beyond[facing] = _beyond_others(space, shown, shown_owners, wide, facing)[facing]
        # Across the wall, not along it: this replaced two constants (decision 0020; a ramp limit of
        # 150 kW was put at 153 to 155 before, at 149 to 151 since).
        borne = min(wide, max(borne, _typical(beyond, 1.0 - _MOST_FLAGGED)))
    forbidden, evidence = _forbidden(space, seen, closed, borne)
    shape = tuple(len(grid) for grid in grids)
    # what demonstrations allow keeps its depth of at most 1,
    # so that the wall between two nodes is where it should be
    depths = _Depths(borne, step)
    depth = np.where(forbidden | (closed <= borne), depths(closed), 0.0).reshape(shape)
    # Caution 0 puts the wall here: the median, so that one agent that strayed far does not move it.
    deepest = _median_deepest(depths(seen.away[evidence]), done_owners[evidence], weights)
    flagged_held_out = float(np.mean(_worst(apart, shown_owners) > borne))
    return Wall(
        grids=grids,
        depth=depth.astype(np.float32),
        borne=borne,
        evidence_depth=max(1.0, deepest),
        flagged_held_out=flagged_held_out,
        reached=depths(_worst(beyond, shown_owners)),
    )


class _Depths(NamedTuple):
    """Depths of distances from what is shown: 1 at the wall, 0 a step between nodes inside."""

    borne: float
    step: float

    def __call__(self, away: FloatArray) -> FloatArray:
        # Linear across the edge of what is shown: between a node inside and one outside the wall
        # is then where it should be, however near it stands to that edge.
        return np.asarray(np.maximum(away + self.step, 0.0) / (self.borne + self.step))


class _Seen(NamedTuple):
    """What agents did."""

    away: FloatArray
    """[m]: distance of each step from the nearest demonstrated one"""
    done: FloatArray
    """[m, k]"""
    owners: IntArray
    weights: FloatArray
    flagged: BoolArray


_MOST_FOLDS = 10


def _beyond_others(
    space: Space, shown: FloatArray, owners: IntArray, wide: float, asked: IntArray
) -> FloatArray:
    """[n]: how far each demonstrated step lies beyond what the other demonstrations show,
    for those that are asked about, by their numbers.

    Gaps of theirs are closed, so that it is the distance across the wall and not along it.
    """
    shape = tuple(len(grid) for grid in space.grids)
    nodes = np.ravel_multi_index(nearest_nodes(space.grids, shown / space.lift), shape)
    around = _nodes_around(space, shown)
    _, folds = np.unique(owners, return_inverse=True)
    if folds.max() == 0:  # of a single one, its other half
        folds = np.arange(len(owners))
    folds = folds % min(_MOST_FOLDS, int(folds.max()) + 1)
    # Counted once for all: the others of a part are all, less its own.
    number = np.bincount(nodes, minlength=int(np.prod(shape)))
    beyond = np.zeros(len(shown))
    for fold in np.unique(folds[asked]):
        mine = folds == fold
        others = number - np.bincount(nodes[mine], minlength=len(number)) > 0
        away = distance_transform_edt(~others.reshape(shape), sampling=space.spacing)
        # Closing, as `_closed` does it for all of them.
        inside = distance_transform_edt(away <= wide, sampling=space.spacing)
        theirs = np.where(away <= wide, np.minimum(away, np.maximum(wide - inside, 0.0)), away)
        # As the region will see it: between nodes, and with those around a step let through.
        theirs = theirs.ravel()
        theirs[np.unique(around[~mine])] = 0.0
        beyond[mine] = _between_nodes(space, theirs, shown[mine])
    return beyond


def _nodes_around(space: Space, places: FloatArray) -> IntArray:
    """[n, 2^k]: the corners of the cell in which each place [n, k] lies."""
    shape = tuple(len(grid) for grid in space.grids)
    flat = np.zeros((len(places), 1), np.int64)
    for along, nodes, names in zip(_along(space, places), shape, space.few, strict=True):
        if names:  # between names there is nothing
            ends = np.rint(along).astype(np.int64)[:, None]
        else:
            low = np.floor(along).astype(np.int64)
            ends = np.stack([low, np.minimum(low + 1, nodes - 1)], axis=1)
        flat = (flat[:, :, None] * nodes + ends[:, None]).reshape(len(places), -1)
    return flat


def _between_nodes(space: Space, values: FloatArray, places: FloatArray) -> FloatArray:
    """[n]: values at nodes, as a region sees them at places [n, k] between."""
    shape = tuple(len(grid) for grid in space.grids)
    along = _along(space, places)
    return np.asarray(map_coordinates(values.reshape(shape), along, order=1, mode="nearest"))


def _along(space: Space, places: FloatArray) -> list[FloatArray]:
    """[n] of each axis: places [n, k] in nodes from its first."""
    return [
        np.interp(places[:, axis] / space.lift[axis], grid, np.arange(len(grid)))
        for axis, grid in enumerate(space.grids)
    ]


def _closed(space: Space, from_shown: FloatArray, wide: float) -> FloatArray:
    """[nodes]: distance from demonstrations whose gaps are closed.

    What is nearer to them than `wide` counts as theirs, and is then taken back by as much.

    Along an edge of what they show it is the distance itself;
    a gap narrower than twice `wide` counts as shown.
    """
    shape = tuple(len(grid) for grid in space.grids)
    near = (from_shown <= wide).reshape(shape)
    if near.all():
        return np.zeros_like(from_shown)
    inside, outside = distance_transform_edt(near, sampling=space.spacing, return_indices=True)
    # not `wide` itself: the nearest node outside lies a little beyond it
    taken_back = from_shown.reshape(shape)[tuple(outside)] - inside
    theirs = np.minimum(from_shown, taken_back.ravel())
    return np.where(near.ravel(), theirs, from_shown)


def _forbidden(
    space: Space, seen: _Seen, from_shown: FloatArray, borne: float
) -> tuple[BoolArray, BoolArray]:
    """[nodes]: what is forbidden where demonstrations allow as far as `borne`;
    and [m]: which steps say so."""
    # A run has its shallow ends, which no coarse cell flags: they belong to the same trespass.
    evidence = _runs(seen.owners, seen.away > borne, seen.flagged)
    if not evidence.any():
        evidence = seen.flagged
    shape = tuple(len(grid) for grid in space.grids)
    pieces, number = label((from_shown > borne).reshape(shape), structure=space.structure)
    # Which pieces are meant is said by plain steps alone; the ends of a run may graze another
    # piece.
    plain = evidence & seen.flagged
    entered = pieces[nearest_nodes(space.grids, seen.done[plain] / space.lift)]
    kept = _entered_enough(entered, number, seen.owners[plain], seen.weights)
    core = plain & (seen.weights[seen.owners] >= _HEAVY * seen.weights.max())
    if not core.any():
        core = plain
    core[core] = seen.away[core] >= _CORE * _deepest_of(seen.away[core], seen.owners[core])
    moving = np.array([not names for names in space.few])
    chosen = np.isin(pieces.ravel(), kept)
    # Between names there are no rays.
    if not moving.any():
        return chosen, evidence
    within = between(space, from_shown, borne, seen.done[core], seen.away[core], moving)
    whole = _enclosed(pieces, number, space.few)[pieces.ravel()]
    return chosen & (within | whole) & space.possible.ravel(), evidence


def _possible(
    grids: tuple[FloatArray, ...], few: tuple[bool, ...], places: FloatArray
) -> BoolArray:
    """[n1, ...]: nodes near which somebody was, in every two of three axes of numbers.

    Features may depend on each other: nobody can be inside the circle of a sine and a cosine.
    """
    shape = tuple(len(grid) for grid in grids)
    possible = np.ones(shape, np.bool_)
    # In two axes the only pair is the whole space: all that nobody entered would be impossible.
    if len(grids) < 3 or any(few):
        return possible
    nodes = nearest_nodes(grids, places)
    for left, right in ((0, 1), (0, 2), (1, 2)):
        nobody = np.ones((shape[left], shape[right]), np.bool_)
        nobody[nodes[left], nodes[right]] = False
        sampling = (grids[left][1] - grids[left][0], grids[right][1] - grids[right][0])
        near = distance_transform_edt(nobody, sampling=sampling) <= _SOMEBODY + _THIN
        # Taken back again: a curve stays a curve, but what lies between thin tracks is filled.
        near = distance_transform_edt(near, sampling=sampling) > _THIN
        possible &= np.expand_dims(near, ({0, 1, 2} - {left, right}).pop())
    return possible


def _deepest_of(depths: FloatArray, owners: IntArray) -> FloatArray:
    """The largest depth of each step's own trajectory."""
    names, index = np.unique(owners, return_inverse=True)
    most = np.zeros(len(names))
    np.maximum.at(most, index, depths)
    return np.asarray(most[index])


def _enclosed(pieces: IntArray, number: int, few: tuple[bool, ...]) -> BoolArray:
    """[number + 1]: the piece does not reach the edge of the grid: demonstrations surround it."""
    open_ones = np.zeros(number + 1, np.bool_)
    for axis, names in enumerate(few):
        if names:
            continue
        # What reaches the edge may go on for ever; a name has no edge.
        for end in (0, -1):
            open_ones[np.unique(np.take(pieces, end, axis=axis))] = True
    return ~open_ones


def _held_out_distances(shown: FloatArray, owners: IntArray) -> FloatArray:
    """[n]: how far each step is from all other demonstrations;
    of a single one, from its other half."""
    names = np.unique(owners)
    if len(names) == 1:
        owners = np.arange(len(owners)) % 2
        names = np.unique(owners)
    apart = np.zeros(len(shown))
    for name in names:
        mine = owners == name
        apart[mine] = cKDTree(shown[~mine]).query(shown[mine], workers=1)[0]
    return apart


def _typical(distances: FloatArray, quantile: float) -> float:
    """A quantile, or 0 where there is nothing."""
    if len(distances) == 0:
        return 0.0
    return float(np.quantile(distances, quantile))


def _worst(apart: FloatArray, owners: IntArray) -> FloatArray:
    """The largest distance of each demonstration."""
    names, index = np.unique(owners, return_inverse=True)
    most = np.zeros(len(names))
    np.maximum.at(most, index, apart)
    return most


def _grid(ruler: Ruler, num_axes: int) -> FloatArray:
    if ruler.few:
        return ruler.places.astype(np.float64)
    return np.linspace(-_BEYOND, 1.0 + _BEYOND, NODES[num_axes])


def _structure(few: tuple[bool, ...]) -> BoolArray:
    """Which neighbours of a node belong to its piece: along axes of numbers alone."""
    structure = np.zeros((3,) * len(few), np.bool_)
    centre = (1,) * len(few)
    structure[centre] = True
    for axis, names in enumerate(few):
        if names:
            continue
        for step in (0, 2):
            place = list(centre)
            place[axis] = step
            structure[tuple(place)] = True
    return structure


def _runs(owners: IntArray, beyond: BoolArray, flagged: BoolArray) -> BoolArray:
    """Steps of all runs of consecutive steps beyond the demonstrations that have a flagged one."""
    new_run = np.ones(len(owners), np.bool_)
    new_run[1:] = (owners[1:] != owners[:-1]) | (beyond[1:] != beyond[:-1])
    runs = np.cumsum(new_run) - 1
    hit = np.zeros(runs[-1] + 1, np.bool_)
    hit[runs[flagged & beyond]] = True
    return np.asarray(hit[runs] & beyond)


def _entered_enough(
    entered: IntArray, number: int, owners: IntArray, weights: FloatArray
) -> list[int]:
    """Pieces that enough of the evidence enters."""
    total = weights[np.unique(owners)].sum()
    kept = []
    for piece in range(1, number + 1):
        who = np.unique(owners[entered == piece])
        if len(who) and weights[who].sum() >= _PIECE * total:
            kept.append(piece)
    return kept


def _median_deepest(depths: FloatArray, owners: IntArray, weights: FloatArray) -> float:
    """Median over trajectories, by weight, of their deepest step."""
    names = np.unique(owners)
    deepest = np.array([depths[owners == name].max() for name in names])
    order = np.argsort(deepest)
    reached = np.cumsum(weights[names][order])
    return float(deepest[order][np.searchsorted(reached, reached[-1] / 2)])


def joined(places: FloatArray, owners: IntArray) -> tuple[FloatArray, IntArray]:
    """The places of demonstrations and what lies between two steps of one: it passed there, too.

    Longer jumps are left open (a goal that changes, an angle that comes round).
    Shapes: [n, k], [n] -> the same, more.
    """
    gaps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    number = np.ceil(gaps / _SPACING).astype(np.int64) - 1
    number[(owners[1:] != owners[:-1]) | (gaps > _LONGEST)] = 0
    number = np.maximum(number, 0)
    first = np.repeat(np.arange(len(gaps)), number)
    # 1st, 2nd, ... of the points that are put between the same two steps
    order = np.arange(len(first)) - np.repeat(np.cumsum(number) - number, number)
    shares = ((order + 1) / (number[first] + 1))[:, None]
    between = (1 - shares) * places[first] + shares * places[first + 1]
    everything = np.concatenate([places, between])
    everyone = np.concatenate([owners, owners[first]])
    sorted_by_owner = np.argsort(everyone, kind="stable")
    return everything[sorted_by_owner], everyone[sorted_by_owner]


def _thinned(places: FloatArray, owners: IntArray, most: int) -> tuple[FloatArray, IntArray]:
    every = max(1, -(-len(places) // most))
    return places[::every], owners[::every]
