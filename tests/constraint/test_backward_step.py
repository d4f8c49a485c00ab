"""The backward step as a whole: its updates, its limits, its one compilation."""

import math
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from small_data import box_task, random_trajectories

import oracles
from icrl.config import BackwardConfig, KLUnit, Weights
from icrl.constraint import backward_step as module
from icrl.constraint.backward_step import (
    backward_step,
    check_limits,
    constraint_cost,
    freeze,
    init_constraint,
    padded_length,
)
from icrl.constraint.features import Features, extract, select_features
from icrl.constraint.objective import Steps
from icrl.errors import InputError
from icrl.types import Trajectories

TASK = box_task(("x", "y"), ("push",))
FEATURES = select_features(TASK, None, 20.0)


def small_sets(seed: int = 0) -> tuple[Trajectories, Trajectories]:
    rng = np.random.default_rng(seed)
    return random_trajectories(rng, 3, 4, 2, 1, shift=1.0), random_trajectories(
        rng, 4, 4, 2, 1, shift=-1.0
    )


def slow_steps(
    trajectories: Trajectories, features: Features, params: Any, config: BackwardConfig
) -> Steps:
    inputs = extract(features, trajectories.observations, trajectories.actions)
    return Steps(inputs, trajectories.mask, oracles.log_zeta(params, inputs, config.activation))


@pytest.mark.parametrize("weights", [Weights.trajectory, Weights.none])
def test_two_updates_equal_the_slow_twin(weights: Weights) -> None:
    demos, samples = small_sets()
    config = BackwardConfig(updates=2, weights=weights, hidden=(3,))
    state = init_constraint(np.random.default_rng(1), FEATURES, config)
    w = np.array([1.0, 0.5, 0.0, 2.0])
    d, s = (slow_steps(x, FEATURES, state.params, config) for x in (demos, samples))
    slow = oracles.adam(
        lambda p: oracles.loss(p, d, s, w, config), state.params, config.learning_rate, 2
    )
    after, info = backward_step(state, demos, samples, FEATURES, config, w)
    for a, b in zip(jax.tree.leaves(after.params), jax.tree.leaves(slow), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, atol=1e-5)
    assert (after.rounds_done, after.updates_done, info.updates_made) == (1, 2, 2)
    assert info.loss == pytest.approx(oracles.loss(slow, d, s, w, config), rel=1e-4)
    new = oracles.log_zeta(slow, s.inputs, config.activation)
    log_omega = oracles.log_trajectory_weights(new, s.old_log_zeta, s.mask)
    assert info.kl_old_new == pytest.approx(oracles.kl_old_new(log_omega), rel=1e-2)
    assert info.kl_new_old == pytest.approx(oracles.kl_new_old(log_omega), rel=1e-2)
    assert info.effective_sample_size == pytest.approx(
        oracles.effective_sample_size(log_omega), rel=1e-4
    )


def test_info_holds_plain_numbers_only() -> None:
    demos, samples = small_sets()
    config = BackwardConfig(updates=2, weights=Weights.none, hidden=(3,))
    _, info = backward_step(
        init_constraint(np.random.default_rng(1), FEATURES, config),
        demos,
        samples,
        FEATURES,
        config,
    )
    assert {type(value) for value in info} == {float, int, bool}


def test_same_inputs_give_the_same_bits() -> None:
    demos, samples = small_sets()
    config = BackwardConfig(updates=2, weights=Weights.none, hidden=(3,))
    runs = []
    for _ in range(2):
        state = init_constraint(np.random.default_rng(4), FEATURES, config)
        runs.append(backward_step(state, demos, samples, FEATURES, config)[0])
    for a, b in zip(jax.tree.leaves(runs[0]), jax.tree.leaves(runs[1]), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def far_sets() -> tuple[Trajectories, Trajectories]:
    """Long trajectories in different places:
    one Adam step at the paper's rate moves their weights far apart."""
    rng = np.random.default_rng(0)
    demos = random_trajectories(rng, 4, 192, 2, 1, shift=5.0, full=True)
    samples = random_trajectories(rng, 13, 192, 2, 1, full=True)
    places = np.linspace(-20, 20, 13, dtype=np.float32)[:, None, None]
    return demos, Trajectories(
        observations=samples.observations + places,
        actions=samples.actions,
        rewards=samples.rewards,
        lengths=samples.lengths,
    )


@pytest.mark.parametrize(
    ("unit", "old_new", "new_old"), [(KLUnit.trajectory, 10.0, 2.5), (KLUnit.step, 0.01, None)]
)
def test_an_overshooting_step_is_shortened_not_undone(
    unit: KLUnit, old_new: float, new_old: float | None
) -> None:
    demos, samples = far_sets()
    limited = BackwardConfig(
        updates=10, learning_rate=0.01, max_kl_old_new=old_new, max_kl_new_old=new_old, kl_unit=unit
    )
    state = init_constraint(np.random.default_rng(0), FEATURES, limited)
    after, info = backward_step(state, demos, samples, FEATURES, limited)
    assert 0 < info.kl_old_new <= old_new
    assert new_old is None or 0 < info.kl_new_old <= new_old
    assert info.stopped_early
    assert info.step_shortened
    assert info.updates_made == 1  # already the first full step broke the limit
    pairs = zip(jax.tree.leaves(after.params), jax.tree.leaves(state.params), strict=True)
    moved = max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in pairs)
    assert 0.01 / 2**30 < moved < 0.01


