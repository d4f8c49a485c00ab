"""Where the wall stands: evidence says which piece is forbidden, demonstrations where it ends."""

import itertools

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from icrl.search.axes import Ruler
from icrl.search.rays import _GAP, _Rays, _reach
from icrl.search.wall import place_wall

LINE = Ruler(values=np.array([0.0, 1.0]), places=np.array([0.0, 1.0]), few=False)


def names(number):
    return Ruler(values=np.arange(float(number)), places=np.arange(float(number)), few=True)


def wall_of(rulers, shown, done, flagged, weights=None):
    """The wall between demonstrations and agents [length, k]; `flagged` judges places [n, k]."""
    if weights is None:
        weights = np.full(len(done), 1 / len(done))
    wall = place_wall(
        rulers,
        np.concatenate(shown),
        owners_of(shown),
        np.concatenate(done),
        owners_of(done),
        np.asarray(weights),
        flagged(np.concatenate(done)),
    )
    return let_through(wall, np.concatenate(shown))


def let_through(wall, shown):
    """As the rule does it: the nodes around a demonstrated step that would be cut off."""
    cut_off = np.asarray(shown, float)[forbidden(wall, shown)]
    depth = wall.depth.copy()
    below = [
        np.clip(np.searchsorted(grid, cut_off[:, i], side="right") - 1, 0, max(len(grid) - 2, 0))
        for i, grid in enumerate(wall.grids)
    ]
    for corner in itertools.product((0, 1), repeat=len(wall.grids)):
        at = tuple(
            np.minimum(low + end, len(grid) - 1)
            for low, end, grid in zip(below, corner, wall.grids, strict=True)
        )
        depth[at] = np.minimum(depth[at], 0.9)
    return wall._replace(depth=depth)


def owners_of(parts):
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def depth_at(wall, places):
    """g by SciPy's own interpolation, constant beyond the ends."""
    ends = [np.clip(places[:, i], grid[0], grid[-1]) for i, grid in enumerate(wall.grids)]
    return RegularGridInterpolator(wall.grids, wall.depth)(np.stack(ends, axis=1))


def forbidden(wall, places):
    return depth_at(wall, np.asarray(places, float)) > 1.0


def within(rng, test, number, low=0.0, high=1.0, dimensions=2):
    """Places of a box, drawn evenly, that pass a test."""
    drawn = rng.uniform(low, high, (40 * number, dimensions))
    return drawn[test(drawn)][:number]


def total(places):
    return places.sum(axis=1)


@pytest.fixture(scope="module")
def half_plane():
    """Demonstrated x + y < 1, evidence x + y > 1.3: a gap of 0.21 lies between the two."""
    rng = np.random.default_rng(0)
    shown = [within(rng, lambda p: total(p) < 1.0, 80) for _ in range(20)]
    done = []
    for _ in range(8):
        near = within(rng, lambda p: total(p) < 1.0, 5)
        done.append(np.concatenate([near, within(rng, lambda p: total(p) > 1.3, 20)]))
    wall = wall_of((LINE, LINE), shown, done, lambda p: total(p) > 1.3)
    return wall, np.concatenate(shown), np.concatenate(done)


def test_a_half_plane_allows_what_is_shown_and_forbids_what_is_deep(half_plane):
    wall, shown, done = half_plane
    assert not forbidden(wall, shown).any()
    assert forbidden(wall, done[total(done) > 1.3]).all()


def test_the_wall_of_a_half_plane_lies_between_demonstrations_and_evidence(half_plane):
    wall, _, _ = half_plane
    for slant in (-0.2, 0.0, 0.2):
        sums = np.linspace(0.4, 1.4, 501)
        line = np.stack([sums / 2 + slant, sums / 2 - slant], axis=1)
        flags = forbidden(wall, line)
        first = sums[np.argmax(flags)]
        assert 0.96 < first < 1.3
        # one wall, not two; before the edge of what was shown the fringe may be let through
        assert flags[sums > max(first, 1.0)].all()


@pytest.fixture(scope="module")
def disc():
    """Demonstrations fill the square but for a disc of 0.3 in its middle; agents cross it."""
    rng = np.random.default_rng(1)
    shown = [within(rng, lambda p: radius(p) > 0.3, 120) for _ in range(20)]
    along = np.linspace(0.05, 0.95, 30)
    done = [np.stack([along, rng.normal(0.5, 0.05, 30)], axis=1) for _ in range(8)]
    wall = wall_of((LINE, LINE), shown, done, lambda p: radius(p) < 0.2)
    return wall, np.concatenate(shown)


