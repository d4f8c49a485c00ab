"""Rollouts and sampled trajectories: resets, ends, forbidden streaks,
and Gymnasium's own environments."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import worlds
from icrl.agent.networks import PolicyLayers
from icrl.agent.rollout import EnvStream, collect_rollout, sample_trajectories
from icrl.agent.state import Policy, action_unit, init_agent, policy_of
from icrl.config import Respect, TerminateConfig
from icrl.tasks.task import Task
from plain_settings import plain_forward


def uniform_policy(task):
    """A policy that looks at nothing: zero weights, unit deviation."""
    num_seen = task.observation_space.shape[0]
    num_outputs = len(task.action_names)
    layers = ((np.zeros((num_seen, num_outputs), np.float32), np.zeros(num_outputs, np.float32)),)
    log_std = None if task.discrete else np.zeros(num_outputs, np.float32)
    return Policy(
        layers=PolicyLayers(layers, log_std), moments=None, action_space=task.action_space
    )


def constant_policy(task, choice):
    """A policy for two choices that always makes one of them."""
    bias = np.where(np.arange(2) == choice, 100.0, -100.0).astype(np.float32)
    layers = ((np.zeros((1, 2), np.float32), bias),)
    return Policy(layers=PolicyLayers(layers, None), moments=None, action_space=task.action_space)


def config_for(steps, num_envs, respect=Respect.terminate, **terminate):
    return plain_forward(
        num_envs=num_envs,
        rollout_steps=steps,
        minibatch=1,
        respect=respect,
        terminate=TerminateConfig(**({"soft": 0.0} | terminate)),
    )


def rollout_of(task, policy, steps, num_envs, cost=None, seed=0, **settings):
    stream = EnvStream(task.make_env(num_envs), seed=seed)
    return collect_rollout(
        np.random.default_rng(seed), stream, policy, cost, config_for(steps, num_envs, **settings)
    )


def test_ended_episodes_begin_again_and_the_state_they_ended_in_is_kept():
    task = worlds.delayed_reward()  # sees 0, then 1, terminates in 2
    rollout = rollout_of(task, uniform_policy(task), 5, 2)
    assert rollout.observations[:, 0, 0].tolist() == [0, 1, 0, 1, 0]
    assert rollout.next_observations[:, 0, 0].tolist() == [1, 2, 1, 2, 1]
    assert rollout.terminated[:, 1].tolist() == [False, True, False, True, False]
    assert rollout.rewards[:, 1].tolist() == [0, 1, 0, 1, 0]
    assert not rollout.truncated.any()
    assert not rollout.stopped.any()
    assert not rollout.costs.any()


def test_environments_end_each_in_its_own_time():
    task = worlds.countdown()
    rollout = rollout_of(task, uniform_policy(task), 40, 5)
    seen = rollout.observations[..., 0]
    # it counts down to 1, where it terminates; then a new number
    np.testing.assert_array_equal(rollout.terminated, seen == 1)
    np.testing.assert_array_equal(rollout.next_observations[..., 0], seen - 1)
    assert (seen[1:][~rollout.terminated[:-1]] == seen[:-1][~rollout.terminated[:-1]] - 1).all()
    assert set(seen[1:][rollout.terminated[:-1]].tolist()) == {1.0, 2.0, 3.0, 4.0}


def test_cut_is_not_terminated_unless_both_at_once():
    task = worlds.tempting_door()  # ten steps
    rollout = rollout_of(task, uniform_policy(task), 25, 2)
    assert np.flatnonzero(rollout.truncated[:, 0]).tolist() == [9, 19]
    assert not rollout.terminated.any()
    # the tenth step is forbidden and also the last of the episode: it counts as terminated alone
    script = Script([[0.0]] * 9 + [[1.0]])
    forced = rollout_of(task, constant_policy(task, 1), 10, 1, cost=script)
    assert forced.terminated[:, 0].tolist() == [False] * 9 + [True]
    assert not forced.truncated.any()


def test_a_rollout_goes_on_where_the_last_one_stopped():
    task = worlds.tempting_door()
    stream = EnvStream(task.make_env(1), seed=0)
    policy, rng = uniform_policy(task), np.random.default_rng(0)
    ends = [
        collect_rollout(rng, stream, policy, None, config_for(4, 1)).truncated[:, 0].tolist()
        for _ in range(3)
    ]
    assert [end for part in ends for end in part] == [False] * 9 + [True] + [False] * 2


class Script:
    """A cost that follows a script, whatever is done: one row of the script per call."""

    def __init__(self, rows):
        self.rows = iter(rows)

    def __call__(self, observations, actions):
        return np.asarray(next(self.rows), np.float32)


def test_a_forbidden_step_ends_its_episode():
    task = worlds.tempting_door()
    script = [[0.9, 0.2], [0.1, 0.9], [0.5, 0.51]]  # one half itself is allowed
    rollout = rollout_of(task, uniform_policy(task), 3, 2, cost=Script(script))
    assert rollout.stopped.tolist() == [[True, False], [False, True], [False, True]]
    np.testing.assert_array_equal(rollout.stopped, rollout.terminated)
    np.testing.assert_allclose(rollout.costs, script, rtol=1e-6)


def test_in_soft_environments_a_forbidden_step_ends_nothing():
    task = worlds.tempting_door()
    stream = EnvStream(task.make_env(3), seed=0)
    rng = np.random.default_rng(0)
    policy = constant_policy(task, 1)
    rollout = collect_rollout(rng, stream, policy, worlds.forbid_yes, config_for(2, 3), num_soft=2)
    assert rollout.stopped.tolist() == [[False, False, True]] * 2
    assert (rollout.costs == 1).all()


def test_the_lagrangian_form_counts_costs_and_ends_nothing():
    task = worlds.tempting_door()
    rollout = rollout_of(
        task, uniform_policy(task), 12, 3, cost=worlds.forbid_yes, respect=Respect.lagrangian
    )
    np.testing.assert_array_equal(rollout.costs, rollout.actions)
    assert 0 < rollout.costs.mean() < 1
    assert not rollout.stopped.any()
    assert not rollout.terminated.any()


def test_the_environment_and_the_cost_get_clipped_actions_and_the_update_the_sampled_ones():
    task = worlds.push_reward()
    given = []

    def cost(observations, actions):
        given.append(actions)
        return np.zeros(observations.shape[:-1], np.float32)

    rollout = rollout_of(task, uniform_policy(task), 50, 8, cost=cost)
    clipped = np.clip(rollout.actions, -2.0, 2.0)
    assert np.abs(rollout.actions).max() > 2.0
    np.testing.assert_array_equal(np.stack(given), clipped)
    np.testing.assert_allclose(rollout.rewards, -((clipped[..., 0] - 1.0) ** 2), rtol=1e-5)


def test_the_policys_unit_is_half_of_the_action_space():
    space = gym.spaces.Box(np.float32([-1, 0, -np.inf, -3e38, 2]), np.float32([1, 100, 5, 3e38, 2]))
    unit = action_unit(space)
    assert unit.centre.tolist() == [0, 50, 0, 0, 0]
    assert unit.scale.tolist() == [1, 50, 1, 1, 1]
    assert action_unit(gym.spaces.Discrete(3)) is None
    layers = PolicyLayers(
        ((np.zeros((1, 5), np.float32), np.zeros(5, np.float32)),), np.zeros(5, np.float32)
    )
    policy = Policy(layers=layers, moments=None, action_space=space, unit=unit)
    made = np.float32([[-0.3, -0.5, 9, 9, 9], [3, 1.5, -9, 0.3, -9]])
    given = np.float32([[-0.3, 25, 5, 9, 2], [1, 100, -9, 0.3, 2]])
    # the first column to the bit: unit spaces are left alone
    np.testing.assert_array_equal(policy.to_env(made), given)


def test_the_environment_the_cost_and_the_record_have_the_spaces_unit():
    task = worlds.valve_reward()
    config = config_for(50, 8)
    policy = policy_of(init_agent(np.random.default_rng(0), task, config), task, config)
    rollout = rollout_of(
        task, policy, 50, 8, cost=lambda seen, actions: (actions[..., 0] > 50) * 0.25
    )
    np.testing.assert_array_equal(rollout.env_actions, policy.to_env(rollout.actions))
    assert rollout.env_actions.min() == 0
    assert rollout.env_actions.max() == 100
    assert np.abs(rollout.actions).max() < 6
    np.testing.assert_allclose(
        rollout.rewards, -(((rollout.env_actions[..., 0] - 70) / 50) ** 2), rtol=1e-4
    )
    np.testing.assert_array_equal(
        rollout.costs, (rollout.env_actions[..., 0] > 50) * np.float32(0.25)
    )


def test_sampled_trajectories_have_their_own_lengths():
    task = worlds.countdown()
    samples = sample_trajectories(
        np.random.default_rng(0), uniform_policy(task), task.make_env(30), task.horizon, seed=3
    )
    starts = samples.observations[:, 0, 0]
    np.testing.assert_array_equal(samples.lengths, starts)  # from 4 it takes four steps to 0
    assert set(starts.tolist()) == {1.0, 2.0, 3.0, 4.0}
    assert samples.observations.shape == (30, 4, 1)
    assert samples.actions.shape == (30, 4)
    for row, start in zip(samples.observations[..., 0], starts, strict=True):
        assert row.tolist() == [max(start - t, 0) for t in range(4)]  # padding is zero
    np.testing.assert_allclose(samples.returns, starts * (starts + 1) / 2)  # 4 + 3 + 2 + 1
    assert not samples.actions[~samples.mask].any()


def test_sampled_trajectories_can_end_with_their_first_forbidden_step():
    task = worlds.countdown()

    def two_is_forbidden(observations, actions):
        return np.asarray(observations[..., 0] == 2.0, np.float32)

    samples = sample_trajectories(
        np.random.default_rng(0),
        uniform_policy(task),
        task.make_env(30),
        task.horizon,
        seed=3,
        ends_at=two_is_forbidden,
    )
    starts = samples.observations[:, 0, 0]
    # from 4 and 3 down to 2, which is the last that is played; from 1 to the end
    played = {1.0: 1, 2.0: 1, 3.0: 2, 4.0: 3}
    assert samples.lengths.tolist() == [played[start] for start in starts]
    paid = {1.0: 1.0, 2.0: 2.0, 3.0: 5.0, 4.0: 9.0}
    assert samples.returns.tolist() == [paid[start] for start in starts]


def test_sampled_trajectories_stop_at_the_horizon():
    task = worlds.tempting_door()
    samples = sample_trajectories(
        np.random.default_rng(0), uniform_policy(task), task.make_env(3), task.horizon, seed=0
    )
    assert samples.lengths.tolist() == [10, 10, 10]
    np.testing.assert_allclose(samples.rewards, 1.0 + samples.actions)


def test_the_same_seed_gives_the_same_bytes():
    task = worlds.countdown()
    first, second, other = (
        sample_trajectories(
            np.random.default_rng(s), uniform_policy(task), task.make_env(8), task.horizon, seed=s
        )
        for s in (5, 5, 6)
    )
    assert first.observations.tobytes() == second.observations.tobytes()
    assert first.actions.tobytes() == second.actions.tobytes()
    assert first.observations.tobytes() != other.observations.tobytes()
    rollouts = [rollout_of(task, uniform_policy(task), 9, 3, seed=s) for s in (5, 5, 6)]
    assert (
        rollouts[0].actions.tobytes()
        == rollouts[1].actions.tobytes()
        != rollouts[2].actions.tobytes()
    )


def gymnasium_task(name):
    """A task made of a registered Gymnasium environment, as a user would make it."""
    single = gym.make(name)
    discrete = isinstance(single.action_space, gym.spaces.Discrete)
    return Task(
        name=name,
        make_env=lambda n: SyncVectorEnv(
            [lambda: gym.make(name)] * n, autoreset_mode=AutoresetMode.DISABLED
        ),
        observation_space=single.observation_space,
        action_space=single.action_space,
        observation_names=tuple(f"s{i}" for i in range(single.observation_space.shape[0])),
        action_names=("left", "right") if discrete else ("torque",),
        horizon=single.spec.max_episode_steps,
    )


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_gymnasiums_own_environments_work(name):
    task = gymnasium_task(name)
    config = config_for(250, 3)
    policy = policy_of(init_agent(np.random.default_rng(0), task, config), task, config)
    rollout = rollout_of(task, policy, 250, 3)
    starts = np.abs(rollout.observations[0])
    ended = rollout.terminated | rollout.truncated
    assert ended.any()
    np.testing.assert_array_equal(
        rollout.observations[1:][~ended[:-1]], rollout.next_observations[:-1][~ended[:-1]]
    )
    if name == "CartPole-v1":  # falls over, then begins within ±0.05 again
        assert starts.max() <= 0.05
        assert rollout.terminated.sum() > 3
        assert np.abs(rollout.observations[1:][ended[:-1]]).max() <= 0.05
        assert (np.abs(rollout.next_observations[rollout.terminated])[:, 2] > 0.2).any()
    else:  # never falls: only cut, after 200 steps
        assert np.flatnonzero(rollout.truncated[:, 0]).tolist() == [199]
        assert not rollout.terminated.any()
    samples = sample_trajectories(
        np.random.default_rng(0), policy, task.make_env(4), task.horizon, seed=1
    )
    expected = samples.returns if name == "CartPole-v1" else np.full(4, 200)
    np.testing.assert_array_equal(samples.lengths, expected)  # CartPole pays 1 a step


def test_a_forced_end_resets_a_gymnasium_environment_in_mid_episode():
    task = gymnasium_task("Pendulum-v1")
    config = config_for(6, 2)
    policy = policy_of(init_agent(np.random.default_rng(0), task, config), task, config)
    script = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    rollout = rollout_of(task, policy, 6, 2, cost=Script(script))
    jumps = np.abs(rollout.observations[1:] - rollout.next_observations[:-1]).max(axis=-1) > 0
    np.testing.assert_array_equal(jumps, np.array(script[:-1]) == 1.0)
