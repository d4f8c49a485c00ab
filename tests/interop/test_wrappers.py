"""The wrappers judge the pair (s_t, a_t), and do to the step what they promise and no more."""

import warnings
from functools import partial
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from plain_worlds import Corridor, Rooms, Steps, line_constraint, push_constraint, room_constraint

from icrl.errors import InputError
from icrl.interop.wrappers import (
    CostInInfo,
    PenalisedReward,
    SixValueStep,
    TerminateOnViolation,
    VectorCostInInfo,
)

ON = np.array([1.0], np.float32)
BACK = np.array([-1.0], np.float32)


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def test_the_cost_is_that_of_the_state_before_the_step() -> None:
    env = CostInInfo(Corridor(), line_constraint())
    _, info = env.reset(seed=0)
    assert info == {"begun": True, "cost": 0.0}
    # x is 0, 1, 2 when the three actions are taken; ζ = σ(8 (1.5 − x)), cost 1 − ζ = σ(8 (x − 1.5))
    costs = [env.step(ON)[4]["cost"] for _ in range(3)]
    np.testing.assert_allclose(costs, [sigmoid(-12), sigmoid(-4), sigmoid(4)], rtol=1e-5)


def test_the_action_is_part_of_the_pair() -> None:
    env = CostInInfo(Corridor(), push_constraint(), hard=True)
    env.reset(seed=0)
    costs = [env.step(action)[4]["cost"] for action in (ON, ON, BACK, BACK)]  # at x = 0, 1, 2, 1
    assert costs == [0.0, 1.0, 0.0, 0.0]


def test_choices_are_judged_too_whatever_integer_they_come_as() -> None:
    env = CostInInfo(Steps(), push_constraint(discrete=True), hard=True)
    env.reset(seed=0)
    assert [env.step(action)[4]["cost"] for action in (2, np.int64(2), np.asarray(1))] == [
        0.0,
        1.0,
        0.0,
    ]


def test_everything_else_of_a_step_is_left_alone() -> None:
    env, plain = CostInInfo(Corridor(), line_constraint()), Corridor()
    np.testing.assert_array_equal(env.reset(seed=1)[0], plain.reset(seed=1)[0])
    for _ in range(3):
        got, expected = env.step(ON), plain.step(ON)
        np.testing.assert_array_equal(got[0], expected[0])
        assert got[1:4] == expected[1:4]
        assert got[4] == {**expected[4], "cost": got[4]["cost"]}


def test_a_step_before_reset_is_refused() -> None:
    with pytest.raises(gym.error.ResetNeeded):
        CostInInfo(Corridor(), line_constraint()).step(ON)


def test_six_values() -> None:
    env = SixValueStep(Corridor(), line_constraint())
    env.reset(seed=0)
    steps = [env.step(ON) for _ in range(3)]
    assert [len(step) for step in steps] == [6, 6, 6]
    observation, reward, cost, terminated, truncated, info = steps[2]
    assert (reward, cost, terminated, truncated, info["cost"]) == (-1.0, 1.0, True, False, 1.0)
    assert [step[2] for step in steps] == [0.0, 0.0, 1.0]  # hard unless told otherwise
    assert observation[1] == 3.0
    soft = SixValueStep(Corridor(), line_constraint(), hard=False)
    soft.reset(seed=0)
    np.testing.assert_allclose(soft.step(ON)[2], sigmoid(-12), rtol=1e-5)


def test_penalised_reward() -> None:
    env = PenalisedReward(Corridor(), line_constraint(), weight=10.0)
    env.reset(seed=0)
    env.step(ON)
    _, reward, _, _, info = env.step(ON)  # at x = 1
    np.testing.assert_allclose(reward, -1 - 10 * sigmoid(-4), rtol=1e-6)
    np.testing.assert_allclose(info["cost"], sigmoid(-4), rtol=1e-5)
    assert info["task_reward"] == -1.0


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_penalty_is_a_finite_price(weight: float) -> None:
    with pytest.raises(InputError, match="weight"):
        PenalisedReward(Corridor(), line_constraint(), weight=weight)


def test_a_violation_ends_the_episode_and_is_worth_less_than_going_on() -> None:
    env = TerminateOnViolation(Corridor(), line_constraint(), gamma=0.9)
    assert env.reset(seed=0)[1]["stopped"] is False
    assert [env.step(ON)[2] for _ in range(2)] == [False, False]
    _, reward, terminated, truncated, info = env.step(ON)  # from x = 2
    assert (terminated, truncated, info["stopped"], info["cost"]) == (True, False, True, 1.0)
    # r_min / (1 − γ) − r_max = −1 / 0.1 − 1: going on for ever at −1 a step is worth −10
    np.testing.assert_allclose(reward, -11.0)


