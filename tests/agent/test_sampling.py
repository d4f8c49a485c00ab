"""Whole episodes of an agent: one key decides all of them; with a cost, behind the shield."""

from dataclasses import replace

import jax
import numpy as np

from icrl.agent.forward_step import generator
from icrl.agent.sampling import sample_agent
from icrl.agent.state import init_agent
from icrl.tasks.lap_grid import lap_grid
from small_runs import FORWARD

TASK = lap_grid().task
KEY = jax.random.key(3)


def sampled(key, horizon=20, cost=None, shield=False):
    config = replace(FORWARD, shield=shield)
    agent = init_agent(generator(jax.random.key(0)), TASK, config)
    return sample_agent(key, agent, TASK, TASK.make_env(3), config, horizon, cost)


def test_one_episode_from_every_environment_no_longer_than_asked():
    samples = sampled(KEY)
    assert samples.num_trajectories == 3
    assert samples.lengths.tolist() == [20, 20, 20]


def test_the_key_decides_everything():
    first, again, other = sampled(KEY), sampled(KEY), sampled(jax.random.key(4))
    np.testing.assert_array_equal(first.actions, again.actions)
    np.testing.assert_array_equal(first.observations, again.observations)
    assert not np.array_equal(first.actions, other.actions)


def test_behind_the_shield_a_forbidden_action_is_never_taken():
    def anticlockwise(observations, actions):
        return np.asarray(actions == 1, np.float32)

    free = sampled(KEY)
    shielded = sampled(KEY, cost=anticlockwise, shield=True)
    assert (free.actions == 1).any()
    assert not (shielded.actions == 1).any()