def radius(places):
    return np.hypot(places[:, 0] - 0.5, places[:, 1] - 0.5)


def test_a_disc_is_forbidden_and_all_around_it_is_allowed(disc):
    wall, shown = disc
    assert forbidden(wall, shown).mean() < 0.01
    everywhere = np.random.default_rng(2).uniform(0.02, 0.98, (5000, 2))
    flags = forbidden(wall, everywhere)
    assert flags[radius(everywhere) < 0.18].all()
    # drawn steps leave dents in the rim, and the wall follows them
    assert flags[radius(everywhere) > 0.34].mean() < 0.06
    assert not flags[radius(everywhere) > 0.45].any()


def test_a_piece_that_no_evidence_enters_stays_allowed(disc):
    wall, _ = disc
    # demonstrations do not leave the square, but no agent says that it matters
    outside = np.array([[-0.2, 0.5], [1.2, 0.5], [0.5, -0.2], [0.5, 1.2], [-9.0, 0.5], [1.2, 1.2]])
    assert not forbidden(wall, outside).any()


def test_what_lies_behind_demonstrations_as_seen_from_the_evidence_stays_allowed():
    # demonstrations are a blob; all around it is one piece, but agents go to the right alone
    rng = np.random.default_rng(0)
    shown = [within(rng, lambda p: radius(p) < 0.15, 60) for _ in range(15)]
    done = []
    for _ in range(6):
        to_the_right = np.stack([np.linspace(0.5, 0.9, 20), rng.normal(0.5, 0.01, 20)], axis=1)
        done.append(to_the_right)
    wall = wall_of((LINE, LINE), shown, done, lambda p: p[:, 0] > 0.8)
    assert not forbidden(wall, np.concatenate(shown)).any()
    assert forbidden(wall, [[0.75, 0.5], [0.85, 0.5]]).all()
    assert not forbidden(wall, [[0.05, 0.5], [0.1, 0.3], [0.1, 0.7], [-0.2, 0.5]]).any()


def limit(sides):
    """Demonstrated 0.3 to 0.7 of one axis; evidence beyond 0.15 of that on some sides."""
    rng = np.random.default_rng(0)
    shown = [rng.uniform(0.3, 0.7, (50, 1)) for _ in range(15)]
    reach = {"low": (0.0, 0.15), "high": (0.85, 1.0)}
    done = [
        np.concatenate(
            [
                rng.uniform(0.3, 0.7, (10, 1)),
                *(rng.uniform(*reach[side], (10, 1)) for side in sides),
            ]
        )
        for _ in range(6)
    ]
    wall = wall_of((LINE,), shown, done, lambda p: np.abs(p[:, 0] - 0.5) > 0.3)
    return wall, np.concatenate(shown)


def test_a_two_sided_limit_has_two_walls():
    wall, shown = limit(("low", "high"))
    line = np.linspace(0, 1, 1001)
    flags = forbidden(wall, line[:, None])
    assert not forbidden(wall, shown).any()
    assert flags[(line < 0.15) | (line > 0.85)].all()
    walls = line[1:][np.diff(flags.astype(int)) != 0]
    assert len(walls) == 2
    assert 0.15 < walls[0] < 0.31
    assert 0.69 < walls[1] < 0.85


@pytest.mark.parametrize(("side", "other"), [("low", "high"), ("high", "low")])
def test_the_side_that_no_evidence_enters_stays_allowed(side, other):
    wall, _ = limit((side,))
    ends = {"low": 0.05, "high": 0.95}
    assert forbidden(wall, [[ends[side]]]).all()
    assert not forbidden(wall, [[ends[other]]]).any()


def test_a_name_is_forbidden_and_its_neighbours_are_not():
    # demonstrations know 0, 1 and 4; agents choose 3; nobody ever 2 or 5
    shown = [np.array([[0.0], [1.0], [4.0], [0.0]]) for _ in range(6)]
    done = [np.array([[0.0], [3.0], [1.0]]) for _ in range(4)]
    wall = wall_of((names(6),), shown, done, lambda p: p[:, 0] == 3)
    assert (wall.depth > 1).tolist() == [False, False, False, True, False, False]