def test_the_limit_on_kl_new_old_holds_by_itself() -> None:
    demos, samples = far_sets()
    # KL(new || old) is at most log 13 = 2.56 here; the other limit is far beyond what one step
    # reaches
    limited = BackwardConfig(updates=10, learning_rate=0.01, max_kl_old_new=1e9, max_kl_new_old=0.5)
    state = init_constraint(np.random.default_rng(0), FEATURES, limited)
    _, free = backward_step(state, demos, samples, FEATURES, replace(limited, max_kl_new_old=None))
    _, info = backward_step(state, demos, samples, FEATURES, limited)
    assert free.kl_new_old > 0.5
    assert not free.step_shortened
    assert 0 < info.kl_new_old <= 0.5
    assert info.step_shortened


GENTLE = BackwardConfig(updates=1, learning_rate=1e-4, learning_rate_decay=0.5, hidden=(3,))


def test_limits_that_are_not_reached_change_nothing() -> None:
    demos, samples = small_sets()
    loose = replace(GENTLE, max_kl_old_new=5.0, max_kl_new_old=1.0)
    state = init_constraint(np.random.default_rng(0), FEATURES, GENTLE)
    a, _ = backward_step(state, demos, samples, FEATURES, GENTLE)
    b, info = backward_step(state, demos, samples, FEATURES, loose)
    assert (info.updates_made, info.stopped_early, info.step_shortened) == (1, False, False)
    for x, y in zip(jax.tree.leaves(a.params), jax.tree.leaves(b.params), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), atol=1e-7)


def test_the_step_size_decays_with_the_round() -> None:
    # Adam's first step moves a parameter by the step size:
    # 1e-4 in the first round, 1e-4 · 0.5² = 2.5e-5 in the third
    demos, samples = small_sets()
    state = init_constraint(np.random.default_rng(0), FEATURES, GENTLE)
    sizes = []
    for rounds_done in (0, 2):
        after, _ = backward_step(
            state._replace(rounds_done=rounds_done), demos, samples, FEATURES, GENTLE
        )
        sizes.append(
            float(np.abs(np.asarray(after.params[1].bias) - np.asarray(state.params[1].bias)).max())
        )
    assert sizes == pytest.approx([1e-4, 2.5e-5], rel=1e-2)


def test_two_backward_steps_trace_once() -> None:
    traces, real = [], module.loss

    def counted(*arguments: Any) -> Any:
        traces.append(1)
        return real(*arguments)

    # not used elsewhere, so not compiled yet
    config = BackwardConfig(updates=2, hidden=(5,), max_kl_old_new=3.0)
    state = init_constraint(np.random.default_rng(0), FEATURES, config)
    rng = np.random.default_rng(0)
    demos = random_trajectories(rng, 3, 7, 2, 1)
    state, _ = backward_step(
        state, demos, random_trajectories(rng, 4, 8, 2, 1), FEATURES, config, objective=counted
    )
    after_first = len(traces)
    state, _ = backward_step(
        state, demos, random_trajectories(rng, 4, 7, 2, 1), FEATURES, config, objective=counted
    )
    assert after_first > 0
    assert len(traces) == after_first  # 7 steps are padded to 8: the same shape
    assert state.rounds_done == 2


