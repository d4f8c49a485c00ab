"""`constraint.png`: drawn for a lap, a plane and a body;
what it shows is what the constraint says."""

import gymnasium as gym
import numpy as np
import pytest

from icrl.config import BackwardConfig
from icrl.constraint.backward_step import freeze, init_constraint
from icrl.constraint.features import select_features
from icrl.report.constraint_picture import _range, _slice, draw_constraint
from icrl.tasks.registry import make_scenario
from icrl.types import Trajectories


def trajectories(task, seed):
    rng = np.random.default_rng(seed)
    num, steps = 3, 20
    if isinstance(task.action_space, gym.spaces.Discrete):
        actions = rng.integers(0, task.action_space.n, (num, steps))
    else:
        actions = rng.uniform(-0.2, 0.2, (num, steps, len(task.action_names))).astype(np.float32)
    return Trajectories(
        observations=rng.uniform(-1, 1, (num, steps, len(task.observation_names))).astype(
            np.float32
        ),
        actions=actions,
        rewards=np.zeros((num, steps), np.float32),
        lengths=np.array([steps, 7, 1]),
    )


def constraint_of(task, names=None):
    config = BackwardConfig(hidden=(8,))
    features = select_features(task, names, config.input_clip)
    return freeze(init_constraint(np.random.default_rng(0), features, config), features, config, {})


CASES = [
    ("lap-grid", None),
    ("lap-grid", ("clockwise",)),
    ("bridges", None),
    ("point", ("x", "y")),
    ("point", ("x",)),
    ("half-cheetah-wall", None),
    ("half-cheetah-wall", ("x",)),
    ("ant-wall", None),
]


@pytest.mark.parametrize(("name", "features"), CASES)
def test_a_picture_is_drawn(tmp_path, name, features):
    from PIL import Image

    scenario = make_scenario(name)
    path = tmp_path / "constraint.png"
    demos, samples = (trajectories(scenario.task, seed) for seed in (0, 1))
    draw_constraint(scenario, constraint_of(scenario.task, features), demos, samples, path)
    assert [p.name for p in tmp_path.iterdir()] == ["constraint.png"]
    with Image.open(path) as image:
        assert image.size == (1300, 702)
        pixels = np.asarray(image.convert("L"))
    assert pixels.std() > 10  # something is on it


def test_a_slice_changes_one_feature_and_nothing_else():
    scenario = make_scenario("half-cheetah-wall")
    constraint = constraint_of(scenario.task)
    demos, samples = (trajectories(scenario.task, seed) for seed in (0, 1))
    part = _slice(scenario, constraint, demos, samples, 0)
    assert part.values[0] < -1.4  # wider than what was seen, [-1, 1]
    assert not part.violates.any()  # nothing reaches x <= -3 here
    # by hand, at one value, over the pairs the picture takes: 16 spread over the 28 real steps
    chosen = np.unique(np.linspace(0, 27, 16).astype(int))
    observations, actions = (
        demos.observations[demos.mask][chosen].copy(),
        demos.actions[demos.mask][chosen],
    )
    observations[:, 0] = part.values[50]
    assert part.feasibility[50] == pytest.approx(
        constraint.feasibility(observations, actions).mean()
    )


def test_the_truth_is_shaded_where_it_forbids():
    scenario = make_scenario("half-cheetah-wall")
    demos, samples = (trajectories(scenario.task, seed) for seed in (0, 1))
    samples.observations[0, 0, 0] = -5.0
    part = _slice(scenario, constraint_of(scenario.task), demos, samples, 0)
    np.testing.assert_array_equal(part.violates > 0.5, part.values <= -3)


def test_the_range_is_wider_than_what_was_seen():
    assert _range(np.array([0.0, 10.0])) == pytest.approx((-3.5, 13.5))
    assert _range(np.array([2.0, 2.0])) == pytest.approx((1.0, 3.0))
