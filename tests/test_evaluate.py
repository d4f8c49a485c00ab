"""The evaluator: both metrics by hand, up to the first violation both worlds
are the same, scripted laps."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given
from hypothesis import strategies as st

import worlds
from icrl.agent.networks import PolicyLayers
from icrl.agent.state import Policy
from icrl.config import Activation
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Layer
from icrl.evaluate import (
    ConstraintTruth,
    area_under_curve,
    boundary,
    calibration,
    confusion,
    constrained_returns,
    evaluate_policy,
    judge,
    judge_constraint,
    play_episodes,
    violations_of,
)
from icrl.spans import seconds_taken
from icrl.tasks.lap_grid import LapGridEnv, lap_grid
from icrl.tasks.task import Scenario
from icrl.types import Pairs, Trajectories


def trajectories(actions, rewards, lengths):
    actions = np.asarray(actions)
    return Trajectories(
        observations=np.zeros((*actions.shape, 1), np.float32),
        actions=actions,
        rewards=np.asarray(rewards, np.float32),
        lengths=np.asarray(lengths),
    )


def forbidden_choice(violation_reward=0.0):
    """`yes` is forbidden."""
    return Scenario(
        task=worlds.tempting_door(),
        violates=lambda observations, actions: np.asarray(actions) == 1,
        constraint="no yes",
        violation_reward=violation_reward,
    )


BY_HAND = trajectories(
    actions=[[0, 1, 1], [0, 0, 0], [0, 0, 1]],
    rewards=[[1.0, 2.0, 4.0], [1.0, 1.0, 1.0], [5.0, 5.0, 0.0]],
    lengths=[3, 3, 2],
)


def test_three_trajectories_by_hand():
    # 1: pays 1, then violates (-1) and is over: 0. 2: never violates: 3.
    # 3: the third step is padding: 10
    scenario = forbidden_choice(violation_reward=-1.0)
    violations = violations_of(scenario, BY_HAND)
    assert violations.tolist() == [[False, True, True], [False] * 3, [False] * 3]
    assert constrained_returns(BY_HAND, violations, -1.0).tolist() == [0.0, 3.0, 10.0]
    truth = judge(scenario, BY_HAND)
    assert truth.true_return == pytest.approx(13 / 3)
    assert truth.violation_rate == pytest.approx(2 / 8)  # eight real steps
    assert truth.nominal_return == pytest.approx((7 + 3 + 10) / 3)
    assert truth.violating_episodes == pytest.approx(1 / 3)


def test_a_violation_on_the_first_step_leaves_only_its_own_reward():
    scenario = forbidden_choice(violation_reward=-1.0)
    truth = judge(scenario, trajectories([[1, 0]], [[9.0, 9.0]], [2]))
    assert truth == (-1.0, 0.5, 18.0, 1.0)


@given(seed=st.integers(0, 10_000), violation_reward=st.sampled_from([0.0, -1.0]))
def test_equals_walking_through_the_constrained_world(seed, violation_reward):
    rng = np.random.default_rng(seed)
    data = trajectories(rng.integers(0, 2, (4, 6)), rng.normal(size=(4, 6)), rng.integers(1, 7, 4))
    truth = judge(forbidden_choice(violation_reward), data)
    total, violations = 0.0, 0
    for actions, rewards, length in zip(data.actions, data.rewards, data.lengths, strict=True):
        over = False
        for action, reward in list(zip(actions, rewards, strict=True))[:length]:
            violations += action == 1
            if not over:
                total += violation_reward if action == 1 else reward
                over = over or action == 1
    assert truth.true_return == pytest.approx(total / 4, abs=1e-6)
    assert truth.violation_rate == pytest.approx(violations / data.lengths.sum())


@given(seed=st.integers(0, 10_000))
def test_padding_and_order_change_nothing(seed):
    rng = np.random.default_rng(seed)
    actions, rewards, lengths = (
        rng.integers(0, 2, (4, 6)),
        rng.normal(size=(4, 6)),
        rng.integers(1, 7, 4),
    )
    scenario, order = forbidden_choice(), rng.permutation(4)
    before = judge(scenario, trajectories(actions, rewards, lengths))
    padding = np.ones((4, 3))
    padded = judge(
        scenario,
        trajectories(np.hstack([actions, padding]), np.hstack([rewards, 9 * padding]), lengths),
    )
    shuffled = judge(scenario, trajectories(actions[order], rewards[order], lengths[order]))
    np.testing.assert_allclose(padded, before, atol=1e-6)  # returns are sums in float32
    np.testing.assert_allclose(shuffled, before, atol=1e-6)


def lap_policy(bias):
    layers = ((np.zeros((1, 2), np.float32), np.asarray(bias, np.float32)),)
    return Policy(
        layers=PolicyLayers(layers, None), moments=None, action_space=lap_grid().task.action_space
    )


def test_the_lawful_sailor_and_the_lawless_one():
    feasible = evaluate_policy(lap_grid(), lap_policy([100.0, -100.0]), episodes=3, seed=0)
    assert feasible == (60.0, 0.0, 60.0, 0.0)
    lawless = evaluate_policy(lap_grid(), lap_policy([-100.0, 100.0]), episodes=3, seed=0)
    # five laps the other way round: the first step is already forbidden
    assert lawless == (-1.0, 1.0, 60.0, 1.0)


def test_the_same_seed_gives_the_same_scores():
    first, second, other = (
        evaluate_policy(lap_grid(), lap_policy([2.0, 0.0]), episodes=5, seed=s) for s in (1, 1, 2)
    )
    assert first == second
    assert first != other
    # p(anticlockwise) = 1/(1 + e²) = 0.119; 1000 steps: a deviation of 0.010
    assert first.violation_rate == pytest.approx(0.119, abs=0.05)


def test_environments_that_reset_themselves_would_be_a_mistake():
    assert lap_grid().task.make_env(2).autoreset_mode is AutoresetMode.DISABLED
    assert LapGridEnv(2).autoreset_mode is AutoresetMode.SAME_STEP


def wall_constraint(wall):
    """ζ falls from 1 to 0 as x falls below `wall`:
    logit = 8 (x − wall), by one hidden tanh unit near its centre."""
    features = Features(
        names=("x",),
        columns=(0,),
        lower=(-20.0,),
        upper=(20.0,),
        num_observations=1,
        num_actions=1,
        discrete=False,
    )
    first = Layer(np.array([[1e-3]], np.float32), np.array([-1e-3 * wall], np.float32))
    second = Layer(np.array([[8e3]], np.float32), np.zeros(1, np.float32))
    return LearnedConstraint(features=features, params=(first, second), activation=Activation.tanh)


def test_a_constraint_is_judged_by_hits_alarms_and_overlap():
    # truth: x <= -3. judged infeasible: x < -1.
    # Of four pairs, -5 is a hit, -2 a false alarm, 0 and 2 are right.
    pairs = Pairs(observations=np.array([[-5.0], [-2.0], [0.0], [2.0]]), actions=np.zeros((4, 1)))
    scenario = SimpleNamespace(violates=lambda o, a: o[..., 0] <= -3)
    truth = judge_constraint(scenario, wall_constraint(-1.0), pairs)
    assert truth == ConstraintTruth(
        hit_rate=1.0, false_alarm_rate=pytest.approx(1 / 3), auc=1.0, iou=0.5
    )
    nothing = SimpleNamespace(violates=lambda o, a: np.zeros(len(o), bool))
    assert judge_constraint(nothing, wall_constraint(-9.0), pairs) == ConstraintTruth(
        None, 0.0, None, None
    )


def test_a_miss_and_a_false_alarm_are_told_apart():
    # truth: x = -5 and x = 2. judged infeasible: -5, -2 and -1.5.
    places = np.array([[-5.0], [-2.0], [-1.5], [0.0], [2.0]])
    pairs = Pairs(observations=places, actions=np.zeros((5, 1)))
    scenario = SimpleNamespace(violates=lambda o, a: (o[..., 0] == -5) | (o[..., 0] == 2))
    truth = judge_constraint(scenario, wall_constraint(-1.0), pairs)
    # costs fall from -5 to 2: of the six pairs (forbidden, allowed), -5 wins three and 2 none
    assert truth == ConstraintTruth(
        hit_rate=0.5, false_alarm_rate=pytest.approx(2 / 3), auc=0.5, iou=pytest.approx(1 / 4)
    )


def test_area_under_curve_needs_one_of_each_kind_and_no_more():
    scores = np.array([0.1, 0.2, 0.3])
    assert area_under_curve(scores, np.array([True, True, True])) is None
    assert area_under_curve(scores, np.array([False, False, False])) is None
    assert area_under_curve(scores, np.array([True, False, True])) == 0.5  # 0.1 loses, 0.3 wins
    assert area_under_curve(scores, np.array([False, True, False])) == 0.5


def test_area_under_curve_by_counting_pairs():
    rng = np.random.default_rng(0)
    scores, positives = rng.integers(0, 5, 60).astype(float), rng.random(60) < 0.4
    wins = [(a > b) + 0.5 * (a == b) for a in scores[positives] for b in scores[~positives]]
    assert area_under_curve(scores, positives) == pytest.approx(np.mean(wins))


def test_the_boundary_is_where_zeta_crosses_one_half():
    pairs = Pairs(observations=np.zeros((3, 1)), actions=np.zeros((3, 1)))
    grid = np.arange(-5.0, 5.01, 0.5)
    # between -1.5 and -1
    assert boundary(wall_constraint(-1.2), pairs, 0, grid) == pytest.approx(-1.25)
    assert boundary(wall_constraint(-9.0), pairs, 0, grid) is None


def zeta_along(grid, means):
    """A constraint whose zeta has these values at the grid's."""
    return SimpleNamespace(
        threshold=0.5,
        feasibility=lambda observations, actions: np.interp(observations[..., 0], grid, means),
    )


