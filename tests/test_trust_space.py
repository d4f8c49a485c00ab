"""The space of a region's own axes: distances by hand."""

import numpy as np
import pytest

from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.region import Region, RegionAxis
from icrl.trust.space import space_of
from icrl.types import Trajectories

NODES = np.linspace(0.0, 10.0, 11)
FEATURES = Features(
    names=("x",),
    columns=(0,),
    lower=(-1e6,),
    upper=(1e6,),
    num_observations=1,
    num_actions=1,
    discrete=False,
)


def space():
    """Forbidden from x = 7 on; two demonstrations, at 0, 2 and at 1, 5; an agent at 10."""
    depth = np.where(NODES >= 7, 3.0, 0.0).astype(np.float32)
    axes = (RegionAxis(columns=(0,), nodes=NODES),)
    region = Region(axes=axes, depth=depth, evidence_depth=4.0)
    demos = Trajectories(
        observations=np.array([[[0.0], [2.0]], [[1.0], [5.0]]], np.float32),
        actions=np.zeros((2, 2, 1), np.float32),
        rewards=np.zeros((2, 2), np.float32),
        lengths=np.array([2, 2]),
    )
    constraint = LearnedConstraint(features=FEATURES, region=region)
    return space_of(constraint, demos, np.array([[10.0]]))


def test_the_range_of_the_data_is_1():
    found = space()
    assert found.shown[:, 0] == pytest.approx([0.0, 0.2, 0.1, 0.5])
    places = found.places(np.array([[10.0], [5.0]]), np.zeros((2, 1)))
    assert places[:, 0] == pytest.approx([1.0, 0.5])


def test_distances_to_demonstrations():
    found = space()
    assert found.from_shown(np.array([[0.7], [0.2]])) == pytest.approx([0.2, 0.0])
    # 0 and 2 are 1 away from the other's 1; 1 is 1 away from 0 and 2; 5 is 3 away from 2
    assert found.held_out() == pytest.approx([0.1, 0.1, 0.1, 0.3])
    assert found.held_out(np.array([0])).tolist() == [0.0] * 4  # nobody to compare with


def test_forbidden_places_and_their_edge():
    found = space()
    assert found.forbidden()[:, 0] == pytest.approx([0.7, 0.8, 0.9, 1.0])
    assert found.edge()[:, 0] == pytest.approx([0.6])  # the last that is allowed
