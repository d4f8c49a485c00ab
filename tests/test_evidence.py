"""Which samples count: the paper's form, scouts, and samples that earn too much."""

from dataclasses import replace

import numpy as np
import pytest

from icrl.config import LearnConfig
from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations
from icrl.evidence import gather, out_earning
from icrl.trajectories import join, select
from icrl.types import Trajectories


def trajectories(returns, steps=2):
    """One trajectory per return, which it earns in its first step; the cell is the trajectory's number."""
    rewards = np.zeros((len(returns), steps), np.float32)
    rewards[:, 0] = returns
    cells = np.repeat(np.arange(len(returns), dtype=np.float32), steps).reshape(-1, steps, 1)
    lengths = np.full(len(returns), steps)
    return Trajectories(
        observations=cells, actions=np.zeros((len(returns), steps), int), rewards=rewards, lengths=lengths
    )


DEMOS = Demonstrations(trajectories=trajectories([8.0, 12.0]), discrete=True)  # they earn 10 on average


def test_without_scouts_the_evidence_is_this_rounds_samples():
    old, moved = gather(None, trajectories([1.0]), DEMOS, 0, LearnConfig())
    assert moved
    new, moved = gather(old, trajectories([2.0, 3.0]), DEMOS, 1, LearnConfig())
    assert moved
    assert new.trajectories.returns.tolist() == [2.0, 3.0]
    assert new.weights.tolist() == [1.0, 1.0]


def test_scouts_add_up_and_zeta_moves_after_the_last():
    config = LearnConfig(scouts=2, evidence_margin=0.5)
    evidence, moved = gather(None, trajectories([1.0]), DEMOS, 0, config)
    assert not moved
    evidence, moved = gather(evidence, trajectories([2.0]), DEMOS, 1, config)
    assert moved
    assert evidence.trajectories.returns.tolist() == [1.0, 2.0]
    # 15 is not more than 10 + 0.5 · 10
    same, moved = gather(evidence, trajectories([11.0, 15.0]), DEMOS, 2, config)
    assert not moved
    assert same is evidence
    more, moved = gather(evidence, trajectories([11.0, 16.0]), DEMOS, 3, config)
    assert moved
    assert more.trajectories.returns.tolist() == [1.0, 2.0, 11.0, 16.0]
    assert more.weights.tolist() == [1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(("demo_return", "expected"), [(10.0, [False, False, True]), (-10.0, [True, True, True])])
def test_out_earning_by_hand(demo_return, expected):
    # 10 + 0.5 · 10 = 15 and −10 + 0.5 · 10 = −5: the margin is a share of the size, whatever the sign
    demos = Demonstrations(trajectories=trajectories([demo_return]), discrete=True)
    assert out_earning(trajectories([0.0, 15.0, 15.1]), demos, 0.5).tolist() == expected


def test_nothing_out_earns_unknown_rewards():
    demos = replace(DEMOS, card=dict(REWARDS_UNKNOWN))
    assert not out_earning(trajectories([1e9]), demos, 0.0).any()


def test_join_pads_to_the_longest_and_select_keeps_the_order():
    joined = join([trajectories([1.0], steps=2), trajectories([2.0, 3.0], steps=4)])
    assert joined.observations.shape == (3, 4, 1)
    assert joined.lengths.tolist() == [2, 4, 4]
    assert joined.returns.tolist() == [1.0, 2.0, 3.0]
    assert not joined.observations[0, 2:].any()
    assert select(joined, np.array([True, False, True])).returns.tolist() == [1.0, 3.0]
