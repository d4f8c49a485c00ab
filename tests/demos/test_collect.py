"""Recording an expert: only clean whole episodes, the card says what was done,
an expert that cannot is an error."""

from dataclasses import replace

import numpy as np
import pytest

import worlds
from icrl.agent.networks import PolicyLayers
from icrl.agent.state import Policy
from icrl.demos.collect import collect_demos, record_clean_episodes, train_agent, true_cost
from icrl.demos.dataset import check_against
from icrl.demos.formats import load_demos, save_demos
from icrl.errors import InputError
from icrl.tasks.lap_grid import lap_grid
from icrl.tasks.task import Scenario
from plain_settings import plain_forward
from small_runs import FORWARD, Counter


def is_yes(observations, actions):
    return np.asarray(actions) == 1


DOOR = Scenario(task=worlds.tempting_door(), violates=is_yes, constraint="no yes")


def coin(probability):
    """A policy that says `yes` with this probability, whatever is seen."""
    logit = float(np.log(probability / (1 - probability)))
    layers = ((np.zeros((1, 2), np.float32), np.array([0.0, logit], np.float32)),)
    return Policy(
        layers=PolicyLayers(layers, None), moments=None, action_space=DOOR.task.action_space
    )


def test_the_true_cost_is_one_where_it_is_forbidden():
    cost = true_cost(lap_grid())(np.zeros((2, 2, 1), np.float32), np.array([[0, 1], [1, 0]]))
    assert cost.dtype == np.float32
    assert sorted(cost.ravel().tolist()) == [0, 0, 1, 1]


def test_only_episodes_without_a_violation_are_kept():
    # an episode of ten steps is clean with probability 0.9^10 = 0.35
    kept, rejected = record_clean_episodes(DOOR, coin(0.1), episodes=6, seed=0)
    assert kept.num_trajectories == 6
    assert rejected >= 1
    assert not is_yes(kept.observations, kept.actions)[kept.mask].any()
    assert kept.lengths.tolist() == [10] * 6
    assert kept.returns.tolist() == [10.0] * 6  # `no` pays 1


def test_an_expert_that_always_violates_is_an_error_with_numbers():
    with pytest.raises(
        InputError, match=r"tempting-door violates .*: 21 episodes rejected, 0 of 1 kept.* --steps"
    ):
        record_clean_episodes(DOOR, coin(0.9999), episodes=1, seed=0)


def test_episodes_of_different_lengths_are_padded():
    # countdown ends after one to four steps;
    # a draw that holds a violation is repeated, so parts differ in length
    task = worlds.countdown()
    scenario = Scenario(task=task, violates=lambda s, a: np.asarray(a) == 1, constraint="no yes")
    kept, _ = record_clean_episodes(scenario, coin(0.2), episodes=8, seed=0)
    assert kept.num_trajectories == 8
    assert kept.observations.shape[:2] == kept.actions.shape == kept.rewards.shape
    assert len(set(kept.lengths.tolist())) > 1
    for index, length in enumerate(kept.lengths):
        seen = kept.observations[index, :length, 0]
        assert seen.tolist() == list(range(int(seen[0]), int(seen[0]) - length, -1))


def test_train_agent_steps_what_it_says_and_reports_it():
    counter, reported = Counter(), []
    training = train_agent(counter.watch(DOOR.task), None, FORWARD, 1200, 0, reported.append)
    assert training.steps == counter.steps == 1024  # two forward steps of 512 fit into 1200
    assert [steps for steps, _ in training.curve] == [512, 1024]
    assert reported == [256, 512, 768, 1024]
    # never less than one forward step
    assert train_agent(DOOR.task, None, FORWARD, 10, 0).steps == 512


def test_collected_demonstrations_carry_their_card_and_come_back(tmp_path):
    config = plain_forward(steps=512, num_envs=4, rollout_steps=64, epochs=2, hidden=(16,))
    try:
        demos, (training,) = collect_demos(
            DOOR, replace(config, learning_rate=0.01), 4096, 3, seed=0
        )
    except InputError as error:
        raise AssertionError("the expert did not learn to say no") from error
    check_against(demos, DOOR.task)
    assert demos.card["task"] == "tempting-door"
    assert demos.card["episodes"] == demos.trajectories.num_trajectories == 3
    assert demos.card["expert_steps"] == training.steps == 4096
    assert demos.card["mean_return"] == pytest.approx(10.0)
    assert demos.card["violations"] == 0
    assert demos.observation_names == ("seen",)
    save_demos(demos, tmp_path / "demos.npz")
    loaded = load_demos(tmp_path / "demos.npz")
    assert loaded.card["rejected_episodes"] == demos.card["rejected_episodes"]
    np.testing.assert_array_equal(loaded.trajectories.actions, demos.trajectories.actions)


def test_several_experts_share_the_episodes():
    config = plain_forward(
        steps=512, num_envs=4, rollout_steps=64, epochs=2, hidden=(16,), learning_rate=0.01
    )
    reported = []
    demos, trainings = collect_demos(DOOR, config, 2048, 4, 0, reported.append, experts=2)
    assert demos.trajectories.num_trajectories == 4
    assert demos.card["experts"] == len(demos.card["mean_return_of_each"]) == 2
    assert reported[-1] == 2 * 2048
    assert not np.array_equal(trainings[0].agent.params, trainings[1].agent.params)
    with pytest.raises(InputError, match="4 episodes cannot be shared out among 3 experts"):
        collect_demos(DOOR, config, 512, 4, 0, experts=3)
