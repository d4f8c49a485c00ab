"""Training that knows when it is done: schedules, measurements, goals."""

import dataclasses

import jax
import numpy as np
import pytest

import worlds
from icrl.agent import training as training_module
from icrl.agent.state import init_agent
from icrl.agent.training import (
    Goal,
    Measurement,
    Training,
    first_forbidden,
    judged_training,
    measure,
    pace_of,
    start_training,
    train_out,
)
from icrl.config import TerminateConfig
from icrl.trajectories import cut
from icrl.types import Trajectories
from plain_settings import plain_forward

CONFIG = plain_forward(
    num_envs=4,
    rollout_steps=8,
    minibatch=16,
    hidden=(4,),
    falling=0.25,
    tail=100,
    pull=400,
    terminate=TerminateConfig(soft=0.5, closing=0.5),
)
AGENT = init_agent(np.random.default_rng(0), worlds.push_reward(), CONFIG)


def test_the_learning_rate_falls_over_the_last_part_of_the_budget():
    pace = pace_of(Training(AGENT), 1_000, CONFIG)
    assert pace(0).learning_rate == pace(750).learning_rate == 1.0
    assert pace(875).learning_rate == pytest.approx(0.5)
    assert pace(1_000).learning_rate == 0.0


def test_once_the_goal_is_met_it_falls_over_the_tail():
    pace = pace_of(Training(AGENT, steps=200, done_at=200), 10_000, CONFIG)
    assert pace(50).learning_rate == pytest.approx(0.5)
    assert pace(100).learning_rate == 0.0


def test_only_a_clone_is_pulled_and_all_see_soft_environments():
    plain = pace_of(Training(AGENT), 1_000, CONFIG)(320)
    assert (plain.pull, plain.critics_only) == (0.0, False)
    assert plain.soft > 0
    clone = pace_of(Training(AGENT, cloned=True), 1_000, CONFIG)
    assert clone(0).critics_only  # five batches of 32 steps: the critics first
    assert clone(0).pull == 0.0
    assert not clone(160).critics_only
    assert clone(200).pull == pytest.approx(0.5)  # 1 - 200/400
    assert clone(250).soft == pytest.approx(0.25)  # half of a half
    assert clone(500).soft == 0.0


def episodes():
    """Two episodes of three steps with rewards 1, 2, 4; seen are 0, 1, 2 and 0, 0, 0."""
    seen = np.array([[0, 1, 2], [0, 0, 0]], np.float32)[..., None]
    return Trajectories(
        observations=seen,
        actions=np.zeros((2, 3, 1), np.float32),
        rewards=np.array([[1, 2, 4], [1, 2, 4]], np.float32),
        lengths=np.array([3, 3]),
    )


def above_half(observations, actions):
    return np.clip(observations[..., 0], 0, 1)


def test_what_is_measured_ends_at_the_first_forbidden_step():
    # first episode: 1 before the forbidden second step; second: 7. Two of six steps are forbidden
    assert measure(episodes(), above_half) == Measurement(pytest.approx(4.0), pytest.approx(2 / 6))
    assert measure(episodes(), None) == Measurement(pytest.approx(7.0), 0.0)
    assert first_forbidden(episodes(), above_half).tolist() == [1, 3]
    shorter = cut(episodes(), first_forbidden(episodes(), above_half))
    assert shorter.lengths.tolist() == [1, 3]
    assert shorter.returns.tolist() == [1.0, 7.0]


def test_an_episode_that_begins_forbidden_keeps_one_step_that_pays_nothing():
    always = cut(episodes(), np.array([0, 3]))
    assert always.lengths.tolist() == [1, 3]
    assert always.returns.tolist() == [0.0, 7.0]


def test_two_good_measurements_in_a_row_make_it_done_and_the_tail_ends_it():
    goal = Goal(least_return=5.0)
    good = Measurement(6.0, 0.0)
    poor = Measurement(4.0, 0.0)
    infeasible = Measurement(9.0, 0.1)
    state = Training(AGENT, steps=100)
    state = judged_training(state, good, goal, 10_000, CONFIG)
    assert (state.passes, state.done_at) == (1, None)
    assert judged_training(state, poor, goal, 10_000, CONFIG).passes == 0
    assert judged_training(state, infeasible, goal, 10_000, CONFIG).passes == 0
    state = judged_training(state, good, goal, 10_000, CONFIG)
    assert (state.passes, state.done_at, state.finished) == (2, 100, False)
    assert judged_training(state._replace(steps=200), poor, goal, 10_000, CONFIG).finished


def test_without_a_goal_only_the_budget_ends_it():
    state = judged_training(Training(AGENT, steps=999), Measurement(1e9, 0.0), None, 1_000, CONFIG)
    assert not state.finished
    assert judged_training(
        state._replace(steps=1_000), Measurement(0.0, 0.0), None, 1_000, CONFIG
    ).finished


def test_a_training_without_demonstrations_is_no_clone():
    assert not start_training(np.random.default_rng(0), worlds.push_reward(), CONFIG).cloned


@pytest.mark.parametrize(
    ("patience", "returns", "ends"),
    [
        (None, (0.0,), 320),
        (96, (0.0,), 128),  # the first measurement is its best, after 32 steps
        (96, (0.0, 1.0, 2.0, 3.0), 224),  # better until 128
    ],
)
def test_an_agent_that_gets_no_better_is_trained_no_further(monkeypatch, patience, returns, ends):
    told = iter([*returns, *[returns[-1]] * 20])
    monkeypatch.setattr(training_module, "measure", lambda *_: Measurement(next(told), 0.0))
    trained = train_out(
        jax.random.key(0),
        worlds.push_reward(),
        None,
        dataclasses.replace(CONFIG, steps=32),
        320,
        Goal(np.inf),
        num_samples=2,
        patience=patience,
    )
    assert trained.steps == ends
    assert not trained.met_goal


@pytest.mark.parametrize(("last", "taken"), [(2.5, 3), (0.0, 1)])
def test_what_settling_undoes_is_not_handed_out(monkeypatch, last, taken):
    told = iter([2.0, 3.0, 2.0, last])  # done at the second look, over at the fourth
    monkeypatch.setattr(training_module, "measure", lambda *_: Measurement(next(told), 0.0))
    seen = []
    trained = train_out(
        jax.random.key(0),
        worlds.push_reward(),
        None,
        dataclasses.replace(CONFIG, steps=32, tail=64),
        320,
        Goal(1.0),
        num_samples=2,
        on_piece=lambda training, *_: seen.append(training.agent),
    )
    assert trained.met_goal
    assert len(seen) == 4
    assert trained.agent is seen[taken]
