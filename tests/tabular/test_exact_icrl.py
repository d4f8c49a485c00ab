"""ICRL with the exact forward step: the likelihood rises every round,
and the cost finds what is forbidden."""

import numpy as np
import pytest

from icrl.constraint.network import logits
from icrl.errors import InputError
from icrl.tabular.exact_icrl import learn_exact, pair_features
from icrl.tabular.grids import (
    GRID_GOAL_REWARD,
    GRID_HORIZON,
    LANES,
    grid_from_text,
    lap_grid,
    marked_states,
)
from icrl.tabular.hypotheses import Hypothesis, union
from icrl.tabular.maxent import log_likelihood, sample_walks, solve
from icrl.tabular.mdp import TabularMDP, hard_log_zeta
from icrl.tabular.walks import Walks
from icrl.types import BoolArray, FloatArray


def area_under_curve(cost: FloatArray, forbidden: BoolArray) -> float:
    """Probability that a forbidden pair costs more than an allowed one; ties count half."""
    above, below = cost[forbidden][:, None], cost[~forbidden][None, :]
    return float(np.mean((above > below) + 0.5 * (above == below)))


def demos_under(mdp: TabularMDP, forbidden: BoolArray) -> Walks:
    return sample_walks(mdp, solve(mdp, hard_log_zeta(forbidden)), 100, np.random.default_rng(0))


@pytest.mark.parametrize("seed", [0, 1])
def test_finds_the_forbidden_states_of_the_nine_by_nine_grid(seed: int) -> None:
    mdp = grid_from_text(LANES, horizon=GRID_HORIZON, goal_reward=GRID_GOAL_REWARD)
    forbidden = union(mdp, [Hypothesis(state=s) for s in marked_states(LANES, "x")])
    demos = demos_under(mdp, forbidden)
    # ζ sees the place alone: "entering x" and "being in x" are the same evidence,
    # which actions could not tell apart.
    found = learn_exact(mdp, demos, feature_names=("x", "y"), rounds=100, seed=seed)
    assert np.all(np.diff(found.log_likelihoods) > 0)
    assert found.log_likelihoods == found.objectives
    assert area_under_curve(1.0 - found.feasibility, forbidden) >= 0.99
    truth = log_likelihood(mdp, demos, hard_log_zeta(forbidden))
    assert found.log_likelihoods[0] < truth - 20
    assert found.log_likelihoods[-1] > truth - 0.5


def test_finds_the_forbidden_action_of_the_lap_grid() -> None:
    mdp = lap_grid()
    forbidden = union(mdp, [Hypothesis(action=1)])
    found = learn_exact(mdp, demos_under(mdp, forbidden), rounds=30)
    assert np.all(np.diff(found.log_likelihoods) > 0)
    assert area_under_curve(1.0 - found.feasibility, forbidden) >= 0.99
    assert found.log_likelihoods[-1] > -0.1  # the truth leaves one trajectory: log-likelihood 0


def test_sparsity_keeps_the_unreached_feasible() -> None:
    mdp = lap_grid(horizon=8)
    forbidden = union(mdp, [Hypothesis(action=1)])
    demos = demos_under(mdp, forbidden)
    settings = {"feature_names": ("cell",), "rounds": 20}
    free, sparse = (learn_exact(mdp, demos, sparsity=delta, **settings) for delta in (0.0, 5.0))
    assert np.all(np.diff(sparse.objectives) > 0)
    unreached = slice(15, 25)
    assert np.mean(sparse.feasibility[unreached]) > np.mean(free.feasibility[unreached])
    assert np.mean(sparse.feasibility[unreached]) > 0.9


def test_the_artefact_is_the_network() -> None:
    mdp = lap_grid(horizon=8)
    found = learn_exact(mdp, demos_under(mdp, union(mdp, [Hypothesis(action=1)])), rounds=3)
    logit = np.asarray(logits(found.params, pair_features(mdp).astype(np.float32), "tanh"))
    assert 1.0 / (1.0 + np.exp(-logit)) == pytest.approx(found.feasibility, abs=1e-5)


def test_features_are_named_and_scaled() -> None:
    mdp = grid_from_text("S..\n..G", horizon=4)
    features = pair_features(mdp)
    assert features.shape == (6, 4, 6)
    assert features[0, 3].tolist() == [-1, -1, 0, 0, 0, 1]  # top left corner, right
    assert features[5, 0].tolist() == [1, 1, 1, 0, 0, 0]  # bottom right corner, up
    assert pair_features(mdp, ("y",))[1, 0].tolist() == [-1]
    with pytest.raises(InputError, match="unknown feature 'z'"):
        pair_features(mdp, ("z",))


def test_bad_settings_are_errors() -> None:
    mdp = lap_grid(horizon=4)
    demos = demos_under(mdp, union(mdp, [Hypothesis(action=1)]))
    with pytest.raises(InputError, match="rounds must be >= 1 and sparsity >= 0, got 0 and 0"):
        learn_exact(mdp, demos, rounds=0)
