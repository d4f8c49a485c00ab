"""Demonstrations that came without rewards: the task says them, or it is said what cannot be."""

from dataclasses import replace

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.wrappers import TimeLimit

from icrl.by_search import SearchWay
from icrl.cli import main
from icrl.demos.check import describe
from icrl.demos.convert import convert_demos
from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations, shipped_demos
from icrl.demos.fitting import fit_and_check, fit_if_possible
from icrl.demos.formats import load_demos, save_demos
from icrl.demos.rewards import HOW_COMPUTED, with_rewards
from icrl.errors import InputError
from icrl.learn import learn
from icrl.tasks.own import task_from_env
from icrl.tasks.registry import make_scenario
from icrl.types import Trajectories
from small_runs import SEARCHING, TINY_FLAGS, lap_demos

LAP = make_scenario("lap-grid").task


def bare(demos):
    """The same demonstrations, of which nobody recorded what they earned."""
    zeros = np.zeros_like(demos.trajectories.rewards)
    trajectories = replace(demos.trajectories, rewards=zeros)
    return replace(demos, trajectories=trajectories, card=demos.card | REWARDS_UNKNOWN)


def shipped(name):
    return load_demos(shipped_demos(f"{name}.npz"))


class Walk(gym.Env):
    """A walk along a line; a step pays its length."""

    observation_space = Box(-9, 9, (1,))
    action_space = Discrete(2)
    closed = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.x += float(action)
        return np.array([self.x], np.float32), float(action), False, False, {}

    def reward_of(self, observations, actions, next_observations):
        assert not self.closed, "asked after it was closed"
        return next_observations[:, 0] - observations[:, 0]

    def close(self):
        self.closed = True


def walk(reward_of=Walk.reward_of, horizon=4):
    kind = type("Changed", (Walk,), {"reward_of": reward_of})
    return task_from_env(kind, name="walk", horizon=horizon)


def walked(lengths=(4, 3)):
    """Places 0, 1, 2, ... of as many episodes; each step goes on by 1, padded with 77."""
    places = np.tile(np.arange(float(max(lengths))), (len(lengths), 1))
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    trajectories = Trajectories(
        observations=np.where(mask, places, 77.0)[..., None].astype(np.float32),
        actions=mask.astype(np.int64),
        rewards=np.zeros(mask.shape),
        lengths=np.array(lengths),
    )
    return Demonstrations(trajectories=trajectories, discrete=True, card=dict(REWARDS_UNKNOWN))


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("lap-grid", 0.0),
        ("point", 1e-5),
        ("ant-wall", 1e-4),
        # x is recorded in float32 and reaches 270, where neighbours are 3.1e-5 apart: each of two
        # places is wrong by half of that at most, and 3.1e-5 / 0.05 s = 6.1e-4.
        ("half-cheetah-wall", 6.2e-4),
    ],
)
def test_the_task_computes_the_rewards_that_were_recorded(name, tolerance):
    recorded = shipped(name)
    found = fit_and_check(bare(recorded), make_scenario(name).task)
    paid = recorded.trajectories.rewards[:, :-1]
    assert np.ptp(paid) > 1.0  # there is something to be wrong about
    np.testing.assert_allclose(found.trajectories.rewards, paid, rtol=0, atol=tolerance)
    assert found.has_rewards
    assert found.rewards_computed


def test_near_the_origin_the_cheetah_is_paid_to_four_digits():
    recorded = shipped("half-cheetah-wall")
    found = fit_and_check(bare(recorded), make_scenario("half-cheetah-wall").task)
    # below 32 neighbours in float32 are at most 1.9e-6 apart: 1.9e-6 / 0.05 s = 3.8e-5
    near = np.abs(recorded.trajectories.observations[:, 1:, 0]) < 32.0
    assert near.sum() > 500
    errors = found.trajectories.rewards - recorded.trajectories.rewards[:, :-1]
    assert np.abs(errors[near]).max() < 5e-5


def test_the_last_step_of_each_episode_is_left_out_and_nothing_else():
    given = walked(lengths=(4, 3))
    found = with_rewards(given, walk())
    np.testing.assert_array_equal(found.trajectories.lengths, [3, 2])
    np.testing.assert_array_equal(found.trajectories.rewards, [[1, 1, 1], [1, 1, 0]])
    np.testing.assert_array_equal(
        found.trajectories.observations[..., 0], [[0.0, 1.0, 2.0], [0.0, 1.0, 0.0]]
    )
    np.testing.assert_array_equal(found.recorded_lengths, [4, 3])
    np.testing.assert_array_equal(given.trajectories.lengths, [4, 3])
    assert not given.has_rewards


def test_rewards_that_were_recorded_are_left_alone():
    recorded = lap_demos()
    assert with_rewards(recorded, LAP) is recorded
    computed = fit_and_check(bare(recorded), LAP)
    assert fit_and_check(computed, LAP).trajectories is computed.trajectories


def test_an_episode_of_one_step_is_refused_by_its_number():
    with pytest.raises(InputError, match=r"episode 1 has only 1 step, expected at least 2.*1 of 3"):
        fit_and_check(walked(lengths=(4, 1, 3)), walk())


def test_without_a_word_of_the_task_rewards_stay_unknown_and_the_search_refuses():
    silent = replace(LAP, reward_of=None)
    found = fit_and_check(bare(lap_demos()), silent)
    assert not found.has_rewards
    assert found.trajectories.lengths[0] == 200
    with pytest.raises(InputError, match=r"no rewards, and task lap-grid does not say.*reward_of"):
        SearchWay(silent, found, SEARCHING, jax.random.key(0))


