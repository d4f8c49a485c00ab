"""A user's environment by its name: found, or said why not."""

import gymnasium as gym
import pytest

from icrl.errors import InputError
from icrl.tasks.factories import (
    FunctionEnv,
    blamed,
    close_ids,
    find_factory,
    find_function,
    find_object,
    is_own_name,
)
from icrl.tasks.options import EnvOptions, env_options, name_list


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the current directory that nobody else has."""
    (tmp_path / "mine_for_factories.py").write_text(
        "import gymnasium as gym\n"
        "NUMBER = 3\n"
        "def make_env(render_mode=None):\n"
        "    return gym.make('CartPole-v1', render_mode=render_mode)\n"
        "def make_nothing():\n    return NUMBER\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "mine_for_factories"


def test_an_id_and_a_function_make_environments(module):
    assert isinstance(find_factory("CartPole-v1", 20)(), gym.Env)
    made = find_factory(f"{module}:make_env", None)
    assert isinstance(made(), gym.Env)
    assert made(render_mode="rgb_array").render_mode == "rgb_array"


def test_what_is_no_environment_is_refused(module):
    with pytest.raises(InputError, match=r"make_nothing\(\) returned builtins\.int, expected a"):
        find_factory(f"{module}:make_nothing", None)()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_at_all:make_env", "there is no module 'nowhere_at_all'"),
        (":make_env", "does not name a function"),
        ("{}:make_evn", "did you mean 'make_env'"),
        ("{}:NUMBER", "is int, expected a function"),
    ],
)
def test_what_cannot_be_found_says_how_it_is_named(module, name, words):
    with pytest.raises(InputError, match=words):
        find_function(name.format(module))


def test_other_things_are_found_too(module):
    assert find_object(f"{module}:NUMBER", "method") == 3


def test_what_a_users_code_raises_names_the_line():
    def broken():
        return 1 / 0

    with pytest.raises(InputError, match=r"mine\(\) raised ZeroDivisionError: .* in broken\)"):
        FunctionEnv("mine", broken)()
    with pytest.raises(InputError, match="as it is"), blamed("x"):
        raise InputError("as it is")


def test_names_of_a_users_environment():
    assert is_own_name("CartPole-v1")
    assert is_own_name("a:b")
    assert not is_own_name("lap-gird")
    assert "CartPole-v1" in close_ids("CartPol-v1")


def test_options_take_any_list_of_names_but_no_text():
    assert env_options(5, ["x", "y"], None, None) == EnvOptions(
        horizon=5, feature_names=("x", "y"), env_timeout=None
    )
    assert env_options(None, None, None, 600.0) == EnvOptions()
    assert name_list(("x",)) == ("x",)
    with pytest.raises(InputError, match="expected a list of names"):
        env_options(None, "xy", None, None)
    with pytest.raises(InputError, match="horizon"):
        EnvOptions(horizon=0)
