"""Cloning: what an agent may take from demonstrations, and that the critics are left alone."""

import dataclasses

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest

import worlds
from icrl.agent import eyes, imitation
from icrl.agent.cloning import clone, pulled, with_policy_of
from icrl.agent.imitation import Imitation, imitation_loss, shown_steps
from icrl.agent.networks import unflatten
from icrl.agent.normalizer import update_moments
from icrl.agent.state import init_agent, policy_of
from icrl.types import Trajectories
from plain_settings import plain_forward

CONFIG = plain_forward(num_envs=4, rollout_steps=8, minibatch=16, hidden=(16,))
PUSH = worlds.push_reward()


def line_demos(num=6, length=40, noise=0.0, seed=0):
    """Actions are half of what is seen, of observations in [-1, 1]."""
    rng = np.random.default_rng(seed)
    seen = rng.uniform(-1, 1, (num, length, 1)).astype(np.float32)
    actions = 0.5 * seen + noise * rng.standard_normal(seen.shape)
    return Trajectories(
        observations=seen,
        actions=actions.astype(np.float32),
        rewards=np.full((num, length), 2.0, np.float32),
        lengths=np.full(num, length),
    )


def cloned(demos, has_rewards=True):
    agent = init_agent(np.random.default_rng(0), PUSH, CONFIG)
    return agent, clone(np.random.default_rng(1), agent, demos, has_rewards, PUSH, CONFIG)


def test_a_clone_does_what_demonstrations_do():
    _, agent = cloned(line_demos())
    policy = policy_of(agent, PUSH, CONFIG, greedy=True)
    seen = np.linspace(-0.9, 0.9, 7, dtype=np.float32)[:, None]
    taken = policy.choose(np.random.default_rng(0), seen).taken
    np.testing.assert_allclose(taken[:, 0], 0.5 * seen[:, 0], atol=0.08)


def test_its_noise_is_what_it_leaves_unexplained():
    _, agent = cloned(line_demos(num=20, noise=0.3))
    unit = (PUSH.action_space.high - PUSH.action_space.low)[0] / 2
    log_std = unflatten(np.asarray(agent.params), agent.shape)["log_std"]
    assert np.exp(log_std[0]) == pytest.approx(0.3 / unit, rel=0.2)


def test_normalisers_are_those_of_the_demonstrations():
    demos = line_demos()
    _, agent = cloned(demos)
    assert agent.observation_moments.mean[0] == pytest.approx(demos.observations.mean(), abs=1e-3)
    assert agent.return_moments.num_seen > 100
    _, without = cloned(demos, has_rewards=False)
    assert without.return_moments.num_seen < 1


def test_critics_are_left_alone():
    start, agent = cloned(line_demos())
    before = unflatten(np.asarray(start.params), start.shape)
    after = unflatten(np.asarray(agent.params), agent.shape)
    np.testing.assert_array_equal(before["critic_w"], after["critic_w"])
    first = start.shape.hidden[0]
    np.testing.assert_array_equal(before["w0"][:, first:], after["w0"][:, first:])
    assert np.abs(before["policy_w"] - after["policy_w"]).max() > 0


def test_a_policy_is_put_back_whole():
    start, agent = cloned(line_demos())
    mixed = with_policy_of(start.params, agent.params, start.shape)
    blocks = unflatten(mixed, start.shape)
    np.testing.assert_array_equal(
        blocks["policy_w"], unflatten(np.asarray(agent.params), agent.shape)["policy_w"]
    )
    np.testing.assert_array_equal(
        blocks["critic_w"], unflatten(np.asarray(start.params), start.shape)["critic_w"]
    )


def test_a_pull_leads_back_towards_the_demonstrations():
    demos = line_demos()
    start, agent = cloned(demos)
    shown = shown_steps(demos, PUSH)
    away = dataclasses.replace(agent, params=start.params)

    def error(candidate):
        policy = policy_of(candidate, PUSH, CONFIG, greedy=True)
        return float(
            np.mean((policy.act(np.random.default_rng(0), shown.observations) - shown.actions) ** 2)
        )

    closer = away
    for _ in range(30):
        closer = pulled(np.random.default_rng(2), closer, shown, CONFIG, 1.0)
    assert error(closer) < 0.5 * error(away)
    assert (
        pulled(np.random.default_rng(2), away, shown, CONFIG, 0.0).params.tobytes()
        == start.params.tobytes()
    )


