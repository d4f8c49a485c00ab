"""Presets: every one constructs for every task,
and `paper` holds the values of the paper's table, one by one."""

import pytest

from icrl.agent.forward_step import forward_steps
from icrl.config import Activation, LearnConfig, Respect, Weights
from icrl.constraint.backward_step import check_limits
from icrl.errors import InputError
from icrl.methods.registry import preset
from icrl.presets import EPISODES, PRESETS, expert
from icrl.rounds import num_rounds
from icrl.tasks.registry import SCENARIOS, make_scenario

TASKS = ("lap-grid", "half-cheetah-wall", "ant-wall", "point", "ant-broken")

# Table 1 of the paper's appendix, row by row: LapGridWorld, HalfCheetah, Ant, Point, AntBroken.
TABLE = {
    "forward.hidden": ((64, 64), (64, 64), (64, 64), (64, 64), (64, 64)),
    "forward.minibatch": (64, 64, 128, 64, 128),
    "forward.target_kl": (0.01, 0.01, 0.01, 0.01, 0.01),
    "forward.learning_rate": (3e-4, 3e-4, 3e-5, 3e-4, 3e-5),
    "forward.gamma": (0.99, 0.99, 0.99, 0.99, 0.99),
    "forward.gae_lambda": (0.95, 0.95, 0.90, 0.95, 0.90),
    "forward.cost_gamma": (0.99, 0.99, 0.99, 0.99, 0.99),
    "forward.cost_gae_lambda": (0.95, 0.95, 0.95, 0.95, 0.95),
    "forward.entropy_bonus": (0.0, 0.0, 0.0, 0.0, 0.0),
    "forward.multiplier.initial": (1.0, 1.0, 0.1, 1.0, 0.1),
    "forward.multiplier.learning_rate": (0.1, 0.1, 1.0, 0.1, 1.0),
    "forward.multiplier.budget": (0.0, 0.0, 0.0, 0.0, 0.0),
    "backward.hidden": ((20,), (20,), (40, 40), None, None),
    "backward.learning_rate": (0.01, 0.01, 0.01, None, None),
    "backward.updates": (10, 10, 10, None, None),
    "backward.sparsity": (0.5, 0.5, 0.6, None, None),
    "backward.max_kl_old_new": (10.0, 10.0, 10.0, None, None),
    "backward.max_kl_new_old": (2.5, 2.5, 2.5, None, None),
}


def setting(config, path):
    for name in path.split("."):
        config = getattr(config, name)
    return config


@pytest.mark.parametrize("path", TABLE)
def test_the_paper_preset_is_the_papers_table(path):
    for task, expected in zip(TASKS, TABLE[path], strict=True):
        if expected is not None:  # the table has a dash where no constraint is learned
            assert setting(preset("paper", task), path) == expected, task


def test_the_paper_preset_is_the_papers_algorithm():
    for task in TASKS:
        config = preset("paper", task)
        assert config.forward.respect is Respect.lagrangian  # Eq. 9
        assert config.backward.weights is Weights.step  # Eq. 11
        assert config.backward.activation is Activation.tanh  # caption of Table 1
        assert config.scouts == 0
        assert config.backward.learning_rate_decay == 1.0
        assert not config.forward.shield
        assert config.forward.noise_memory == 0.0


def test_expert_rollouts_and_rollout_lengths_are_the_papers():
    assert {task: EPISODES.get(task) for task in TASKS[:3]} == {
        "lap-grid": 1,
        "half-cheetah-wall": 10,
        "ant-wall": 45,
    }
    assert [make_scenario(task).task.horizon for task in TASKS] == [200, 1000, 500, 150, 500]


@pytest.mark.parametrize("task", SCENARIOS)
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_suits_every_task(name, task):
    config = preset(name, task)
    assert isinstance(config, LearnConfig)
    real = make_scenario(task).task
    # F13: no limit that could never fire
    check_limits(config.backward, config.num_samples, real.horizon)
    assert num_rounds(real, config) >= 5


def test_a_users_own_task_gets_the_general_settings():
    assert preset("default", "my-robot") == preset("default", "another")
    assert preset("default", "my-robot").steps == 2_000_000


def test_an_unknown_preset_suggests_the_nearest():
    with pytest.raises(InputError, match=r"unknown preset 'papr': did you mean 'paper'"):
        preset("papr", "lap-grid")


@pytest.mark.parametrize("task", SCENARIOS)
def test_an_expert_trains_at_least_one_forward_step(task):
    config, steps = expert(task)
    assert steps >= forward_steps(config)


def test_there_is_no_third_set_of_values():
    """What is written without a preset is what an environment of one's own gets."""
    assert LearnConfig() == preset("default", "my_module:make_env")
