"""Tables as others write them: names in any form, other delimiters,
and messages that say what to do about it."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import icrl
from icrl.demos.dataset import Demonstrations, check_against, find_mismatches
from icrl.demos.formats import load_demos
from icrl.demos.formats_table import ColumnMapping, infer_mapping
from icrl.errors import InputError
from icrl.tasks.task import Task


def make_task(
    observations: tuple[str, ...] = ("x", "y"), actions: tuple[str, ...] = ("push", "turn")
) -> Task:
    def no_env(num_envs: int) -> gym.vector.VectorEnv:
        raise AssertionError("checking must not simulate")

    return Task(
        name="plane",
        make_env=no_env,
        observation_space=gym.spaces.Box(-10, 10, (len(observations),), np.float64),
        action_space=gym.spaces.Box(-10, 10, (len(actions),), np.float64),
        observation_names=observations,
        action_names=actions,
        horizon=5,
    )


def read(
    folder: Path, observations: str, actions: str = "action_push,action_turn"
) -> Demonstrations:
    path = folder / "log.csv"
    path.write_text(f"run,{observations},{actions}\n0,1.5,2.5,0.5,0.25\n")
    names = (tuple(observations.split(",")), tuple(actions.split(",")))
    return load_demos(path, ColumnMapping(observations=names[0], actions=names[1], episode="run"))


@pytest.mark.parametrize(
    "form", ["obs[{}]", "obs_{}", "obs.{}", "observation_{}", "observations[{}]", "{}"]
)
def test_swapped_columns_are_noticed_in_whatever_form_they_are_named(
    tmp_path: Path, form: str
) -> None:
    x, y = form.format("x"), form.format("y")
    check_against(read(tmp_path, f"{x},{y}"), make_task())  # raises nothing
    with pytest.raises(
        InputError,
        match=r"another order: column 0 is .*y.*, task plane has x: .*--columns\.observat",
    ):
        check_against(read(tmp_path, f"{y},{x}"), make_task())


def test_swapped_actions_and_names_of_which_only_some_are_the_tasks(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match="action columns are in another order: column 0 is turn, task plane has push",
    ):
        check_against(read(tmp_path, "obs_x,obs_y", "action[turn],action[push]"), make_task())
    with pytest.raises(InputError, match="column 1 is obs_x, task plane has y"):
        check_against(read(tmp_path, "obs_height,obs_x"), make_task())
    assert find_mismatches(read(tmp_path, "obs_height,obs_width"), make_task()) == []


def test_numbers_count_columns_and_name_none(tmp_path: Path) -> None:
    # Whoever says that column 1 of the log is the task's first has said so in full knowledge.
    assert find_mismatches(read(tmp_path, "obs_1,obs_0"), make_task(("obs[0]", "obs[1]"))) == []
    # Without their prefixes these two would be one name: then the names are compared as they are.
    assert find_mismatches(read(tmp_path, "obs_x,x"), make_task(("obs_x", "x"))) == []


def test_columns_whose_numbers_follow_names_keep_their_order() -> None:
    header = ["episode", "obs_pos_0", "obs_pos_1", "obs_vel_0", "obs_vel_1", "action"]
    assert infer_mapping(header).observations == tuple(header[1:5])
    assert infer_mapping(["episode", "obs_10", "obs_9", "action"]).observations == (
        "obs_9",
        "obs_10",
    )


def test_a_mapping_that_does_not_fit_the_table_names_the_option(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("run;pos;push\n0;1;2\n")
    mapping = ColumnMapping(observations=("pos",), actions=("push",))
    with pytest.raises(InputError, match="separated by semicolons"):
        load_demos(path, mapping)
    path.write_text("run,pos,push\n0,1,2\n")
    with pytest.raises(
        InputError,
        match=r"unknown column 'episode': .*--columns\.episode \(or None\); in Python icrl",
    ):
        load_demos(path, mapping)


@pytest.mark.parametrize(
    "columns", [{"observations": ("pos",), "actions": ("push",)}, ("pos", "push"), {}]
)
def test_only_a_mapping_is_taken_for_one(tmp_path: Path, columns: Any) -> None:
    (tmp_path / "log.csv").write_text("run,pos,push\n0,1,2\n")
    kind = type(columns).__name__
    with pytest.raises(
        InputError,
        match=rf"columns is a {kind}, expected an icrl\.ColumnMapping: write icrl\.Column",
    ):
        load_demos(tmp_path / "log.csv", columns)


def test_the_mapping_is_public_and_refuses_a_name_without_its_comma() -> None:
    assert icrl.ColumnMapping is ColumnMapping
    lone: Any = "push"
    with pytest.raises(
        InputError, match=r"actions is the text 'push', expected names: write \('push',\)"
    ):
        icrl.ColumnMapping(observations=("pos",), actions=lone)
