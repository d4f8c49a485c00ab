"""The search is exact: it finds what trying everything finds."""

import itertools
import math

import numpy as np
import pytest

from icrl.explain.search import Condition, Search, round_between


def brute_threshold(column, gains):
    """Best sum of gains over `<= v` and `> v`, both sides non-empty."""
    options = np.unique(column)[:-1]
    return max(max(gains[column <= v].sum(), gains[column > v].sum()) for v in options)


def brute_interval(column, gains):
    values = np.unique(column)
    pairs = itertools.combinations_with_replacement(values, 2)
    return max(gains[(column >= low) & (column <= high)].sum() for low, high in pairs)


@pytest.mark.parametrize("seed", range(20))
def test_threshold_and_interval_are_as_good_as_trying_everything(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 12, (60, 2)).astype(float) if seed % 2 else rng.normal(size=(60, 2))
    forbidden = rng.random(60) < 0.4
    forbidden[:2] = True, False
    search = Search(("a", "b"), np.zeros(2, bool), values, forbidden)
    for feature in (0, 1):
        column = values[:, feature]
        found = search.threshold(feature, search.gains)
        assert search.gain((found,)) >= brute_threshold(column, search.gains) - 0.001 - 1e-12
        assert math.isinf(found.low) != math.isinf(found.high)
        found = search.interval(feature, search.gains)
        # each of the two bounds may give away the plateau's thousandth for a rounder number
        assert search.gain((found,)) >= brute_interval(column, search.gains) - 0.002 - 1e-12


def test_the_gain_is_balanced_agreement_above_a_half():
    values = np.array([[0.0], [1.0], [2.0], [3.0]])
    search = Search(("a",), np.zeros(1, bool), values, np.array([True, False, False, False]))
    # forbids the one forbidden pair (1/1) and one of three allowed (1/3): ½ (1 + 2/3) = 5/6
    assert search.gain((Condition(0, "a", -math.inf, 1.0, False),)) == pytest.approx(5 / 6 - 1 / 2)


def test_a_box_needs_both_features():
    rng = np.random.default_rng(0)
    values = rng.uniform(-4, 4, (4000, 3))
    forbidden = (np.abs(values[:, 0]) < 1) & (values[:, 2] > -2.5) & (values[:, 2] < -1.5)
    search = Search(("x", "z", "y"), np.zeros(3, bool), values, forbidden)
    rule = search.box(search.gains)
    assert {condition.name for condition in rule} == {"x", "y"}
    assert search.gain(rule) > 0.49
    bounds = {c.name: (c.low, c.high) for c in rule}
    np.testing.assert_allclose(bounds["x"], (-1, 1), atol=0.15)
    np.testing.assert_allclose(bounds["y"], (-2.5, -1.5), atol=0.15)


def test_a_list_covers_two_ends():
    values = np.linspace(-5, 5, 1001)[:, None]
    forbidden = (values[:, 0] < -3) | (values[:, 0] > 4)
    search = Search(("x",), np.zeros(1, bool), values, forbidden)
    rules = search.rules()
    assert len(rules) == 2
    assert search.gain_of_any(rules) == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (-2.97, -2.13, -2.0 - 0.5),
        (0.12, 0.19, 0.15),
        (-40.0, 30.0, 0.0),
        (1.0, 1.0, 1.0),
        (104.2, 107.9, 106.0),
    ],
)
def test_bounds_are_round(low, high, expected):
    found = round_between(low, high)
    if low < high:
        assert low <= found < high
    # -2.5: one decimal; both -2.5 and -2.6 are within, the middle is -2.55
    assert found == pytest.approx(expected, abs=0.11)


def test_conditions_read_as_people_write_them():
    assert str(Condition(0, "x", -math.inf, -2.9, False)) == "x <= -2.9"
    assert str(Condition(0, "x", 3.0, math.inf, False)) == "x > 3"
    assert str(Condition(0, "x", -1.0, 1.0, False)) == "-1 < x <= 1"
    assert str(Condition(0, "left", 0.5, math.inf, True)) == "action = left"
    assert str(Condition(0, "left", -math.inf, 0.5, True)) == "action is not left"
