"""Statistics against hand arithmetic and slow twins."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from icrl.errors import InputError
from icrl.experiment.suite.statistics import (
    interquartile_mean,
    num_collapsed,
    probability_of_improvement,
    standard_error,
    stratified_bootstrap,
)

SCORES = arrays(np.float64, st.integers(1, 12), elements=st.floats(-1e3, 1e3))


def slow_iqm(scores):
    """Each score repeated 4 times: the middle half is then always whole scores."""
    repeated = sorted(x for x in scores for _ in range(4))
    n = len(scores)
    return math.fsum(repeated[n : 3 * n]) / (2 * n)


def slow_standard_error(scores):
    n, mean = len(scores), math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in scores) / (n - 1))
    return deviation / math.sqrt(n)


def test_standard_error_by_hand():
    # mean 4, squares 4 + 0 + 4 = 8, variance 8 / 2 = 4, error sqrt(4 / 3)
    assert standard_error(np.array([2.0, 4.0, 6.0])) == pytest.approx(math.sqrt(4 / 3))
    assert np.isnan(standard_error(np.array([5.0])))


def test_iqm_by_hand():
    # 8 scores: the middle four are 3, 4, 5, 6
    assert interquartile_mean(np.array([100, 1, 3, 4, 5, 6, 7, -50.0])) == pytest.approx(
        (3 + 4 + 5 + 6) / 4
    )
    # 3 scores: the middle half is [0.75, 2.25]:
    # a quarter of each outer one, all of the middle; 1.5 in all
    assert interquartile_mean(np.array([0.0, 60.0, 90.0])) == pytest.approx(
        (0.25 * 0 + 60 + 0.25 * 90) / 1.5
    )
    # 10 scores: [2.5, 7.5] takes half of the third and eighth
    assert interquartile_mean(np.arange(10.0)) == pytest.approx(
        (0.5 * 2 + 3 + 4 + 5 + 6 + 0.5 * 7) / 5
    )
    assert interquartile_mean(np.array([7.0])) == 7.0


@given(SCORES)
def test_statistics_equal_their_slow_twins(scores):
    np.testing.assert_allclose(
        interquartile_mean(scores), slow_iqm(list(scores)), rtol=1e-9, atol=1e-9
    )
    if len(scores) > 1:
        np.testing.assert_allclose(
            standard_error(scores), slow_standard_error(list(scores)), rtol=1e-9, atol=1e-9
        )


@given(SCORES, SCORES)
def test_probability_of_improvement_counts_pairs(x, y):
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in itertools.product(x, y)]
    assert probability_of_improvement(x, y) == pytest.approx(sum(wins) / len(wins))
    assert probability_of_improvement(x, y) + probability_of_improvement(y, x) == pytest.approx(1.0)


def test_probability_of_improvement_by_hand():
    # pairs: 3 > 1, 3 > 2, 2 > 1, 2 = 2: (1 + 1 + 1 + 0.5) / 4
    assert probability_of_improvement(np.array([3.0, 2.0]), np.array([1.0, 2.0])) == pytest.approx(
        3.5 / 4
    )


def test_statistics_take_resamples_in_one_call():
    scores = np.random.default_rng(0).normal(size=(5, 7))
    np.testing.assert_allclose(interquartile_mean(scores), [slow_iqm(list(row)) for row in scores])
    np.testing.assert_allclose(
        standard_error(scores), [slow_standard_error(list(row)) for row in scores]
    )


def test_the_bootstrap_equals_its_exact_distribution():
    # all 3^3 resamples of (0, 0, 9) are equally likely;
    # the mean is 0, 3, 6, 9 with chances 8, 12, 6, 1 in 27
    exact = sorted(sum(draw) / 3 for draw in itertools.product([0.0, 0.0, 9.0], repeat=3))
    for confidence in (0.3, 0.8):
        interval = stratified_bootstrap(
            [np.array([0.0, 0.0, 9.0])],
            lambda x: x.mean(axis=-1),
            resamples=20_000,
            confidence=confidence,
        )
        low, high = np.quantile(
            exact, [(1 - confidence) / 2, (1 + confidence) / 2], method="inverted_cdf"
        )
        assert interval == (3.0, low, high)


def test_the_bootstrap_resamples_within_strata():
    # each stratum is constant: resampled within strata nothing can vary;
    # resampled in one pool it would
    interval = stratified_bootstrap([np.full(4, 1.0), np.full(4, 5.0)], lambda x: x.mean(axis=-1))
    assert interval == (3.0, 3.0, 3.0)


def test_the_bootstrap_covers_and_repeats():
    scores = np.random.default_rng(3).normal(size=20)
    first = stratified_bootstrap([scores], seed=1)
    assert first.low < first.value < first.high
    assert first == stratified_bootstrap([scores], seed=1)
    narrow = stratified_bootstrap([scores], seed=1, confidence=0.5)
    assert first.low < narrow.low < narrow.high < first.high


def test_collapsed_seeds_are_counted():
    assert num_collapsed(np.array([0.0, 0.5, 0.51, 1.0])) == 2


def test_collapsed_is_half_as_often_as_agents_that_know_of_no_constraint():
    # LapGridWorld: such agents violate on 0.46 of their steps, so 0.23 is half as often
    assert num_collapsed(np.array([0.46, 0.45, 0.23, 0.22, 0.0]), nominal_rate=0.46) == 3
    assert num_collapsed(np.array([0.46, 0.51]), nominal_rate=None) == 1
    # half of almost nothing is noise
    assert num_collapsed(np.array([0.005, 0.6]), nominal_rate=0.01) == 1


@pytest.mark.parametrize("bad", [[], [1.0, float("nan")], [float("inf")]])
def test_scores_must_be_finite_numbers(bad):
    with pytest.raises(InputError, match="finite scores"):
        interquartile_mean(np.array(bad))
    with pytest.raises(InputError, match="strata"):
        stratified_bootstrap([])
