"""Ant: the physics of Gymnasium's own, our reward by hand, and two dead legs."""

import gymnasium as gym
import numpy as np
import pytest

from icrl.tasks.ant import (
    ACTION_NAMES,
    ant_broken,
    ant_broken_turned,
    ant_wall,
    make_ant,
    reward,
)
from icrl.tasks.mujoco_batch import State


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_states_equal_gymnasiums_step_for_step():
    ours, theirs = make_ant(2), gym.make("Ant-v5").unwrapped
    ours.reset(seed=20)
    theirs.reset(seed=21)
    np.testing.assert_array_equal(ours.state.qpos[1], theirs.data.qpos)
    theirs.set_state(ours.state.qpos[1].copy(), ours.state.qvel[1].copy())
    rng = np.random.default_rng(0)
    for _ in range(220):
        actions = rng.uniform(-1, 1, (2, 8)).astype(np.float32)
        ours.step(actions)
        theirs.step(actions[1])
        np.testing.assert_array_equal(ours.state.qpos[1], theirs.data.qpos)
        np.testing.assert_array_equal(ours.state.qvel[1], theirs.data.qvel)
    assert np.abs(ours.state.qpos[1, :2]).max() > 0.2


def test_reward_by_hand():
    before, after = np.zeros((4, 15)), np.zeros((4, 15))
    after[:, :3] = [[3, -4, 0.5], [-6, 8, 0.19], [0, 0, 1.0], [0, 2, 1.01]]
    actions = np.zeros((4, 8))
    actions[0, :2] = [1.0, -1.0]
    velocity, empty = np.zeros((4, 14)), np.zeros((4, 0))
    # 5 + 1 - 0.5 * 2 = 5; 10 + 0 (too low); 0 + 1 (the bound counts); 2 + 0 (too high)
    found = reward(State(before, velocity, empty), State(after, velocity, empty), actions)
    np.testing.assert_allclose(found, [5.0, 10.0, 1.0, 2.0], atol=1e-12)


def test_the_environment_pays_that_reward_on_clipped_actions():
    env = make_ant(2)
    env.reset(seed=0)
    env.state.qpos[1, :2] = [9.0, 12.0]
    _, rewards, *_ = env.step(np.array([[3.0] * 8, [0.0] * 8]))
    x, y, z = env.state.qpos[:, :3].T
    np.testing.assert_allclose(
        rewards, np.hypot(x, y) + ((z >= 0.2) & (z <= 1)) - [4.0, 0.0], atol=1e-12
    )
    assert rewards[1] == pytest.approx(16, abs=0.2)


@pytest.mark.parametrize("make", [ant_wall, ant_broken, ant_broken_turned])
def test_the_scenario_describes_its_environment(make):
    scenario = make()
    task = scenario.task
    env = task.make_env(2)
    observations, _ = env.reset(seed=0)
    assert observations.shape == (2, 29)
    assert task.observation_space == env.single_observation_space
    assert task.action_space == env.single_action_space
    assert len(set(task.feature_names)) == 29 + 8
    assert task.horizon == env.horizon == 500
    assert scenario.violates(np.array([[-3.0] * 29, [-2.9] * 29]), np.zeros((2, 8))).tolist() == [
        True,
        False,
    ]


def test_names_follow_the_models_order():
    model = make_ant(1).model
    joints = [model.joint(i).name for i in range(1, model.njnt)]
    assert ant_wall().task.observation_names[7:15] == tuple(joints)
    motors = [model.joint(int(model.actuator_trnid[i, 0])).name for i in range(model.nu)]
    assert tuple(f"torque_{name}" for name in motors) == ACTION_NAMES


def test_a_broken_ant_ignores_its_last_four_actions():
    broken, whole = make_ant(2, broken=True), make_ant(2)
    broken.reset(seed=0)
    whole.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        actions = rng.uniform(-1, 1, (2, 8))
        zeroed = actions.copy()
        zeroed[:, 4:] = 0
        seen, rewards, *_ = broken.step(actions)
        expected, expected_rewards, *_ = whole.step(zeroed)
        np.testing.assert_array_equal(seen, expected)
        np.testing.assert_array_equal(rewards, expected_rewards)  # dead motors cost nothing
    assert np.abs(actions[:, 4:]).min() > 0


def test_a_turned_ant_does_the_same_mirrored_through_the_origin():
    ahead, turned = make_ant(2, broken=True), make_ant(2, broken=True, backwards=True)
    ahead.reset(seed=3)
    turned.reset(seed=3)
    # the noise of the positions and of the linear velocity is the world's: turn it as well
    for mirrored in (turned.state.qpos, turned.state.qvel):
        mirrored[:, :2] *= -1
    rng = np.random.default_rng(0)
    for _ in range(20):
        actions = rng.uniform(-1, 1, (2, 8))
        _, rewards, *_ = turned.step(actions)
        _, expected, *_ = ahead.step(actions)
        np.testing.assert_allclose(rewards, expected, atol=1e-6)  # the reward knows no direction
    there = ahead.state.qpos.copy()
    there[:, :2] *= -1
    np.testing.assert_allclose(turned.state.qpos[:, :3], there[:, :3], atol=1e-6)
    np.testing.assert_allclose(turned.state.qpos[:, 7:], there[:, 7:], atol=1e-6)
    assert np.abs(there[:, :2]).max() > 0.05


def test_both_dead_legs_are_behind_the_torso():
    model = make_ant(1).model
    dead = [int(model.actuator_trnid[i, 0]) for i in range(4, 8)]
    bodies = {int(model.jnt_bodyid[joint]) for joint in dead if "hip" in model.joint(joint).name}
    assert [model.body_pos[body][0] for body in bodies] == [-0.2, -0.2]
