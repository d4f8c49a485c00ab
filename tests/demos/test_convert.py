"""The same demonstrations in every format, and logs put into the task's
form where nothing is lost."""

import gymnasium as gym
import numpy as np
import pytest

from icrl.demos.convert import convert_demos
from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations, check_against
from icrl.demos.fitting import fit_to_task
from icrl.demos.formats import load_demos, save_demos
from icrl.errors import InputError
from icrl.tasks.task import Task
from icrl.types import Trajectories


def made(discrete=False, **changes):
    rng = np.random.default_rng(1)
    actions = rng.integers(0, 3, (3, 5)) if discrete else rng.uniform(-1, 1, (3, 5, 2))
    parts = {
        "observations": rng.normal(size=(3, 5, 2)).astype(np.float32),
        "actions": actions,
        "rewards": rng.normal(size=(3, 5)),
        "lengths": np.array([5, 2, 4]),
    }
    return Demonstrations(trajectories=Trajectories(**(parts | changes)), discrete=discrete)


def task(observations, action_space, one_hot=False):
    return Task(
        name="test",
        make_env=lambda num_envs: None,
        observation_space=gym.spaces.Box(-10, 10, (observations,)),
        action_space=action_space,
        observation_names=tuple(f"o{i}" for i in range(observations)),
        action_names=("a",),
        horizon=9,
        one_hot=one_hot,
    )


@pytest.mark.parametrize("discrete", [False, True])
def test_round_the_formats_and_back(tmp_path, monkeypatch, discrete):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    demos = made(discrete)
    save_demos(demos, tmp_path / "0.npz")
    stops = [
        tmp_path / "1.csv",
        tmp_path / "2.parquet",
        "minari:plane/expert-v0",
        tmp_path / "3.npz",
    ]
    source = str(tmp_path / "0.npz")
    for stop in map(str, stops):
        convert_demos(source, stop)
        source = stop.removeprefix("minari:")
    final = load_demos(tmp_path / "3.npz").trajectories
    for name in ("observations", "actions", "rewards", "lengths"):
        np.testing.assert_array_equal(getattr(final, name), getattr(demos.trajectories, name))


def test_nothing_is_overwritten_and_targets_must_make_sense(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    source = str(tmp_path / "a.npz")
    save_demos(made(), source)
    before = (tmp_path / "a.npz").read_bytes()
    with pytest.raises(InputError, match="exists already: nothing was overwritten"):
        convert_demos(source, source)
    assert (tmp_path / "a.npz").read_bytes() == before
    convert_demos(source, "minari:plane-v0")
    with pytest.raises(InputError, match="exists already"):
        convert_demos(source, "minari:plane-v0")
    for target, message in (("b.pkl", "suffix '.pkl' is unknown"), ("minari:../b", "no Minari id")):
        with pytest.raises(InputError, match=message):
            convert_demos(source, target)


def test_minari_needs_rewards_and_the_task_must_fit(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    silent = Demonstrations(trajectories=made().trajectories, discrete=False, card=REWARDS_UNKNOWN)
    save_demos(silent, tmp_path / "a.npz")
    with pytest.raises(InputError, match="holds a reward for every step"):
        convert_demos(str(tmp_path / "a.npz"), "minari:plane-v0")
    convert_demos(str(tmp_path / "a.npz"), str(tmp_path / "b.csv"))
    assert not load_demos(tmp_path / "b.csv").has_rewards
    with pytest.raises(InputError, match="observations have 2 columns, task test has 3"):
        convert_demos(
            str(tmp_path / "a.npz"),
            str(tmp_path / "c.csv"),
            task=task(3, gym.spaces.Box(-1, 1, (2,))),
        )
    assert not (tmp_path / "c.csv").exists()


def test_state_numbers_become_one_hot_rows():
    numbers = np.array([[[0], [2], [1], [0], [2]]] * 3, np.float64)
    world = task(3, gym.spaces.Discrete(3), one_hot=True)
    fitted = fit_to_task(made(discrete=True, observations=numbers), world)
    check_against(fitted, world)
    assert fitted.trajectories.observations[0].argmax(axis=1).tolist() == [0, 2, 1, 0, 2]
    assert fitted.trajectories.observations[0].sum(axis=1).tolist() == [1] * 5
    for wrong in (numbers + 1, numbers + 0.5, numbers - 1):
        with pytest.raises(InputError, match="observations have 1 columns, task test has 3"):
            check_against(fit_to_task(made(discrete=True, observations=wrong), world), world)


def test_whole_numbers_are_actions_of_either_kind():
    pushes = np.array([[0, 1, -1, 1, 0]] * 3)
    continuous = fit_to_task(
        made(discrete=True, actions=pushes), task(2, gym.spaces.Box(-1, 1, (1,)))
    )
    assert not continuous.discrete
    assert continuous.trajectories.actions[0, :, 0].tolist() == [0, 1, -1, 1, 0]
    floats = np.array([[[0.0], [1.0], [2.0], [1.0], [0.0]]] * 3)
    chosen = fit_to_task(made(actions=floats), task(2, gym.spaces.Discrete(3)))
    assert chosen.discrete
    assert chosen.trajectories.actions[0].tolist() == [0, 1, 2, 1, 0]
    unlike = made(actions=floats + 0.25)
    assert fit_to_task(unlike, task(2, gym.spaces.Discrete(3))) is unlike
