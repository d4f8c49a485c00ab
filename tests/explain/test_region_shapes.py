"""Regions whose rule is known are read as that rule:
thresholds, half-planes, discs, zones, walls, names."""

import numpy as np
import pytest

from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.region import Region, RegionAxis
from icrl.explain.judged import EXPERT, Judged
from icrl.explain.left_open import open_wall, rivals_of
from icrl.explain.maps import maps_of
from icrl.explain.region_sample import even_sample
from icrl.explain.rules import explain_region
from icrl.explain.shapes import Among, Arc, Boxes, Disc, HalfPlane, Outside, features_of
from icrl.types import Pairs

NODES = {1: 801, 2: 201, 3: 61}
MOST = 3e38


def region_of(names, limits, forbidden, *, depth=3.0, card=None):
    """A constraint over numbers within limits [(low, high), ...] that forbids
    where the function says so.

    Its depth rises from 0 to `depth` within a cell of the grid,
    so the wall is where the function has it.
    """
    nodes = [np.linspace(low, high, NODES[len(names)]) for low, high in limits]
    mesh = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1)
    where = forbidden(*np.moveaxis(mesh, -1, 0))
    return constraint_of(
        names,
        tuple(RegionAxis(columns=(i,), nodes=values) for i, values in enumerate(nodes)),
        np.where(where, depth, 0.0),
        card,
    )


def constraint_of(names, axes, depth, card=None, discrete_actions=0):
    features = Features(
        names=names,
        columns=tuple(range(len(names))),
        lower=(-MOST,) * len(names),
        upper=(MOST,) * len(names),
        num_observations=len(names) - discrete_actions,
        num_actions=max(discrete_actions, 1),
        discrete=discrete_actions > 0,
    )
    region = Region(axes=axes, depth=depth.astype(np.float32), evidence_depth=4.0)
    return LearnedConstraint(features=features, region=region, card=card or {})


