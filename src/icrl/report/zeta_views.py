"""ζ over x: what each constraint says along a feature called x, where agents and the expert go."""

from collections.abc import Sequence

import numpy as np

from icrl.agent.policy_file import load_policy
from icrl.agent.rollout import sample_trajectories
from icrl.constraint.found import cost_function
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.experiment.directory.run_directory import CONSTRAINT, POLICY
from icrl.report.figures import ZetaOverX
from icrl.report.records import Group, RunRecord
from icrl.tasks.task import Scenario
from icrl.trajectories import along, join_pairs, pairs_of
from icrl.types import FloatArray, Pairs, Trajectories

_X = "x"
_EPISODES = 5
"""Of each agent, at most."""
_SHOWN_STEPS = 2_000
"""Steps of each agent that are enough to draw it by."""
_STATES = 400
_POINTS = 161
"""States that the other features are drawn from, points on x."""


def zeta_views(
    groups: Sequence[Group], scenario: Scenario, expert: Trajectories
) -> list[ZetaOverX]:
    """ζ over x for each method that learned (or was given)
    a constraint on a task with a feature called x."""
    if _X not in scenario.task.observation_names:
        return []
    column = scenario.task.observation_names.index(_X)
    runs = {
        g.label: [run for run in g.finished if (run.directory / CONSTRAINT).is_dir()]
        for g in groups
    }
    shown = [group for group in groups if runs[group.label]]
    constraints = {
        g.label: [load_constraint(run.directory / CONSTRAINT) for run in runs[g.label]]
        for g in shown
    }
    # Played anew by the policy that was kept: the record of a run holds its early agents, too.
    episodes = _enough(scenario.task.horizon)
    agents = {
        g.label: [episodes_of(run, scenario, episodes) for run in runs[g.label]] for g in shown
    }
    visited = [expert, *(agent for group in shown for agent in agents[group.label])]
    x = _axis(
        np.concatenate([_x_of(t, column) for t in visited]),
        [c for group in shown for c in constraints[group.label]],
    )
    return [
        _zeta_over_x(g, constraints[g.label], agents[g.label], expert, scenario, column, x)
        for g in shown
    ]


def _zeta_over_x(
    group: Group,
    constraints: list[LearnedConstraint],
    agents: list[Trajectories],
    expert: Trajectories,
    scenario: Scenario,
    column: int,
    x: FloatArray,
) -> ZetaOverX:
    zeta = []
    forbidden = np.zeros(len(x))
    for constraint, agent in zip(constraints, agents, strict=True):
        moved = along(_some_steps([expert, agent]), column, x)  # [K, P, o], [K, P, ...]
        zeta.append(constraint.feasibility(moved.observations, moved.actions).mean(axis=1))
        forbidden += scenario.violates(moved.observations, moved.actions).mean(axis=1) / len(agents)
    agent_x = np.concatenate([_x_of(agent, column) for agent in agents])
    return ZetaOverX(
        group.name, group.label, x, np.stack(zeta), forbidden, _x_of(expert, column), agent_x
    )


def _x_of(trajectories: Trajectories, column: int) -> FloatArray:
    return np.asarray(trajectories.observations[trajectories.mask][:, column])


def _enough(horizon: int) -> int:
    """Episodes to draw an agent by: of long ones fewer.

    To play them was half of the time of a report on HalfCheetah.
    """
    return int(np.clip(-(-_SHOWN_STEPS // horizon), 2, _EPISODES))


def episodes_of(run: RunRecord, scenario: Scenario, episodes: int = _EPISODES) -> Trajectories:
    """Episodes of the run's final agent in the nominal world."""
    cost = None
    if (run.directory / CONSTRAINT).exists():
        cost = cost_function(load_constraint(run.directory / CONSTRAINT))
    policy = load_policy(run.directory / POLICY, scenario.task, cost)
    rng = np.random.default_rng([run.seed, 0x5EE4])
    env = scenario.task.make_env(episodes)
    return sample_trajectories(rng, policy, env, scenario.task.horizon, int(rng.integers(2**31)))


def _axis(visited: FloatArray, constraints: list[LearnedConstraint]) -> FloatArray:
    """Points on x over all that was visited, and a little further,
    within the range in which ζ can see x."""
    seeing = [
        (c.features, c.features.names.index(_X)) for c in constraints if _X in c.features.names
    ]
    lower = max((features.lower[index] for features, index in seeing), default=-np.inf)
    upper = min((features.upper[index] for features, index in seeing), default=np.inf)
    low, high = np.clip([visited.min(), visited.max()], lower, upper)
    pad = 0.15 * max(high - low, 1e-3)
    return np.linspace(max(low - pad, lower), min(high + pad, upper), _POINTS)


def _some_steps(pools: list[Trajectories]) -> Pairs:
    """Pairs from the pools in equal parts."""
    rng = np.random.default_rng(0)
    parts = []
    for pool in pools:
        chosen = rng.integers(pool.num_steps, size=_STATES // len(pools))
        steps = pairs_of(pool)
        parts.append(Pairs(observations=steps.observations[chosen], actions=steps.actions[chosen]))
    return join_pairs(parts)