@pytest.mark.parametrize(
    ("length", "padded"),
    [(1, 1), (2, 2), (3, 3), (5, 6), (7, 8), (150, 192), (200, 256), (1000, 1024)],
)
def test_padded_length(length: int, padded: int) -> None:
    assert padded_length(length) == padded


def test_cost_is_one_minus_feasibility_and_does_not_overflow() -> None:
    config = BackwardConfig(hidden=(3,))
    state = init_constraint(np.random.default_rng(0), FEATURES, config)
    rng = np.random.default_rng(1)
    observations, actions = rng.normal(size=(64, 2)), rng.uniform(-1, 1, (64, 1))
    cost = constraint_cost(state, FEATURES, config)(observations, actions)
    assert cost.shape == (64,)
    constraint = freeze(state, FEATURES, config, {"method": "icrl"})
    np.testing.assert_allclose(cost, constraint.cost(observations, actions), atol=1e-6)
    steep = state._replace(params=jax.tree.map(lambda x: 1000 * x, state.params))
    saturated = constraint_cost(steep, FEATURES, config)(observations, actions)
    assert np.all((saturated == 0) | (saturated == 1))


def test_a_limit_that_can_never_fire_is_an_error_with_the_way_out() -> None:
    with pytest.raises(InputError) as caught:
        check_limits(BackwardConfig(max_kl_new_old=2.5), 10)
    assert str(caught.value) == (
        "backward.max_kl_new_old = 2.5 per trajectory can never fire: KL(new || old) estimated "
        "from 10 sampled trajectories cannot exceed 2.303 per trajectory (log 10). Use at least 13 "
        "samples (num_samples), a limit below 2.3, or no limit (None)."
    )


def test_limits_that_can_fire_pass_up_to_the_cap() -> None:
    check_limits(BackwardConfig(max_kl_new_old=2.5), 13)  # log 13 = 2.565
    check_limits(BackwardConfig(max_kl_new_old=2.3), 10)
    check_limits(BackwardConfig(max_kl_old_new=1000.0), 2)
    check_limits(BackwardConfig(), 1)
    with pytest.raises(InputError, match="can never fire"):
        check_limits(BackwardConfig(max_kl_new_old=math.log(10)), 10)
    with pytest.raises(InputError, match="both KLs are always 0 on 1 sampled trajectory"):
        check_limits(BackwardConfig(max_kl_old_new=10.0), 1)


def test_limits_per_step_have_a_cap_per_step() -> None:
    config = BackwardConfig(max_kl_new_old=0.01, kl_unit=KLUnit.step)
    check_limits(config, 10, horizon=200)  # cap 2.303 / 200 = 0.0115
    with pytest.raises(
        InputError, match=r"cannot exceed 0.002303 per step \(log 10 / 1000 steps\)"
    ):
        check_limits(config, 10, horizon=1000)


def test_bad_data_are_refused_with_the_place() -> None:
    demos, samples = small_sets()
    config = BackwardConfig(hidden=(3,))
    state = init_constraint(np.random.default_rng(0), FEATURES, config)
    with pytest.raises(
        InputError, match=r"one evidence weight >= 0 for each of 4 .* got shape \(3,\)"
    ):
        backward_step(state, demos, samples, FEATURES, config, np.ones(3))
    with pytest.raises(InputError, match=r"one evidence weight >= 0"):
        backward_step(state, demos, samples, FEATURES, config, np.array([1.0, -1.0, 1.0, 1.0]))
    samples.observations[2, 0, 1] = np.nan
    with pytest.raises(
        InputError, match=r"samples: 1 values .* first is 'y' in trajectory 2 at step 0"
    ):
        backward_step(state, demos, samples, FEATURES, config)


def test_zeta_begins_where_its_bias_says():
    inputs = np.zeros((1, 2)), np.zeros((1, 1))
    plain, high = (
        init_constraint(np.random.default_rng(0), FEATURES, BackwardConfig(initial_bias=bias))
        for bias in (0.0, 2.0)
    )
    for layer, other in zip(plain.params[:-1], high.params[:-1], strict=True):
        np.testing.assert_array_equal(layer.weight, other.weight)
    costs = [constraint_cost(state, FEATURES, BackwardConfig())(*inputs) for state in (plain, high)]
    # σ⁻¹ of the costs differs by the bias: log(c / (1 - c)) = -logit
    apart = [float(np.log(cost / (1 - cost))[0]) for cost in costs]
    assert apart[0] - apart[1] == pytest.approx(2.0, abs=1e-4)
