"""Greedy inference: against exhaustive search, and recovery of known constraints."""

import numpy as np
import pytest
from enumeration import make_mdp, random_world, random_worlds

from icrl.errors import InputError
from icrl.tabular.greedy import default_min_gain, gains, infer_constraints
from icrl.tabular.grids import (
    GATES,
    GRID_GOAL_REWARD,
    GRID_HORIZON,
    LANES,
    grid_from_text,
    lap_grid,
    marked_states,
)
from icrl.tabular.hypotheses import (
    Hypothesis,
    all_hypotheses,
    forbidden_pairs,
    recovery_errors,
    union,
)
from icrl.tabular.maxent import log_likelihood, log_probabilities, sample_walks, solve
from icrl.tabular.mdp import TabularMDP, hard_log_zeta, successor_transitions
from icrl.tabular.walks import Walks, pairs_used


def constrained_demos(mdp: TabularMDP, true: list[Hypothesis], num_demos: int, seed: int) -> Walks:
    distribution = solve(mdp, hard_log_zeta(union(mdp, true)))
    return sample_walks(mdp, distribution, num_demos, np.random.default_rng(seed))


def test_first_choice_equals_exhaustive_search() -> None:
    num_found = 0
    for world in random_worlds():
        hypotheses = all_hypotheses(world.mdp)
        used = pairs_used(world.mdp, world.demos)
        log_z = world.all.log_partition(np.zeros(world.mdp.reward.shape))
        exhaustive = {
            hypothesis: log_z - world.all.log_partition(hard_log_zeta(pairs))
            for hypothesis, pairs in zip(
                hypotheses, forbidden_pairs(world.mdp, hypotheses), strict=True
            )
            if not np.any(pairs & used)
        }
        found = infer_constraints(
            world.mdp, world.demos, beta=world.beta, min_gain=1e-6, max_constraints=1
        )
        best = max(exhaustive.values(), default=0.0)
        if best < 1e-6:
            assert found.findings == ()
            continue
        num_found += 1
        (finding,) = found.findings
        assert finding.gain == pytest.approx(best, abs=1e-9), world.seed
        assert exhaustive[finding.hypothesis] == pytest.approx(best, abs=1e-9), world.seed
    assert num_found > 150


def test_gain_is_the_probability_of_ever_touching() -> None:
    for seed in range(40):
        world = random_world(seed)
        pairs = forbidden_pairs(world.mdp, all_hypotheses(world.mdp))
        nothing = np.zeros(world.mdp.reward.shape, dtype=bool)
        probs = world.all.probabilities(np.zeros(world.mdp.reward.shape))
        touched = np.einsum("msa,hsa->hm", world.all.counts, pairs.astype(float)) > 0
        spared = 1.0 - touched @ probs
        assert np.exp(-gains(world.mdp, nothing, pairs, world.beta)) == pytest.approx(
            spared, abs=1e-9
        )


def test_likelihood_rises_and_demonstrations_stay_feasible() -> None:
    for world in random_worlds():
        found = infer_constraints(world.mdp, world.demos, beta=world.beta, min_gain=1e-6)
        last = found.nominal_log_likelihood
        for count, finding in enumerate(found.findings, start=1):
            log_zeta = hard_log_zeta(union(world.mdp, found.hypotheses[:count]))
            assert np.all(
                np.isfinite(log_probabilities(world.mdp, world.demos, log_zeta, world.beta))
            )
            exact = log_likelihood(world.mdp, world.demos, log_zeta, world.beta)
            assert finding.log_likelihood == pytest.approx(exact, abs=1e-8)
            assert finding.log_likelihood > last
            last = finding.log_likelihood
        assert np.all(found.feasibility[pairs_used(world.mdp, world.demos)] == 1.0)
        assert np.array_equal(found.feasibility == 0.0, union(world.mdp, found.hypotheses))
        assert found.next_gain < 1e-6