def test_patience_counts_steps_in_a_row() -> None:
    env = TerminateOnViolation(Corridor(), line_constraint(at=0.5), patience=2, end_reward=-5.0)
    env.reset(seed=0)
    #         x before: 0     1 !   0     1 !    2 !!
    moves = [ON, BACK, ON, ON, BACK]
    steps = [env.step(move) for move in moves]
    assert [step[2] for step in steps] == [False, False, False, False, True]
    assert [step[1] for step in steps] == [-1.0, -1.0, -1.0, -1.0, -5.0]
    env.reset(seed=0)  # a new episode has broken nothing
    assert env.step(ON)[4] == {"x": 1.0, "cost": 0.0, "stopped": False}


def test_a_streak_ends_with_its_episode() -> None:
    # all of the corridor is forbidden
    env = TerminateOnViolation(Corridor(), line_constraint(at=-0.5), patience=2)
    env.reset(seed=0)
    assert env.step(ON)[4]["stopped"] is False
    # cut after one violation: the next episode's first is not the second in a row
    env.reset(seed=0)
    assert env.step(ON)[4]["stopped"] is False
    assert env.step(ON)[4]["stopped"] is True


def test_a_forced_end_costs_something_even_where_nothing_is_paid() -> None:
    env = TerminateOnViolation(Corridor(), line_constraint())
    assert env.value_of_forced_end() == -1.0


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"patience": 0}, "patience"),
        ({"gamma": 1.0}, "gamma"),
        ({"end_reward": float("nan")}, "end_reward"),
    ],
)
def test_settings_of_termination_are_checked(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        TerminateOnViolation(Corridor(), line_constraint(), **settings)


class Named(Corridor):
    """The corridor with its columns swapped, and named."""

    feature_names = ("x", "seven")

    def observe(self) -> Any:
        self.buffer[:] = (self.x, 7.0)
        return self.buffer


def test_features_are_found_by_name_where_the_environment_names_them() -> None:
    env = CostInInfo(gym.wrappers.TimeLimit(Named(), 10), line_constraint())
    env.reset(seed=0)
    costs = [env.step(ON)[4]["cost"] for _ in range(3)]
    np.testing.assert_allclose(costs, [sigmoid(-12), sigmoid(-4), sigmoid(4)], rtol=1e-5)


def test_names_can_be_given() -> None:
    env = CostInInfo(Steps(), line_constraint(), feature_names=("seven", "x"))
    env.reset(seed=0)
    env.step(2)
    np.testing.assert_allclose(env.step(2)[4]["cost"], sigmoid(-4), rtol=1e-5)


@pytest.mark.parametrize(
    ("env", "names", "match"),
    [
        (
            Steps(),
            None,
            "2 observations and 1 continuous actions.*2 observations and 3 choices.*looks for x",
        ),
        (Corridor(), ("a", "b"), "looks at x, .* does not have; it has a, b, action.0."),
        (Corridor(), ("a",), "expected 2 different feature names.*got 1: a"),
        (
            gym.wrappers.TransformObservation(Corridor(), lambda o: {"o": o}, gym.spaces.Dict()),
            None,
            "observes Dict",
        ),
        (
            gym.wrappers.TransformAction(Corridor(), abs, gym.spaces.MultiDiscrete([2, 2])),
            None,
            "acts in MultiDiscrete",
        ),
    ],
)
def test_what_does_not_fit_says_what_is_there(
    env: Any, names: tuple[str, ...] | None, match: str
) -> None:
    with pytest.raises(InputError, match=match):
        CostInInfo(env, line_constraint(), feature_names=names)


def test_a_vector_is_refused_with_advice() -> None:
    with pytest.raises(InputError, match="before it is vectorised"):
        CostInInfo(SyncVectorEnv([Corridor]), line_constraint())


def test_states_that_are_numbers_enter_one_hot() -> None:
    class Three(Steps):
        observation_space: Any = gym.spaces.Discrete(2)

        def observe(self) -> Any:
            return int(self.x > 0.5)

    # column 1 is "state 1"
    env = CostInInfo(Three(), line_constraint(at=0.5, discrete=True), hard=True)
    env.reset(seed=0)
    assert [env.step(2)[4]["cost"] for _ in range(2)] == [0.0, 1.0]


@pytest.mark.parametrize(
    "wrap", [CostInInfo, partial(PenalisedReward, weight=2.0), TerminateOnViolation]
)
def test_gymnasium_finds_nothing_wrong(wrap: Any) -> None:
    copying = gym.wrappers.TransformObservation(Corridor(), np.array, Corridor.observation_space)
    env = wrap(copying, line_constraint())
    with warnings.catch_warnings():
        # that it is a wrapper, and that the corridor is endless: both are so
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)
    assert env.reset(seed=0)[1]["cost"] == 0.0


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vector_of_wrapped_environments_and_a_wrapped_vector_agree(mode: AutoresetMode) -> None:
    constraint = line_constraint()
    inside = SyncVectorEnv([lambda: CostInInfo(Corridor(), constraint)] * 2, autoreset_mode=mode)
    outside = VectorCostInInfo(SyncVectorEnv([Corridor] * 2, autoreset_mode=mode), constraint)
    np.testing.assert_array_equal(inside.reset(seed=0)[1]["cost"], outside.reset(seed=0)[1]["cost"])
    for t in range(9):
        actions = np.array([[1.0], [0.5 if t % 2 else 1.0]], np.float32)
        a, b = inside.step(actions), outside.step(actions)
        np.testing.assert_array_equal(a[0], b[0])
        # there Gymnasium puts the info of the reset in place of the step's
        if mode is not AutoresetMode.SAME_STEP:
            np.testing.assert_allclose(a[4]["cost"], b[4]["cost"])
        ended = a[2] | a[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            inside.reset(options={"reset_mask": ended})
            outside.reset(options={"reset_mask": ended})


def test_a_wrapped_vector_costs_by_hand() -> None:
    env = VectorCostInInfo(
        SyncVectorEnv([Corridor], autoreset_mode=AutoresetMode.NEXT_STEP),
        line_constraint(),
        hard=True,
    )
    env.reset(seed=0)
    # x: 0, 1, 2, then 3 ends it, the fourth step only resets, and x is 0 again
    assert [float(env.step(ON[None])[4]["cost"][0]) for _ in range(5)] == [0.0, 0.0, 1.0, 0.0, 0.0]
    with pytest.raises(InputError, match="use CostInInfo"):
        VectorCostInInfo(Corridor(), line_constraint())


def test_states_count_as_the_environment_does() -> None:
    env = CostInInfo(Rooms(), room_constraint(), hard=True)
    env.reset(seed=0)
    # from the rooms 5, 6 and 7
    assert [env.step(1)[4]["cost"] for _ in range(3)] == [0.0, 1.0, 0.0]
    vector = VectorCostInInfo(SyncVectorEnv([Rooms, Rooms]), room_constraint(), hard=True)
    vector.reset(seed=0)
    assert [vector.step(np.array([1, 0]))[4]["cost"].tolist() for _ in range(2)] == [
        [0.0, 0.0],
        [1.0, 0.0],
    ]


def test_a_path_is_told_how_to_become_a_constraint() -> None:
    with pytest.raises(
        InputError, match=r"got str: load it first with icrl\.load_constraint\('runs/c'\)"
    ):
        CostInInfo(Corridor(), cast(Any, "runs/c"))
    with pytest.raises(InputError, match="got NoneType: load it first"):
        VectorCostInInfo(SyncVectorEnv([Corridor]), cast(Any, None))


def test_names_that_the_environment_offers_are_a_list_or_nothing() -> None:
    def corridor(names: Any) -> Any:
        return type("Named", (Corridor,), {"feature_names": names})()

    assert CostInInfo(corridor(None), line_constraint())._judge.constraint.features.columns == (1,)
    by_method = CostInInfo(corridor(lambda self: ["x", "other"]), line_constraint())
    assert by_method._judge.constraint.features.columns == (0,)
    for names in ("xy", 3, {"x": 0, "y": 1}):
        with pytest.raises(
            InputError, match=r"feature_names of Named is .* expected a list of names"
        ):
            CostInInfo(corridor(names), line_constraint())
    with pytest.raises(InputError, match=r"feature_names is str \('xy'\)"):
        CostInInfo(Corridor(), line_constraint(), feature_names="xy")


def test_an_environment_without_spaces_is_refused() -> None:
    with pytest.raises(InputError, match="has no observation_space"):
        CostInInfo(type("Bare", (gym.Env,), {})(), line_constraint())
