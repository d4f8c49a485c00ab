"""Point: its kinematics by hand."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from icrl.errors import InputError
from icrl.tasks.point import PointEnv, move, point


def test_turns_first_then_advances():
    pose, reward = move(np.array([[1.0, 2.0, np.pi / 2 - 0.25]]), np.array([[0.2, 0.25]]))
    # heading pi/2: dx = 0, dy = 0.2; at (1, 2.2), r = sqrt(5.84):
    # (2.2 * 0 - 1 * 0.2) / (1 + 10 - sqrt(5.84))
    np.testing.assert_allclose(pose, [[1.0, 2.2, np.pi / 2]], atol=1e-12)
    assert reward[0] == pytest.approx(-0.2 / (11 - np.sqrt(5.84)), abs=1e-12)


def test_clockwise_on_the_circle_pays_most():
    # at (0, 10) heading +x: clockwise; dx = 0.25, y dx = 2.5, r = sqrt(100.0625)
    _, clockwise = move(np.array([[0.0, 10.0, 0.0]]), np.array([[0.25, 0.0]]))
    _, anticlockwise = move(np.array([[0.0, 10.0, 0.0]]), np.array([[-0.25, 0.0]]))
    assert clockwise[0] == pytest.approx(2.5 / (1 + np.sqrt(100.0625) - 10), abs=1e-12)
    assert anticlockwise[0] == pytest.approx(-clockwise[0], abs=1e-12)


def test_the_plane_ends_at_forty():
    pose, _ = move(np.array([[39.9, -39.9, -np.pi / 4]]), np.array([[0.25, 0.0]]))
    np.testing.assert_allclose(pose[0, :2], [40.0, -40.0], atol=1e-12)


def test_the_environment_clips_actions_and_shows_the_heading_as_a_direction():
    env = PointEnv(2)
    start, _ = env.reset(seed=0)
    np.testing.assert_array_equal(start, [[0, 0, 1, 0]] * 2)
    observations, _, terminated, truncated, _ = env.step(np.array([[9.0, 0.0], [0.1, 9.0]]))
    expected = [
        [0.25, 0, 1, 0],
        [0.1 * np.cos(0.25), 0.1 * np.sin(0.25), np.cos(0.25), np.sin(0.25)],
    ]
    np.testing.assert_allclose(observations, expected, atol=1e-7)
    assert observations in env.observation_space
    assert not (terminated | truncated).any()


def test_an_episode_has_150_steps():
    env = point().task.make_env(1)
    env.reset(seed=0)
    ends = [bool(env.step(np.array([[0.25, 0.0]]))[3][0]) for _ in range(150)]
    assert ends == [False] * 149 + [True]
    assert env.observations()[0, 0] == pytest.approx(37.5)


def test_the_scenario_describes_its_environment_and_only_the_truth_minds_the_wall():
    scenario = point()
    task = scenario.task
    env = task.make_env(2)
    env.reset(seed=0)
    env.pose[0, 0] = -3.5
    observations, _, terminated, _, _ = env.step(np.zeros((2, 2)))
    assert scenario.violates(observations, np.zeros((2, 2))).tolist() == [True, False]
    assert not terminated.any()
    assert env.autoreset_mode is AutoresetMode.DISABLED
    assert task.observation_space == env.single_observation_space
    assert task.action_space == env.single_action_space
    assert task.observation_names[:2] == ("x", "y")
    assert len(task.feature_names) == 6


def test_a_picture_shows_wall_trail_and_agent_and_forgets_the_last_episode():
    env = PointEnv(2)
    env.reset(seed=0)
    for _ in range(20):
        env.step(np.array([[0.25, 0.0], [0.25, 0.1]]))
    image = env.render_env(1, 200, 160)
    assert image.shape == (160, 200, 3)
    blue = np.all(image == (40, 90, 200), axis=2).sum()
    assert blue > 20
    # the wall, from top to bottom
    assert np.all(image == (217, 26, 26), axis=2).any(axis=1).sum() > 140
    env.reset(options={"reset_mask": np.array([False, True])})
    assert np.all(env.render_env(1, 200, 160) == (40, 90, 200), axis=2).sum() == 0
    assert len(env.render()) == 2
    with pytest.raises(InputError, match="got -1"):
        env.render_env(-1)
