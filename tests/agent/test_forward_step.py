"""The forward step as a whole: counts, scaling, same bytes, one compilation."""

import dataclasses

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st

import worlds
from icrl.agent import ppo_lagrangian
from icrl.agent.forward_step import (
    Pace,
    forward_step,
    forward_steps,
    generator,
    lowest_reward,
    make_batch,
    num_updates,
)
from icrl.agent.moments import fresh_moments
from icrl.agent.networks import apply_networks, unflatten
from icrl.agent.rollout import EnvStream, collect_rollout
from icrl.agent.state import init_agent, make_optimizer, policy_of
from icrl.config import Respect, TerminateConfig
from icrl.tasks.task import Task
from plain_settings import plain_forward

SMALL = plain_forward(
    steps=64, num_envs=4, rollout_steps=8, minibatch=16, epochs=2, hidden=(4,), gamma=0.9
)


def run(task, config=SMALL, seed=0, cost=None, **more):
    agent = init_agent(np.random.default_rng(seed), task, config)
    return forward_step(
        jax.random.key(seed), agent, task, task.make_env(config.num_envs), cost, config, **more
    )


@given(steps=st.integers(1, 10_000), num_envs=st.integers(1, 8), rollout_steps=st.integers(1, 64))
def test_whole_rollouts_that_are_just_enough(steps, num_envs, rollout_steps):
    config = dataclasses.replace(
        SMALL, steps=steps, num_envs=num_envs, rollout_steps=rollout_steps, minibatch=1
    )
    assert steps <= forward_steps(config) < steps + num_envs * rollout_steps
    assert forward_steps(config) == num_updates(config) * num_envs * rollout_steps


def test_the_same_seed_gives_the_same_bytes():
    task = worlds.matching_reward()
    (first, info), (second, same), (other, _) = run(task), run(task), run(task, seed=1)
    assert np.asarray(first.params).tobytes() == np.asarray(second.params).tobytes()
    assert info == same
    assert np.asarray(first.params).tobytes() != np.asarray(other.params).tobytes()


def test_the_update_is_traced_once(monkeypatch):
    task, config = worlds.countdown(), dataclasses.replace(SMALL, epochs=3, steps=128)
    traces = []

    def counted(*arguments):
        traces.append(arguments)
        return prepare(*arguments)

    prepare = ppo_lagrangian._prepare
    # Python runs it only when the update is traced
    monkeypatch.setattr(ppo_lagrangian, "_prepare", counted)
    agent = init_agent(np.random.default_rng(0), task, config)
    env = task.make_env(4)
    for round_index in range(3):  # each of four updates
        agent, _ = forward_step(jax.random.key(round_index), agent, task, env, None, config)
    critics = Pace(critics_only=True)  # all passes, whatever the KL: the same program
    forward_step(jax.random.key(3), agent, task, env, None, config, pace=lambda _: critics)
    assert len(traces) == 1


def test_an_update_that_does_not_heed_the_kl_makes_every_pass():
    task = worlds.countdown()
    config = dataclasses.replace(SMALL, epochs=3, target_kl=1e-9)
    agent = init_agent(np.random.default_rng(0), task, config)
    env = task.make_env(4)
    _, stopped = forward_step(jax.random.key(0), agent, task, env, None, config)
    assert stopped.epochs < 3
    critics = Pace(critics_only=True)
    _, whole = forward_step(
        jax.random.key(0), agent, task, env, None, config, pace=lambda _: critics
    )
    assert whole.epochs == 3


def test_fresh_moments_are_those_of_optax():
    params = np.ones(5, np.float32)
    optimizer = make_optimizer(SMALL)
    made = fresh_moments(optimizer, params)
    theirs = optimizer.init(params)
    assert jax.tree.structure(made) == jax.tree.structure(theirs)
    for ours, other in zip(jax.tree.leaves(made), jax.tree.leaves(theirs), strict=True):
        assert ours.dtype == other.dtype
        np.testing.assert_array_equal(ours, other)


