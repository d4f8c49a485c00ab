"""What follows from an action: the model learns it, and says nothing of what it cannot explain."""

import numpy as np
import pytest

from icrl.agent.ahead import ActionUnit, Ahead, model_inputs
from icrl.agent.foresight import Moves, _fit, in_use, init_foresight, learned
from icrl.agent.normalizer import RunningMoments

UNIT = ActionUnit(np.zeros(2, np.float32), np.full(2, 2.0, np.float32))
MOMENTS = RunningMoments(np.zeros(3), np.ones(3), np.asarray(1.0))


def moves(rng, number=2048):
    """Two places that are pushed by two actions, no faster than 1,
    and a third that jumps by chance."""
    places = rng.uniform(-3, 3, (number, 3)).astype(np.float32)
    pushes = rng.uniform(-2, 2, (number, 2)).astype(np.float32)
    change = np.concatenate([np.clip(pushes, -1, 1), rng.standard_normal((number, 1))], axis=1)
    return Moves(places, pushes, (places + change).astype(np.float32))


@pytest.fixture(scope="module")
def foresight():
    rng = np.random.default_rng(0)
    model = init_foresight(rng, 3, 2)
    for _ in range(25):
        model = learned(rng, model, moves(rng), MOMENTS, UNIT, 2)
    return model


def test_one_program_serves_any_number_of_moves():
    rng = np.random.default_rng(0)
    model = init_foresight(rng, 3, 2)
    for _ in range(2):  # the second time its parameters are arrays of JAX
        model = learned(rng, model, moves(rng, 100), MOMENTS, UNIT, 2)
    compiled = _fit._cache_size()
    learned(rng, model, moves(rng, 333), MOMENTS, UNIT, 2)
    assert _fit._cache_size() == compiled


def test_it_foretells_what_actions_do(foresight):
    fresh = moves(np.random.default_rng(1))
    ahead = in_use(foresight, MOMENTS, UNIT, 2)
    foretold = ahead.follows(fresh.observations, fresh.actions)[0]
    errors = np.abs(foretold - fresh.next_observations)[:, :2]
    assert np.quantile(errors, 0.9) < 0.15  # of changes of up to 1


def test_what_it_cannot_explain_stays_as_it_is(foresight):
    fresh = moves(np.random.default_rng(1))
    ahead = in_use(foresight, MOMENTS, UNIT, 2)
    assert (foresight.unexplained[:2] < 0.1).all()
    assert foresight.unexplained[2] > 0.8
    around = ahead.follows(fresh.observations, fresh.actions)
    assert around.shape == (5, 2048, 3)
    np.testing.assert_array_equal(
        around[..., 2], np.broadcast_to(fresh.observations[:, 2], (5, 2048))
    )


def test_places_around_are_as_far_away_as_it_errs(foresight):
    ahead = in_use(foresight, MOMENTS, UNIT, 2)
    seen = np.zeros((1, 3), np.float32)
    around = ahead.follows(seen, np.zeros((1, 2), np.float32))[:, 0]
    np.testing.assert_allclose(around[1:].mean(axis=0), around[0], atol=1e-5)  # opposite sides
    sizes = np.sqrt(np.mean((around[1:] - around[0])[:, :2] ** 2))
    assert 0.5 * foresight.spread[:2].min() < sizes < 4 * foresight.spread[:2].max()


def test_a_model_that_knows_nothing_foretells_no_change():
    model = in_use(init_foresight(np.random.default_rng(0), 3, 2), MOMENTS, UNIT, 2)
    seen = np.ones((4, 3), np.float32)
    np.testing.assert_array_equal(
        model.follows(seen, np.ones((4, 2), np.float32)), np.ones((5, 4, 3))
    )


def test_inputs_are_observations_in_deviations_and_actions_in_the_policys_unit():
    moments = RunningMoments(np.array([1.0]), np.array([4.0]), np.asarray(1.0))
    unit = ActionUnit(np.array([50.0], np.float32), np.array([50.0], np.float32))
    inputs = model_inputs(
        moments, unit, 1, np.array([[5.0]], np.float32), np.array([[100.0]], np.float32)
    )
    np.testing.assert_allclose(inputs, [[2.0, 1.0]], rtol=1e-6)  # (5 - 1)/2, (100 - 50)/50
    choices = model_inputs(moments, None, 3, np.array([[5.0]], np.float32), np.array([2]))
    np.testing.assert_allclose(choices, [[2.0, 0.0, 0.0, 1.0]], rtol=1e-6)


def test_changes_equal_a_slow_twin():
    rng = np.random.default_rng(0)
    layers = tuple(
        rng.standard_normal(size).astype(np.float32)
        for size in ((3, 4), (4,), (4, 2), (2,), (3, 2))
    )
    scale = np.array([2.0, 0.0], np.float32)
    centre = np.array([0.5, 0.0], np.float32)
    ahead = Ahead(MOMENTS, None, 1, layers, centre, scale, scale)
    x = rng.standard_normal((5, 3)).astype(np.float32)
    w0, b0, w1, b1, straight = layers
    for row, found in zip(x, ahead.changes(x), strict=True):
        hidden = [max(0.0, float(row @ w0[:, k] + b0[k])) for k in range(4)]
        for j in range(2):
            output = sum(h * w1[k, j] for k, h in enumerate(hidden)) + b1[j] + row @ straight[:, j]
            assert found[j] == pytest.approx(output * scale[j] + centre[j], abs=1e-4)
