"""Relabelled datasets: the costs that recording with the wrapper would have given,
and everything else untouched."""

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
from plain_worlds import Corridor, Steps, line_constraint, push_constraint

from icrl.cli import main
from icrl.demos.formats import load_demos
from icrl.errors import InputError
from icrl.interop import relabel
from icrl.interop.relabel import relabel_minari
from icrl.interop.wrappers import CostInInfo


@pytest.fixture(autouse=True)
def minari_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "sets"))
    return tmp_path / "sets"


def record(env: gym.Env[Any, Any], dataset_id: str) -> None:
    """Three episodes as Minari's collector keeps them:
    an observation, and an info, more than steps."""
    env.action_space.seed(0)
    buffers = []
    for number in range(3):
        observation, info = env.reset(seed=number)
        rows: dict[str, list[Any]] = {
            "observations": [np.array(observation)],
            "actions": [],
            "rewards": [],
        }
        costs, terminated = [info["cost"]] if "cost" in info else [], False
        while not terminated and len(rows["actions"]) < 6:
            action = env.action_space.sample() if number else env.action_space.sample() * 0 + 1
            observation, reward, terminated, _, info = env.step(action)
            rows["observations"].append(np.array(observation))
            rows["actions"].append(action)
            rows["rewards"].append(reward)
            costs += [info["cost"]] if "cost" in info else []
        steps = len(rows["actions"])
        ends = [t == steps - 1 for t in range(steps)]
        buffers.append(
            EpisodeBuffer(
                id=number,
                **rows,
                terminations=[end and terminated for end in ends],
                truncations=[end and not terminated for end in ends],
                infos={"cost": costs} if costs else None,
            )
        )
    with warnings.catch_warnings():
        # about what the test leaves out: author, environment to evaluate in
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers(
            dataset_id,
            buffers,
            algorithm_name="chance",
            description="a corridor",
            observation_space=env.observation_space,
            action_space=env.action_space,
        )


@pytest.mark.parametrize(("world", "discrete"), [(Corridor, False), (Steps, True)])
def test_relabelling_equals_recording_with_the_wrapper(
    world: type[Corridor], discrete: bool, minari_root: Path
) -> None:
    constraint = push_constraint(discrete)
    record(world(), "corridor/plain-v0")
    record(CostInInfo(world(), constraint), "corridor/wrapped-v0")
    made = relabel_minari("corridor/plain-v0", constraint, "corridor/costly-v1")
    assert made.folder == minari_root / "corridor" / "costly-v1"
    plain, wrapped, costly = (
        minari.load_dataset(f"corridor/{n}") for n in ("plain-v0", "wrapped-v0", "costly-v1")
    )
    assert made.num_steps == plain.total_steps == costly.total_steps
    for before, expected, got in zip(plain, wrapped, costly, strict=True):
        assert got.infos["cost"].shape == (len(got) + 1,)
        np.testing.assert_allclose(got.infos["cost"], expected.infos["cost"], atol=1e-12)
        for part in ("observations", "actions", "rewards", "terminations", "truncations"):
            np.testing.assert_array_equal(getattr(got, part), getattr(before, part))
    costs = np.concatenate([episode.infos["cost"][1:] for episode in costly])
    np.testing.assert_allclose(
        [made.mean_cost, made.share_infeasible], [costs.mean(), np.mean(costs > 0.5)]
    )
    assert 0 < made.share_infeasible < 1
    assert "corridor/costly-v1" in minari.list_local_datasets()
    assert load_demos("corridor/costly-v1").trajectories.num_steps == made.num_steps


def test_the_metadata_hold_the_card_and_all_that_was_there() -> None:
    record(Corridor(), "plain-v0")
    made = relabel_minari("plain-v0", line_constraint(), "costly-v0", hard=True)
    metadata = json.loads((made.folder / "data" / "metadata.json").read_text())
    assert metadata["dataset_id"] == "costly-v0"
    assert (metadata["algorithm_name"], metadata["description"]) == ("chance", "a corridor")
    assert metadata["icrl_constraint"] == {
        "cost": "0 (feasible) or 1",
        "relabelled_from": "plain-v0",
        "features": ["x"],
        "threshold": 0.5,
        "provenance": {"seed": 3},
    }
    assert {
        float(cost)
        for episode in minari.load_dataset("costly-v0")
        for cost in episode.infos["cost"]
    } == {0.0, 1.0}


def test_columns_can_be_named() -> None:
    record(Corridor(), "plain-v0")
    swapped = relabel_minari(
        "plain-v0", line_constraint(), "swapped-v0", feature_names=("x", "seven")
    )
    assert swapped.share_infeasible == 1.0  # the column that is called x now holds 7
    with pytest.raises(
        InputError, match=r"task 'dataset plain-v0' does not have; it has a, b, action.0."
    ):
        relabel_minari("plain-v0", line_constraint(), "other-v0", feature_names=("a", "b"))


def test_what_cannot_be_done_leaves_nothing_behind(
    minari_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(Steps(), "plain-v0")
    with pytest.raises(InputError, match=r"1 continuous actions.*has 2 observations and"):
        relabel_minari("plain-v0", line_constraint(), "costly-v0")
    fitting = line_constraint(discrete=True)
    for bad in ("costly", "../costly-v0", "/costly-v0", ""):
        with pytest.raises(InputError, match="is not a Minari id"):
            relabel_minari("plain-v0", fitting, bad)
    with pytest.raises(InputError, match="exists: give another id"):
        relabel_minari("plain-v0", fitting, "plain-v0")

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(relabel, "_write_metadata", interrupt)
    with pytest.raises(KeyboardInterrupt):
        relabel_minari("plain-v0", fitting, "costly-v0")
    assert [path.name for path in minari_root.iterdir()] == ["plain-v0"]


def test_costs_are_not_written_over() -> None:
    record(CostInInfo(Corridor(), line_constraint()), "wrapped-v0")
    with pytest.raises(InputError, match="episode_0 has infos/cost already"):
        relabel_minari("wrapped-v0", line_constraint(), "costly-v0")


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(Corridor(), "plain-v0")
    line_constraint(at=-0.5).save(tmp_path / "run" / "constraint")
    main(
        [
            "relabel",
            "plain-v0",
            "--constraint",
            str(tmp_path / "run"),
            "--out",
            "group/costly-v0",
            "--hard",
        ]
    )
    out = capsys.readouterr().out
    with h5py.File(tmp_path / "sets" / "group" / "costly-v0" / "data" / "main_data.hdf5") as file:
        costs = np.concatenate([file[name]["infos/cost"][1:] for name in file])
    assert f"{len(costs)} steps of 3 episodes, mean cost {costs.mean():.3f}" in " ".join(
        out.split()
    )
    assert f"{costs.mean():.1%} of the steps are infeasible" in out
