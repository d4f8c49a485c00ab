"""The causal form: equal to the paper's without luck, apart from it with luck."""

import numpy as np
import pytest
from enumeration import Enumeration, World, make_mdp, random_world, random_worlds

from icrl.errors import InputError
from icrl.tabular.causal import causal_gradient, causal_log_likelihood, solve_causal
from icrl.tabular.maxent import TrajectoryDistribution, solve
from icrl.tabular.mdp import hard_log_zeta
from icrl.types import FloatArray


def causal_probabilities(world: World, policy: FloatArray) -> tuple[FloatArray, FloatArray]:
    """p(tau) of every trajectory under a policy [T, S, A] and the true dynamics, and log pi(tau): [M] each."""
    states, actions = world.all.walks.states, world.all.walks.actions
    with np.errstate(divide="ignore"):
        log_policy = np.log(policy[np.arange(world.mdp.horizon), states, actions]).sum(axis=1)
    log_dynamics = world.all.log_base - world.beta * world.mdp.reward[states, actions].sum(axis=1)
    return np.exp(log_policy + log_dynamics), log_policy


def objective(world: World, everything: Enumeration, policy: FloatArray, log_zeta: FloatArray) -> float:
    """E[beta * return + log zeta - log pi], by enumeration."""
    probs, log_policy = causal_probabilities(world, policy)
    states, actions = everything.walks.states, everything.walks.actions
    gain = (world.beta * world.mdp.reward + log_zeta)[states, actions].sum(axis=1)
    return float(np.sum(probs * (gain - log_policy), where=probs > 0))


def test_value_and_occupancies_equal_enumeration_and_no_policy_is_better() -> None:
    for world in random_worlds():
        found = solve_causal(world.mdp, world.other_log_zeta, world.beta)
        probs, _ = causal_probabilities(world, found.policy)
        assert np.sum(probs) == pytest.approx(1.0, abs=1e-9)
        assert found.occupancy == pytest.approx(np.einsum("m,msa->sa", probs, world.all.counts), abs=1e-9)
        best = objective(world, world.all, found.policy, world.other_log_zeta)
        assert found.log_partition == pytest.approx(best, abs=1e-9), world.seed
        noise = np.random.default_rng(world.seed).dirichlet(np.ones(world.mdp.num_actions), found.policy.shape[:2])
        mixed = 0.9 * found.policy + 0.1 * noise
        assert objective(world, world.all, mixed, world.other_log_zeta) < best, world.seed


def test_without_luck_both_forms_agree() -> None:
    for seed in range(0, 60, 2):
        world = random_world(seed)
        start = np.eye(world.mdp.num_states)[0]
        mdp = make_mdp(world.mdp.transitions, world.mdp.reward, start, world.mdp.horizon)
        paper, causal = (f(mdp, world.other_log_zeta, world.beta) for f in (solve, solve_causal))
        assert causal.log_partition == pytest.approx(paper.log_partition, abs=1e-9)
        assert causal.occupancies == pytest.approx(paper.occupancies, abs=1e-9)


def gamble() -> tuple[TrajectoryDistribution, TrajectoryDistribution]:
    """Step 1: action 0 is safe (to s1), action 1 gambles (to s2 or s3, even odds). Step 2 pays 0, +3 or -3."""
    transitions = np.zeros((4, 2, 4))
    transitions[0, 0, 1] = 1.0
    transitions[0, 1, [2, 3]] = 0.5
    for s in (1, 2, 3):
        transitions[s, :, s] = 1.0
    reward = np.array([0.0, 0.0, 3.0, -3.0])[:, None] * np.ones(2)
    mdp = make_mdp(transitions, reward, np.eye(4)[0], horizon=2)
    return solve(mdp, np.zeros((4, 2))), solve_causal(mdp, np.zeros((4, 2)))


def test_the_papers_form_gambles_and_believes_in_winning() -> None:
    paper, causal = gamble()
    # Paper: the gamble weighs (e^3 + e^-3)/2 = cosh 3 = 10.07 against 1 for safety; causal: E[V] = 0 for both.
    assert paper.policy[0, 0, 1] == pytest.approx(np.cosh(3.0) / (1.0 + np.cosh(3.0)))
    assert paper.policy[0, 0, 1] > 0.9
    assert causal.policy[0, 0, 1] == pytest.approx(0.5)
    # Paper: given the gamble, p(win) = e^3/(e^3 + e^-3) = 0.9975; the coin of the world is fair.
    win = {
        name: d.occupancies[1, 2].sum() / d.occupancies[1, [2, 3]].sum() for name, d in (("p", paper), ("c", causal))
    }
    assert win["p"] == pytest.approx(1.0 / (1.0 + np.exp(-6.0)))
    assert win["c"] == pytest.approx(0.5)


def test_causal_gradient_is_the_slope_of_the_likelihood() -> None:
    step = 1e-5
    for seed in (1, 3, 5, 21, 40):
        world = random_world(seed)
        gradient = causal_gradient(world.mdp, world.demos, world.other_log_zeta, world.beta)
        for index in np.ndindex(world.mdp.reward.shape):
            nudge = np.zeros(world.mdp.reward.shape)
            nudge[index] = step
            up = causal_log_likelihood(world.mdp, world.demos, world.other_log_zeta + nudge, world.beta)
            down = causal_log_likelihood(world.mdp, world.demos, world.other_log_zeta - nudge, world.beta)
            assert gradient[index] == pytest.approx((up - down) / (2 * step), abs=1e-7), seed


def test_a_hard_constraint_forbids_the_gamble_that_could_break_it() -> None:
    transitions = np.zeros((3, 2, 3))
    transitions[0, 0, 1] = 1.0
    transitions[0, 1, [1, 2]] = 0.5
    transitions[1:, :, 1] = 1.0
    mdp = make_mdp(transitions, np.zeros((3, 2)), np.eye(3)[0], horizon=2)
    forbidden = np.zeros((3, 2), dtype=bool)
    forbidden[2] = True
    # Causal: action 1 may end in s2, so it has probability 0. Paper: it weighs 1/2 (the lucky half) against 1.
    assert solve_causal(mdp, hard_log_zeta(forbidden)).policy[0, 0] == pytest.approx([1.0, 0.0])
    assert solve(mdp, hard_log_zeta(forbidden)).policy[0, 0] == pytest.approx([2 / 3, 1 / 3])


def test_no_safe_policy_is_an_error() -> None:
    world = random_world(1)
    with pytest.raises(InputError, match="no policy keeps the constraint for sure"):
        solve_causal(world.mdp, np.full(world.mdp.reward.shape, -np.inf))
