"""The slow twin of the tabular room: every trajectory of a tiny world, one by one."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from icrl.tabular.mdp import TabularMDP, successor_transitions
from icrl.tabular.walks import Walks
from icrl.types import FloatArray

NUM_WORLDS = 200


@dataclass(frozen=True)
class Enumeration:
    """All possible trajectories of a world."""

    walks: Walks
    log_base: FloatArray
    """[M]: log p(s_0) + sum of log p(s' | s, a) + beta * return"""
    counts: FloatArray
    """[M, S, A]: visits of each pair"""

    def log_weights(self, log_zeta: FloatArray) -> FloatArray:
        """[M]: unnormalised log p(tau) under log zeta [S, A]."""
        return self.log_base + np.sum(log_zeta[self.walks.states, self.walks.actions], axis=1)

    def log_partition(self, log_zeta: FloatArray) -> float:
        return float(np.logaddexp.reduce(self.log_weights(log_zeta)))

    def probabilities(self, log_zeta: FloatArray) -> FloatArray:
        return np.exp(self.log_weights(log_zeta) - self.log_partition(log_zeta))


def enumerate_walks(mdp: TabularMDP, beta: float) -> Enumeration:
    rows = []
    for states in itertools.product(range(mdp.num_states), repeat=mdp.horizon):
        for actions in itertools.product(range(mdp.num_actions), repeat=mdp.horizon):
            prob = mdp.start[states[0]]
            for t in range(mdp.horizon - 1):
                prob *= mdp.transitions[states[t], actions[t], states[t + 1]]
            if prob > 0:
                rows.append(
                    (states, actions, np.log(prob) + beta * sum(mdp.reward[states, actions]))
                )
    walks = Walks(
        states=np.array([row[0] for row in rows]), actions=np.array([row[1] for row in rows])
    )
    counts = np.zeros((len(rows), *mdp.reward.shape))
    for m, (states, actions, _) in enumerate(rows):
        np.add.at(counts[m], (list(states), list(actions)), 1.0)
    return Enumeration(walks, np.array([row[2] for row in rows]), counts)


@dataclass(frozen=True)
class World:
    seed: int
    mdp: TabularMDP
    beta: float
    all: Enumeration
    log_zeta: FloatArray
    """[S, A]: soft, in half of the worlds with a forbidden pair"""
    other_log_zeta: FloatArray
    """[S, A]: soft"""
    demos: Walks
    """Three trajectories that log_zeta allows"""


def make_mdp(
    transitions: FloatArray, reward: FloatArray, start: FloatArray, horizon: int
) -> TabularMDP:
    num_states, num_actions = reward.shape
    return TabularMDP(
        transitions=transitions,
        reward=reward,
        start=start,
        horizon=horizon,
        observations=np.arange(num_states, dtype=float)[:, None],
        observation_names=("state",),
        state_names=tuple(f"s{i}" for i in range(num_states)),
        action_names=tuple(f"a{i}" for i in range(num_actions)),
    )


def random_world(seed: int) -> World:
    """Deterministic for even seeds, stochastic for odd ones."""
    rng = np.random.default_rng(seed)
    num_states, num_actions = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    shape = (num_states, num_actions)
    horizon = int(rng.integers(1, 5 if num_actions == 2 else 4))
    if seed % 2 == 0:
        transitions = successor_transitions(rng.integers(num_states, size=shape))
    else:
        transitions = rng.dirichlet(np.ones(num_states), size=shape) * (
            rng.random((*shape, num_states)) < 0.7
        )
        transitions = np.where(transitions.sum(-1, keepdims=True) == 0, 1.0, transitions)
        transitions = transitions / transitions.sum(-1, keepdims=True)
    start = rng.dirichlet(np.ones(num_states))
    mdp = make_mdp(transitions, 2.0 * rng.normal(size=shape), start, horizon)
    beta = float(rng.uniform(0.3, 2.0))
    everything = enumerate_walks(mdp, beta)
    log_zeta, other_log_zeta = -np.logaddexp(0.0, 2.0 * rng.normal(size=(2, *shape)))
    if rng.random() < 0.5:
        log_zeta[rng.integers(num_states), rng.integers(num_actions)] = -np.inf
    chosen = rng.choice(len(everything.log_base), size=3, p=everything.probabilities(log_zeta))
    demos = Walks(states=everything.walks.states[chosen], actions=everything.walks.actions[chosen])
    return World(seed, mdp, beta, everything, log_zeta, other_log_zeta, demos)


def random_worlds() -> Iterator[World]:
    return (random_world(seed) for seed in range(NUM_WORLDS))
