"""The only room that sees the truth: true return and violation rate of a policy (Section 4)."""

from typing import NamedTuple

import numpy as np

from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import Policy
from icrl.tasks.task import Scenario
from icrl.types import BoolArray, FloatArray, Trajectories


class Truth(NamedTuple):
    """What holds of a set of trajectories in the constrained world."""

    true_return: float
    """Mean return in the constrained world, where a violation ends the episode."""
    violation_rate: float
    """Share of steps that violate in the nominal world."""
    nominal_return: float
    """Mean return in the nominal world."""
    violating_episodes: float
    """Share of episodes with at least one violation."""


def evaluate_policy(scenario: Scenario, policy: Policy, episodes: int, seed: int) -> Truth:
    """Run the stochastic policy for whole episodes in the nominal world and judge them."""
    env = scenario.task.make_env(episodes)
    rng = np.random.default_rng([seed, 0xE7A1])
    trajectories = sample_trajectories(rng, policy, env, scenario.task.horizon, int(rng.integers(2**31)))
    return judge(scenario, trajectories)


def judge(scenario: Scenario, trajectories: Trajectories) -> Truth:
    """Both metrics from nominal trajectories: up to the first violation both worlds are the same."""
    violations = violations_of(scenario, trajectories)
    true_returns = constrained_returns(trajectories, violations, scenario.violation_reward)
    return Truth(
        true_return=float(np.mean(true_returns)),
        violation_rate=float(violations.sum() / trajectories.num_steps),
        nominal_return=float(np.mean(trajectories.returns)),
        violating_episodes=float(np.mean(violations.any(axis=1))),
    )


def violations_of(scenario: Scenario, trajectories: Trajectories) -> BoolArray:
    """[N, T]: True on real steps that are truly forbidden."""
    return np.asarray(scenario.violates(trajectories.observations, trajectories.actions) & trajectories.mask)


def constrained_returns(trajectories: Trajectories, violations: BoolArray, violation_reward: float) -> FloatArray:
    """Returns [N] in the constrained world: rewards before the first violation, which pays `violation_reward`."""
    before_first = np.cumsum(violations, axis=1) == 0
    kept = np.sum(trajectories.rewards * (before_first & trajectories.mask), axis=1)
    return np.asarray(kept + violation_reward * violations.any(axis=1))