@pytest.mark.parametrize(
    ("means", "wanted"),
    [
        ([0.2, 0.8, 0.3, 0.5, 0.1, 0.2], 2.5),  # the last rise counts, and to reach one half is one
        ([0.5, 0.9, 0.9, 0.9, 0.9, 0.9], None),  # to begin there is none
        ([0.1, 0.1, 0.1, 0.1, 0.1, 0.7], 4.5),  # the last two values are looked at
        ([0.9, 0.8, 0.7, 0.6, 0.3, 0.2], None),  # a fall is none
    ],
)
def test_the_boundary_is_the_last_rise(means, wanted):
    grid = np.arange(6.0)
    pairs = Pairs(observations=np.zeros((2, 1)), actions=np.zeros((2, 1)))
    assert boundary(zeta_along(grid, means), pairs, 0, grid) == wanted


def test_episodes_are_seeded_by_a_stream_of_their_own(monkeypatch):
    told = []
    room = import_module("icrl.evaluate")  # `icrl.evaluate` by itself is the verb
    monkeypatch.setattr(room, "sample_trajectories", lambda *words: told.append(words))
    task = lap_grid().task
    play_episodes(task, None, 4, 3)
    play_episodes(task, None, 4, 9)
    for (_, _, env, horizon, seed), wanted in zip(told, (3, 9), strict=True):
        assert env.num_envs == 4
        assert horizon == task.horizon
        assert seed == np.random.default_rng([wanted, 0xE7A1]).integers(2**31)


