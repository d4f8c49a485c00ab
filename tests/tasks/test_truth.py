"""The true constraints, at and around their edges."""

import numpy as np
import pytest

from icrl.tasks import truth


@pytest.mark.parametrize("violates", [truth.half_cheetah_wall, truth.ant_wall, truth.point_wall])
def test_the_wall_stands_at_minus_three_and_belongs_to_the_forbidden_side(violates):
    observations = np.zeros((2, 3, 4), dtype=np.float32)
    observations[..., 0] = [[-2.999, -3.0, -3.001], [0.0, 3.0, -40.0]]
    assert violates(observations, np.zeros((2, 3, 2))).tolist() == [
        [False, True, True],
        [False, False, True],
    ]


def test_anticlockwise_is_forbidden_in_every_cell():
    observations = np.linspace(-1, 1, 4)[:, None]
    assert truth.lap_grid_anticlockwise(observations, np.array([0, 1, 1, 0])).tolist() == [
        False,
        True,
        True,
        False,
    ]
