"""A chart against the grid that it pictures."""

import numpy as np
import pytest

from icrl.constraint.chart import ALLOWED, FORBIDDEN, LOOK, make_chart
from icrl.constraint.region import Region, RegionAxis


def region_over(rng, dimensions):
    """Depths of 0 to 2 at uneven nodes, between -5 and 5; forbidden above 1."""
    axes = []
    for axis in range(dimensions):
        nodes = np.sort(rng.uniform(-5, 5, 12))
        axes.append(RegionAxis(columns=(axis,), nodes=nodes))
    depth = rng.uniform(0, 2, (12,) * dimensions).astype(np.float32)
    return Region(axes=tuple(axes), depth=depth, evidence_depth=3.0)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_where_the_chart_is_sure_the_grid_says_the_same(dimensions):
    rng = np.random.default_rng(dimensions)
    region = region_over(rng, dimensions)
    places = rng.uniform(-8, 8, (5_000, dimensions)).astype(np.float32)  # beyond the ends, too
    said = make_chart(region).look([places[:, axis] for axis in range(dimensions)])
    forbidden = region.depths(places) > region.level
    assert not forbidden[said == ALLOWED].any()
    assert forbidden[said == FORBIDDEN].all()
    assert (said != LOOK).any()


def test_along_one_axis_few_places_need_a_look():
    nodes = np.linspace(0.0, 1.0, 101)
    region = Region(
        axes=(RegionAxis(columns=(0,), nodes=nodes),),
        depth=np.where(nodes > 0.5, 2.0, 0.0).astype(np.float32),
        evidence_depth=3.0,
    )
    places = np.linspace(0.0, 1.0, 1_001, dtype=np.float32)
    said = make_chart(region).look([places])
    # the wall runs between the nodes at 0.50 and 0.51: 1 % of all places, and the squares beside it
    assert np.mean(said == LOOK) < 0.03
    assert (said[places < 0.49] == ALLOWED).all()
    assert (said[places > 0.52] == FORBIDDEN).all()


def test_names_have_no_chart():
    axis = RegionAxis(columns=(0, 1), nodes=np.arange(2.0))
    region = Region(axes=(axis,), depth=np.array([0.0, 2.0], np.float32), evidence_depth=3.0)
    assert make_chart(region) is None
