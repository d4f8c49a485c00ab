"""Rows in one piece of memory: the same as if they were joined, in few pieces."""

import numpy as np
import pytest

from icrl.growing import Growing


@pytest.mark.parametrize("shape", [(), (2,)])
def test_rows_are_those_that_were_added_in_order(shape):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, *shape)) for n in (3, 0, 1, 5, 40, 2)]
    grown = Growing(parts[0])
    for part in parts[1:]:
        grown.add(part)
    np.testing.assert_array_equal(grown.rows, np.concatenate(parts))


def test_what_was_handed_out_stays_as_it_is():
    first = np.arange(3)
    grown = Growing(first)
    grown.add(np.array([3]))
    before = grown.rows
    for number in range(4, 100):
        grown.add(np.array([number]))
    np.testing.assert_array_equal(first, [0, 1, 2])
    np.testing.assert_array_equal(before, [0, 1, 2, 3])


def test_the_type_is_that_of_rows_that_are_joined():
    grown = Growing(np.zeros(2, np.float32))
    grown.add(np.array([0.1]))
    assert grown.rows.dtype == np.float64
    np.testing.assert_array_equal(grown.rows, [0.0, 0.0, 0.1])


def test_a_thousand_additions_take_few_pieces_of_memory():
    grown = Growing(np.zeros(1))
    pieces = set()
    for _ in range(1000):
        grown.add(np.ones(1))
        pieces.add(grown.rows.__array_interface__["data"][0])
    assert len(grown.rows) == 1001
    assert len(pieces) <= 10  # 4, 10, 22, 46, 94, 190, 382, 766, 1534 rows
