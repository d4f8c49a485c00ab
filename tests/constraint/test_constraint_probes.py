"""Probe worlds, made by hand: what zeta must and must not forbid.

One constant observation, three actions.
"""

import numpy as np
import pytest
from small_data import choices, discrete_task

from icrl.config import BackwardConfig, Weights
from icrl.constraint.backward_step import backward_step, constraint_cost, init_constraint
from icrl.constraint.features import select_features
from icrl.types import Trajectories

TASK = discrete_task(("here",), ("walk", "door", "wait"))
FEATURES = select_features(TASK, None, 20.0)
WALK, DOOR, WAIT = 0, 1, 2


def learn(
    demos: Trajectories,
    samples: Trajectories,
    seed: int,
    config: BackwardConfig,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Feasibility of (walk, door, wait) after ten rounds with the same samples."""
    # every world has 4 x 4 steps, so that each config is compiled once
    state = init_constraint(np.random.default_rng(seed), FEATURES, config)
    for _ in range(10):
        state, _ = backward_step(state, demos, samples, FEATURES, config, weights)
    return np.asarray(1 - constraint_cost(state, FEATURES, config)(np.ones((3, 1)), np.arange(3)))


CONFIGS = [
    BackwardConfig(updates=20),
    BackwardConfig(updates=20, weights=Weights.trajectory, sparsity=0.1),
    BackwardConfig(updates=20, weights=Weights.step),
]


@pytest.mark.parametrize("config", CONFIGS, ids=["none", "trajectory", "step"])
def test_forbidden_door_is_found(config: BackwardConfig) -> None:
    """The samples take the rich door often, the demonstrations never."""
    demos = choices([[WALK, WAIT, WALK, WALK]] * 4)
    honest = [WALK, WAIT, WALK, WALK]
    samples = choices(
        [[DOOR, DOOR, WALK, DOOR], [WALK, DOOR, DOOR, WAIT], [DOOR, WALK, DOOR, DOOR], honest]
    )
    for seed in range(3):
        walk, door, wait = learn(demos, samples, seed, config)
        assert door < 0.2
        assert walk > 0.8
        assert wait > 0.5


@pytest.mark.parametrize("config", CONFIGS, ids=["none", "trajectory", "step"])
def test_innocent_dislike_stays_feasible(config: BackwardConfig) -> None:
    """The demonstrations never wait because it pays less;
    samples that wait earn less and so are no evidence."""
    demos = choices([[WALK] * 4] * 4)
    samples = choices([[WAIT] * 4, [WAIT, WAIT, WALK, WAIT], [WALK] * 4, [WALK] * 4])
    weights = np.array([0.0, 0.0, 1.0, 1.0])
    for seed in range(3):
        assert learn(demos, samples, seed, config, weights)[WAIT] > 0.5
        # the same samples, taken as evidence, condemn it: the weights are what protects it
        assert learn(demos, samples, seed, config)[WAIT] < 0.5


@pytest.mark.parametrize("config", CONFIGS, ids=["none", "trajectory", "step"])
def test_what_both_do_equally_often_stays_feasible(config: BackwardConfig) -> None:
    both = choices([[WALK, DOOR, WAIT, WALK], [DOOR, WALK, WALK, WAIT]] * 2)
    for seed in range(3):
        assert learn(both, both, seed, config).min() > 0.5


@pytest.mark.parametrize("config", CONFIGS, ids=["none", "trajectory", "step"])
def test_unreachable_stays_feasible(config: BackwardConfig) -> None:
    """Nobody ever waits: without data the regulariser on the rest decides, and it allows."""
    seen = choices([[WALK, DOOR, WALK, DOOR], [DOOR, WALK, WALK, WALK]] * 2)
    for seed in range(3):
        assert learn(seen, seen, seed, config)[WAIT] > 0.5