def test_a_limit_within_one_name_leaves_the_other_names_alone():
    # under name 0 demonstrations go anywhere from 0 to 1, under name 1 up to 0.5
    rng = np.random.default_rng(0)

    def side(high, number):
        name = rng.integers(0, 2, number)
        return np.stack([rng.uniform(0, 1, number) * np.where(name == 1, high, 1.0), name], axis=1)

    def flagged(places):
        return (places[:, 1] == 1) & (places[:, 0] > 0.7)

    shown = [side(0.5, 80) for _ in range(15)]
    done = [side(1.0, 80) for _ in range(8)]
    wall = wall_of((LINE, names(2)), shown, done, flagged)
    assert not forbidden(wall, np.concatenate(shown)).any()
    line = np.linspace(0.02, 0.95, 100)
    assert not forbidden(wall, np.stack([line, np.zeros(100)], axis=1)).any()
    flags = forbidden(wall, np.stack([line, np.ones(100)], axis=1))
    assert flags[line > 0.7].all()
    assert not flags[line < 0.49].any()


def test_the_wall_stands_further_off_where_demonstrations_are_fewer():
    # each keeps to a line of its own, so that of few the outermost is far beyond the others
    def borne(number):
        lines = np.linspace(0.0, 0.6, number)
        along = np.linspace(0.0, 1.0, 100)
        shown = [np.stack([np.full(100, line), along], axis=1) for line in lines]
        done = [np.stack([np.linspace(0.9, 1.0, 10), np.full(10, y)], axis=1) for y in (0.3, 0.6)]
        return wall_of((LINE, LINE), shown, done, lambda p: p[:, 0] > 0.8).borne

    assert borne(5) > 3 * borne(50)


def test_agents_that_hardly_count_open_no_piece():
    # agent 0 goes below what is shown with a weight of 0.001, agent 1 above it with the rest
    rng = np.random.default_rng(0)
    shown = [rng.uniform(0.3, 0.7, (50, 1)) for _ in range(10)]
    done = [np.linspace(0.0, 0.1, 8)[:, None], np.linspace(0.9, 1.0, 8)[:, None]]
    wall = wall_of((LINE,), shown, done, lambda p: p[:, 0] > -1, weights=[0.001, 0.999])
    assert forbidden(wall, [[0.05], [0.95]]).tolist() == [False, True]


def test_the_numbers_of_a_wall_are_shares_and_depths(half_plane, disc):
    for wall in (half_plane[0], disc[0], limit(("low",))[0]):
        assert wall.depth.dtype == np.float32
        assert wall.depth.shape == tuple(len(grid) for grid in wall.grids)
        assert wall.depth.min() >= 0
        assert wall.borne > 0
        assert wall.evidence_depth > 1  # there is room for caution before the evidence
        assert 0 <= wall.flagged_held_out <= 1


def test_what_lies_beyond_a_dotted_line_of_demonstrations_stays_allowed():
    # demonstrations stand in clusters on both sides of a strip whose middle nobody shows;
    # agents are above it, and the clusters are nearer to each other than agents are to them
    rng = np.random.default_rng(0)
    shown = []
    for _ in range(15):
        spots = [(x, y) for x in np.linspace(0.05, 0.95, 7) for y in (0.2, 0.5)]
        shown.append(np.concatenate([rng.normal(spot, 0.01, (8, 2)) for spot in spots]))
    done = [rng.uniform([0.0, 0.85], [1.0, 1.0], (40, 2)) for _ in range(8)]
    wall = wall_of((LINE, LINE), shown, done, lambda p: p[:, 1] > 0.8)
    middle = rng.uniform([0.1, 0.28], [0.9, 0.42], (400, 2))
    assert not forbidden(wall, middle).any()
    assert forbidden(wall, rng.uniform([0.1, 0.6], [0.9, 1.0], (400, 2))).all()


