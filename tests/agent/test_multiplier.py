"""The Lagrange multiplier: where it starts, when it rises, that it stays positive."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from icrl.agent.multiplier import init_multiplier, multiplier_value, update_multiplier
from icrl.config import MultiplierConfig

raws = st.floats(-30, 100)


@given(initial=st.floats(1e-12, 1e6))
def test_starts_at_its_initial_value(initial):
    assert multiplier_value(init_multiplier(MultiplierConfig(initial=initial))) == pytest.approx(
        initial, rel=1e-3
    )


def test_one_and_zero_by_hand():
    # softplus(ν) = log(1 + eᵛ) = 1 at ν = log(e − 1) = 0.5413:
    # the value below which the authors' λ cannot fall (F7)
    raw = init_multiplier(MultiplierConfig(initial=1.0))
    assert raw == pytest.approx(math.log(math.e - 1), rel=1e-12)
    assert multiplier_value(raw) == pytest.approx(1.0, rel=1e-12)
    assert 0 <= multiplier_value(init_multiplier(MultiplierConfig(initial=0.0))) < 1e-12
    assert multiplier_value(0.0) == pytest.approx(math.log(2))
    assert multiplier_value(800.0) == 800.0  # no overflow


@given(raw=raws, cost=st.floats(0, 1), budget=st.floats(0, 1), rate=st.floats(1e-3, 10))
def test_rises_if_and_only_if_the_cost_exceeds_the_budget(raw, cost, budget, rate):
    config = MultiplierConfig(learning_rate=rate, budget=budget)
    new = update_multiplier(raw, cost, config)
    assert multiplier_value(new) >= 0
    if cost - budget > 1e-9:
        assert new > raw
        assert multiplier_value(new) >= multiplier_value(raw)
    elif cost <= budget:
        assert new <= max(raw, -30.0)
        assert multiplier_value(new) <= multiplier_value(raw)


def test_falls_below_the_authors_floor_and_rises_from_nothing():
    config = MultiplierConfig(initial=1.0, learning_rate=0.5, budget=0.5)
    raw = init_multiplier(config)
    for _ in range(40):
        raw = update_multiplier(raw, 0.0, config)  # −0.25 each
    assert 0 < multiplier_value(raw) < 1e-3
    raw = init_multiplier(MultiplierConfig(initial=0.0))
    for _ in range(200):
        raw = update_multiplier(raw, 1.0, config)  # +0.25 each: −30 + 50 = 20
    assert multiplier_value(raw) == pytest.approx(20.0, rel=1e-6)


def test_an_unpaid_debt_is_bounded():
    config = MultiplierConfig(learning_rate=1.0, budget=1.0)
    raw = 0.0
    for _ in range(1000):
        raw = update_multiplier(raw, 0.0, config)
    assert raw == -30.0
