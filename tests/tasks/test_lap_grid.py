"""LapGridWorld: the numbers of the paper by script,
every step against a slow twin, and its pictures."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from icrl.errors import InputError
from icrl.tasks.lap_grid import (
    AGENT_COLOUR,
    COINS,
    HORIZON,
    NUM_CELLS,
    SIDE,
    LapGridEnv,
    cell_position,
    cell_to_observation,
    draw_lap_grid,
    lap_grid,
    observation_to_cell,
)

CLOCKWISE, ANTICLOCKWISE = 0, 1


class SlowLap:
    """One lap, one `if` at a time."""

    def __init__(self):
        self.cell, self.steps = 0, 0

    def step(self, action):
        self.cell = self.cell + 1 if action == CLOCKWISE else self.cell - 1
        if self.cell == 40:
            self.cell = 0
        if self.cell == -1:
            self.cell = 39
        self.steps += 1
        reward = 3.0 if self.cell in (5, 15, 25, 35) else 0.0
        return -1.0 + 2.0 * self.cell / 39.0, reward, self.steps == 200


def play(script):
    """Total reward of one environment under a script: list of actions."""
    env = lap_grid().task.make_env(1)
    env.reset(seed=0)
    results = [env.step(np.array([action])) for action in script]
    return sum(float(r[1][0]) for r in results), [bool(r[3][0]) for r in results]


def test_five_laps_pay_sixty():
    total, truncated = play([CLOCKWISE] * HORIZON)
    assert total == 60.0  # 200 steps are 5 laps of 40, with 4 coins of 3 each: 5 · 4 · 3
    assert truncated == [False] * 199 + [True]


def test_the_cheat_pays_294():
    # 5 steps to the first coin (3), then 195 steps off and on:
    # on again at every second one, 97 times: 3 + 97 · 3
    total, _ = play([CLOCKWISE] * 5 + [ANTICLOCKWISE, CLOCKWISE] * 97 + [ANTICLOCKWISE])
    assert total == 294.0


@given(seed=st.integers(0, 10_000))
def test_every_step_equals_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    num_envs = int(rng.integers(1, 5))
    env = lap_grid().task.make_env(num_envs)
    env.reset(seed=seed)
    twins = [SlowLap() for _ in range(num_envs)]
    for _ in range(60):
        actions = rng.integers(0, 2, num_envs)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        expected = [twin.step(action) for twin, action in zip(twins, actions, strict=True)]
        np.testing.assert_allclose(observations[:, 0], [e[0] for e in expected], atol=1e-6)
        assert rewards.tolist() == [e[1] for e in expected]
        assert truncated.tolist() == [e[2] for e in expected]
        assert not terminated.any()
        assert infos == {}
        assert observations in env.observation_space
        if rng.random() < 0.05:
            mask = np.arange(num_envs) == 0
            env.reset(options={"reset_mask": mask})
            twins[0] = SlowLap()


def test_at_the_horizon_the_caller_resets_or_the_environment_does():
    by_caller, by_itself = (
        LapGridEnv(2, AutoresetMode.DISABLED),
        LapGridEnv(2, AutoresetMode.SAME_STEP),
    )
    by_caller.reset(seed=0)
    by_itself.reset(seed=0)
    for _ in range(HORIZON - 1):
        by_caller.step(np.zeros(2, np.int64))
        by_itself.step(np.zeros(2, np.int64))
    last, _, _, truncated, _ = by_caller.step(np.array([CLOCKWISE, ANTICLOCKWISE]))
    # 200 steps clockwise end in cell 0; 199 and one back in cell 198 mod 40 = 38
    assert observation_to_cell(last).tolist() == [0, 38]
    assert truncated.all()
    with pytest.raises(InputError, match="have ended"):
        by_caller.step(np.zeros(2, np.int64))
    restarted, _, _, truncated, infos = by_itself.step(np.array([CLOCKWISE, ANTICLOCKWISE]))
    assert truncated.all()
    assert observation_to_cell(restarted).tolist() == [0, 0]
    assert observation_to_cell(np.stack(infos["final_obs"])).tolist() == [0, 38]


def test_seeds_are_kept_though_nothing_is_random():
    env = LapGridEnv(3)
    first, _ = env.reset(seed=11)
    assert env.seeds == [11, 12, 13]
    second, _ = env.reset(seed=99)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("action", [-1, 2])
def test_an_action_that_does_not_exist_is_refused(action):
    env = LapGridEnv(1)
    env.reset(seed=0)
    with pytest.raises(InputError, match=r"integer actions in \[0, 2\)"):
        env.step(np.array([action]))


def test_cells_and_observations_are_one_to_one():
    cells = np.arange(NUM_CELLS)
    observations = cell_to_observation(cells)
    assert observations.shape == (NUM_CELLS, 1)
    assert (observations[0, 0], observations[-1, 0]) == (-1.0, 1.0)
    np.testing.assert_array_equal(observation_to_cell(observations), cells)


def test_the_track_is_the_border_and_neighbours_touch():
    positions = [cell_position(cell) for cell in range(NUM_CELLS)]
    border = {
        (x, y) for x in range(SIDE) for y in range(SIDE) if x in (0, SIDE - 1) or y in (0, SIDE - 1)
    }
    assert set(positions) == border
    assert len(border) == NUM_CELLS
    for (x, y), (to_x, to_y) in zip(positions, positions[1:] + positions[:1], strict=True):
        assert abs(to_x - x) + abs(to_y - y) == 1
    assert positions[1] == (1, 0)  # clockwise: from the top left corner to the right, row 0 on top
    # the middle of each side
    assert [cell_position(coin) for coin in COINS] == [(5, 0), (10, 5), (5, 10), (0, 5)]


def test_only_the_truth_minds_the_direction():
    scenario = lap_grid()
    observations = cell_to_observation(np.array([0, 7]))
    assert scenario.violates(observations, np.array([CLOCKWISE, ANTICLOCKWISE])).tolist() == [
        False,
        True,
    ]
    assert scenario.violation_reward == -1.0
    env = scenario.task.make_env(4)
    assert env.single_observation_space == scenario.task.observation_space
    assert env.single_action_space == scenario.task.action_space
    assert env.autoreset_mode is AutoresetMode.DISABLED


def blue_centre(image):
    """Mean (column, row) of the pixels in the agent's colour."""
    colour = np.round(np.array(to_rgb(AGENT_COLOUR)) * 255)
    rows, columns = np.nonzero(np.abs(image.astype(int) - colour).max(axis=-1) <= 2)
    assert len(rows) > 20
    return float(columns.mean()), float(rows.mean())