def test_bridges_says_no_rewards_since_arriving_pays_by_the_clock():
    recorded = shipped("bridges")
    task = make_scenario("bridges").task
    assert task.reward_of is None
    # Nearly all of what the expert earns is paid in the step that is its last, for the time left.
    last = np.asarray(recorded.trajectories.lengths) - 1
    paid_last = recorded.trajectories.rewards[np.arange(len(last)), last]
    np.testing.assert_allclose(paid_last, task.horizon - last)
    assert paid_last.mean() > 0.95 * recorded.trajectories.returns.mean()
    assert not fit_and_check(bare(recorded), task).has_rewards


def test_the_rule_of_the_lap_is_found_from_a_demonstration_without_rewards():
    rounds = []
    learn(LAP, fit_and_check(bare(lap_demos()), LAP), SEARCHING, on_round=rounds.append)
    assert rounds[-1].constraint.card["search"]["axes"] == ["action"]


def test_the_environment_of_a_user_says_its_rewards_under_a_wrapper():
    task = task_from_env(lambda: TimeLimit(Walk(), 4), name="walk")
    found = fit_and_check(walked(), task)
    assert found.trajectories.rewards.sum() == 5.0


def test_a_function_that_writes_into_what_it_is_given_changes_no_demonstration():
    def writes(self, observations, actions, next_observations):
        observations[:] = 5.0
        next_observations[:] = 5.0
        actions[:] = 0
        return np.zeros(len(actions))

    found = fit_and_check(walked(lengths=(4,)), walk(reward_of=writes))
    np.testing.assert_array_equal(found.trajectories.observations[0, :, 0], [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(found.trajectories.actions[0], [1, 1, 1])


def test_an_attribute_that_is_none_is_none():
    assert walk(reward_of=None).reward_of is None


def test_an_attribute_that_cannot_be_called_is_refused_when_the_task_is_made():
    with pytest.raises(InputError, match="reward_of of walk is float, expected a method"):
        walk(reward_of=1.5)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda n: np.zeros((n, 1)), r"float64 of shape \[5, 1\] for 5 steps, expected as many"),
        (lambda n: 1.0, r"float64 of shape \[\] for 5 steps"),
        (lambda n: np.zeros(n - 1), r"shape \[4\] for 5 steps"),
        (lambda n: np.array(["a"] * n), r"<U1 of shape \[5\]"),
        (lambda n: np.zeros(n, bool), r"bool of shape \[5\]"),
        (
            lambda n: np.array([0.0, 0.0, np.nan, 0.0, np.inf]),
            r"2 of 5, the first for step 2 \(nan",
        ),
        (lambda n: [1.0, [2.0]], "raised ValueError"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(answer, words):
    task = walk(reward_of=lambda self, observations, actions, after: answer(len(observations)))
    with pytest.raises(InputError, match=words):
        fit_and_check(walked(), task)


def test_what_it_raises_is_told_with_its_place():
    def fails(self, observations, actions, next_observations):
        raise RuntimeError("the purse is lost")

    words = r"reward_of of walk raised RuntimeError: the purse is lost \(test_rewards"
    with pytest.raises(InputError, match=words):
        fit_and_check(walked(), walk(reward_of=fails))


def test_a_report_takes_the_lengths_that_were_recorded():
    demos = fit_if_possible(bare(lap_demos()), LAP)
    report = describe(demos, LAP)
    assert report.rewards_computed
    assert report.returns == (60.0, 60.0, 60.0)
    # 199 steps of 200 would look clipped, and as if the end had been lost
    assert not [f for f in report.findings if "199" in f.what or "200" in f.what]


def test_a_report_warns_where_what_an_end_paid_may_be_missing():
    task = walk(horizon=4)
    ended = describe(fit_if_possible(walked(lengths=(4, 3)), task), task)
    assert [f.what for f in ended.findings if "1 episodes end before the 4 steps" in f.what]
    whole = describe(fit_if_possible(walked(lengths=(4, 4)), task), task)
    assert not [f for f in whole.findings if "end before" in f.what]


def test_what_does_not_fit_the_task_is_described_and_not_paid():
    task = walk(horizon=3)
    found = fit_if_possible(walked(lengths=(4, 3)), task)
    assert not found.has_rewards
    assert [f for f in describe(found, task).findings if f.fatal]


def test_that_rewards_were_computed_survives_saving(tmp_path):
    demos = fit_and_check(bare(lap_demos()), LAP)
    save_demos(demos, tmp_path / "paid.npz")
    again = load_demos(tmp_path / "paid.npz")
    assert again.rewards_computed
    np.testing.assert_array_equal(again.trajectories.rewards, demos.trajectories.rewards)


def test_converting_keeps_every_step(tmp_path):
    save_demos(bare(lap_demos()), tmp_path / "bare.npz")
    found = convert_demos(str(tmp_path / "bare.npz"), str(tmp_path / "bare.csv"), task=LAP)
    assert not found.has_rewards
    assert found.trajectories.num_steps == 200


def test_check_and_learn_say_that_the_task_computed_the_rewards(tmp_path, capsys):
    path = str(tmp_path / "bare.npz")
    save_demos(bare(lap_demos()), path)
    main(["demos", "check", path, "--task", "lap-grid"])
    checked = capsys.readouterr().out
    assert HOW_COMPUTED in " ".join(checked.split())
    assert "returns 60 to 60" in checked
    main(["demos", "check", str(shipped_demos("lap-grid.npz")), "--task", "lap-grid"])
    assert HOW_COMPUTED not in " ".join(capsys.readouterr().out.split())
    main(["demos", "check", path])
    assert "rewards are unknown" in " ".join(capsys.readouterr().out.split())
    out = str(tmp_path / "run")
    main(["learn", "lap-grid", "--demos", path, "--out", out, "--steps=1824", *TINY_FLAGS])
    assert HOW_COMPUTED in " ".join(capsys.readouterr().out.split())