def test_one_program_clones_and_pulls(monkeypatch):
    traces = []

    def counted(policy, actions, discrete, xp):
        if xp is jnp:  # Python runs it only when the program is traced
            traces.append(policy.shape)
        return imitation_loss(policy, actions, discrete, xp)

    monkeypatch.setattr(imitation, "imitation_loss", counted)
    demos = line_demos()
    _, agent = cloned(demos)
    pulled(np.random.default_rng(0), agent, shown_steps(demos, PUSH), CONFIG, 1.0)
    cloned(line_demos(num=3))  # fewer steps: the same program
    assert len(traces) <= 1  # none, where another test had it compiled


def test_the_loss_in_numpy_equals_that_in_jax():
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((7, 3)).astype(np.float32)
    for discrete, done in ((True, rng.integers(0, 3, 7)), (False, logits[::-1])):
        ours = imitation_loss(logits, done, discrete, np)
        assert ours == pytest.approx(float(imitation_loss(logits, done, discrete, jnp)), rel=1e-6)


def test_one_demonstration_and_discrete_choices_will_do():
    task = dataclasses.replace(
        PUSH, action_space=gym.spaces.Discrete(2), action_names=("left", "right")
    )
    rng = np.random.default_rng(0)
    seen = rng.uniform(-1, 1, (1, 200, 1)).astype(np.float32)
    demos = Trajectories(
        observations=seen,
        actions=(seen[..., 0] > 0).astype(np.int64),
        rewards=np.zeros((1, 200), np.float32),
        lengths=np.array([200]),
    )
    agent = clone(rng, init_agent(rng, task, CONFIG), demos, False, task, CONFIG)
    policy = policy_of(agent, task, CONFIG, greedy=True)
    taken = policy.act(rng, np.array([[-0.8], [0.8]], np.float32))
    assert taken.tolist() == [0, 1]


def many_features_demos(num=6, length=40, features=24, seed=0):
    """As `line_demos`, with many more features that mean nothing."""
    demos = line_demos(num, length, seed=seed)
    rng = np.random.default_rng(seed + 1)
    nothing = rng.uniform(-1, 1, (num, length, features - 1)).astype(np.float32)
    seen = np.concatenate([demos.observations, nothing], axis=2)
    return dataclasses.replace(demos, observations=seen)


def with_features(task, number):
    """The task with so many features."""
    space = gym.spaces.Box(-np.inf, np.inf, (number,), np.float32)
    names = tuple(f"x{index}" for index in range(number))
    return dataclasses.replace(task, observation_space=space, observation_names=names)


def test_a_clone_leaves_out_features_that_mean_nothing():
    task = with_features(PUSH, 24)
    rng = np.random.default_rng(1)
    agent = clone(rng, init_agent(rng, task, CONFIG), many_features_demos(), True, task, CONFIG)
    assert agent.sees[0] == 1.0
    assert agent.sees.sum() <= 12
    # it does what demonstrations do, whatever those features are
    fresh = many_features_demos(num=2, seed=5)
    policy = policy_of(agent, task, CONFIG, greedy=True)
    taken = policy.choose(rng, fresh.observations[0]).taken
    error = np.sqrt(np.mean((taken - fresh.actions[0]) ** 2))
    assert error < 0.1


def test_what_a_clone_does_not_see_changes_nothing_that_it_does():
    task = with_features(PUSH, 24)
    rng = np.random.default_rng(1)
    agent = clone(rng, init_agent(rng, task, CONFIG), many_features_demos(), True, task, CONFIG)
    policy = policy_of(agent, task, CONFIG, greedy=True)
    seen = many_features_demos(num=1, seed=7).observations[0]
    other = np.where(agent.sees > 0, seen, -seen).astype(np.float32)
    np.testing.assert_array_equal(policy.outputs(seen), policy.outputs(other))


