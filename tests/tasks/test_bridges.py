"""Bridges: the map by hand, and who knows of the lion."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.tasks import bridges_map as plane
from icrl.tasks.bridges import BridgesEnv, bridges, draw_bridges

MIDDLE_LOWER = (0.0, sum(plane.LOWER_BRIDGE) / 2)
MIDDLE_UPPER = (0.0, sum(plane.UPPER_BRIDGE) / 2)


def test_water_is_between_the_banks_and_beside_the_bridges():
    between = (0.0, (plane.LOWER_BRIDGE[1] + plane.UPPER_BRIDGE[0]) / 2)
    places = np.array(
        [plane.START, plane.GOAL, MIDDLE_LOWER, MIDDLE_UPPER, between, (0.0, plane.HEIGHT / 2)]
    )
    assert plane.is_land(places).tolist() == [True, True, True, True, False, False]


def test_a_step_into_water_stays_and_the_plane_has_an_edge():
    bank = np.array(
        [[plane.RIVER[0] - 0.1, 0.0], [plane.WIDTH / 2 - 0.1, 0.0], [plane.START[0], 0.0]]
    )
    moved = plane.move(bank, np.array([[1.0, 0.0], [1.0, 0.0], [0.5, -9.0]]))
    np.testing.assert_allclose(moved[0], bank[0])
    np.testing.assert_allclose(moved[1], [plane.WIDTH / 2, 0.0])
    # 9 counts as 1
    np.testing.assert_allclose(moved[2], [plane.START[0] + 0.5 * plane.MAX_STEP, -plane.MAX_STEP])


def test_closeness_falls_on_the_way_to_the_upper_bridge_and_arriving_beats_lingering():
    at_water = plane.closeness(np.array([plane.RIVER[0], MIDDLE_LOWER[1]]))
    at_upper = plane.closeness(np.array([plane.RIVER[0], MIDDLE_UPPER[1]]))
    assert at_water > at_upper > 0
    assert plane.closeness(np.array(plane.GOAL)) == 1.0
    beside = plane.closeness(np.array([plane.GOAL[0], plane.GOAL[1] + 1.01 * plane.GOAL_SIZE]))
    assert beside <= plane.CLOSENESS_REWARD


def test_arriving_ends_the_episode_and_pays_for_all_steps_left():
    env = BridgesEnv(2, AutoresetMode.DISABLED)
    env.reset(seed=0)
    env.positions[0] = (plane.GOAL[0] - plane.GOAL_SIZE - 0.5 * plane.MAX_STEP, plane.GOAL[1])
    _, first, terminated, _, _ = env.step(np.array([[0.0, 0.0], [0.0, 0.0]]))
    assert not terminated.any()
    _, second, terminated, truncated, _ = env.step(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert terminated.tolist() == [True, False]
    assert not truncated.any()
    assert second[0] == plane.HORIZON - 1  # one of the steps is gone
    assert second[1] == first[1] == pytest.approx(plane.closeness(env.positions[1]))


def test_starts_are_spread_over_their_square_and_depend_on_the_seed():
    env = BridgesEnv(200)
    first, _ = env.reset(seed=3)
    away = np.abs(first - np.array(plane.START, np.float32))
    assert away.max() <= plane.START_SPREAD + 1e-6
    assert away.max(axis=0).min() > 0.9 * plane.START_SPREAD
    again, _ = env.reset(seed=3)
    np.testing.assert_array_equal(first, again)
    assert np.any(env.reset(seed=4)[0] != first)


def test_only_the_truth_minds_the_lion():
    scenario = bridges()
    places = np.array([MIDDLE_LOWER, MIDDLE_UPPER, plane.START, plane.GOAL])
    assert scenario.violates(places, np.zeros((4, 2))).tolist() == [True, False, False, False]
    env = scenario.task.make_env(1)
    env.reset(seed=0)
    env.positions[0] = MIDDLE_LOWER
    _, _, terminated, _, _ = env.step(np.array([[0.1, 0.0]]))
    assert not terminated.any()
    assert scenario.task.observation_space == env.single_observation_space
    assert scenario.task.action_space == env.single_action_space


def test_the_shipped_expert_arrives_over_the_upper_bridge():
    scenario = bridges()
    demos = load_demos(shipped_demos("bridges.npz")).trajectories
    seen, mask = demos.observations, demos.mask
    assert not np.any(scenario.violates(seen, demos.actions) & mask)
    assert np.all(demos.lengths < plane.HORIZON)  # all arrive
    over_water = (np.abs(seen[..., 0]) < plane.RIVER[1]) & mask
    assert np.all(over_water.any(axis=1))
    assert seen[..., 1][over_water].min() >= plane.UPPER_BRIDGE[0]


def test_the_picture_shows_water_walker_and_what_is_forbidden():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    env = BridgesEnv(2)
    env.reset(seed=0)
    before = env.render_env(1, 240, 180)
    for _ in range(3):
        env.step(np.full((2, 2), 0.5))
    after = env.render_env(1, 240, 180)
    assert after.shape == (180, 240, 3)
    assert np.any(before != after)
    water = (156, 201, 227)
    assert np.all(before == water, axis=2).mean() > 0.05

    images = []
    for zeta in (1.0, 0.0):
        figure = Figure(figsize=(2, 1.5))
        canvas = FigureCanvasAgg(figure)
        draw_bridges(figure.add_axes((0, 0, 1, 1)), feasibility=np.full((9, 12), zeta))
        canvas.draw()
        images.append(np.asarray(canvas.buffer_rgba())[..., :3].astype(int))
    reddened = (images[1][..., 1] < images[0][..., 1] - 50).mean()
    assert reddened > 0.3  # the land, not the water