def test_confusion_counts_each_kind_once():
    counts = (1, 2, 3, 7)  # no count is another's sum, so that none stands for another
    judged = np.repeat([True, False, True, False], counts)
    forbidden = np.repeat([True, True, False, False], counts)
    assert confusion(judged, forbidden) == counts


def test_calibration_by_hand():
    # two bins are used: 0.0-0.1 holds costs 0, 0.08 (mean 0.04, none forbidden), 0.9-1.0 holds
    # 0.95, 1.0 (mean 0.975, half of them forbidden): the error is (2 · 0.04 + 2 · 0.475) / 4
    found = calibration(np.array([0.0, 0.08, 0.95, 1.0]), np.array([False, False, True, False]))
    assert found.pairs == [2, 2]
    assert found.share_forbidden == [0.0, 0.5]
    assert found.mean_cost == pytest.approx([0.04, 0.975])
    assert found.error == pytest.approx((2 * 0.04 + 2 * 0.475) / 4)


def test_bins_of_calibration_begin_at_their_lower_end():
    # ten bins: 0.05 is in [0, 0.1), 0.1 begins the next, 0.55 and 0.5 share [0.5, 0.6), 1 belongs
    # to the last
    cost = np.array([0.05, 0.1, 0.5, 0.55, 1.0])
    found = calibration(cost, np.array([True, False, True, True, True]))
    assert found.pairs == [1, 1, 2, 1]
    assert found.share_forbidden == [1.0, 0.0, 1.0, 1.0]
    # |0.05 - 1|, |0.1 - 0|, 2 · |0.525 - 1|, |1 - 1|
    assert found.error == pytest.approx((0.95 + 0.1 + 2 * 0.475 + 0.0) / 5)
    assert calibration(np.array([0.6]), np.array([True]), bins=2).pairs == [1]
    assert calibration(np.array([0.2, 0.6]), np.array([True, True]), bins=2).pairs == [1, 1]


def test_calibration_of_one_pair_and_of_none():
    assert calibration(np.array([0.6]), np.array([True])).error == pytest.approx(0.4)
    assert calibration(np.zeros(0), np.zeros(0, bool)) == (0.0, [], [], [])


@given(st.integers(0, 2**31))
def test_a_cost_that_is_the_probability_is_calibrated(seed):
    rng = np.random.default_rng(seed)
    cost = rng.random(20_000)
    assert calibration(cost, rng.random(20_000) < cost).error < 0.03


def test_the_time_of_playing_and_of_judging_is_that_of_evaluation():
    seconds_taken()
    played = play_episodes(lap_grid().task, lap_policy([100.0, -100.0]), 2, 0)
    playing = seconds_taken()
    judge(lap_grid(), played)
    judging = seconds_taken()
    assert playing["evaluation"] > 0
    assert playing["sampling"] == 0  # what is done within an evaluation is its own
    assert judging["evaluation"] > 0
