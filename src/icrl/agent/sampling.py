"""Whole episodes of an agent: S ~ π^φ, line 4 of Algorithm 1."""

from typing import Any

from gymnasium.vector import VectorEnv

from icrl.agent.forward_step import generator
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import AgentState, policy_of
from icrl.config import ForwardConfig
from icrl.tasks.task import Task
from icrl.types import CostFunction, Trajectories


def sample_agent(
    key: Any,
    agent: AgentState,
    task: Task,
    env: VectorEnv,
    config: ForwardConfig,
    horizon: int,
    cost: CostFunction | None = None,
) -> Trajectories:
    """One episode of at most `horizon` steps in every copy of `env`;
    with a `cost`, behind the shield."""
    # The environments' seed is drawn from the same generator: one key decides the whole sample.
    rng = generator(key)
    policy = policy_of(agent, task, config, cost)
    return sample_trajectories(rng, policy, env, horizon, int(rng.integers(2**31)))
