"""A user's own environment: spaces, names, horizon, how episodes end, processes,
and what is said when it fails."""

import contextlib
import inspect
import os
import signal
import sys
import time
from typing import ClassVar

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.wrappers import FlattenObservation, TimeLimit

import icrl
from icrl.agent.rollout import EnvStream
from icrl.errors import InputError, InputWarning
from icrl.tasks.bundle import Elsewhere, Here
from icrl.tasks.options import EnvOptions
from icrl.tasks.own import task_from_env
from icrl.tasks.registry import make_scenario, make_task
from icrl.tasks.single import SingleEnv


class Walk(gym.Env):
    """Walks on a line by its action: terminates beyond 1, is cut by itself below -1."""

    observation_space = Box(-10, 10, (2,))
    action_space = Box(-1, 1, (1,))

    def __init__(self, start=0.0, render_mode=None):
        self.start, self.render_mode, self.closed = start, render_mode, False

    def observe(self):
        return np.array([self.x, self.noise], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.noise = self.start, self.np_random.uniform()
        return self.observe(), {}

    def step(self, action):
        assert action.dtype == np.float32
        self.x += float(action[0])
        return self.observe(), self.x, self.x > 1, self.x < -1, {}

    def close(self):
        self.closed = True


class Choice(Walk):
    observation_space = Discrete(3)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 1, {}

    def step(self, action):
        assert type(action) is int or isinstance(action, np.integer)
        return 2 * int(action), 1.0, False, False, {}


class Named(Walk):
    feature_names = ("place", "noise")


class Pictured(Walk):
    metadata: ClassVar = {"render_modes": ["rgb_array"]}

    def render(self):
        return np.full((8, 12, 3), 7, np.uint8)


def spaces(observation, action):
    """An environment class with these spaces, which are refused before it is reset."""
    return type("Strange", (Walk,), {"observation_space": observation, "action_space": action})


def own(env=Walk, horizon=5, **options):
    return task_from_env(env, horizon=horizon, **options)


@pytest.mark.parametrize(
    ("name", "horizon", "observations", "actions", "discrete"),
    [
        ("Pendulum-v1", 200, 3, 1, False),
        ("CartPole-v1", 500, 4, 2, True),
        ("MountainCarContinuous-v0", 999, 2, 1, False),
    ],
)
def test_a_registered_id_is_a_task(name, horizon, observations, actions, discrete):
    task = icrl.make_task(name)
    assert (task.name, task.horizon, task.discrete, task.one_hot) == (
        name,
        horizon,
        discrete,
        False,
    )
    assert task.observation_names == tuple(f"obs[{i}]" for i in range(observations))
    assert task.action_names == tuple(f"action[{i}]" for i in range(actions))
    env = task.make_env(3)
    env.action_space.seed(0)
    first, _ = env.reset(seed=0)
    assert env.observation_space.contains(first)
    assert len({row.tobytes() for row in first}) == 3
    observations, rewards, terminated, truncated, _ = env.step(env.action_space.sample())
    assert observations.shape == first.shape
    assert rewards.shape == terminated.shape == truncated.shape == (3,)


def test_it_steps_as_the_environment_itself_does():
    env = icrl.make_task("Pendulum-v1").make_env(2)
    first, _ = env.reset(seed=4)
    # environment 1 of seed 4, its first episode
    seed = int(np.random.default_rng(5).integers(2**31))
    alone = gym.make("Pendulum-v1")
    np.testing.assert_array_equal(first[1], alone.reset(seed=seed)[0])
    for step in range(200):
        actions = np.array([[0.3], [np.sin(step)]], np.float32)
        observations, rewards, terminated, truncated, _ = env.step(actions)
        expected = alone.step(actions[1])
        np.testing.assert_array_equal(observations[1], expected[0])
        assert rewards[1] == pytest.approx(expected[1])
        assert (terminated[1], truncated[1]) == (False, step == 199) == expected[2:4]


@pytest.mark.parametrize("processes", [1, 2])
def test_ended_and_cut_are_told_apart_and_the_next_state_is_the_true_one(processes):
    env = own(processes=processes).make_env(3)
    env.reset(seed=0)
    env.step(np.array([[0.9], [-0.9], [0.1]]))
    observations, rewards, terminated, truncated, _ = env.step(np.array([[0.9], [-0.9], [0.1]]))
    np.testing.assert_allclose(observations[:, 0], [1.8, -1.8, 0.2], rtol=1e-6)
    np.testing.assert_allclose(rewards, [1.8, -1.8, 0.2], rtol=1e-6)
    assert terminated.tolist() == [True, False, False]
    assert truncated.tolist() == [False, True, False]
    with pytest.raises(InputError, match="have ended"):
        env.step(np.zeros((3, 1)))
    observations, _ = env.reset(options={"reset_mask": terminated | truncated})
    np.testing.assert_allclose(observations[:, 0], [0, 0, 0.2], rtol=1e-6)
    for _ in range(2):
        assert not env.step(np.zeros((3, 1)))[3].any()
    # its fifth step: the horizon
    assert env.step(np.zeros((3, 1)))[3].tolist() == [False, False, True]
    env.close()


def test_a_state_that_is_terminal_at_the_horizon_counts_as_terminal():
    env = own(horizon=2).make_env(1)
    env.reset(seed=0)
    env.step(np.ones((1, 1)))
    _, _, terminated, truncated, _ = env.step(np.ones((1, 1)))
    assert (terminated.tolist(), truncated.tolist()) == ([True], [False])


def test_the_agents_stream_goes_through_ends_and_cuts():
    stream = EnvStream(own().make_env(2), seed=0)
    ends = cuts = 0
    for _ in range(12):
        _, _, terminated, truncated = stream.step(np.array([[0.6], [0.0]]))
        stream.reset_ended(terminated | truncated)
        ends, cuts = ends + terminated, cuts + truncated
    assert ends.tolist() == [6, 0]
    assert cuts.tolist() == [0, 2]


def test_processes_change_nothing_but_where_it_runs():
    def play(processes):
        env = own(processes=processes).make_env(3)
        kinds = {type(bundle) for bundle in env.bundles}
        seen = [env.reset(seed=3)[0]]
        for _ in range(4):
            seen.append(env.step(np.full((3, 1), 0.3))[0])
        ended = np.array([True, False, True])
        seen.append(env.reset(options={"reset_mask": ended})[0])
        env.close()
        return kinds, np.stack(seen)

    here, elsewhere = play(1), play(2)
    assert (here[0], elsewhere[0]) == ({Here}, {Elsewhere})
    np.testing.assert_array_equal(here[1], elsewhere[1])


def test_a_slow_environment_gets_processes_and_a_fast_one_none(monkeypatch):
    class Slow(Walk):
        def step(self, action):
            time.sleep(0.003)
            return super().step(action)

    monkeypatch.setattr("icrl.tasks.own._num_cores", lambda: 2)
    assert own(Slow).make_env.processes == 2
    assert "over 2 processes" in own(Slow).description
    assert own(Walk).make_env.processes == 1
    assert own(Slow, processes=1).make_env.processes == 1


def test_processes_end_with_the_environments():
    env = own(processes=2).make_env(2)
    env.reset(seed=0)
    processes = [bundle.process for bundle in env.bundles]
    assert [process.poll() for process in processes] == [None, None]
    env.close()
    assert None not in [process.poll() for process in processes]
    env = own(processes=2).make_env(2)
    processes = [bundle.process for bundle in env.bundles]
    del env  # learn.py closes nothing: what is no longer held must end too
    assert None not in [process.poll() for process in processes]


def test_a_process_that_dies_is_reported():
    env = own(processes=2).make_env(2)
    env.reset(seed=0)
    env.bundles[1].process.kill()
    with pytest.raises(InputError, match=r"ended by itself \(exit code -9\).*--processes 1"):
        env.step(np.zeros((2, 1)))
    env.close()


@pytest.mark.parametrize("processes", [1, 2])
def test_what_the_environment_raises_is_said_with_its_place(processes):
    class Broken(Walk):
        def step(self, action):
            if action[0] == 1:
                raise KeyError("wheel")
            return super().step(action)

    env = own(Broken, processes=processes).make_env(2)
    env.reset(seed=0)
    env.step(np.zeros((2, 1)))
    with pytest.raises(
        InputError, match=r"step\(\[1\.\]\) of Broken raised KeyError: 'wheel' \(test_own.py, line"
    ):
        env.step(np.ones((2, 1)))
    env.close()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observe": lambda self: np.array([np.nan, 0], np.float32)}, "not finite: entry 0 is nan"),
        ({"observe": lambda self: np.zeros(3, np.float32)}, r"shape \(3,\), its space says \(2,\)"),
        (
            {"reset": lambda self, seed=None, options=None: 1 / 0},
            r"reset\(seed=0\) of .* raised ZeroDivisionError",
        ),
        (
            {"step": lambda self, action: 1},
            r"step\(\) of .* returned int, no tuple, expected 5 values",
        ),
    ],
)
def test_what_is_wrong_shows_when_the_task_is_made(changes, message):
    with pytest.raises(InputError, match=message):
        own(type("Wrong", (Walk,), changes))


