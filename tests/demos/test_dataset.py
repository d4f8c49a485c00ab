"""`Demonstrations`: validation with numbers in the messages, padding, and fitting a task."""

import re
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icrl.demos import dataset
from icrl.demos.dataset import (
    Demonstrations,
    Episode,
    check_against,
    find_mismatches,
    shipped_demos,
    stack_episodes,
)
from icrl.demos.validate import validate_demos
from icrl.errors import InputError
from icrl.tasks.task import Task
from icrl.types import Trajectories


def make_trajectories(**changes: Any) -> Trajectories:
    rng = np.random.default_rng(0)
    base = Trajectories(
        observations=rng.normal(size=(3, 5, 2)),
        actions=rng.uniform(-1, 1, size=(3, 5, 1)),
        rewards=rng.normal(size=(3, 5)),
        lengths=np.array([5, 2, 4]),
    )
    return replace(base, **changes)


def make_task(**changes: Any) -> Task:
    def no_env(num_envs: int) -> gym.vector.VectorEnv:
        raise AssertionError("checking must not simulate")

    base = Task(
        name="plane",
        make_env=no_env,
        observation_space=gym.spaces.Box(-10, 10, (2,), np.float64),
        action_space=gym.spaces.Box(-1, 1, (1,), np.float64),
        observation_names=("x", "y"),
        action_names=("push",),
        horizon=5,
    )
    return replace(base, **changes)


