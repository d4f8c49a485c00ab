"""What tasks say that a step (s, a, s') pays is what their environments pay."""

import numpy as np
import pytest

from icrl.tasks.registry import SCENARIOS, make_scenario

SAID = (
    "lap-grid",
    "half-cheetah-wall",
    "half-cheetah-back",
    "ant-wall",
    "ant-broken",
    "ant-broken-turned",
    "point",
)


@pytest.mark.parametrize("name", SAID)
def test_it_is_what_the_environment_pays(name):
    task = make_scenario(name).task
    env = task.make_env(3)
    env.action_space.seed(1)
    before, _ = env.reset(seed=1)
    total = 0.0
    for _ in range(100):
        actions = env.action_space.sample()
        after, paid, terminated, _, _ = env.step(actions)
        assert not terminated.any()
        said = task.reward_of(before, actions, after)
        assert said.shape == (3,)
        np.testing.assert_allclose(said, paid, rtol=0, atol=1e-4)
        total += float(np.abs(paid).sum())
        before = after
    assert total / 300 > 1e-3  # a step pays more than the difference that is let pass
    env.close()


def test_a_dead_leg_costs_nothing_and_a_live_one_does():
    whole = make_scenario("ant-wall").task
    broken = make_scenario("ant-broken").task
    rows = np.zeros((1, 29))
    effort = np.array([[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]])
    # z = 0 is not healthy, the origin pays nothing: 0 + 0 - 0.5 * 4, and without the dead legs 0
    assert whole.reward_of(rows, effort, rows) == pytest.approx([-2.0])
    assert broken.reward_of(rows, effort, rows) == pytest.approx([0.0])
    assert effort.sum() == 4.0


def test_cells_that_do_not_exist_pay_nothing():
    reward_of = make_scenario("lap-grid").task.reward_of
    # 17 is a cell's number, not a number between -1 and 1: logs of others may hold it
    strange = np.array([[17.0], [-3.0]])
    np.testing.assert_array_equal(reward_of(strange, np.array([0, 1]), strange), [0.0, 0.0])


def test_every_other_task_of_ours_says_none():
    silent = {name for name in SCENARIOS if make_scenario(name).task.reward_of is None}
    assert silent == set(SCENARIOS) - set(SAID)