class Fails(Walk):
    """Goes wrong, in the way that it is told, once an episode of a run (whose seed is not 0)
    is at its third step."""

    observation_space = Box(-np.inf, np.inf, (2,))
    way = "raise"

    def reset(self, *, seed=None, options=None):
        self.run, self.steps = seed not in (None, 0), 0
        return super().reset(seed=seed)

    def step(self, action):
        self.steps += 1
        observation, reward, _, _, info = super().step(action)
        if self.run and self.steps == 3:
            reward = {"nan": np.nan, "inf": -np.inf}.get(self.way, reward)
            observation = {"shape": np.zeros(3), "lost": np.array([np.nan, 0])}.get(
                self.way, observation
            )
            if self.way == "raise":
                raise RuntimeError("the motor is hot")
            if self.way == "die":
                os._exit(7)
            if self.way == "hang":
                while True:
                    # an environment may take any error for its own
                    with contextlib.suppress(Exception):
                        time.sleep(1)
        return observation, reward, False, False, info


def fails(way, **options):
    return own(type("Fails", (Fails,), {"way": way}), name="my:env", **options).make_env(2)


def step_until_it_fails(env):
    env.reset(seed=5)
    for _ in range(2):
        env.step(np.zeros((2, 1)))
    try:
        env.step(np.zeros((2, 1)))
    finally:
        env.close()


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("raise", r"step\(.*\) of Fails raised RuntimeError: the motor is hot"),
        ("nan", r"Fails paid a reward that is not a finite number \(nan\)"),
        ("inf", r"Fails paid a reward that is not a finite number \(-inf\)"),
        ("shape", r"Fails gave an observation of shape \(3,\), its space says \(2,\)"),
        ("lost", r"Fails gave an observation that is not finite"),
    ],
)
def test_what_goes_wrong_in_a_run_is_told_with_environment_seed_and_step(way, message, processes):
    with pytest.raises(InputError, match=rf"{message}.*Fails, the episode of seed \d+, at step 3"):
        step_until_it_fails(fails(way, processes=processes))


