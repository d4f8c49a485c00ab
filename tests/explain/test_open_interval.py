"""The interval that the data leave open, by hand arithmetic."""

import math
from dataclasses import replace

import numpy as np
import pytest
from test_rules import judged_by

from icrl.explain.judged import EXPERT, judge_pairs
from icrl.explain.open_interval import open_interval, turning_zone
from icrl.explain.search import Condition
from walls import wall_run


def example(sign=1.0):
    """Expert from -0.1 upwards; 20 episodes that end at -1 ..
    -20, every second step forbidden; one harmless one."""
    expert = np.linspace(-0.1, 5, 52)
    parts, episodes, forbidden = [expert], [np.full(52, EXPERT)], [np.zeros(52, bool)]
    for episode in range(20):
        path = np.array([0.0, 0.0, -(episode + 1.0), -(episode + 1.0)])
        parts, episodes = [*parts, path], [*episodes, np.full(4, episode)]
        forbidden.append(path < 0)
    parts, episodes, forbidden = (
        [*parts, np.linspace(0, 3, 11)],
        [*episodes, np.full(11, 20)],
        [*forbidden, [False] * 11],
    )
    values = sign * np.concatenate(parts)[:, None]
    return judged_by(values, np.concatenate(forbidden), np.concatenate(episodes), names=("x",))


def test_both_ends_by_hand():
    found = open_interval(example(), Condition(0, "x", -math.inf, -0.5, False))
    assert found.high == found.proven == pytest.approx(-0.1)
    # the episodes reach -1 .. -20; 19 of 20 (95 %) reach -2 or further:
    # sorted from the lowest, the 19th is -2
    assert found.low == found.needed == -2.0
    assert found.flagged_episodes == 20
    # two of their four steps are past -0.1: -1, -1, -2, -2, ...;
    # the 95 % quantile from below lies between -2 and -1
    assert found.bulk == pytest.approx(-1.95, abs=0.06)
    # between -2 and -0.1 there are the two steps at -1:
    # the widest stretch without anybody is -2 .. -1
    assert found.agents_between == 2
    assert found.gap == (-2.0, -1.0)
    assert not found.contradictory


def test_what_pays_nothing_needs_no_explanation():
    judged = example()
    # those that reach -1 .. -4 earn too little
    judged = replace(judged, paid=~np.isin(judged.episodes, (0, 1, 2, 3)))
    found = open_interval(judged, Condition(0, "x", -math.inf, -0.5, False))
    # 16 episodes reach -5 .. -20: all of them are needed for 95 %
    assert (found.needed, found.flagged_episodes) == (-5.0, 16)


def test_a_wall_on_the_other_side_is_the_mirror_image():
    found = open_interval(example(-1.0), Condition(0, "x", 0.5, math.inf, False))
    assert (found.low, found.high) == (pytest.approx(0.1), 2.0)
    assert found.gap == (1.0, 2.0)
    assert not found.contradictory


def test_without_flagged_episodes_nothing_bounds_the_far_side():
    judged = judged_by(
        np.linspace(0, 1, 30)[:, None], np.zeros(30, bool), np.full(30, EXPERT), names=("x",)
    )
    found = open_interval(judged, Condition(0, "x", -math.inf, -0.5, False))
    assert found.low is None
    assert found.high == 0.0
    assert found.flagged_episodes == 0


def test_evidence_inside_what_was_demonstrated_is_a_contradiction():
    values = np.concatenate([np.linspace(-5, 5, 50), np.linspace(1, 2, 20)])[:, None]
    episodes = np.concatenate([np.full(50, EXPERT), np.zeros(20, int)])
    judged = judged_by(values, episodes == 0, episodes, names=("x",))
    assert open_interval(judged, Condition(0, "x", -math.inf, 1.5, False)).contradictory


def test_zeta_turns_where_the_wall_is():
    constraint, demos, visited = wall_run("half-cheetah-wall", at=-2.5, noise=0.0)
    judged = judge_pairs(constraint, demos.trajectories, visited)
    low, high = turning_zone(constraint, judged, Condition(0, "x", -math.inf, -2.0, False))
    assert low == pytest.approx(-2.5, abs=0.05)
    assert high == pytest.approx(-2.5, abs=0.05)