def judged_over(constraint, limits, forbidden, num=4000, seed=3):
    """Pairs all over the box: those of the first half that are allowed are the expert's."""
    rng = np.random.default_rng(seed)
    values = np.stack([rng.uniform(low, high, num) for low, high in limits], axis=1)
    where = np.asarray(forbidden(*values.T))
    episodes = np.arange(num) // 100
    episodes[(np.arange(num) < num // 2) & ~where] = EXPERT
    return Judged(
        names=constraint.features.names,
        choices=np.zeros(values.shape[1], bool),
        values=values,
        forbidden=where,
        episodes=episodes,
        pairs=Pairs(observations=values, actions=np.zeros((num, 1))),
    )


def read(names, limits, forbidden):
    constraint = region_of(names, limits, forbidden)
    return explain_region(constraint, judged_over(constraint, limits, forbidden))[0]


def test_a_threshold():
    rule = read(("temperature_c",), [(20, 300)], lambda t: t > 190)
    assert rule.form == "threshold"
    (condition,) = rule.rules[0]
    assert condition.low == pytest.approx(190, abs=1)
    assert rule.fits
    assert min(rule.fidelity.balanced_agreement, rule.fidelity.even_agreement) > 0.99


def test_a_limit_on_both_sides():
    rule = read(("sway_mm",), [(-70, 70)], lambda x: np.abs(x) > 30)
    assert isinstance(rule.shape, Outside)
    (allowed,) = rule.shape.allowed
    assert (allowed.low, allowed.high) == (pytest.approx(-30, abs=0.5), pytest.approx(30, abs=0.5))
    assert str(rule).startswith("sway_mm <= -")
    assert ", or sway_mm > " in str(rule)


def test_an_interval():
    rule = read(("way_m",), [(0, 500)], lambda x: (x > 150) & (x < 330))
    (condition,) = rule.rules[0]
    assert (condition.low, condition.high) == (pytest.approx(150, abs=2), pytest.approx(330, abs=2))


def test_an_oblique_half_plane_has_a_round_weight():
    rule = read(("a", "b"), [(0, 120), (0, 50)], lambda a, b: a + 2 * b > 125)
    assert isinstance(rule.shape, HalfPlane)
    assert (rule.shape.weight, rule.shape.above) == (2.0, True)
    assert rule.shape.limit == pytest.approx(125, abs=1.5)
    assert str(rule).startswith("a + 2 b > 12")
    down = read(("a", "b"), [(0, 10), (0, 10)], lambda a, b: a - b < -2)
    assert (down.shape.weight, down.shape.above) == (-1.0, False)
    assert str(down).startswith("a - b <= -")


def test_a_box():
    def inside(x, y):
        return (x > 5) & (x < 7) & (y < 4.5)

    rule = read(("east_km", "north_km"), [(0, 12), (0, 6)], inside)
    assert isinstance(rule.shape, Boxes)
    assert rule.form == "box"
    east, north = rule.shape.rules[0]
    assert (east.low, east.high) == (pytest.approx(5, abs=0.1), pytest.approx(7, abs=0.1))
    assert (north.low, north.high) == (-np.inf, pytest.approx(4.5, abs=0.1))
    # a limit within a zone is said as one
    assert str(rule).startswith("north_km <= 4.")
    assert " where " in str(rule)


def test_a_disc():
    def inside(x, y):
        return (x - 300) ** 2 + (y - 120) ** 2 <= 21**2

    rule = read(("east_m", "north_m"), [(250, 350), (70, 170)], inside)
    assert isinstance(rule.shape, Disc)
    assert str(rule) == "(east_m, north_m) within 21 of (300, 120)"


def test_an_ellipse_where_the_units_differ():
    def inside(x, y):
        return ((x - 3000) / 800) ** 2 + ((y - 150) / 40) ** 2 <= 1

    rule = read(("speed_rpm", "torque_nm"), [(800, 7000), (20, 420)], inside)
    assert isinstance(rule.shape, Disc)
    assert rule.shape.centre == (pytest.approx(3000, abs=60), pytest.approx(150, abs=4))
    assert rule.shape.radii == (pytest.approx(800, rel=0.08), pytest.approx(40, rel=0.08))


def test_a_limit_in_a_zone():
    def forbidden(way, flow):
        return (way > 150) & (way < 330) & (flow > 9)

    rule = read(("way_m", "flow_l_per_min"), [(0, 500), (0, 30)], forbidden)
    assert " where " in str(rule)
    assert str(rule).startswith("flow_l_per_min > ")
    by_name = {condition.name: condition for condition in rule.rules[0]}
    assert by_name["flow_l_per_min"].low == pytest.approx(9, abs=0.3)
    assert by_name["way_m"].low == pytest.approx(150, abs=4)
    assert by_name["way_m"].high == pytest.approx(330, abs=4)


def test_two_walls():
    rule = read(
        ("speed_rpm", "torque_nm"),
        [(800, 7000), (20, 420)],
        lambda speed, torque: (speed > 5200) | (torque > 310),
    )
    assert rule.form == "walls"
    walls = {condition.name: condition.high for condition in rule.shape.allowed}
    assert walls == {
        "speed_rpm": pytest.approx(5200, abs=50),
        "torque_nm": pytest.approx(310, abs=4),
    }


def test_a_corner_of_three_features():
    def forbidden(t, h, c):
        return (t > 28) & (h > 70) & (c > 1000)

    rule = read(("t_c", "h_percent", "co2_ppm"), [(15, 40), (30, 95), (400, 1600)], forbidden)
    assert rule.form == "box"
    lows = {condition.name: condition.low for condition in rule.rules[0]}
    assert lows["t_c"] == pytest.approx(28, abs=0.5)
    assert lows["h_percent"] == pytest.approx(70, abs=1.5)
    assert lows["co2_ppm"] == pytest.approx(1000, abs=25)


def test_a_limit_on_part_of_a_ring():
    def forbidden(cosine, sine, speed):
        angle = np.rad2deg(np.arctan2(sine, cosine)) % 360
        return (angle >= 60) & (angle <= 180) & (speed > 10)

    names = ("ring_cos", "ring_sin", "speed_m_per_s")
    limits = [(-1.2, 1.2), (-1.2, 1.2), (0, 25)]
    constraint = region_of(names, limits, forbidden)
    judged = judged_over(constraint, limits, forbidden)
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, len(judged.values))
    judged.values[:, 0] = np.cos(angle)
    judged.values[:, 1] = np.sin(angle)
    judged = judged.judged_as(np.asarray(forbidden(*judged.values.T)))
    rule = explain_region(constraint, judged)[0]
    assert rule.form == "limit on an arc"
    assert str(rule).startswith("speed_m_per_s > ")
    arc = rule.shape.zone
    assert isinstance(arc, Arc)
    assert (arc.begin, arc.end) == (pytest.approx(60, abs=4), pytest.approx(180, abs=4))
    # and an arc may pass 0 degrees
    over = Arc((0, 1), "ring", 350.0, 20.0)
    places = np.stack(
        [np.cos(np.deg2rad([355, 10, 30, 180])), np.sin(np.deg2rad([355, 10, 30, 180]))], axis=1
    )
    assert list(over.holds(places)) == [True, True, False, False]
    assert features_of(rule.shape) == [0, 1, 2]


def names_region(names, members, discrete_actions=0):
    axis = RegionAxis(columns=tuple(range(len(names))), nodes=np.arange(len(names), dtype=float))
    depth = np.zeros(len(names))
    depth[list(members)] = 3.0
    constraint = constraint_of(names, (axis,), depth, discrete_actions=discrete_actions)
    taken = np.random.default_rng(0).integers(0, len(names), 900)
    values = np.eye(len(names))[taken]
    where = np.isin(taken, members)
    judged = Judged(
        names=names,
        choices=np.full(len(names), discrete_actions > 0),
        values=values,
        forbidden=where,
        episodes=np.where(where, 0, EXPERT),
        pairs=Pairs(observations=values, actions=np.zeros((900, 1))),
    )
    return constraint, judged


def test_an_action_that_is_never_taken():
    rule = explain_region(*names_region(("north", "south", "east", "west", "ride"), [4], 5))[0]
    assert isinstance(rule.shape, Among)
    assert str(rule) == "action = ride"
    assert rule.fits


def test_blocked_cells_are_listed():
    names = tuple(f"cell_{row}_{column}" for row in range(3) for column in range(3))
    constraint, judged = names_region(names, [1, 4, 8])
    rule = explain_region(constraint, judged)[0]
    assert str(rule) == "cell is one of cell_0_1, cell_1_1, cell_2_2"
    assert open_wall(constraint, judged, rule) is None  # nothing lies between names


def test_a_limit_for_some_names():
    names = ("speed", "day", "night")
    speeds = np.linspace(0, 30, 301)
    depth = np.stack([np.zeros(301), np.where(speeds > 10, 3.0, 0.0)], axis=1)
    axes = (
        RegionAxis(columns=(0,), nodes=speeds),
        RegionAxis(columns=(1, 2), nodes=np.arange(2.0)),
    )
    constraint = constraint_of(names, axes, depth)
    rng = np.random.default_rng(0)
    night = rng.integers(0, 2, 2000)
    speed = rng.uniform(0, 30, 2000)
    values = np.stack([speed, 1.0 - night, night], axis=1)
    where = (night == 1) & (speed > 10)
    judged = Judged(
        names=names,
        choices=np.zeros(3, bool),
        values=values,
        forbidden=where,
        episodes=np.where(where, 0, EXPERT),
        pairs=Pairs(observations=values, actions=np.zeros((2000, 1))),
    )
    rule = explain_region(constraint, judged)[0]
    assert rule.form == "threshold for names"
    assert str(rule).endswith(" where action = night")
    assert str(rule).startswith("speed > ")
    (found,) = maps_of(constraint, judged)
    assert found.choices == ("day", "night")
    assert found.forbidden[1].any()
    assert not found.forbidden[0].any()


def test_no_short_rule_is_said_of_a_checkerboard():
    def squares(x, y):
        return (np.floor(x).astype(int) + np.floor(y).astype(int)) % 2 == 0

    rule = read(("x", "y"), [(0, 6), (0, 6)], squares)
    assert not rule.fits


def test_agreement_where_nobody_was_counts_too():
    # agents were only seen where x decides; the region also forbids the upper half of the rest
    def forbidden(x, y):
        return (x > 5) | (y > 5)

    constraint = region_of(("x", "y"), [(0, 10), (0, 10)], forbidden)
    judged = judged_over(constraint, [(0, 10), (0, 5)], forbidden)
    judged.values[0] = (0.0, 10.0)  # the box of the data reaches up to there
    rule = explain_region(constraint, judged.judged_as(np.asarray(forbidden(*judged.values.T))))[0]
    assert rule.form == "walls"
    assert rule.fidelity.even_agreement > 0.95


def test_the_even_sample_lies_in_the_box_of_the_data():
    constraint = region_of(("x", "y"), [(0, 10), (0, 10)], lambda x, y: x > 5)
    values = np.array([[2.0, -5.0], [20.0, 3.0]])
    places, where = even_sample(constraint, values)
    assert (places.min(axis=0) >= [2.0, 0.0]).all()  # no further than data, nor than the grid
    assert (places.max(axis=0) <= [10.0, 3.0]).all()
    clear = np.abs(places[:, 0] - 5.0) > 0.1  # not within a cell of the wall
    np.testing.assert_array_equal(where[clear], places[clear, 0] > 5.0)


def test_nothing_forbidden_is_no_rule():
    constraint = region_of(("x",), [(0, 1)], lambda x: x > 2)
    assert explain_region(constraint, judged_over(constraint, [(0, 1)], lambda x: x > 2)) == []


def test_what_caution_leaves_open_is_said_in_the_same_form():
    # depth grows by 1 every 10 degrees beyond 190: caution 0 is at depth 4, that is 230
    nodes = np.linspace(20, 300, 281)
    axis = RegionAxis(columns=(0,), nodes=nodes)
    constraint = constraint_of(("temperature_c",), (axis,), np.clip((nodes - 180) / 10, 0, None))
    judged = judged_over(constraint, [(20, 300)], lambda t: t > 190)
    rule = explain_region(constraint, judged)[0]
    wall = open_wall(constraint, judged, rule)
    cautious, lenient = (float(said.split("> ")[1]) for said in (wall.cautious, wall.lenient))
    assert cautious == pytest.approx(190, abs=2)
    assert lenient == pytest.approx(220, abs=2)  # (220 - 180) / 10 = 4
    assert wall.caution == 1.0


def test_rivals_are_read_from_the_card_and_nonsense_in_it_is_left_out():
    good = {"axes": "x", "score": 0.5, "explained": 1.0, "refuted": 0.0, "vetoed": True}
    constraint = region_of(
        ("x",), [(0, 1)], lambda x: x > 0.5, card={"search": {"rivals": [good, 3, {"axes": 1}]}}
    )
    (rival,) = rivals_of(constraint)
    assert (rival.axes, rival.score, rival.vetoed) == ("x", 0.5, True)
    assert rival.kept is None
    (tried,) = rivals_of(constraint.with_card({"search": {"rivals": [{**good, "kept": 0.25}]}}))
    assert tried.kept == 0.25
    assert rivals_of(constraint.with_card({"search": 3})) == ()
    assert (
        rivals_of(constraint.with_card({"search": {"rivals": [{**good, "score": "much"}]}})) == ()
    )


def test_three_axes_are_drawn_in_layers_and_one_is_not():
    limits = [(0, 1), (0, 1), (0, 1)]
    constraint = region_of(("x", "y", "z"), limits, lambda x, y, z: z > 0.6)
    maps = maps_of(constraint, judged_over(constraint, limits, lambda x, y, z: z > 0.6))
    assert [found.layer for found in maps] == ["z near 0.17", "z near 0.5", "z near 0.83"]
    assert [bool(found.forbidden.any()) for found in maps] == [False, False, True]
    assert maps[2].forbidden.all()
    line = region_of(("x",), [(0, 1)], lambda x: x > 0.5)
    assert maps_of(line, judged_over(line, [(0, 1)], lambda x: x > 0.5)) == ()
