"""The list of scenarios: names, lazy imports, errors."""

import importlib.util
import subprocess
import sys

import pytest

from icrl.errors import InputError
from icrl.tasks.registry import SCENARIOS, make_scenario
from icrl.tasks.shapes.names import FAMILY, NAMES


def test_the_names_are_the_contract():
    expected = {"lap-grid", "bridges", "half-cheetah-wall", "ant-wall", "ant-broken", "point"}
    expected |= {"half-cheetah-back", "ant-broken-turned"}  # transfers of ours
    assert {name for name in SCENARIOS if not name.startswith(FAMILY)} == expected
    assert {name for name in SCENARIOS if name.startswith(FAMILY)} == {
        FAMILY + name for name in NAMES
    }


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_every_scenario_describes_its_own_environment(name):
    module = SCENARIOS[name].split(":")[0]
    assert importlib.util.find_spec(module) is not None, (
        f"{name} is listed, but {module} does not exist"
    )
    task = make_scenario(name).task
    assert task.name == name
    assert len(task.observation_names) == task.observation_space.shape[0]
    env = task.make_env(2)
    assert env.single_observation_space == task.observation_space
    assert env.single_action_space == task.action_space
    observations, _ = env.reset(seed=0)
    assert observations.shape == (2, len(task.observation_names))


def test_a_wrong_name_gets_the_nearest_right_one():
    with pytest.raises(InputError, match=r"unknown task 'lapgrid': did you mean 'lap-grid' "):
        make_scenario("lapgrid")


@pytest.mark.parametrize("name", ["Cartpole-v1", "CartPole-v99", "cartpole-v1"])
def test_a_misspelt_gymnasium_id_gets_the_nearest_one_and_not_the_whole_registry(name):
    with pytest.raises(
        InputError,
        match=rf"unknown task '{name}': did you mean 'CartPole-v1'.*Known: .*point, .*\.",
    ) as caught:
        make_scenario(name)
    assert "MountainCar" not in str(caught.value)


def test_listing_the_names_imports_no_simulator():
    code = (
        "import sys, icrl.tasks.registry; print(sorted({'jax', 'mujoco', 'matplotlib'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
