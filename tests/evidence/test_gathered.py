"""How much each trajectory needs explaining: more for more, and each generation the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icrl.evidence.expected import expected_of
from icrl.evidence.gathered import Evidence, add, scouts_advantage, strength_of, weights_of
from icrl.types import Trajectories


def earning(returns, steps=2):
    """One trajectory per return, which it earns in its first step."""
    rewards = np.zeros((len(returns), steps))
    rewards[:, 0] = returns
    return Trajectories(
        observations=np.zeros((len(returns), steps, 1)),
        actions=np.zeros((len(returns), steps, 1)),
        rewards=rewards,
        lengths=np.full(len(returns), steps),
    )


# they earn 8 and 12, so 10; left out, each is missed by 4, so σ = 4; chance earns nothing
EXPECTED = expected_of(earning([8.0, 12.0]), earning([0.0, 0.0]), horizon=2)
RETURNS = st.lists(st.floats(-200.0, 200.0), min_size=1, max_size=8)


def evidence_of(*generations):
    evidence = None
    for number, returns in enumerate(generations):
        evidence = add(evidence, earning(returns), number)
    return evidence


def test_evidence_adds_up_in_order_and_is_padded():
    first = add(None, earning([1.0, 2.0], steps=2), 0)
    both = add(first, earning([3.0], steps=4), 3)
    assert both.generations.tolist() == [0, 0, 3]
    assert both.trajectories.returns.tolist() == [1.0, 2.0, 3.0]
    assert both.trajectories.lengths.tolist() == [2, 2, 4]
    assert both.trajectories.rewards.shape == (3, 4)
    assert first.trajectories.num_trajectories == 2  # the old evidence is as it was


@given(st.lists(RETURNS, min_size=1, max_size=4))
def test_weights_sum_to_1_and_every_generation_has_the_same_sum(generations):
    evidence = evidence_of(*generations)
    weights = weights_of(evidence, EXPECTED)
    assert np.all(weights >= 0)
    assert weights.sum() == pytest.approx(1.0)
    for number in range(len(generations)):
        assert weights[evidence.generations == number].sum() == pytest.approx(1 / len(generations))


@given(RETURNS)
def test_weights_grow_with_what_is_earned(returns):
    weights = weights_of(evidence_of(returns), EXPECTED)
    order = np.argsort(returns, kind="stable")
    assert np.all(np.diff(weights[order]) >= -1e-12)


def test_weights_by_hand():
    # 14 out-earns by one σ: half a weight; 1010 has a whole one, -990 none: 0.5 / 1.5 and 1 / 1.5
    weights = weights_of(evidence_of([14.0, 1010.0, -990.0]), EXPECTED)
    np.testing.assert_allclose(weights, [1 / 3, 2 / 3, 0.0], atol=1e-6)
    # who earns as much as demonstrations needs far less explaining than who out-earns them by two σ
    as_much, more = weights_of(evidence_of([10.0, 18.0]), EXPECTED)
    assert more > 3 * as_much


def test_where_all_earn_the_same_all_count_the_same():
    weights = weights_of(evidence_of([-1e6, -1e6], [3.0]), EXPECTED)
    np.testing.assert_allclose(weights, [0.25, 0.25, 0.5])


def test_the_sum_of_a_generation_does_not_depend_on_what_others_earn():
    alone = weights_of(evidence_of([14.0, 20.0]), EXPECTED)
    beside = weights_of(evidence_of([14.0, 20.0], [1e4, 1e4, 1e4]), EXPECTED)
    np.testing.assert_allclose(beside[:2], alone / 2)


@given(st.lists(RETURNS, min_size=1, max_size=3))
def test_strength_is_a_share(generations):
    evidence = evidence_of(*generations)
    strength = strength_of(evidence, weights_of(evidence, EXPECTED), EXPECTED)
    assert -1e-12 <= strength <= 1 + 1e-12


def strength(returns):
    evidence = evidence_of(returns)
    return strength_of(evidence, weights_of(evidence, EXPECTED), EXPECTED)


def test_strength_by_hand():
    # chance: nothing. One σ beyond: ½ · 1 for earning as much, ½ · ½ for more. Far beyond: all.
    assert strength([0.0] * 100) == pytest.approx(0.0, abs=0.01)
    assert strength([14.0] * 100) == pytest.approx(0.75)
    assert strength([1010.0] * 100) == pytest.approx(1.0)
    by_return = [strength([earned] * 100) for earned in (0.0, 5.0, 10.0, 14.0, 20.0)]
    assert np.all(np.diff(by_return) > 0.05)


def test_trajectories_of_no_weight_say_nothing():
    evidence = evidence_of([1010.0] * 100 + [-990.0] * 100)
    first = np.repeat([0.01, 0.0], 100)
    assert strength_of(evidence, first, EXPECTED) == pytest.approx(1.0)
    assert strength_of(evidence, first[::-1], EXPECTED) == pytest.approx(0.0)


def test_one_trajectory_says_less_than_many():
    assert strength([1010.0]) < 0.5 * strength([1010.0] * 100)
    # a hundred of which one alone out-earns are as one
    assert strength([1010.0] + [-990.0] * 99) == pytest.approx(strength([1010.0]), rel=0.01)


def test_the_scouts_advantage_is_theirs_alone():
    # both scouts out-earn 10 by 8, two σ; what came after them is no scout's
    evidence = evidence_of([18.0, 18.0], [1010.0])
    assert scouts_advantage(evidence, EXPECTED) == pytest.approx(2.0)
    # by weight: -990 has none
    assert scouts_advantage(evidence_of([18.0, -990.0]), EXPECTED) == pytest.approx(2.0)


def test_generations_need_not_be_numbered_in_a_row():
    evidence = Evidence(earning([14.0, 14.0, 14.0]), np.array([0, 7, 7]))
    np.testing.assert_allclose(weights_of(evidence, EXPECTED), [0.5, 0.25, 0.25])
