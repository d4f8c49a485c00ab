"""Exact quantities against the enumeration of every trajectory, on 200 random worlds."""

import numpy as np
import pytest
from enumeration import make_mdp, random_world, random_worlds

from icrl.errors import InputError
from icrl.tabular.grids import lap_grid
from icrl.tabular.maxent import (
    kl_divergence,
    log_likelihood,
    log_likelihood_gradient,
    log_partition,
    log_probabilities,
    sample_walks,
    solve,
)
from icrl.tabular.mdp import hard_log_zeta, successor_transitions
from icrl.tabular.walks import pair_counts

EXACT = 1e-9


def test_partition_and_probabilities_equal_enumeration() -> None:
    for world in random_worlds():
        expected = world.all.log_partition(world.log_zeta)
        batch = log_partition(
            world.mdp, np.stack([world.log_zeta, world.other_log_zeta]), world.beta
        )
        assert batch == pytest.approx(
            [expected, world.all.log_partition(world.other_log_zeta)], abs=EXACT
        ), world.seed
        log_probs = log_probabilities(world.mdp, world.all.walks, world.log_zeta, world.beta)
        assert np.exp(log_probs) == pytest.approx(
            world.all.probabilities(world.log_zeta), abs=EXACT
        ), world.seed


def test_occupancies_equal_enumeration() -> None:
    for world in random_worlds():
        probs = world.all.probabilities(world.log_zeta)
        found = solve(world.mdp, world.log_zeta, world.beta)
        assert found.log_partition == pytest.approx(
            world.all.log_partition(world.log_zeta), abs=EXACT
        )
        assert found.occupancy == pytest.approx(
            np.einsum("m,msa->sa", probs, world.all.counts), abs=EXACT
        ), world.seed
        for t in range(world.mdp.horizon):
            expected = np.zeros(world.mdp.reward.shape)
            np.add.at(
                expected, (world.all.walks.states[:, t], world.all.walks.actions[:, t]), probs
            )
            assert found.occupancies[t] == pytest.approx(expected, abs=EXACT), world.seed


def test_gradient_equals_enumeration() -> None:
    for world in random_worlds():
        probs = world.all.probabilities(world.log_zeta)
        expected = pair_counts(world.mdp, world.demos) - np.einsum(
            "m,msa->sa", probs, world.all.counts
        )
        found = log_likelihood_gradient(world.mdp, world.demos, world.log_zeta, world.beta)
        assert found == pytest.approx(expected, abs=EXACT), world.seed


def test_gradient_is_the_slope_of_the_likelihood() -> None:
    world, step = random_world(11), 1e-5
    gradient = log_likelihood_gradient(world.mdp, world.demos, world.other_log_zeta, world.beta)
    for index in np.ndindex(world.mdp.reward.shape):
        nudge = np.zeros(world.mdp.reward.shape)
        nudge[index] = step
        up = log_likelihood(world.mdp, world.demos, world.other_log_zeta + nudge, world.beta)
        down = log_likelihood(world.mdp, world.demos, world.other_log_zeta - nudge, world.beta)
        assert gradient[index] == pytest.approx((up - down) / (2 * step), abs=1e-7)


def test_both_kls_equal_enumeration() -> None:
    num_infinite = 0
    for world in random_worlds():
        p, q = (
            world.all.probabilities(world.log_zeta),
            world.all.probabilities(world.other_log_zeta),
        )
        for first, second, a, b in (
            (world.log_zeta, world.other_log_zeta, p, q),
            (world.other_log_zeta, world.log_zeta, q, p),
        ):
            with np.errstate(divide="ignore"):
                expected = np.sum(
                    np.where(a > 0, a * (np.log(np.where(a > 0, a, 1.0)) - np.log(b)), 0.0),
                    where=a > 0,
                )
            found = kl_divergence(world.mdp, first, second, world.beta)
            assert found == pytest.approx(expected, abs=EXACT), world.seed
            num_infinite += bool(np.isinf(found))
    assert num_infinite > 10  # worlds with a forbidden pair that the other model uses


def test_kl_of_a_model_from_itself_is_zero() -> None:
    world = random_world(4)
    assert kl_divergence(world.mdp, world.log_zeta, world.log_zeta, world.beta) == pytest.approx(
        0.0, abs=1e-12
    )


def test_samples_follow_the_distribution() -> None:
    world = random_world(7)
    distribution = solve(world.mdp, world.log_zeta, world.beta)
    walks = sample_walks(world.mdp, distribution, 20_000, np.random.default_rng(0))
    # The count of a pair in one walk is at most T = 4,
    # so its mean over 20,000 has a deviation below 4/2/141 = 0.015.
    assert pair_counts(world.mdp, walks) == pytest.approx(distribution.occupancy, abs=0.06)
    assert np.all(np.isfinite(log_probabilities(world.mdp, walks, world.log_zeta, world.beta)))


def test_two_paths_by_hand() -> None:
    # One step, two actions, rewards 0 and log 3, beta 1: Z = 1 + 3 = 4, p = 1/4 and 3/4.
    mdp = make_mdp(
        successor_transitions(np.array([[0, 0]])), np.log([[1.0, 3.0]]), np.ones(1), horizon=1
    )
    found = solve(mdp, np.zeros((1, 2)))
    assert found.log_partition == pytest.approx(np.log(4.0))
    assert found.occupancy[0] == pytest.approx([0.25, 0.75])
    # Halving zeta of the richer action: Z = 1 + 1.5 = 2.5, p = 0.4 and 0.6.
    assert solve(mdp, np.log([[1.0, 0.5]])).occupancy[0] == pytest.approx([0.4, 0.6])


def test_lap_grid_has_one_allowed_trajectory() -> None:
    mdp = lap_grid()
    forbidden = np.zeros((40, 2), dtype=bool)
    forbidden[:, 1] = True
    # Five laps of four coins at 3 each: the only trajectory weighs exp(60).
    assert float(log_partition(mdp, hard_log_zeta(forbidden))) == pytest.approx(60.0)


def test_a_constraint_that_leaves_nothing_is_an_error() -> None:
    mdp = lap_grid(horizon=5)
    with pytest.raises(
        InputError, match=r"leaves no trajectory of 5 steps.*forbids 80 of 80 pairs"
    ):
        solve(mdp, np.full((40, 2), -np.inf))
