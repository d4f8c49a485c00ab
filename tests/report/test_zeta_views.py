"""ζ over x: how much of each agent is played."""

import pytest

from icrl.report.zeta_views import _enough


@pytest.mark.parametrize(("horizon", "episodes"), [(1000, 2), (500, 4), (150, 5), (5000, 2)])
def test_of_long_episodes_fewer_are_played(horizon, episodes):
    # about 2,000 steps, at least two episodes and at most five
    assert _enough(horizon) == episodes