def test_progress_is_told_after_each_rollout():
    told = []
    _, info = run(worlds.seen_reward(), dataclasses.replace(SMALL, steps=70), on_update=told.append)
    assert told == [32, 64, 96]
    assert info.steps == 96


def test_updates_can_be_counted_instead_of_steps():
    _, info = run(worlds.seen_reward(), dataclasses.replace(SMALL, steps=70), updates=2)
    assert info.steps == 64


def test_the_pace_says_how_much_of_the_learning_rate_is_used():
    config = dataclasses.replace(SMALL, steps=32, epochs=1, minibatch=32)  # one gradient step

    def moved(share):
        agent, _ = run(worlds.seen_reward(), config, pace=lambda _: Pace(learning_rate=share))
        start = init_agent(np.random.default_rng(0), worlds.seen_reward(), config)
        return np.abs(np.asarray(agent.params) - np.asarray(start.params)).max()

    assert moved(0.6) == pytest.approx(0.6 * moved(1.0), rel=1e-3)
    assert moved(0.2) == pytest.approx(0.2 * moved(1.0), rel=1e-3)


def test_critics_alone_leave_the_policy_as_it_is():
    task = worlds.push_reward()
    start = init_agent(np.random.default_rng(0), task, SMALL)
    agent, _ = run(task, pace=lambda _: Pace(critics_only=True))
    before = unflatten(np.asarray(start.params), start.shape)
    after = unflatten(np.asarray(agent.params), agent.shape)
    first = start.shape.hidden[0]
    for name in ("policy_w", "policy_b", "log_std"):
        np.testing.assert_array_equal(before[name], after[name])
    np.testing.assert_array_equal(before["w0"][:, :first], after["w0"][:, :first])
    assert np.abs(before["critic_w"] - after["critic_w"]).max() > 0


def test_what_a_bad_life_costs_falls_at_once_and_rises_slowly():
    # means over T of two environments: −1 and −3; the 1 % quantile between them is −2.98
    rewards = np.array([[-1.0, -3.0], [-1.0, -3.0]])
    assert lowest_reward(0.0, rewards) == pytest.approx(-2.98)
    assert lowest_reward(-4.0, rewards) == pytest.approx(0.9 * -4.0 + 0.1 * -2.98)
    assert lowest_reward(0.0, np.ones((2, 2))) == 0.0


def test_a_bonus_is_paid_to_the_learner_and_not_reported_as_reward():
    task = worlds.constant_reward()
    paid, info = run(task, bonus=lambda observations, actions: np.full(actions.shape, -5.0))
    plain, _ = run(task)
    assert info.reward == 1.0
    assert paid.lowest_reward == pytest.approx(-4.0)  # 1 − 5
    assert plain.lowest_reward == 0.0
    assert np.asarray(paid.params).tobytes() != np.asarray(plain.params).tobytes()


def test_a_bonus_sees_actions_in_the_spaces_unit():
    seen = []

    def bonus(observations, actions):
        seen.append(actions)
        return np.zeros(actions.shape[:2])

    run(worlds.valve_reward(), bonus=bonus)
    assert 0 <= np.min(seen) < 30
    assert 70 < np.max(seen) <= 100


def test_moments_are_those_of_what_was_seen():
    agent, _ = run(worlds.seen_reward())  # 64 steps of −1 or 1
    assert agent.observation_moments.num_seen == pytest.approx(64 + 1e-4)
    assert agent.observation_moments.variance[0] == pytest.approx(
        1 - agent.observation_moments.mean[0] ** 2, abs=1e-4
    )
    assert agent.return_moments.num_seen == pytest.approx(64 + 1e-4)