def test_a_process_that_dies_is_told_with_environment_seeds_and_step():
    with pytest.raises(
        InputError, match=r"my:env: a process .* \(exit code 7\).* Its episodes: seed \d+ at step 3"
    ):
        step_until_it_fails(fails("die", processes=2))


@pytest.mark.parametrize(
    ("processes", "message"),
    [
        (
            1,
            (
                r"step of Fails, the episode of seed \d+, at step 3 did not come to an end within "
                r"1 s.*--env-timeout"
            ),
        ),
        (
            2,
            (
                r"my:env: a step .* did not come to an end within 1 s.* Its episodes: seed \d+ at "
                r"step 3"
            ),
        ),
    ],
)
def test_an_environment_that_hangs_is_given_up(processes, message):
    with pytest.raises(InputError, match=message):
        step_until_it_fails(fails("hang", processes=processes, env_timeout=1.0))
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_an_environment_may_hang_already_when_it_is_tried():
    def sleeps(self, *, seed=None, options=None):
        time.sleep(60)

    with pytest.raises(
        InputError,
        match=r"a reset and 30 steps of .* \(seed 0\) did not come to an end within 0.5 s",
    ):
        own(type("Sleeps", (Walk,), {"reset": sleeps}), env_timeout=0.5)


def test_patience_is_ten_minutes_wherever_nothing_is_said():
    for function in (task_from_env, make_task):
        assert inspect.signature(function).parameters["env_timeout"].default == 600.0
    assert EnvOptions().env_timeout == 600.0


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_limit_is_a_number_of_seconds(seconds):
    with pytest.raises(InputError, match="env_timeout"):
        own(env_timeout=seconds)


