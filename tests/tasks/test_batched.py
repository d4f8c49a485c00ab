"""Seeds, clocks, masks and autoreset, on a world small enough to follow by hand."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from icrl.errors import InputError
from icrl.tasks.batched import BatchedEnv


class CounterEnv(BatchedEnv):
    """Starts at a random number in [0,
    1000); adds the action; dies at or above 2000; reward is the action."""

    def __init__(
        self, num_envs, horizon=5, autoreset_mode=AutoresetMode.SAME_STEP, action_space=None
    ):
        super().__init__(
            num_envs=num_envs,
            observation_space=gym.spaces.Box(-np.inf, np.inf, (1,), np.float32),
            action_space=action_space or gym.spaces.Box(-1000.0, 1000.0, (1,), np.float32),
            horizon=horizon,
            autoreset_mode=autoreset_mode,
        )
        self.value = np.zeros(num_envs)

    def start(self, indices):
        for i in indices:
            self.value[i] = self.rngs[i].integers(1000)

    def advance(self, actions):
        change = actions.reshape(self.num_envs).astype(np.float64)
        self.value = self.value + change
        return change, self.value >= 2000, {"value": self.value.copy()}

    def observations(self):
        return self.value[:, None].astype(np.float32)


def still(env):
    return np.zeros((env.num_envs, 1), dtype=np.float32)


def test_environment_i_gets_seed_plus_i_whatever_the_batch_size():
    large, small = CounterEnv(4), CounterEnv(1)
    many, _ = large.reset(seed=10)
    one, _ = small.reset(seed=12)
    assert large.seeds == [10, 11, 12, 13]
    assert one[0] == many[2]
    assert len(np.unique(many)) == 4


def test_a_list_of_seeds_is_accepted_and_none_lets_a_generator_run_on():
    env = CounterEnv(3)
    first, _ = env.reset(seed=[5, 5, 9])
    assert first[0] == first[1] != first[2]
    second, _ = env.reset(seed=[5, None, None])
    assert second[0] == first[0]
    assert second[1] != first[1]
    assert env.seeds == [5, 5, 9]


def test_unseeded_environments_record_the_seeds_they_drew():
    env = CounterEnv(3)
    first, _ = env.reset()
    again, _ = CounterEnv(3).reset(seed=env.seeds)
    np.testing.assert_array_equal(first, again)


def test_horizon_truncates_and_does_not_terminate():
    env = CounterEnv(2, horizon=3, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    ends = [env.step(still(env))[2:4] for _ in range(3)]
    assert [truncated.tolist() for _, truncated in ends] == [[False] * 2, [False] * 2, [True] * 2]
    assert not any(terminated.any() for terminated, _ in ends)


def test_death_on_the_last_step_is_a_termination_alone():
    env = CounterEnv(1, horizon=2, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    env.value[:] = 1500
    env.step(still(env))
    _, _, terminated, truncated, _ = env.step(still(env) + 600)
    assert terminated[0]
    assert not truncated[0]


def test_same_step_shows_the_new_episode_and_keeps_the_last_observation():
    env = CounterEnv(2, horizon=50)
    env.reset(seed=0)
    env.value[:] = [1900, 100]
    observations, rewards, terminated, _, infos = env.step(np.array([[150.0], [7.0]]))
    assert terminated.tolist() == [True, False]
    assert rewards.tolist() == [150, 7]
    assert infos["_final_obs"].tolist() == [True, False]
    assert infos["final_obs"][0].tolist() == [2050]
    assert infos["final_obs"][1] is None
    assert infos["final_info"]["value"][0] == 2050
    assert infos["final_info"]["_value"].tolist() == [True, False]
    assert observations[0] < 1000
    assert observations[1] == 107
    assert env.elapsed.tolist() == [0, 1]


def test_disabled_shows_the_true_next_state_and_refuses_to_step_past_it():
    env = CounterEnv(2, horizon=50, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0)
    env.value[:] = [1900, 100]
    observations, _, terminated, truncated, infos = env.step(np.array([[150.0], [7.0]]))
    assert observations[:, 0].tolist() == [2050, 107]
    assert "final_obs" not in infos
    with pytest.raises(InputError, match=r"environments \[0\] \(1 of 2\) have ended"):
        env.step(still(env))
    observations, _ = env.reset(options={"reset_mask": terminated | truncated})
    assert observations[0] < 1000
    assert observations[1] == 107
    env.step(still(env))
    assert env.elapsed.tolist() == [1, 2]


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_a_mask_leaves_the_others_and_their_generators_untouched(mode):
    env, twin = CounterEnv(3, autoreset_mode=mode), CounterEnv(3, autoreset_mode=mode)
    env.reset(seed=3)
    twin.reset(seed=3)
    env.step(still(env))
    options = {"reset_mask": np.array([False, True, False])}
    masked, _ = env.reset(options=options)
    assert "reset_mask" in options
    assert env.elapsed.tolist() == [1, 0, 1]
    assert masked[0] == twin.observations()[0]
    assert masked[1] != twin.observations()[1]
    after, _ = env.reset()
    expected, _ = twin.reset()
    np.testing.assert_array_equal(after[[0, 2]], expected[[0, 2]])


def test_a_seed_with_a_mask_seeds_only_the_masked():
    env, twin = CounterEnv(3), CounterEnv(3)
    env.reset(seed=3)
    twin.reset(seed=3)
    masked, _ = env.reset(seed=[50, 50, 50], options={"reset_mask": np.array([True, False, False])})
    assert env.seeds == [50, 4, 5]
    assert masked[0] == CounterEnv(1).reset(seed=50)[0][0]
    np.testing.assert_array_equal(env.reset()[0][1:], twin.reset()[0][1:])


def test_returned_arrays_do_not_change_later():
    env = CounterEnv(2, horizon=2)
    kept = [env.reset(seed=0)[0]]
    for _ in range(4):
        kept.extend(env.step(still(env) + 1)[:4])
    copies = [array.copy() for array in kept]
    for _ in range(5):
        env.step(still(env) + 3)
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_actions_are_clipped_to_the_space():
    env = CounterEnv(2)
    env.reset(seed=0)
    assert env.step(np.array([[np.inf], [-5000.0]]))[1].tolist() == [1000, -1000]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros((3, 1)), r"expected actions of shape \(2, 1\), got \(3, 1\)"),
        (np.array([[np.nan], [0.0]]), "got 1 NaN"),
    ],
)
def test_unusable_actions_are_refused(actions, message):
    env = CounterEnv(2)
    env.reset(seed=0)
    with pytest.raises(InputError, match=message):
        env.step(actions)


def test_discrete_actions_must_be_integers_of_the_space():
    env = CounterEnv(2, action_space=gym.spaces.Discrete(2))
    env.reset(seed=0)
    assert env.step(np.array([0, 1]))[1].tolist() == [0, 1]
    with pytest.raises(InputError, match=r"integer actions in \[0, 2\), got int64 from 0 to 2"):
        env.step(np.array([0, 2]))
    with pytest.raises(InputError, match="got float64"):
        env.step(np.array([0.0, 1.0]))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.array([1, 0]), "got int64"),
        (np.array([True]), r"shape \(2,\), got bool with shape \(1,\)"),
        (np.array([False, False]), "selects no environment"),
    ],
)
def test_unusable_masks_are_refused(mask, message):
    env = CounterEnv(2)
    env.reset(seed=0)
    with pytest.raises(InputError, match=message):
        env.reset(options={"reset_mask": mask})


def test_the_first_call_must_be_a_full_reset():
    with pytest.raises(InputError, match="step before the first reset"):
        CounterEnv(1).step(np.zeros((1, 1)))
    with pytest.raises(InputError, match="masked reset before the first full one"):
        CounterEnv(1).reset(options={"reset_mask": np.array([True])})


def test_construction_is_validated():
    with pytest.raises(InputError, match="num_envs=0"):
        CounterEnv(0)
    with pytest.raises(InputError, match="NEXT_STEP"):
        CounterEnv(1, autoreset_mode=AutoresetMode.NEXT_STEP)
    with pytest.raises(InputError, match=r"one seed per environment \(2\), got 3"):
        CounterEnv(2).reset(seed=[1, 2, 3])