def batch_of(task, config, cost=None, **changes):
    agent = dataclasses.replace(init_agent(np.random.default_rng(0), task, config), **changes)
    stream = EnvStream(task.make_env(config.num_envs), seed=0)
    rollout = collect_rollout(
        np.random.default_rng(0), stream, policy_of(agent, task, config), cost, config
    )
    return agent, rollout, make_batch(agent, rollout, rollout.rewards, config)


def test_values_follow_cut_episodes_and_the_last_row_alone():
    task = worlds.tempting_door()  # cut after ten steps
    config = dataclasses.replace(SMALL, rollout_steps=24, respect=Respect.lagrangian)
    agent, rollout, batch = batch_of(task, config)
    expected = rollout.truncated.copy()
    expected[-1] = True
    np.testing.assert_array_equal(batch.bootstrapped, expected)
    assert np.flatnonzero(expected[:, 0]).tolist() == [9, 19, 23]
    values = apply_networks(
        agent.params, rollout.next_observations.reshape(-1, 1), agent.shape, np
    ).values
    np.testing.assert_allclose(
        batch.bootstrap, np.where(expected, values.reshape(2, 24, 4), 0.0), rtol=1e-6
    )


def test_no_value_follows_a_cut_that_is_an_end():
    task = worlds.tempting_door()  # cut after ten steps
    config = dataclasses.replace(
        SMALL, rollout_steps=24, respect=Respect.lagrangian, cut_is_end=True
    )
    _, rollout, batch = batch_of(task, config)
    np.testing.assert_array_equal(batch.terminated, rollout.truncated)
    assert not batch.truncated.any()
    # the rollout's end is nobody's end
    assert np.flatnonzero(batch.bootstrapped[:, 0]).tolist() == [23]


def test_no_value_follows_an_end():
    task = worlds.constant_reward()  # every step terminates
    _, rollout, batch = batch_of(task, SMALL)
    assert rollout.terminated.all()
    assert not batch.bootstrapped.any()
    assert not batch.bootstrap.any()


@pytest.mark.parametrize(("given_value", "expected"), [(None, -21.0), (-3.0, -3.0), (0.0, 0.0)])
def test_a_forced_end_is_worth_its_terminal_value(given_value, expected):
    task = worlds.tempting_door()
    config = dataclasses.replace(
        SMALL,
        normalize_rewards=False,
        terminate=TerminateConfig(soft=0.0, terminal_value=given_value),
    )
    # the lowest reward so far is −2: for ever, at γ = 0.9, that is −2/(1 − 0.9) = −20,
    # less one deviation: −21
    _, rollout, batch = batch_of(task, config, cost=worlds.forbid_yes, lowest_reward=-2.0)
    assert 0 < rollout.stopped.sum() < rollout.stopped.size
    np.testing.assert_allclose(batch.rewards[rollout.stopped], expected, rtol=1e-6)
    np.testing.assert_array_equal(
        batch.rewards[~rollout.stopped], rollout.rewards[~rollout.stopped]
    )


def test_keys_seed_numpy():
    first, second = generator(jax.random.key(3)).random(4), generator(jax.random.key(3)).random(4)
    np.testing.assert_array_equal(first, second)
    assert (first != generator(jax.random.key(4)).random(4)).all()


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_agents_train_on_gymnasiums_environments(name):
    single = gym.make(name)
    task = Task(
        name=name,
        make_env=lambda n: SyncVectorEnv(
            [lambda: gym.make(name)] * n, autoreset_mode=AutoresetMode.DISABLED
        ),
        observation_space=single.observation_space,
        action_space=single.action_space,
        observation_names=tuple("abcd"[: single.observation_space.shape[0]]),
        action_names=("left", "right") if name == "CartPole-v1" else ("torque",),
        horizon=single.spec.max_episode_steps,
    )
    agent, info = run(task)
    assert info.steps == 64
    assert np.isfinite(np.asarray(agent.params)).all()
    assert info.reward == 1.0 if name == "CartPole-v1" else info.reward < 0