def test_observations_outside_their_space_are_told_of_once_and_used_as_they_are():
    class Far(Walk):
        observation_space = Box(-1, 1, (2,))

        def observe(self):
            return np.array([7.5, 0.0], np.float32)

    env = own(Far, name="far:once").make_env(2)
    with pytest.warns(
        InputWarning, match="far:once gave .* entry 0 is 7.5, the space says -1 to 1"
    ):
        first = env.reset(seed=0)[0]
    assert first[0, 0] == 7.5
    # warnings are errors in tests: another one would end this here
    assert env.step(np.zeros((2, 1)))[0][0, 0] == 7.5
    assert own(Far, name="far:once").make_env(1).reset(seed=0)[0][0, 0] == 7.5


def test_a_reward_that_is_no_number_shows_when_the_task_is_made():
    with pytest.raises(InputError, match="reward that is not a finite number"):
        own(
            type(
                "Rich",
                (Walk,),
                {"step": lambda self, a: (self.observe(), np.nan, False, False, {})},
            )
        )


def test_discrete_observations_are_one_hot():
    task = own(Choice)
    assert task.one_hot
    assert task.observation_names == ("state[0]", "state[1]", "state[2]")
    env = task.make_env(2)
    assert env.reset(seed=0)[0].tolist() == [[0, 1, 0], [0, 1, 0]]
    assert env.step(np.array([0, 1]))[0].tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("observation", "action", "message"),
    [
        (Dict({"a": Discrete(2)}), Discrete(2), "observes Dict, expected .*FlattenObservation"),
        (
            Box(0, 1, (4, 4)),
            Discrete(2),
            r"observes Box of shape \[4, 4\], expected .*FlattenObservation",
        ),
        (MultiDiscrete([2, 2]), Discrete(2), "observes MultiDiscrete .*FlattenObservation"),
        (Discrete(2), MultiDiscrete([2, 2]), "acts in MultiDiscrete .*TransformAction"),
        (Discrete(2), Discrete(2, start=1), "count from 1, expected from 0"),
    ],
)
def test_other_spaces_are_refused_with_the_wrapper_that_helps(observation, action, message):
    with pytest.raises(InputError, match=message):
        own(spaces(observation, action))


def test_the_wrapper_that_is_named_helps():
    square = {
        "observation_space": Box(-9, 9, (1, 2)),
        "observe": lambda self: Walk.observe(self)[None],
    }
    task = own(lambda: FlattenObservation(type("Square", (Walk,), square)()))
    assert task.observation_space.shape == (2,)


def test_the_horizon_is_the_environments_own_or_must_be_given():
    assert task_from_env(lambda: TimeLimit(Walk(), 7)).horizon == 7
    assert task_from_env(lambda: TimeLimit(Walk(), 7), horizon=4).horizon == 4
    assert make_task("Pendulum-v1", horizon=300).horizon == 300
    with pytest.raises(InputError, match=r"Walk does not say how long an episode is.*--horizon"):
        task_from_env(Walk)
    with pytest.raises(InputError, match="horizon = 8, but Walk itself cuts episodes after 7"):
        task_from_env(lambda: TimeLimit(Walk(), 7), name="Walk", horizon=8)


def test_a_longer_horizon_of_a_registered_id_is_really_longer():
    env = make_task("Pendulum-v1", horizon=202).make_env(1)
    env.reset(seed=0)
    cuts = [bool(env.step(np.zeros((1, 1)))[3][0]) for _ in range(202)]
    assert cuts.index(True) == 201