@pytest.mark.parametrize("num_demos", [1, 20, 100])
def test_recovers_the_lap_grid_constraint(num_demos: int) -> None:
    mdp, true = lap_grid(), [Hypothesis(action=1)]
    found = infer_constraints(mdp, constrained_demos(mdp, true, num_demos, seed=0))
    assert found.hypotheses == (Hypothesis(action=1),)
    assert found.findings[0].hypothesis.describe(mdp) == "action anticlockwise"
    # one trajectory is left, and it is certain
    assert found.findings[0].log_likelihood == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("text", [GATES, LANES], ids=["gates", "lanes"])
@pytest.mark.parametrize("num_demos", [20, 100])
@pytest.mark.parametrize("seed", range(3))
def test_recovers_five_forbidden_states_of_a_nine_by_nine_grid(
    text: str, num_demos: int, seed: int
) -> None:
    mdp = grid_from_text(text, horizon=GRID_HORIZON, goal_reward=GRID_GOAL_REWARD)
    true = [Hypothesis(state=s) for s in marked_states(text, "x")]
    assert len(true) == 5
    found = infer_constraints(mdp, constrained_demos(mdp, true, num_demos, seed))
    assert set(found.hypotheses) == set(true)
    assert recovery_errors(mdp, found.hypotheses, true) == (0, 0)


def test_recovery_errors_count_both_kinds() -> None:
    mdp = lap_grid(horizon=4)
    true = [Hypothesis(action=1), Hypothesis(state=3)]
    # A pair inside the truth is right but incomplete;
    # state 7 with action 0 is allowed, so state 7 is a mistake.
    assert recovery_errors(mdp, [Hypothesis(state=5, action=1)], true) == (0, 2)
    assert recovery_errors(mdp, [Hypothesis(action=1), Hypothesis(state=7)], true) == (1, 1)
    assert recovery_errors(mdp, true, true) == (0, 0)


def test_an_innocent_dislike_is_not_forbidden() -> None:
    # Action 1 pays 6 less: p = 1/(1 + e^6) = 0.0025.
    # None of 20 nominal demonstrations takes it, and that says nothing.
    mdp = make_mdp(
        successor_transitions(np.array([[0, 0]])), np.array([[0.0, -6.0]]), np.ones(1), horizon=1
    )
    demos = Walks(states=np.zeros((20, 1), dtype=int), actions=np.zeros((20, 1), dtype=int))
    found = infer_constraints(mdp, demos)
    assert found.findings == ()
    assert found.next_gain == pytest.approx(-np.log(1.0 - 1.0 / (1.0 + np.exp(6.0))))


def test_what_cannot_be_reached_is_never_forbidden() -> None:
    mdp = lap_grid(horizon=4)
    demos = constrained_demos(mdp, [Hypothesis(action=1)], 10, seed=0)
    found = infer_constraints(mdp, demos, all_hypotheses(mdp, actions=False), min_gain=1e-12)
    assert np.all(found.feasibility[5:36] == 1.0)  # five steps away or more
    # Cell 39 is touched by the same trajectories as (cell 0, anticlockwise): the broader of the two
    # is taken, and what lies behind it can then no longer be reached.
    assert found.hypotheses[0] == Hypothesis(state=39)
    assert np.all(found.feasibility[36:39] == 1.0)


def test_default_threshold_by_hand() -> None:
    # 100 hypotheses, 20 demonstrations: log(100 / 0.05) / 20 = 7.6009 / 20.
    assert default_min_gain(100, 20) == pytest.approx(0.380045, abs=1e-6)


def test_bad_requests_are_errors() -> None:
    world = random_world(2)
    with pytest.raises(InputError, match="min_gain must be above 0"):
        infer_constraints(world.mdp, world.demos, min_gain=0.0)
    with pytest.raises(InputError, match="no hypotheses to choose from"):
        infer_constraints(world.mdp, world.demos, [])
    with pytest.raises(InputError, match="names a state, an action, or both"):
        Hypothesis()