def test_the_picture_shows_where_the_agent_is():
    env = LapGridEnv(2)
    env.reset(seed=0)
    env.cells[:] = [0, 25]
    first, second = env.render()
    assert first.shape == (360, 480, 3)
    assert first.dtype == np.uint8
    left, top = blue_centre(first)
    centre, bottom = blue_centre(second)
    # the track is centred: cell 25 is in the middle of the bottom side, cell 0 at the top left
    assert centre == pytest.approx(240, abs=2)
    assert left < 120
    assert top < 60
    assert bottom > 300
    env.step(np.array([CLOCKWISE, CLOCKWISE]))
    right, still = blue_centre(env.render_env(0))
    # one cell of the five to the middle
    assert right - left == pytest.approx((centre - left) / 5, abs=1)
    assert still == pytest.approx(top, abs=1)


def test_the_feasibility_of_each_action_is_a_colour():
    figure = Figure()
    axes = figure.subplots()
    feasibility = np.tile([1.0, 0.0], (NUM_CELLS, 1))
    feasibility[3] = [0.0, 1.0]
    draw_lap_grid(axes, feasibility=feasibility)
    arrows = [patch for patch in axes.patches if type(patch).__name__ == "Polygon"]
    assert len(arrows) == 2 * NUM_CELLS
    reds = [float(patch.get_facecolor()[0]) > float(patch.get_facecolor()[2]) for patch in arrows]
    # arrows are drawn cell by cell, clockwise first: red where forbidden
    expected = [
        value
        for cell in range(NUM_CELLS)
        for value in ([True, False] if cell == 3 else [False, True])
    ]
    assert reds == expected
    # the outer lane is clockwise: on the top side its arrows lie above the cell's
    # centre, the others below
    heights = [float(patch.get_xy()[:, 1].mean()) for patch in arrows[2:8]]
    assert [height < 0 for height in heights] == [True, False] * 3