def test_names_are_given_or_the_environments_or_numbered():
    assert own(Walk).feature_names == ("obs[0]", "obs[1]", "action[0]")
    assert own(Named).feature_names == ("place", "noise", "action[0]")
    assert own(lambda: TimeLimit(Named(), 9)).observation_names == ("place", "noise")
    assert own(Named, feature_names=("a", "b", "push")).feature_names == ("a", "b", "push")
    for wrong in (("a",), ("a", "a"), ("a", "b", "c", "d")):
        with pytest.raises(InputError, match=r"expected 2 different names .* or 3"):
            own(Walk, feature_names=wrong)


def test_pictures_where_the_environment_offers_them():
    picture = SingleEnv(own(Pictured).make_env(1)).render()
    assert (picture.shape, int(picture[0, 0, 0])) == ((8 * 40, 12 * 40, 3), 7)
    with pytest.raises(InputError, match=r"Walk cannot be pictured: its render_mode is None"):
        own(Walk).make_env(1).render_env(0)


def test_closing_reaches_the_environments():
    env = own().make_env(2)
    inner = env.bundles[0].bundle.envs
    env.close()
    assert [each.closed for each in inner] == [True, True]


def test_one_environment_for_all_is_refused():
    only = Walk()
    with pytest.raises(InputError, match="the same environment twice"):
        own(lambda: only).make_env(2)
    with pytest.raises(InputError, match="expected a function that makes an environment, got Walk"):
        own(only)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a user's modules, as the current directory."""
    (tmp_path / "my_worlds.py").write_text(
        "import gymnasium as gym\n"
        "class Worlds:\n    @staticmethod\n    def pole(): return gym.make('CartPole-v1')\n"
        "def car(): return gym.make('MountainCarContinuous-v0')\n"
        "def number(): return 3\n"
        "def many(): return gym.make_vec('CartPole-v1', 2)\n"
        "one = gym.make('CartPole-v1')\n"
    )
    (tmp_path / "my_broken.py").write_text("1 / 0\n")
    (tmp_path / "my_slip.py").write_text("import os\ndef car(:\n")
    (tmp_path / "my_needy.py").write_text("import no_such_library\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    yield
    for name in ("my_worlds", "my_broken", "my_needy", "my_slip"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "horizon"), [("my_worlds:car", 999), ("my_worlds:Worlds.pole", 500)]
)
def test_a_function_in_the_current_directory(here, name, horizon):
    scenario = make_scenario(name)
    assert (scenario.task.name, scenario.task.horizon, scenario.truth_known) == (
        name,
        horizon,
        False,
    )
    with pytest.raises(InputError, match=r"true constraint of this task is not known.*--truth"):
        scenario.violates(np.zeros((1, 2)), np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such:car", "there is no module 'no_such' in .* PYTHONPATH"),
        ("my_worlds:cart", "unknown function of my_worlds 'cart': did you mean 'car'"),
        (
            "my_worlds:number",
            r"my_worlds:number\(\) returned builtins.int, expected a gymnasium.Env",
        ),
        ("my_worlds:many", "returned gymnasium.*VectorEnv, expected a gymnasium.Env"),
        ("my_worlds:one", "expected a function"),
        (
            "my_broken:car",
            "importing my_broken raised ZeroDivisionError: division by zero .*my_broken.py, line 1",
        ),
        ("my_needy:car", "needs the module 'no_such_library'"),
        ("my_worlds:", "does not name a function"),
        ("my_slip:car", r"importing my_slip raised SyntaxError: .* \(my_slip.py, line 2\)\. Mend"),
        (
            "Pendulum-v7",
            (
                "unknown task 'Pendulum-v7': did you mean 'Pendulum-v1'.*Gymnasium id, or as "
                "module:function"
            ),
        ),
        ("Cartpole-v1", "unknown task 'Cartpole-v1': did you mean 'CartPole-v1'"),
        ("no_such:Pendulum-v1", "there is no module 'no_such'"),
    ],
)
def test_a_name_that_leads_nowhere(here, name, message):
    with pytest.raises(InputError, match=message):
        make_scenario(name)


def test_a_module_that_registers_an_id(here):
    assert make_scenario("my_worlds:CartPole-v1").task.horizon == 500


def test_a_task_of_ours_takes_no_options():
    assert make_task("lap-grid").horizon == 200
    with pytest.raises(InputError, match="lap-grid is a task of ours"):
        make_task("lap-grid", horizon=10)