def test_nobody_can_be_inside_the_circle_of_a_sine_and_a_cosine():
    # demonstrations are slow on one arc of a ring and anything elsewhere; agents are fast all round
    rng = np.random.default_rng(0)

    def ring(number, fast):
        angles = rng.uniform(-np.pi, np.pi, number)
        speeds = rng.uniform(0.0, 1.0, number)
        if fast:
            speeds = np.full(number, 0.97)
        else:
            speeds = np.where(np.abs(angles) < 1.0, 0.4 * speeds, speeds)
        return np.stack([np.cos(angles) / 2 + 0.5, np.sin(angles) / 2 + 0.5, speeds], axis=1)

    def on_arc(places):
        return (places[:, 0] > 0.5 + np.cos(0.9) / 2) & (places[:, 2] > 0.5)

    shown = [ring(400, fast=False) for _ in range(20)]
    done = [ring(200, fast=True) for _ in range(8)]
    wall = wall_of((LINE, LINE, LINE), shown, done, on_arc)
    fresh = ring(4000, fast=False)
    assert forbidden(wall, fresh).mean() < 0.03
    fast = ring(4000, fast=True)
    assert forbidden(wall, fast[on_arc(fast)]).mean() > 0.97
    middle = np.array([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8], [0.6, 0.45, 0.5]])
    assert not forbidden(wall, middle).any()


def test_between_demonstrations_and_evidence_there_is_no_hole_where_nobody_was():
    # slow on one arc of a ring and fast elsewhere: nobody is ever half as fast
    rng = np.random.default_rng(0)

    def ring(number, slow_on_arc):
        angles = rng.uniform(-np.pi, np.pi, number)
        speeds = rng.uniform(0.9, 1.0, number)
        if slow_on_arc:
            speeds = np.where(np.abs(angles) < 1.0, rng.uniform(0.35, 0.4, number), speeds)
        return np.stack([np.cos(angles) / 2 + 0.5, np.sin(angles) / 2 + 0.5, speeds], axis=1)

    def on_arc(places):
        return (places[:, 0] > 0.5 + np.cos(0.9) / 2) & (places[:, 2] > 0.5)

    shown = [ring(400, slow_on_arc=True) for _ in range(20)]
    done = [ring(200, slow_on_arc=False) for _ in range(8)]
    wall = wall_of((LINE, LINE, LINE), shown, done, on_arc)
    angles = np.linspace(-0.8, 0.8, 40)
    for speed in (0.5, 0.6, 0.7, 0.8, 0.95):
        cut = np.stack([np.cos(angles) / 2 + 0.5, np.sin(angles) / 2 + 0.5, 0 * angles + speed], 1)
        assert forbidden(wall, cut).all(), speed
    opposite = np.array([[0.0, 0.5, 0.95], [0.05, 0.7, 0.95]])
    assert not forbidden(wall, opposite).any()
    assert not forbidden(wall, np.array([[0.5, 0.5, 0.6]])).any()


def test_how_far_a_ray_goes_is_what_it_meets_first():
    """Node by node, against the slow way: each ray by itself, to its end."""
    rng = np.random.default_rng(0)
    shape = (24, 17)
    from_shown = rng.uniform(0.0, 1.0, shape) * rng.choice([0.05, 1.0], shape, p=[0.1, 0.9])
    possible = rng.uniform(size=shape) < 0.97
    number = 400
    origins = np.stack([rng.integers(0, nodes, number) for nodes in shape], axis=1)
    angles = rng.uniform(0.0, 2 * np.pi, number)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    limits = rng.uniform(0.0, 30.0, number)
    gaps = _GAP * rng.uniform(0.0, 0.5, number)
    borne = 0.03
    rays = _Rays(
        origins=list(origins.T.astype(np.float64)),
        directions=list(directions.T),
        shape=shape,
        length=24,
    )
    reach = _reach(rays, possible.ravel(), from_shown.ravel(), borne, borne, limits, gaps)
    for i in range(number):
        met = ended = None
        least = np.inf
        for step in range(24):
            node = tuple(np.rint(origins[i] + directions[i] * step).astype(np.int64))
            if not all(0 <= place < nodes for place, nodes in zip(node, shape, strict=True)):
                break
            room = from_shown[node]
            least = min(least, room)
            if met is None and room <= borne:
                met = step
            passed = least <= gaps[i] and room > least + borne
            if ended is None and (passed or not possible[node]):
                ended = step
        expected = limits[i]
        if met is not None:
            expected = met
        if ended is not None:
            expected = min(expected, ended)
        assert reach[i] == min(expected, 24)


def test_names_that_are_shown_are_allowed_without_doubt():
    shown = [np.zeros((5, 1))] * 10
    done = [np.ones((5, 1))] * 4
    wall = wall_of((names(2),), shown, done, lambda p: p[:, 0] == 1.0)
    assert wall.depth[0] == 0.0
    assert wall.depth[1] > 10.0
