"""HalfCheetah: the physics of Gymnasium's own, and our reward by hand."""

import gymnasium as gym
import numpy as np
import pytest

from icrl.tasks.cheetah import (
    half_cheetah_back,
    half_cheetah_wall,
    make_half_cheetah,
    reward,
    reward_back,
)
from icrl.tasks.mujoco_batch import State


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Gymnasium's environment makes MuJoCo write a log


def test_states_equal_gymnasiums_step_for_step():
    ours, theirs = make_half_cheetah(3), gym.make("HalfCheetah-v5").unwrapped
    ours.reset(seed=20)
    theirs.reset(seed=21)
    np.testing.assert_array_equal(ours.state.qpos[1], theirs.data.qpos)  # the same draws, too
    theirs.set_state(ours.state.qpos[1].copy(), ours.state.qvel[1].copy())
    rng = np.random.default_rng(0)
    for _ in range(250):
        actions = rng.uniform(-1, 1, (3, 6)).astype(np.float32)
        ours.step(actions)
        theirs.step(actions[1])
        np.testing.assert_array_equal(ours.state.qpos[1], theirs.data.qpos)
        np.testing.assert_array_equal(ours.state.qvel[1], theirs.data.qvel)
    assert np.abs(ours.state.qpos[1]).max() > 0.5


def test_reward_by_hand():
    before, after = np.zeros((3, 9)), np.zeros((3, 9))
    before[:, 0], after[:, 0] = [1.0, 1.0, -3.0], [1.2, 0.8, -3.0]
    empty = np.zeros((3, 0))
    actions = np.array([[1, 1, 0, 0, 0, 0], [0.5] * 6, [0.0] * 6])
    # |0.2| / 0.05 - 0.1 * 2 = 3.8; |-0.2| / 0.05 - 0.1 * 1.5 = 3.85; 0
    found = reward(
        State(before, np.zeros((3, 9)), empty), State(after, np.zeros((3, 9)), empty), actions
    )
    np.testing.assert_allclose(found, [3.8, 3.85, 0.0], atol=1e-12)


def test_the_environment_pays_that_reward_on_clipped_actions():
    env = make_half_cheetah(2)
    env.reset(seed=0)
    x = env.state.qpos[:, 0].copy()
    actions = np.array([[5.0] * 6, [-0.5] * 6])
    _, rewards, *_ = env.step(actions)
    expected = np.abs(env.state.qpos[:, 0] - x) / 0.05 - 0.1 * np.array([6.0, 1.5])
    np.testing.assert_allclose(rewards, expected, atol=1e-12)
    assert env.dt == pytest.approx(0.05)


def test_the_scenario_describes_its_environment():
    scenario = half_cheetah_wall()
    task = scenario.task
    env = task.make_env(2)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (2, 18)
    assert task.observation_space == env.single_observation_space
    assert task.action_space == env.single_action_space
    assert len(set(task.observation_names)) == 18
    assert len(set(task.feature_names)) == 24
    assert task.horizon == env.horizon == 1000
    np.testing.assert_array_equal(
        observations, np.hstack([env.state.qpos, env.state.qvel]).astype(np.float32)
    )


def test_only_the_truth_minds_the_wall():
    scenario = half_cheetah_wall()
    env = scenario.task.make_env(2)
    env.reset(seed=0)
    env.state.qpos[0, 0] = -5.0
    actions = np.zeros((2, 6))
    observations, rewards, terminated, _, _ = env.step(actions)
    assert scenario.violates(observations, actions).tolist() == [True, False]
    assert not terminated.any()
    assert rewards[0] > -1
    assert scenario.violation_reward == 0


def test_reset_noise_has_the_stated_size():
    env = make_half_cheetah(400)
    env.reset(seed=0)
    assert np.abs(env.state.qpos).max() <= 0.1
    assert np.abs(env.state.qpos).max() > 0.099
    assert env.state.qvel.std() == pytest.approx(0.1, abs=0.005)


def test_running_backwards_pays_twice_where_it_pulls_through_the_wall():
    before, after = np.zeros((3, 9)), np.zeros((3, 9))
    before[:, 0], after[:, 0] = [1.0, 1.0, -3.0], [1.2, 0.8, -3.0]
    velocities, empty = np.zeros((3, 9)), np.zeros((3, 0))
    actions = np.array([[1, 1, 0, 0, 0, 0], [0.5] * 6, [0.0] * 6])
    # 0.2 / 0.05 - 0.1 * 2 = 3.8; 2 * 0.2 / 0.05 - 0.1 * 1.5 = 7.85; 0
    found = reward_back(State(before, velocities, empty), State(after, velocities, empty), actions)
    np.testing.assert_allclose(found, [3.8, 7.85, 0.0], atol=1e-12)
    env = half_cheetah_back().task.make_env(2)
    env.reset(seed=0)
    x = env.state.qpos[:, 0].copy()
    _, rewards, *_ = env.step(np.zeros((2, 6)))
    velocity = (env.state.qpos[:, 0] - x) / 0.05
    np.testing.assert_allclose(rewards, np.maximum(velocity, -2 * velocity), atol=1e-12)


def test_only_the_reward_differs_from_the_task_that_the_constraint_comes_from():
    wall, back = half_cheetah_wall(), half_cheetah_back()
    assert back.task.feature_names == wall.task.feature_names
    assert (back.violates, back.constraint) == (wall.violates, wall.constraint)
    first, second = (scenario.task.make_env(2) for scenario in (wall, back))
    seen, _ = first.reset(seed=4)
    also, _ = second.reset(seed=4)
    np.testing.assert_array_equal(seen, also)
    actions = np.full((2, 6), 0.3)
    np.testing.assert_array_equal(first.step(actions)[0], second.step(actions)[0])