def test_a_clone_keeps_every_feature_that_it_needs():
    """Actions depend on both: without either of them what was held out is matched worse."""
    task = with_features(PUSH, 2)
    rng = np.random.default_rng(0)
    seen = rng.uniform(-1, 1, (6, 40, 2)).astype(np.float32)
    demos = dataclasses.replace(
        line_demos(), observations=seen, actions=(0.4 * seen.sum(axis=2, keepdims=True))
    )
    agent = clone(rng, init_agent(rng, task, CONFIG), demos, True, task, CONFIG)
    assert agent.sees.tolist() == [1.0, 1.0]


def made_up_clones(monkeypatch, errors):
    """Clones whose errors are told by how many features they see; they miss the last ones least."""

    def made(rng, agent, inputs, shown, seen):
        return Imitation(np.asarray(agent.params), errors[int(seen.sum())], seen)

    def least_missed(rng, agent, inputs, shown, clone):
        return np.flatnonzero(clone.seen)[::-1]

    monkeypatch.setattr(eyes, "best_imitation", made)
    monkeypatch.setattr(eyes, "_least_missed_first", least_missed)


@pytest.mark.parametrize(
    ("returns", "kept", "played"),
    [
        # half of eight earns more, though it misses more; two miss too much to be played
        ({8: 0.7, 4: 0.9, 3: 0.7}, 4, [4, 8, 3]),
        # half of eight misses more and earns as much: no reason to give up four; six miss as little
        ({8: 0.9, 4: 0.9, 6: 0.9, 3: 0.8, 5: 0.8}, 6, [4, 8, 6, 3, 5]),
        # earning more than demonstrations is no better than earning as much
        ({8: 1.0, 4: 1.4, 6: 1.4, 3: 1.4, 5: 1.4}, 6, [4, 8, 6, 3, 5]),
    ],
)
def test_clones_are_played_and_what_they_earn_decides(monkeypatch, returns, kept, played):
    made_up_clones(monkeypatch, {8: 0.1, 6: 0.1, 5: 0.15, 4: 0.19, 3: 0.19, 2: 0.5})
    task = with_features(PUSH, 8)
    agent = init_agent(np.random.default_rng(0), task, CONFIG)
    shown = shown_steps(many_features_demos(features=8), task)
    seen = []

    def earned(clone):
        seen.append(int(clone.seen.sum()))
        return returns[seen[-1]]

    best = eyes.clone_of_few(np.random.default_rng(0), agent, shown.observations, shown, earned)
    assert int(best.seen.sum()) == kept
    assert seen == played  # each once
    np.testing.assert_array_equal(best.seen, np.arange(8) < kept)


def test_without_a_player_the_error_decides(monkeypatch):
    made_up_clones(monkeypatch, {8: 0.1, 6: 0.1, 5: 0.15, 4: 0.11, 3: 0.2})
    task = with_features(PUSH, 8)
    agent = init_agent(np.random.default_rng(0), task, CONFIG)
    shown = shown_steps(many_features_demos(features=8), task)
    best = eyes.clone_of_few(np.random.default_rng(0), agent, shown.observations, shown)
    assert int(best.seen.sum()) == 6


def test_a_feature_that_never_changed_is_not_seen():
    """Its scale is unknown: an agent that meets another value of it would see a huge number."""
    task = with_features(PUSH, 2)
    rng = np.random.default_rng(0)
    demos = line_demos()
    seen = np.concatenate([demos.observations, np.full_like(demos.observations, 7.0)], axis=2)
    demos = dataclasses.replace(demos, observations=seen)
    agent = clone(rng, init_agent(rng, task, CONFIG), demos, True, task, CONFIG)
    assert agent.sees.tolist() == [1.0, 0.0]


def test_the_scale_of_a_clone_stays():
    """Moved moments would move the policy: a later batch of other numbers changes nothing."""
    _, agent = cloned(line_demos())
    later = update_moments(agent.observation_moments, np.full((4096, 1), 50.0))
    np.testing.assert_allclose(later.mean, agent.observation_moments.mean, atol=1e-3)
    np.testing.assert_allclose(later.variance, agent.observation_moments.variance, rtol=0.05)
