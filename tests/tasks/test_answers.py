"""What a user's environment says of itself and answers:
what is wrong with it is said, never a traceback."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.wrappers import TimeLimit

import icrl
from icrl.demos.dataset import Demonstrations
from icrl.demos.fitting import fit_to_task
from icrl.errors import InputError
from icrl.tasks.bundle import EnvBundle
from icrl.tasks.own import task_from_env
from icrl.types import Trajectories
from small_runs import TINY


class Line(gym.Env):
    """Two numbers, two choices; nothing changes."""

    observation_space = Box(-9, 9, (2,))
    action_space = Discrete(2)
    seen = (0.0, 0.0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.array(self.seen, np.float32), {}

    def step(self, action):
        return np.array(self.seen, np.float32), 0.0, False, False, {}


class Rooms(Line):
    """Three rooms, numbered from 1; choice 1 goes on, choice 0 back."""

    observation_space = Discrete(3, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room = 1
        return self.room, {}

    def step(self, action):
        self.room = int(np.clip(self.room + (1 if action else -1), 1, 3))
        return self.room, float(self.room), False, False, {}


def fails(self):
    raise RuntimeError("the door is stuck")


def own(base=Line, horizon=5, **changes):
    return task_from_env(type("Changed", (base,), changes), name="mine", horizon=horizon)


def answers(observation=(0.0, 0.0), reward=0.0, ended=False, cut=False):
    return lambda self, action: (observation, reward, ended, cut, {})


FIVE = r"expected 5 values \(observation, reward, terminated, truncated, info\)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"step": lambda self, a: (np.zeros(2), 0.0, False, {})},
            rf"returned 4 values, {FIVE}: tell in place of one",
        ),
        ({"step": lambda self, a: (np.zeros(2),) * 6}, rf"returned 6 values, {FIVE}\."),
        ({"step": lambda self, a: None}, rf"returned NoneType, no tuple, {FIVE}"),
        (
            {"step": answers({"a": 1})},
            r"gave the observation \{'a': 1\} \(dict\), which is not in its space Box",
        ),
        (
            {"step": answers("wall")},
            r"gave the observation 'wall' \(str\), which is not in its space Box",
        ),
        (
            {"step": answers(reward=None)},
            "returned reward = None, .* expected one number and two booleans",
        ),
        (
            {"step": answers(ended=np.zeros(2, bool))},
            r"terminated = array\(.* expected one number and two booleans",
        ),
        ({"reset": lambda self, **_: ({"a": 1}, {})}, r"gave the observation \{'a': 1\} \(dict\)"),
        (
            {"reset": lambda self, **_: np.zeros(2)},
            r"returned ndarray, no tuple, expected 2 values \(observation, info",
        ),
        (
            {"observation_space": Discrete(3), "reset": lambda self, **_: ([1, 2], {})},
            r"\[1, 2\] \(list\), which is not",
        ),
        (
            {"observation_space": Discrete(3), "reset": lambda self, **_: (3, {})},
            r"observation 3 \(int\), which is not",
        ),
        (
            {"feature_names": "xy"},
            r"feature_names of mine is str \('xy'\), expected a list of names",
        ),
        ({"feature_names": 7}, r"feature_names of mine is int \(7\), expected a list of names"),
        ({"feature_names": {"y", "x"}}, "feature_names of mine is set .* expected a list of names"),
        ({"feature_names": lambda self: "xy"}, r"feature_names of mine is str \('xy'\)"),
        ({"feature_names": fails}, "feature_names of mine raised RuntimeError: the door is stuck"),
        (
            {"close": fails},
            r"close\(\) of mine raised RuntimeError: the door is stuck \(test_answers.py, line",
        ),
        # what was wrong first is said
        ({"close": fails, "feature_names": "xy"}, "feature_names of mine is str"),
        (
            {"observation_space": property(fails)},
            "observation_space of mine raised RuntimeError: the door is stuck",
        ),
    ],
)
def test_what_is_wrong_is_said(changes, message):
    with pytest.raises(InputError, match=message):
        own(**changes)


@pytest.mark.parametrize("missing", ["observation_space", "action_space"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_space_that_is_missing_is_named(missing, wrapped):
    spaces = {"observation_space": Box(-9, 9, (2,)), "action_space": Discrete(2)}
    bare = type(
        "Bare", (gym.Env,), {name: space for name, space in spaces.items() if name != missing}
    )
    with pytest.raises(
        InputError,
        match=rf"mine has no {missing}, expected .*: set self\.{missing} in its __init__",
    ):
        task_from_env(lambda: TimeLimit(bare(), 9) if wrapped else bare(), name="mine", horizon=5)


def test_names_may_be_a_list_an_array_a_method_or_none():
    for names in (["x", "y"], np.array(["x", "y"]), lambda self: ("x", "y")):
        assert own(feature_names=names).observation_names == ("x", "y")
    assert own(feature_names=None).observation_names == ("obs[0]", "obs[1]")


def test_text_alone_is_no_list_of_names_when_given_either():
    with pytest.raises(InputError, match=r"feature_names is str \('xy'\)"):
        task_from_env(Line, horizon=5, feature_names="xy")
    with pytest.raises(InputError, match=r"feature_names is str \('position'\)"):
        icrl.make_task("CartPole-v1", feature_names="position")


def test_one_that_cannot_be_closed_does_not_keep_the_others_open():
    closed = []
    bundle = EnvBundle(lambda render_mode=None: Line(), 3)
    for i, env in enumerate(bundle.envs):
        env.close = (lambda i=i: closed.append(i)) if i else (lambda: fails(None))
    with pytest.raises(
        InputError, match=r"close\(\) of Line raised RuntimeError: the door is stuck"
    ):
        bundle.close()
    assert closed == [1, 2]


def test_a_process_whose_environments_cannot_be_closed_ends_without_a_traceback(capfd):
    changed = type("Stuck", (Line,), {"close": fails})
    task = own()
    env = replace(task.make_env, factory=lambda render_mode=None: changed(), processes=2)(2)
    env.reset(seed=0)
    env.close()
    said = capfd.readouterr().err
    assert "close() of Stuck raised RuntimeError: the door is stuck" in said
    assert "Traceback" not in said


def logged(numbers, lengths):
    """Demonstrations that hold the numbers of states [N, T]."""
    observations = np.asarray(numbers, np.float64)[..., None]
    actions, rewards = np.ones(observations.shape[:2], np.int64), np.zeros(observations.shape[:2])
    trajectories = Trajectories(
        observations=observations,
        actions=actions,
        rewards=rewards,
        lengths=np.asarray(lengths, np.int64),
    )
    return Demonstrations(trajectories=trajectories, discrete=True)


def test_states_count_in_logs_as_in_the_environment():
    task = own(Rooms)
    assert (task.one_hot, task.first_state) == (True, 1)
    assert task.observation_names == ("state[1]", "state[2]", "state[3]")
    env = task.make_env(1)
    # the rooms 1, 2, 3
    played = [env.reset(seed=0)[0], *(env.step(np.array([1]))[0] for _ in range(2))]
    # the second episode is padded
    fitted = fit_to_task(logged([[1, 2, 3], [2, 0, 0]], [3, 1]), task)
    np.testing.assert_array_equal(fitted.trajectories.observations[0], np.concatenate(played))
    assert fitted.trajectories.observations[1].tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert fitted.observation_names == task.observation_names


@pytest.mark.parametrize("wrong", [[[0, 1, 2]], [[2, 3, 4]], [[1, 1.5, 2]]])
def test_numbers_that_are_no_states_are_left_for_the_check_to_name(wrong):
    demos = logged(wrong, [3])
    assert fit_to_task(demos, own(Rooms)) is demos
    with pytest.raises(InputError, match="observations have 1 columns, task mine has 3"):
        icrl.learn_constraint(own(Rooms), demos, TINY)


def test_learning_in_python_takes_state_numbers_as_the_command_line_does():
    demos = logged([[1, 2, 3, 3, 3]] * 2, [5, 4])
    constraint = icrl.learn_constraint(own(Rooms), demos, TINY)
    assert constraint.features.names == (
        "state[1]",
        "state[2]",
        "state[3]",
        "action[0]",
        "action[1]",
    )


def test_metadata_may_be_nothing():
    assert own(metadata=None).make_env.pictures is False
