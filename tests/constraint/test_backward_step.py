"""The backward step as a whole: its updates, its limits, its one compilation."""

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
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
from icrl.constraint.network import init_params
from icrl.constraint.objective import LossInfo, Steps
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


@pytest.mark.parametrize("other", [1e9, None])
def test_the_limit_on_kl_new_old_holds_by_itself(other: float | None) -> None:
    demos, samples = far_sets()
    # KL(new || old) is at most log 13 = 2.56 here; the other limit is far beyond what one step
    # reaches, or there is none
    limited = BackwardConfig(
        updates=10, learning_rate=0.01, max_kl_old_new=other, max_kl_new_old=0.5
    )
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
    [
        *(
            (0, 1),
            (1, 1),
            (2, 2),
            (3, 3),
            (4, 4),
            (5, 6),
            (6, 6),
            (7, 8),
            (8, 8),
            (9, 12),
            (12, 12),
        ),
        *((13, 16), (150, 192), (200, 256), (1000, 1024)),
    ],
)
def test_padded_length(length: int, padded: int) -> None:
    assert padded_length(length) == padded
    assert isinstance(padded_length(length), int)


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


@pytest.mark.parametrize(
    ("limit", "num_samples", "horizon", "said"),
    [
        # e² = 7.39
        (2.0, 5, None, "1.609 per trajectory (log 5). Use at least 8 samples (num_samples), a limit"
                       " below 1.61, or no limit (None)."),
        # one sample has no lower limit to offer
        (2.0, 1, None, "0 per trajectory (log 1). Use at least 8 samples (num_samples), no limit "
                       "(None)."),
        (2.0, 2, None, "0.6931 per trajectory (log 2). Use at least 8 samples (num_samples), a "
                       "limit below 0.693, or no limit (None)."),
        # from e^20 samples on there is no advice
        (19.5, 2, None, "0.6931 per trajectory (log 2). Use at least 294267567 samples "
                        "(num_samples), a limit below 0.693, or no limit (None)."),
        (20.0, 2, None, "0.6931 per trajectory (log 2). Use a limit below 0.693, or no limit "
                        "(None)."),
        (20.5, 2, None, "0.6931 per trajectory (log 2). Use a limit below 0.693, or no limit "
                        "(None)."),
        # per step
        (2.0, 5, 1, "1.609 per step (log 5). Use at least 8 samples (num_samples), a limit below "
                    "1.61, or no limit (None)."),
        (10.0, 5, 2, "0.8047 per step (log 5 / 2 steps). Use a limit below 0.805, or no limit "
                     "(None)."),
        (9.5, 5, 2, "0.8047 per step (log 5 / 2 steps). Use at least 178482301 samples "
                    "(num_samples), a limit below 0.805, or no limit (None)."),
        (1.0, 5, 2, "0.8047 per step (log 5 / 2 steps). Use at least 8 samples (num_samples), a "
                    "limit below 0.805, or no limit (None)."),
    ],
)  # fmt: skip
def test_the_way_out_is_one(limit: float, num_samples: int, horizon: int | None, said: str) -> None:
    config = BackwardConfig(max_kl_new_old=limit)
    words: tuple[Any, ...] = (config, num_samples)
    if horizon is not None:
        words = (replace(config, kl_unit=KLUnit.step), num_samples, horizon)
    with pytest.raises(InputError) as caught:
        check_limits(*words)
    assert str(caught.value).endswith(f"sampled trajectories cannot exceed {said}")


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
    check_limits(replace(config, max_kl_new_old=2.0), 10)  # one step: cap 2.303
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
    samples.observations[3, 0, 0] = np.nan
    with pytest.raises(
        InputError, match=r"samples: 2 values .* first is 'y' in trajectory 2 at step 0"
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


def test_data_without_steps_are_refused() -> None:
    demos, samples = small_sets()
    config = BackwardConfig(hidden=(3,))
    state = init_constraint(np.random.default_rng(0), FEATURES, config)
    none = Trajectories(
        observations=np.zeros((0, 4, 2), np.float32),
        actions=np.zeros((0, 4, 1), np.float32),
        rewards=np.zeros((0, 4)),
        lengths=np.zeros(0, int),
    )
    with pytest.raises(InputError, match="needs demonstrations, got 0 trajectories of 0 steps"):
        backward_step(state, none, samples, FEATURES, config)
    with pytest.raises(InputError, match="needs samples, got 0 trajectories of 0 steps"):
        backward_step(state, demos, none, FEATURES, config)


def test_weights_that_are_not_finite_are_refused_and_many_are_not_all_said() -> None:
    for bad in (np.inf, np.nan):
        with pytest.raises(InputError, match="expected one evidence weight"):
            module._check_weights(np.array([1.0, bad]), 2)
    with pytest.raises(InputError) as eight:
        module._check_weights(np.ones(8), 2)
    with pytest.raises(InputError) as nine:
        module._check_weights(np.ones(9), 2)
    assert "..." not in str(eight.value)
    assert "..." in str(nine.value)
    np.testing.assert_array_equal(module._check_weights(None, 2), [1.0, 1.0])
    np.testing.assert_array_equal(module._check_weights(np.array([0.0, 2.0]), 2), [0.0, 2.0])


def test_one_step_is_enough() -> None:
    rng = np.random.default_rng(0)
    demos, samples = (random_trajectories(rng, n, 1, 2, 1) for n in (1, 2))
    config = BackwardConfig(updates=1, hidden=(3,))
    state = init_constraint(rng, FEATURES, config)
    _, info = backward_step(state, demos, samples, FEATURES, config)
    assert info.updates_made == 1


def test_only_the_bias_of_the_logit_is_shifted() -> None:
    config = BackwardConfig(hidden=(4, 3), initial_bias=2.0)
    plain = init_params(np.random.default_rng(0), FEATURES.num_features, (4, 3))
    shifted = init_constraint(np.random.default_rng(0), FEATURES, config).params
    assert len(shifted) == len(plain) == 3
    for number, (layer, other) in enumerate(zip(plain, shifted, strict=True)):
        np.testing.assert_array_equal(layer.weight, other.weight)
        np.testing.assert_array_equal(layer.bias + 2.0 * (number == 2), other.bias)


def test_what_is_counted_goes_on() -> None:
    demos, samples = small_sets()
    config = BackwardConfig(updates=2, hidden=(3,))
    state = init_constraint(np.random.default_rng(1), FEATURES, config)
    assert (state.rounds_done, state.updates_done) == (0, 0)
    later = state._replace(rounds_done=3, updates_done=3)
    after, _ = backward_step(later, demos, samples, FEATURES, config)
    assert (after.rounds_done, after.updates_done) == (4, 5)


def test_kls_are_per_trajectory_or_per_step() -> None:
    demos, samples = small_sets()
    config = BackwardConfig(updates=2, hidden=(3,))
    state = init_constraint(np.random.default_rng(1), FEATURES, config)
    _, whole = backward_step(state, demos, samples, FEATURES, config)
    per_step = replace(config, kl_unit=KLUnit.step)
    _, info = backward_step(state, demos, samples, FEATURES, per_step)
    length = samples.lengths.mean()
    assert length > 1
    assert info.kl_old_new == pytest.approx(whole.kl_old_new / length, rel=1e-5)
    assert info.kl_new_old == pytest.approx(whole.kl_new_old / length, rel=1e-5)
    assert info.effective_sample_size == pytest.approx(whole.effective_sample_size)


def test_a_last_update_that_was_shortened_is_not_stopped_early() -> None:
    demos, samples = far_sets()
    limited = BackwardConfig(updates=1, learning_rate=0.01, max_kl_old_new=10.0)
    state = init_constraint(np.random.default_rng(0), FEATURES, limited)
    _, info = backward_step(state, demos, samples, FEATURES, limited)
    assert (info.updates_made, info.step_shortened, info.stopped_early) == (1, True, False)


@pytest.mark.parametrize(("made", "early"), [(300, False), (299, True)])
def test_stopped_early_is_a_matter_of_numbers(
    monkeypatch: pytest.MonkeyPatch, made: int, early: bool
) -> None:
    demos, samples = small_sets()
    config = BackwardConfig(updates=300, hidden=(3,))
    state = init_constraint(np.random.default_rng(0), FEATURES, config)
    end = module._Loop(state.params, state.opt_state, jnp.ones(()), jnp.asarray(made), True)
    measures = dict.fromkeys(("kl_old_new", "kl_new_old", "effective_sample_size"), 1.0)
    monkeypatch.setattr(module, "_run_updates", lambda **_: (end, 0.0, NO_PARTS, measures))
    after, info = backward_step(state, demos, samples, FEATURES, config)
    assert (info.updates_made, info.step_shortened, info.stopped_early) == (made, True, early)
    assert after.updates_done == made


@pytest.mark.parametrize(
    ("most", "alpha"),
    [
        *((math.inf, 1.0), (1.0, 1.0), (0.5, 0.5), (0.25, 0.25), (2.0**-30, 2.0**-30)),
        # thirty halvings do not do, and nothing does
        *((2.0**-31, 0.0), (-1.0, 0.0)),
    ],
)
def test_a_step_is_halved_until_it_fits_thirty_times_at_most(
    monkeypatch: pytest.MonkeyPatch, most: float, alpha: float
) -> None:
    monkeypatch.setattr(module, "_within_limits", lambda params, samples, config: params <= most)
    moved, shortened = module._shorten(jnp.zeros(()), jnp.ones(()), None, None)
    assert float(moved) == alpha
    assert bool(shortened) == (alpha < 1)


@pytest.mark.parametrize(
    ("old_new", "new_old", "within"),
    [
        *((1.0, 2.0, True), (1.5, 2.5, True), (None, None, True)),  # a limit that is met is kept
        *((0.5, 2.0, False), (1.0, 1.5, False), (0.5, 1.5, False)),
        *((None, 2.0, True), (None, 1.5, False), (1.0, None, True), (0.5, None, False)),
    ],
)
def test_both_limits_must_be_kept(
    monkeypatch: pytest.MonkeyPatch, old_new: float | None, new_old: float | None, within: bool
) -> None:
    measures = {"kl_old_new": jnp.asarray(1.0), "kl_new_old": jnp.asarray(2.0)}
    monkeypatch.setattr(module, "_measure", lambda params, samples, config: measures)
    config = BackwardConfig(max_kl_old_new=old_new, max_kl_new_old=new_old)
    assert bool(module._within_limits(None, None, config)) is within


NO_PARTS = LossInfo(*(jnp.zeros(()) for _ in LossInfo._fields))


def test_the_norm_of_the_gradient_is_that_of_all_parameters_together() -> None:
    # the loss 2 Σ θ has the gradient 2 everywhere: its norm is 2 √(number of parameters)
    demos, samples = small_sets()
    config = BackwardConfig(updates=1, hidden=(3,))
    state = init_constraint(np.random.default_rng(0), FEATURES, config)

    def twice(params: Any, *_: Any) -> Any:
        return 2 * sum(jnp.sum(leaf) for leaf in jax.tree.leaves(params)), NO_PARTS

    _, info = backward_step(state, demos, samples, FEATURES, config, objective=twice)
    count = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    assert info.gradient_norm == pytest.approx(2 * math.sqrt(count), rel=1e-6)


def test_a_step_that_diverges_is_an_error_whether_the_loss_shows_it_or_the_gradient() -> None:
    demos, samples = small_sets()
    config = BackwardConfig(updates=1, hidden=(3,))
    state = init_constraint(np.random.default_rng(0), FEATURES, config)

    def no_loss(params: Any, *_: Any) -> Any:
        return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(params)) * jnp.nan, NO_PARTS

    def only_loss(params: Any, *_: Any) -> Any:
        """Not a number, with the gradient 1 everywhere."""
        return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(params)) + jnp.nan, NO_PARTS

    def only_gradient(params: Any, *_: Any) -> Any:
        """0, with an infinite gradient."""
        return sum(
            jnp.sum(jnp.nan_to_num(jnp.sqrt(leaf - jax.lax.stop_gradient(leaf))))
            for leaf in jax.tree.leaves(params)
        ), NO_PARTS

    for objective, words in (
        (no_loss, "loss nan, gradient norm nan after 1 updates"),
        (only_loss, "loss nan, gradient norm 4.0"),  # √16
        (only_gradient, "loss 0.0, gradient norm (inf|nan)"),
    ):
        with pytest.raises(InputError, match=words):
            backward_step(state, demos, samples, FEATURES, config, objective=objective)
