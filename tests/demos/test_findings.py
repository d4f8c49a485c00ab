"""What to be wary of: where each finding begins."""

import numpy as np
import pytest

from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations
from icrl.demos.findings import judge_duplicates, judge_lengths, judge_rewards
from icrl.tasks.lap_grid import lap_grid
from icrl.types import Trajectories

TASK = lap_grid().task
WHOLE = TASK.horizon
TYPICAL = [9.0, 9.0, 10.0, 10.0, 11.0, 11.0]


def whats(findings):
    return " | ".join(finding.what for finding in findings)


def earning(returns, card=None, discrete=True):
    """One step an episode, which earns its return."""
    count = len(returns)
    actions = np.zeros((count, 1), np.int64)
    if not discrete:
        actions = np.zeros((count, 1, 1))
    trajectories = Trajectories(
        observations=np.zeros((count, 1, 1)),
        actions=actions,
        rewards=np.asarray(returns, np.float64)[:, None],
        lengths=np.ones(count, np.int64),
    )
    return Demonstrations(trajectories=trajectories, discrete=discrete, card=card or {})


@pytest.mark.parametrize(
    ("lengths", "clipped"),
    [
        ([WHOLE] * 4, False),
        ([50, 50, 50, 50], True),  # all alike, and the task goes on
        ([50, 50, 20, 30], True),  # half of them at the greatest length
        ([50, 50, 20, 30, 40], False),  # two of five: they may have ended by themselves
        ([50, 20, 30, 40], False),  # one is the longest, as one always is
    ],
)
def test_a_recorder_s_limit_is_told_from_episodes_that_end(lengths, clipped):
    findings = judge_lengths(np.array(lengths), TASK)
    assert any("probably clipped" in finding.meaning for finding in findings) is clipped


def test_without_a_task_nobody_knows_what_was_clipped():
    assert judge_lengths(np.array([50] * 4), None) == []


def test_few_episodes_and_mixed_lengths_are_said_together():
    said = whats(judge_lengths(np.array([WHOLE, 3]), TASK))
    assert "there are 2 episodes" in said
    assert f"from 3 to {WHOLE} steps" in said


def test_a_failure_is_far_below_what_the_others_scatter():
    # median 10, median distance 1: the limit is 10 - 10 x 1 = 0
    assert judge_rewards(earning([*TYPICAL, 0.1])) == []
    (finding,) = judge_rewards(earning([*TYPICAL, -0.1]))
    assert "1 episodes earn far below the median" in finding.what
    assert "number 6: -0.1" in finding.what


def test_where_all_earn_the_same_a_hundredth_of_it_is_the_scatter():
    # median 10, distance 0: the limit is 10 - 10 x 0.1 = 9
    assert judge_rewards(earning([10.0] * 5 + [9.1])) == []
    assert judge_rewards(earning([10.0] * 5 + [8.9])) != []


def test_unknown_rewards_are_no_failures():
    (finding,) = judge_rewards(earning([0.0, 0.0, -99.0], card=REWARDS_UNKNOWN))
    assert finding.what == "rewards are unknown"


def test_repeated_steps_say_something_of_continuous_recordings_alone():
    discrete = earning([1.0, 1.0])
    continuous = earning([1.0, 1.0], discrete=False)
    assert judge_duplicates(0, 0.9, discrete) == []
    assert judge_duplicates(0, 0.1, continuous) == []
    assert "11% of the steps" in whats(judge_duplicates(0, 0.11, continuous))
    # whole episodes say more than their steps: one finding, not two
    assert whats(judge_duplicates(2, 0.9, continuous)) == (
        "2 episodes repeat an earlier one to the bit"
    )
