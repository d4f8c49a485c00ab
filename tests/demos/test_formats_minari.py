"""Minari datasets: real ones by id and by path, and what is wrong with bad ones."""

import json
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import h5py
import minari
import numpy as np
import pytest
from minari.data_collector import EpisodeBuffer

from icrl.demos import reading
from icrl.demos.dataset import check_against
from icrl.demos.fitting import fit_to_task
from icrl.demos.formats import load_demos, save_demos
from icrl.errors import InputError
from icrl.tasks.registry import make_task


def make_minari(discrete: bool) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    action_space = gym.spaces.Discrete(3) if discrete else gym.spaces.Box(-1, 1, (2,), np.float32)
    episodes = []
    for steps in (4, 2, 11):
        episodes.append(
            {
                "observations": rng.normal(size=(steps + 1, 3)),
                "actions": rng.integers(0, 3, steps)
                if discrete
                else rng.uniform(-1, 1, (steps, 2)).astype(np.float32),
                "rewards": rng.normal(size=steps),
                "terminations": np.zeros(steps, bool),
                "truncations": np.arange(steps) == steps - 1,
            }
        )
    with warnings.catch_warnings():
        # Minari warns about what this test leaves out (an environment to evaluate in).
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers(
            dataset_id="plane/expert-v0",
            buffer=[
                EpisodeBuffer(id=i, **{k: list(v) for k, v in e.items()})
                for i, e in enumerate(episodes)
            ],
            observation_space=gym.spaces.Box(-np.inf, np.inf, (3,), np.float64),
            action_space=action_space,
            algorithm_name="PPO",
            author="somebody",
            author_email="somebody@example.org",
            code_permalink="https://example.org",
            description="a test",
        )
    return episodes


@pytest.mark.parametrize("discrete", [False, True])
def test_minari_by_id_and_by_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, discrete: bool
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    episodes = make_minari(discrete)
    folder = tmp_path / "plane" / "expert-v0"
    for demos in (load_demos("plane/expert-v0"), load_demos(folder), load_demos(folder / "data")):
        t = demos.trajectories
        np.testing.assert_array_equal(t.lengths, [4, 2, 11])
        for i, episode in enumerate(episodes):
            n = t.lengths[i]
            assert t.observations[i, :n].tobytes() == episode["observations"][:-1].tobytes()
            assert t.actions[i, :n].tobytes() == episode["actions"].tobytes()
            assert t.rewards[i, :n].tobytes() == episode["rewards"].tobytes()
        assert demos.discrete == discrete
        assert demos.card["dataset_id"] == "plane/expert-v0"
        assert demos.card["algorithm_name"] == "PPO"
        assert demos.has_rewards
    save_demos(demos, tmp_path / "copy.npz")
    assert load_demos(tmp_path / "copy.npz").trajectories.actions.tobytes() == t.actions.tobytes()


def write_hdf5(folder: Path, **parts: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "metadata.json").write_text(json.dumps({"data_format": "hdf5"}))
    arrays = {
        "observations": np.zeros((4, 2)),
        "actions": np.zeros((3, 1)),
        "rewards": np.zeros(3),
    } | parts
    with h5py.File(folder / "main_data.hdf5", "w") as file:
        group = file.create_group("episode_0")
        for name, value in arrays.items():
            if isinstance(value, dict):
                group.create_group(name)
            elif value is not None:
                group.create_dataset(name, data=value)
    return folder


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"observations": np.zeros((3, 2))},
            r"episode_0 has 3 observations for 3 actions, expected 4",
        ),
        ({"observations": {}}, r"observations are a group .* FlattenObservation"),
        (
            {"observations": np.zeros((4, 2, 2))},
            r"observations have shape \[4, 2, 2\], expected \[steps \+ 1, columns\]",
        ),
        ({"actions": np.zeros(3)}, r"actions have shape \[3\] and dtype float64"),
        ({"actions": None}, "episode_0 has no actions"),
        ({"rewards": np.zeros(2)}, "episode 0 has 3 observations but 2 rewards"),
        (
            {"observations": np.zeros((1, 2)), "actions": np.zeros((0, 1)), "rewards": np.zeros(0)},
            "has length 0",
        ),
    ],
)
def test_bad_minari_files_are_named_with_the_reason(
    tmp_path: Path, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"main_data.hdf5: .*{message}"):
        load_demos(write_hdf5(tmp_path / "set", **parts))


def test_minari_without_rewards_or_in_another_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_hdf5(tmp_path / "set", rewards=None)
    assert not load_demos(folder).has_rewards
    monkeypatch.setattr(reading, "MAX_BYTES", 31)
    with pytest.raises(InputError, match=r"main_data.hdf5: declares .* GB"):
        load_demos(folder)
    (folder / "metadata.json").write_text('{"data_format": "arrow"}')
    with pytest.raises(InputError, match="stored as 'arrow', only hdf5 is read"):
        load_demos(folder)
    (folder / "metadata.json").write_text("[]")
    with pytest.raises(InputError, match=r"metadata\.json: holds a JSON list"):
        load_demos(folder)
    (folder / "metadata.json").write_text("{}")
    (folder / "main_data.hdf5").unlink()
    with pytest.raises(InputError, match=r"main_data\.hdf5: no such file"):
        load_demos(folder)


def test_state_numbers_of_a_discrete_space_are_one_column(tmp_path: Path) -> None:
    demos = load_demos(
        write_hdf5(
            tmp_path / "set", observations=np.array([0, 4, 1, 2]), actions=np.array([1, 0, 1])
        )
    )
    np.testing.assert_array_equal(demos.trajectories.observations, [[[0.0], [4.0], [1.0]]])
    assert demos.discrete
    world = make_task("FrozenLake-v1")
    fitted = fit_to_task(demos, world)
    check_against(fitted, world)  # raises nothing
    assert fitted.trajectories.observations.argmax(axis=2).tolist() == [[0, 4, 1]]
    with pytest.raises(
        InputError, match=r"observations have shape \[4\], expected .* or \[steps \+ 1\] integers"
    ):
        load_demos(write_hdf5(tmp_path / "set", observations=np.zeros(4)))


def test_an_extent_that_the_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    folder = write_hdf5(tmp_path / "set", rewards=None)
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        file["episode_0"].create_dataset("rewards", (10**8,), "f8", chunks=(2,), maxshape=(None,))
    with pytest.raises(
        InputError, match=r"episode_0: rewards declare shape \[100000000\] in 50000000 pieces"
    ):
        load_demos(folder)
