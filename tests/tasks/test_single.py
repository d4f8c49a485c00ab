"""One environment of ours as a plain `gymnasium.Env`:
Gymnasium's own checker, and the vector env as the oracle."""

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from icrl.errors import InputError
from icrl.tasks.lap_grid import LapGridEnv, lap_grid
from icrl.tasks.point import PointEnv, point
from icrl.tasks.single import SingleEnv

SCENARIOS = [lap_grid, point]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_gymnasiums_checker_passes(scenario):
    env = SingleEnv(scenario().task.make_env(1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    complaints = [str(w.message) for w in caught]
    # Not a fault: an env that is not in Gymnasium's registry has no other render modes to test.
    assert [
        text for text in complaints if "Not able to test alternative render modes" not in text
    ] == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_episode_is_the_vector_envs(scenario):
    task = scenario().task
    single, batched = SingleEnv(task.make_env(1)), task.make_env(1)
    task.action_space.seed(3)
    observation, info = single.reset(seed=5)
    np.testing.assert_array_equal(observation, batched.reset(seed=5)[0][0])
    assert info == {}
    for t in range(task.horizon):
        action = task.action_space.sample()
        observation, reward, terminated, truncated, _ = single.step(action)
        expected = batched.step(np.asarray(action)[None])
        np.testing.assert_array_equal(observation, expected[0][0])
        assert reward == expected[1][0]
        assert (terminated, truncated) == (False, t == task.horizon - 1)
        assert observation in single.observation_space
    with pytest.raises(InputError, match="have ended"):
        single.step(action)


def test_the_picture_is_the_vector_envs():
    single = SingleEnv(lap_grid().task.make_env(1))
    single.reset(seed=0)
    np.testing.assert_array_equal(single.render(), single.batched.render_env(0))
    single.close()


def test_only_one_environment_without_autoreset_is_taken():
    with pytest.raises(InputError, match=r"num_envs=2 .* task\.make_env\(1\)"):
        SingleEnv(LapGridEnv(2, AutoresetMode.DISABLED))
    with pytest.raises(InputError, match="SAME_STEP"):
        SingleEnv(PointEnv(1))
