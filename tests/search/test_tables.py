"""Tables of cells: who leaves what demonstrations visit, against loops over all pairs of steps."""

import itertools

import numpy as np
import pytest

from icrl.search.axes import Ruler
from icrl.search.tables import FOLDS, Steps, make_tables, sets_of

LINE = Ruler(values=np.array([0.0, 1.0]), places=np.array([0.0, 1.0]), few=False)
NAMES = Ruler(values=np.arange(4.0), places=np.arange(4.0), few=True)


def steps(rng, number, length, shift=0.0):
    """Places on two lines and among four names, for trajectories of different lengths."""
    lengths = rng.integers(1, length + 1, number)
    owners = np.repeat(np.arange(number), lengths)
    lines = rng.uniform(0, 1, (len(owners), 2)) ** 2 + shift
    names = rng.integers(0, 3 + (shift > 0), (len(owners), 1))
    return Steps(np.concatenate([lines, names], axis=1), owners, number)


def cell_of(places, axes, scale, shift):
    cell = []
    for axis in axes:
        if axis == 2:
            cell.append(int(places[axis]))
        else:
            top = scale if shift > 0 else scale - 1
            cell.append(min(int(min(max(places[axis], 0.0), 1.0) * scale + shift), top))
    return cell


def near(one, other, axes):
    """Along lines the next cell is near; among names only the same one."""
    return all(abs(a - b) <= (axis != 2) for a, b, axis in zip(one, other, axes, strict=True))


def slow_look(shown, done, units, axes, scale, shift):
    shown_cells = [cell_of(places, axes, scale, shift) for places in shown.places]
    done_cells = [cell_of(places, axes, scale, shift) for places in done.places]
    novel = [not any(near(mine, other, axes) for other in shown_cells) for mine in done_cells]
    refuted = set()
    for mine, unit in zip(shown_cells, units, strict=True):
        parts = zip(shown_cells, units % FOLDS, strict=True)
        others = [cell for cell, part in parts if part != unit % FOLDS]
        if not any(near(mine, other, axes) for other in others):
            refuted.add(int(unit))
    return len(refuted) / len(set(units.tolist())), novel


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_a_look_equals_a_double_loop(seed, shift):
    rng = np.random.default_rng(seed)
    shown = steps(rng, 8, 6)
    done = steps(rng, 5, 10, shift=0.3)
    tables = make_tables((LINE, LINE, NAMES), shown, done)
    looked = 0
    for axes, scale in itertools.product(sets_of(3, 3), (3, 6, 11)):
        look = tables.look(axes, scale, shift)
        refuted, novel = slow_look(shown, done, shown.owners, axes, scale, shift)
        np.testing.assert_array_equal(look.novel, novel)
        # a table that flags no agent is of no use: it is not asked what it refutes
        assert look.refuted == pytest.approx(refuted if any(novel) else 0.0)
        slow = [any(novel[i] for i in range(len(novel)) if done.owners[i] == j) for j in range(5)]
        np.testing.assert_array_equal(tables.entered(look.novel), slow)
        looked += any(novel) and 0 < refuted < 1
    assert looked >= 5  # the comparison was about something


def at(places, owners):
    return Steps(np.asarray(places, float)[:, None], np.asarray(owners), int(max(owners)) + 1)


def test_a_demonstration_does_not_vouch_for_itself():
    # ten cells; demonstrations 0-4 stay in cell 0; 5 also goes to cell 5, often: one of six leaves
    shown = at([0.05] * 6 + [0.55] * 9, [0, 1, 2, 3, 4, 5] + [5] * 9)
    tables = make_tables((LINE,), shown, at([0.95], [0]))
    assert tables.look((0,), 10).refuted == pytest.approx(1 / 6)
    # two of them go there, in different parts: they vouch for each other
    again = at([0.05] * 5 + [0.55] * 2 + [0.05], [0, 1, 2, 3, 4, 4, 5, 5])
    assert make_tables((LINE,), again, at([0.95], [0])).look((0,), 10).refuted == 0.0


def test_parts_are_whole_demonstrations():
    rng = np.random.default_rng(0)
    shown = steps(rng, 13, 7)
    tables = make_tables((LINE, LINE, NAMES), shown, steps(rng, 2, 3))
    np.testing.assert_array_equal(tables.units, shown.owners)
    for owner in range(13):
        assert len(set(tables.folds[shown.owners == owner].tolist())) == 1
    assert set(tables.folds.tolist()) == set(range(FOLDS))


@pytest.mark.parametrize("number", [1, 3])
def test_few_demonstrations_become_blocks_of_steps(number):
    length = 40
    owners = np.repeat(np.arange(number), length)
    places = np.tile(np.linspace(0, 1, length), number)
    tables = make_tables((LINE,), Steps(places[:, None], owners, number), at([0.5], [0]))
    np.testing.assert_array_equal(tables.units, tables.folds)
    assert np.all(np.diff(tables.folds) >= 0)  # in a row, not one by one
    counts = np.bincount(tables.folds)
    assert len(counts) == FOLDS
    assert counts.max() - counts.min() <= 1


def test_one_demonstration_that_only_moves_on_is_refuted_by_its_own_blocks():
    # in cells of 1/40 each of five blocks has six, the middle ones far from all other blocks
    shown = at(np.linspace(0, 0.8, 50), [0] * 50)
    assert make_tables((LINE,), shown, at([0.99], [0])).look((0,), 40).refuted == 1.0
    # there and back four times: every block sees all of it
    tour = at(np.tile(np.linspace(0, 0.8, 10), 5), [0] * 50)
    assert make_tables((LINE,), tour, at([0.99], [0])).look((0,), 8).refuted == 0.0


def test_a_name_next_to_a_visited_one_is_as_novel_as_any():
    def named(names):
        return Steps(np.asarray(names, float)[:, None], np.arange(len(names)), len(names))

    tables = make_tables((NAMES,), named([1, 1, 1, 1, 1]), named([0, 1, 2, 3]))
    np.testing.assert_array_equal(tables.look((0,), 4).novel, [True, False, True, True])


def test_a_table_is_made_once():
    rng = np.random.default_rng(0)
    tables = make_tables((LINE, LINE, NAMES), steps(rng, 6, 5), steps(rng, 3, 5, 0.3))
    assert tables.look((0, 1), 6) is tables.look((0, 1), 6)
    assert tables.look((0, 1), 6) is not tables.look((0, 1), 8)
    assert tables.look((0, 1), 6) is not tables.look((0, 1), 6, 0.5)


def test_sets_of_axes_are_counted_as_in_combinatorics():
    # 6 + 6·5/2 = 21; and 6·5·4/6 = 20 more
    assert len(sets_of(6)) == 21
    assert len(sets_of(6, 3)) == 41
    assert sets_of(2) == [(0,), (1,), (0, 1)]
    assert all(len(set(axes)) == len(axes) for axes in sets_of(5, 3))
