"""Places, boxes, discs: the best shape of each kind, on places whose shape is known."""

import numpy as np
import pytest

from icrl.constraint.region import RegionAxis
from icrl.explain.boxes import box, boxes, search_of
from icrl.explain.discs import discs
from icrl.explain.fitting import forms_of
from icrl.explain.places import Places, gains_of

GRID = np.linspace(-10.0, 10.0, 41)


def places_of(forbidden, names=("east_m", "north_m")):
    """A grid of places over two numbers, forbidden where the function says so."""
    values = np.stack(np.meshgrid(GRID, GRID, indexing="ij"), axis=-1).reshape(-1, 2)
    axes = tuple(RegionAxis(columns=(i,), nodes=GRID) for i in range(2))
    where = forbidden(values[:, 0], values[:, 1])
    return Places(names=names, axes=axes, values=values, gains=gains_of([where]))


def test_what_is_forbidden_and_what_is_allowed_weigh_the_same():
    gains = gains_of([np.array([True, False, False, False])])
    # half of the weight on the one, half on the three
    assert gains == pytest.approx([0.5, -1 / 6, -1 / 6, -1 / 6])
    several = gains_of([np.array([True, False]), np.array([True, True])])
    assert several == pytest.approx([0.25, -0.25, 0.125, 0.125])


def test_the_gain_of_the_right_shape_is_all_there_is():
    places = places_of(lambda x, y: x > 3)
    thresholds = {form.name: form for form in boxes(places, [0, 1])}
    assert places.gain(thresholds["threshold"].shape) == pytest.approx(0.5)
    assert places.within(np.zeros(len(places.values), bool)).gains.tolist() == [0.0] * 1681


def test_a_box_is_found_with_its_four_sides():
    places = places_of(lambda x, y: (x > -2) & (x < 4) & (y > 1) & (y < 7))
    search = search_of(places, [0, 1])
    found = box(search, search.gains)
    inside = np.all([condition.holds(search.values) for condition in found], axis=0)
    np.testing.assert_array_equal(inside, places.gains > 0)


def test_a_disc_is_found_where_both_have_the_same_unit():
    places = places_of(lambda x, y: np.hypot(x - 2, y + 1) < 4)
    found = {form.name: form.shape for form in discs(places, 0, 1) if form.shape.inside}
    assert found["disc"].centre == pytest.approx((2, -1), abs=0.5)
    assert found["disc"].radii == pytest.approx((4, 4), abs=0.5)
    mixed = places_of(lambda x, y: np.hypot(x - 2, y + 1) < 4, names=("east_m", "speed_kmh"))
    assert {form.name for form in discs(mixed, 0, 1)} == {"ellipse"}


def test_every_kind_that_two_numbers_can_have_is_tried():
    places = places_of(lambda x, y: x + y > 5)
    names = {form.name for form in forms_of(places)}
    assert {"threshold", "interval", "box", "ellipse", "disc"} <= names
    best = max(forms_of(places), key=lambda form: places.gain(form.shape))
    assert "plane" in best.name