def test_padding_is_cut_to_the_longest_and_set_to_zero() -> None:
    trajectories = make_trajectories(lengths=np.array([3, 2, 4]))
    trajectories.observations[0, 3:] = np.nan
    demos = Demonstrations(trajectories=trajectories, discrete=False)
    assert demos.trajectories.observations.shape == (3, 4, 2)
    assert not demos.trajectories.observations[~demos.trajectories.mask].any()
    np.testing.assert_array_equal(
        demos.trajectories.observations[0, :3], trajectories.observations[0, :3]
    )
    assert demos.observation_names == ("obs_0", "obs_1")
    assert demos.action_names == ("action_0",)
    assert demos.has_rewards


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    extra=st.integers(0, 3),
    junk=st.floats(width=64),
    seed=st.integers(0, 99),
)
def test_what_stands_on_the_padding_changes_nothing(
    lengths: list[int], extra: int, junk: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    episodes = [
        Episode(rng.normal(size=(n, 2)), rng.normal(size=(n, 3)), rng.normal(size=n))
        for n in lengths
    ]
    clean, known = stack_episodes(episodes)
    longest = max(lengths) + extra
    padded = [np.full((len(lengths), longest, *shape), junk) for shape in ((2,), (3,), ())]
    for index, episode in enumerate(episodes):
        for target, part in zip(padded, episode, strict=True):
            assert part is not None
            target[index, : lengths[index]] = part
    dirty = Trajectories(
        observations=padded[0],
        actions=padded[1],
        rewards=padded[2],
        lengths=np.array(lengths, dtype=np.int32),
    )
    ours = Demonstrations(trajectories=dirty, discrete=False).trajectories
    assert known
    for name in ("observations", "actions", "rewards", "lengths"):
        assert getattr(ours, name).tobytes() == getattr(clean, name).tobytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"observations": np.zeros((3, 5))},
            r"observations have shape \[3, 5\], expected \[episodes, steps, columns\]",
        ),
        ({"observations": np.zeros((0, 5, 2))}, "there are 0 episodes"),
        ({"observations": np.zeros((3, 5, 0))}, "observations have 0 columns"),
        (
            {"actions": np.zeros((3, 5))},
            r"actions have shape \[3, 5\], expected \[episodes, steps, columns\] of floats",
        ),
        (
            {"observations": np.zeros((3, 6, 2))},
            r"actions cover \[3, 5\].*observations \[3, 6\].*drop the observation",
        ),
        ({"rewards": np.zeros((3, 4))}, r"rewards cover \[3, 4\]"),
        ({"lengths": np.array([5, 0, 4])}, "episode 1 has length 0, expected 1 to 5"),
        (
            {"lengths": np.array([5, 2, 6])},
            "episode 2 has length 6, expected 1 to 5.*1 of 3 episodes",
        ),
        (
            {"lengths": np.array([5.0, 2, 4])},
            r"lengths have shape \[3\] and dtype float64, expected \[3\] integers",
        ),
        (
            {"observations": np.zeros((3, 5, 2), int)},
            "observations have dtype int64, expected floats",
        ),
        ({"actions": np.zeros((3, 5, 1), int)}, "actions have dtype int64, expected floats"),
    ],
)
def test_bad_arrays_are_refused_with_numbers(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Demonstrations(trajectories=make_trajectories(**changes), discrete=False)


def test_discrete_actions_must_be_integers_of_rank_two() -> None:
    validate_demos(make_trajectories(actions=np.zeros((3, 5), int)), True)
    with pytest.raises(
        InputError, match="dtype float64, expected integers because they are discrete"
    ):
        validate_demos(make_trajectories(actions=np.zeros((3, 5))), True)
    with pytest.raises(
        InputError, match=r"shape \[3, 5, 1\], expected \[episodes, steps\] of integers"
    ):
        validate_demos(make_trajectories(), True)


def test_a_number_that_is_not_finite_is_named_by_episode_step_and_column() -> None:
    trajectories = make_trajectories()
    trajectories.observations[2, 3, 1] = np.inf
    with pytest.raises(
        InputError, match=r"observations: episode 2, step 3, column 1 \(y\) is inf.*1 such values"
    ):
        Demonstrations(trajectories=trajectories, discrete=False, observation_names=("x", "y"))
    trajectories.observations[0, :2] = np.nan
    with pytest.raises(
        InputError, match=r"5 such values in all, in 2 columns \(x, y\) and 2 of 3 episodes: drop"
    ):
        Demonstrations(trajectories=trajectories, discrete=False, observation_names=("x", "y"))
    trajectories = make_trajectories()
    trajectories.rewards[0, 4] = np.nan
    with pytest.raises(
        InputError,
        match=r"rewards: episode 0, step 4 is nan.*1 such values in all, in 1 of 3 episodes",
    ):
        Demonstrations(trajectories=trajectories, discrete=False)


def test_names_are_one_per_column_and_differ() -> None:
    with pytest.raises(InputError, match="3 observation names for 2 columns"):
        Demonstrations(
            trajectories=make_trajectories(), discrete=False, observation_names=("a", "b", "c")
        )
    with pytest.raises(InputError, match="name 'a' stands for two columns"):
        Demonstrations(
            trajectories=make_trajectories(), discrete=False, observation_names=("a", "a")
        )


def test_episodes_must_be_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    short = Episode(np.zeros((2, 2)), np.zeros((2, 1)), None)
    with pytest.raises(
        InputError, match=r"episode 1 has observations of shape \[2, 3\], episode 0 \[2, 2\]"
    ):
        stack_episodes([short, Episode(np.zeros((2, 3)), np.zeros((2, 1)), None)])
    with pytest.raises(InputError, match="episode 0 has 2 observations but 3 actions"):
        stack_episodes([Episode(np.zeros((2, 2)), np.zeros((3, 1)), None)])
    with pytest.raises(InputError, match="0 episodes"):
        stack_episodes([])
    monkeypatch.setattr(dataset, "MAX_BYTES", 31)
    with pytest.raises(InputError, match="padding 1 episodes to the longest of 2 steps"):
        stack_episodes([short])


def test_demos_that_fit_a_task_pass_and_rounding_is_forgiven() -> None:
    trajectories = make_trajectories()
    trajectories.actions[0, 0, 0] = 1 + 1e-7
    demos = Demonstrations(trajectories=trajectories, discrete=False)
    assert find_mismatches(demos, make_task()) == []
    check_against(demos, make_task())  # raises nothing


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {
                "observation_space": gym.spaces.Box(-1, 1, (3,)),
                "observation_names": ("x", "z", "pitch"),
            },
            r"observations have 2 columns, task plane has 3 \(x, z, pitch\): "
            "the x position is often left out; "
            "record with exclude_current_positions_from_observation=False",
        ),
        (
            {"observation_space": gym.spaces.Box(-1, 1, (1,)), "observation_names": ("cell",)},
            (
                r"observations have 2 columns, task plane has 1 \(cell\): record the observations "
                r"the task gives"
            ),
        ),
        (
            {"action_space": gym.spaces.Discrete(2), "action_names": ("left", "right")},
            r"actions are continuous \(floats\), task plane has discrete",
        ),
        (
            {"action_space": gym.spaces.Box(-1, 1, (2,)), "action_names": ("a", "b")},
            "actions have 1 columns, task plane has 2",
        ),
        ({"horizon": 4}, "episode 0 has 5 steps, task plane ends after 4"),
    ],
)
def test_demos_that_do_not_fit_say_why(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_against(
            Demonstrations(trajectories=make_trajectories(), discrete=False), make_task(**changes)
        )


def test_actions_outside_the_space_are_located() -> None:
    trajectories = make_trajectories()
    trajectories.actions[1, 1, 0] = -1.5
    trajectories.actions[1, 4, 0] = 99.0  # padding: does not count
    demos = Demonstrations(trajectories=trajectories, discrete=False)
    message = (
        r"1 actions are outside .* episode 1, step 1, column 0 (push): -1.5 is not in [-1, 1]: "
        r"record actions as"
    )
    with pytest.raises(
        InputError, match=re.escape(message).replace(r"\.\*", ".*").replace(r"\ ", " ")
    ):
        check_against(demos, make_task())


def test_choices_outside_the_space_are_located() -> None:
    actions = np.ones((3, 5), int)
    actions[2, 0] = 4
    demos = Demonstrations(trajectories=make_trajectories(actions=actions), discrete=True)
    task = make_task(action_space=gym.spaces.Discrete(3, start=1), action_names=("a", "b", "c"))
    with pytest.raises(
        InputError, match=r"episode 2, step 0: 4 is not in 1\.\.3: number the choices"
    ):
        check_against(demos, task)


def test_columns_in_another_order_are_noticed() -> None:
    demos = Demonstrations(
        trajectories=make_trajectories(), discrete=False, observation_names=("y", "x")
    )
    with pytest.raises(InputError, match="another order: column 0 is y, task plane has x"):
        check_against(demos, make_task())


def test_every_reason_is_given_at_once() -> None:
    demos = Demonstrations(trajectories=make_trajectories(), discrete=False)
    task = make_task(horizon=3, action_space=gym.spaces.Box(-1, 1, (2,)), action_names=("a", "b"))
    with pytest.raises(InputError, match=r"actions have 1 columns.*ends after 3"):
        check_against(demos, task)


def test_unknown_shipped_demos_are_an_input_error() -> None:
    with pytest.raises(InputError, match=r"unknown shipped demonstrations 'nothing\.npz'"):
        shipped_demos("nothing.npz")
