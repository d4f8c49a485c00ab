"""The five probe worlds, and those where an episode is forced to end:
the agent learns the answer that we know."""

import dataclasses

import jax
import numpy as np
import pytest

import worlds
from icrl.agent.distributions import log_softmax
from icrl.agent.forward_step import forward_step, scale_observations
from icrl.agent.multiplier import multiplier_value
from icrl.agent.networks import apply_networks, apply_policy
from icrl.agent.normalizer import reward_scale
from icrl.agent.state import init_agent, policy_of
from icrl.config import MultiplierConfig, Respect, TerminateConfig
from plain_settings import plain_forward

# one configuration (and one shape) for most worlds: the update is compiled once for all of them
PROBE = plain_forward(
    steps=512,
    num_envs=8,
    rollout_steps=32,
    minibatch=64,
    epochs=6,
    learning_rate=5e-3,
    target_kl=None,
    hidden=(16,),
    gamma=0.9,
    entropy_bonus=0.001,
)
PRICED = dataclasses.replace(
    PROBE,
    respect=Respect.lagrangian,
    scale_cost_advantages=True,
    multiplier=MultiplierConfig(initial=1.0, learning_rate=1.0),
)


# a constant return has no deviation to scale rewards by
UNSCALED = dataclasses.replace(PROBE, normalize_rewards=False)


def train(task, config=PROBE, cost=None, seed=0, rounds=16, agent=None):
    agent = init_agent(np.random.default_rng(seed), task, config) if agent is None else agent
    env = task.make_env(config.num_envs)
    for index in range(rounds):
        agent, info = forward_step(
            jax.random.fold_in(jax.random.key(seed), index), agent, task, env, cost, config
        )
    return agent, info


def values_at(agent, config, *seen):
    """Reward values in the task's own units."""
    inputs = scale_observations(agent, np.array(seen, np.float32)[:, None], config)
    values = apply_networks(np.asarray(agent.params), inputs, agent.shape, np).values[0]
    return values / reward_scale(agent.return_moments) if config.normalize_rewards else values


def chance_of_yes(agent, task, config, *seen):
    policy = policy_of(agent, task, config)
    inputs = scale_observations(agent, np.array(seen, np.float32)[:, None], config)
    return np.exp(log_softmax(apply_policy(policy.layers, inputs), np))[:, 1]


def test_world_1_the_critic_learns_a_constant():
    agent, info = train(worlds.constant_reward(), UNSCALED)
    assert info.reward == 1.0
    assert values_at(agent, UNSCALED, 0.0) == pytest.approx([1.0], abs=0.1)


def test_world_2_the_critic_learns_what_is_seen():
    agent, _ = train(worlds.seen_reward())
    assert values_at(agent, PROBE, -1.0, 1.0) == pytest.approx([-1.0, 1.0], abs=0.15)


def test_world_3_the_critic_discounts():
    agent, _ = train(worlds.delayed_reward())
    assert values_at(agent, PROBE, 0.0, 1.0) == pytest.approx([0.9, 1.0], abs=0.05)


def test_world_4_the_policy_learns_a_choice():
    task = worlds.choice_reward()
    agent, _ = train(task)
    assert chance_of_yes(agent, task, PROBE, 0.0)[0] > 0.9


@pytest.mark.parametrize(
    ("task", "best", "near"),
    [(worlds.push_reward(), 1.0, 0.15), (worlds.valve_reward(), 70.0, 4.0)],
    ids=["push", "valve"],
)
def test_world_4_the_policy_learns_a_push_whatever_its_unit(task, best, near):
    config = dataclasses.replace(PROBE, entropy_bonus=0.0)
    agent, _ = train(task, config)
    policy = policy_of(agent, task, config)
    mean = apply_policy(
        policy.layers, scale_observations(agent, np.zeros((1, 1), np.float32), config)
    )
    assert float(policy.to_env(mean)[0, 0]) == pytest.approx(best, abs=near)
    assert policy.layers.log_std is not None
    assert float(policy.layers.log_std[0]) < -0.3  # it began at 0: less noise pays


def test_world_5_the_policy_learns_what_to_do_where():
    task = worlds.matching_reward()
    agent, _ = train(task)
    no, yes = chance_of_yes(agent, task, PROBE, -1.0, 1.0)
    assert no < 0.1
    assert yes > 0.9


def test_without_a_constraint_the_tempting_door_is_taken():
    task = worlds.tempting_door()
    agent, info = train(task)
    assert chance_of_yes(agent, task, PROBE, 0.0)[0] > 0.9
    assert info.stopped_episodes == 0


@pytest.mark.parametrize("config", [PROBE, PRICED], ids=["terminate", "lagrangian"])
@pytest.mark.parametrize("seed", range(3))
def test_a_forbidden_door_is_unlearned(config, seed):
    task = worlds.tempting_door()
    # not for longer: a policy without doubts tries nothing else
    agent, _ = train(task, config, rounds=1, seed=seed)
    tempted = chance_of_yes(agent, task, config, 0.0)[0]
    agent, info = train(task, config, cost=worlds.forbid_yes, seed=seed, agent=agent)
    assert tempted > 0.6
    assert chance_of_yes(agent, task, config, 0.0)[0] < 0.1
    assert info.cost < 0.1
    if config.respect is Respect.lagrangian:
        assert info.stopped_episodes == 0
        assert info.multiplier == multiplier_value(agent.multiplier) > 1.0
    else:
        assert info.multiplier == 0.0


def test_forced_ends_are_counted():
    task = worlds.tempting_door()
    _, info = train(task, cost=worlds.forbid_yes, rounds=1)
    # every forbidden step ends its episode, and here forbidden steps are the
    # `yes` ones: cost 1 each
    assert info.stopped_episodes == round(info.cost * info.steps) > 50


@pytest.mark.parametrize("seed", range(3))
def test_a_forced_end_is_worse_than_any_life_so_nobody_seeks_it(seed):
    task = worlds.painful_life()
    agent, _ = train(task, cost=worlds.forbid_yes, seed=seed)
    # steps cost 1 and 3 in turn, so a life costs about 2 a step:
    # an end is worth less than that for ever
    assert -2.6 < agent.lowest_reward < -1.9
    assert chance_of_yes(agent, task, PROBE, -1.0, 1.0).max() < 0.1


def test_were_an_end_worth_nothing_it_would_be_sought():
    task = worlds.painful_life()
    config = dataclasses.replace(PROBE, terminate=TerminateConfig(soft=0.0, terminal_value=0.0))
    agent, _ = train(task, config, cost=worlds.forbid_yes)
    assert chance_of_yes(agent, task, config, -1.0, 1.0).min() > 0.9
