"""The paper's way, step by step: what each of its steps leaves in the state."""

import dataclasses

import jax
import numpy as np
import pytest

from icrl.by_gradient import GradientWay
from icrl.demos.fitting import fit_and_check
from icrl.errors import InputError
from icrl.rounds import Phase
from icrl.tasks.lap_grid import lap_grid
from icrl.trajectories import pairs_of
from small_runs import TINY, lap_demos

TASK = lap_grid().task
DEMOS = fit_and_check(lap_demos(), TASK)


def way_of(config=TINY, **options):
    return GradientWay(TASK, DEMOS, config, jax.random.key(0), **options)


def one_round(way):
    state = way.start()
    state = way.solve(state, lambda _: None)
    state = way.sample(state)
    return state, way.move(state)


def test_it_starts_with_a_zeta_of_about_a_half_and_no_round():
    way = way_of()
    state = way.start()
    pairs = pairs_of(DEMOS.trajectories)
    cost = way.cost_of(state)(pairs.observations, pairs.actions)
    assert np.all(np.abs(cost - 0.5) < 0.3)
    assert (state.number, state.steps, state.phase) == (-1, 0, Phase.round)


def test_a_round_counts_its_steps_and_says_why_zeta_moved():
    before, after = one_round(way_of())
    assert before.number == after.number == 0
    assert before.steps == after.steps == 512 + before.samples.num_steps
    assert after.moved
    assert after.why.startswith("5 gradient steps")
    assert not after.finished
    np.testing.assert_array_equal(before.weights, np.ones(2))  # every sample counts alike


def test_how_far_zeta_moved_is_measured_where_the_agent_went():
    way = way_of()
    before, after = one_round(way)
    pairs = pairs_of(before.samples)
    costs = [way.cost_of(state)(pairs.observations, pairs.actions) for state in (before, after)]
    expected = np.mean(np.abs(costs[1] - costs[0]))
    assert after.constraint_info["cost_change"] == pytest.approx(expected)


def test_where_zeta_moved_far_the_agent_starts_afresh_if_that_is_asked_for():
    way = way_of(dataclasses.replace(TINY, restart_above=0.0))
    _, after = one_round(way)
    assert way._moved_far(after)
    again = way.solve(after, lambda _: None)
    assert again.training.steps == 512  # the old agent would have 1024 behind it
    patient = way_of()
    assert not patient._moved_far(after)
    assert patient.solve(after, lambda _: None).training.steps == 1024


def test_with_a_bonus_nothing_is_charged():
    way = way_of(to_bonus=lambda cost: lambda s, a: -cost(s, a))
    before, after = one_round(way)
    assert before.forward_info.cost == 0.0
    assert way.report(after).cost is None
    assert way.report(after).constraint is not None


def test_a_limit_that_can_never_fire_is_told_before_anything_is_trained():
    backward = dataclasses.replace(TINY.backward, max_kl_new_old=50.0)
    with pytest.raises(InputError, match="can never fire"):
        way_of(dataclasses.replace(TINY, backward=backward))
