"""The physics of Shapes by hand: one step of each kind of world, and the scripts' geometry."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from icrl.tasks.shapes.couriers import past_disc, past_lane, straight
from icrl.tasks.shapes.drivers import Zone, driver
from icrl.tasks.shapes.grids import Grid
from icrl.tasks.shapes.habits import Habits, draw_habits
from icrl.tasks.shapes.operators import as_demanded, below, operator, within
from icrl.tasks.shapes.planes import Distractors
from icrl.tasks.shapes.plants import Plant
from icrl.tasks.shapes.roads import Road
from icrl.tasks.shapes.setpoints import Machine, Quantity
from icrl.tasks.shapes.steering import crosses_box, round_box, round_disc
from icrl.tasks.shapes.walkers import carrier, steps_to_goal
from icrl.tasks.shapes.world import World

CALM = Habits(side=np.ones(1), margin=np.zeros(1), pace=np.zeros(1), tremble=np.zeros((1, 1, 4)))
STILL = np.zeros((1, 4))
GRID = Grid(side=3, horizon=10, goal=(0, 2), starts=((2, 0),), pay=5.0)
ROAD = Road(
    horizon=10,
    length=100.0,
    max_speed=10.0,
    acceleration=2.0,
    step=0.5,
    pay=3.0,
    place_names=("way_m",),
    speed_name="speed_m_per_s",
    action_name="change",
    start_speed=(1.0, 2.0),
)
PLANT = Plant(
    horizon=10,
    inertia=0.5,
    heating=2.0,
    cooling=1.0,
    fastest=0.4,
    half=100.0,
    width=10.0,
    filling=0.5,
    price=2.0,
    feed_cost=3.0,
    ambient=(10.0, 20.0),
)


def started(physics, seed=0):
    env = physics.make_env(1, AutoresetMode.DISABLED)
    env.reset(seed=seed)
    return env


def test_a_vehicle_changes_its_speed_and_then_drives():
    env = started(ROAD)
    env.places[:] = 99.0
    env.speeds[:] = 9.0
    rewards, ended = env.move(np.array([[2.0]]))
    # 9 + 2 is cut at 10; a step at speed 10 makes 0.5 · 10 = 5 m; 99 + 5 goes round to 4
    assert env.speeds.tolist() == [10.0]
    assert env.places.tolist() == pytest.approx([4.0])
    assert rewards.tolist() == pytest.approx([15.0])
    assert not ended.any()


def test_a_driver_is_as_slow_as_it_must_be_where_the_limit_begins():
    act = driver(ROAD, Zone(first=50.0, last=60.0, limit=4.0))
    fast = act(np.array([[0.0, 8.0]]), STILL[:, :1], CALM)
    inside = act(np.array([[55.0, 6.0]]), STILL[:, :1], CALM)
    assert fast[0, 0] > 0  # the zone is far away
    assert inside[0, 0] == pytest.approx(-2.0)  # all the brakes that there are


def test_a_reactor_heats_feeds_and_reacts():
    env = started(PLANT)
    env.state[:] = [[80.0, 50.0, 20.0]]
    rewards, _ = env.move(np.array([[50.0, 20.0]]))
    # level 20 + 2·50 − 1·20 = 100; T = 80 + 0.5·20 = 90
    # k = 0.4/(1 + e) = 0.10758; used 50 k = 5.3788; filled 0.5·0.2·50 = 5
    speed = 0.4 / (1 + np.e)
    assert env.state[0] == pytest.approx([90.0, 50 + 5 - 50 * speed, 20.0])
    assert rewards == pytest.approx([2 * 50 * speed - 3 * 0.2])


def test_a_machine_is_paid_for_being_near_what_is_demanded():
    kelvin = Quantity(
        name="temperature_k", rate_name="rate_k_per_s", low=0.0, high=100.0, rate=4.0, scale=10.0
    )
    machine = Machine(
        quantities=(kelvin,),
        horizon=4,
        seconds=2.0,
        demands=(((20.0,), (80.0,)),),
        hold=(2, 3),
        pay=2.0,
    )
    env = started(machine)
    env.values[:] = 50.0
    env.demands[:] = 61.0
    rewards, _ = env.move(np.array([[3.0]]))
    assert env.values.tolist() == [[56.0]]  # 50 + 2 · 3
    assert rewards == pytest.approx([1.0])  # 2 · (1 − 5/10): missed by 5 of a scale of 10


def test_a_carrier_is_paid_at_the_goal_and_fetches_the_next_parcel():
    env = started(GRID)
    env.cells[:] = GRID.number((0, 1))
    right = int(np.argmax(GRID.neighbours()[GRID.number((0, 1))] == GRID.number((0, 2))))
    rewards, _ = env.move(np.array([right]))
    assert rewards.tolist() == [5.0]
    assert env.cells.tolist() == [GRID.number((2, 0))]


def test_the_shortest_way_goes_round_closed_cells():
    # the goal is top right; with the middle of the two ways closed, one way is left
    assert steps_to_goal(GRID, [])[GRID.number((2, 0))] == 4
    blocked = [(0, 1), (1, 1)]
    steps = steps_to_goal(GRID, blocked)
    assert steps[GRID.number((2, 0))] == 4  # along the bottom and up
    assert steps[GRID.number((0, 0))] == 6  # down, along, up
    assert steps[GRID.number((0, 1))] == GRID.side**2 + 1
    seen = np.eye(9)[[GRID.number((2, 0))]]
    action = carrier(GRID, blocked)(seen, STILL, CALM)
    ahead = GRID.neighbours()[GRID.number((2, 0)), int(action[0])]
    assert steps[ahead] == 3


def test_a_line_crosses_a_box_or_passes_it():
    low, high = np.zeros(2), np.ones(2)
    starts = np.array([[-1.0, 0.5], [-1.0, 2.0], [-1.0, 0.5]])
    ends = np.array([[2.0, 0.5], [2.0, 2.0], [-0.5, 0.5]])
    assert crosses_box(starts, ends, low, high).tolist() == [True, False, False]


def test_past_a_disc_the_heading_is_its_tangent():
    places, goals = np.array([[-2.0, 0.0]]), np.array([[2.0, 0.0]])
    found = round_disc(places, goals, np.zeros(2), np.ones(1), np.ones(1))
    # asin(1/2) = 30 degrees to the north, as far as the goal: 4
    angle = np.pi / 6
    assert found[0] == pytest.approx([-2 + 4 * np.cos(angle), 4 * np.sin(angle)])
    free = round_disc(places, np.array([[-2.0, 5.0]]), np.zeros(2), np.ones(1), np.ones(1))
    assert free.tolist() == [[-2.0, 5.0]]


def test_past_a_box_the_heading_is_a_corner_on_the_habits_side():
    box = (np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    places, goals = np.array([[-5.0, 0.0]]), np.array([[5.0, 0.0]])
    north = round_box(places, goals, box, np.ones(1), np.ones(1))
    south = round_box(places, goals, box, np.ones(1), -np.ones(1))
    assert north[0, 1] == 2.0  # the box's edge and a margin of 1
    assert south[0, 1] == -2.0


def test_couriers_head_straight_where_nothing_is_in_the_way():
    places, stops = np.array([[-5.0, 0.0]]), np.array([[5.0, 0.0]])
    np.testing.assert_array_equal(straight(places, stops, CALM), stops)
    far_off = past_disc((0.0, 50.0), 3.0)
    np.testing.assert_array_equal(far_off(places, stops, CALM), stops)
    eastwards = past_lane(((-1.0, -1.0), (1.0, 1.0)), 0.1, 0.2)
    np.testing.assert_array_equal(eastwards(places, stops, CALM), stops)


def test_operators_wish_for_what_is_allowed():
    demanded = np.array([[50.0, -50.0]])
    # margin 0: ±(30 − 0.8), and 0.99 of the limits
    assert within(30.0)(demanded, demanded, CALM)[0] == pytest.approx([29.2, -29.2])
    assert below((40.0, 40.0))(demanded, demanded, CALM)[0] == pytest.approx([39.6, -50.0])


def test_an_operator_goes_there_as_fast_as_the_slowest_quantity_allows():
    slow = Quantity(name="a", rate_name="ra", low=0.0, high=100.0, rate=1.0, scale=10.0)
    fast = Quantity(name="b", rate_name="rb", low=0.0, high=100.0, rate=4.0, scale=10.0)
    machine = Machine(
        quantities=(slow, fast),
        horizon=4,
        seconds=2.0,
        demands=(((20.0, 20.0), (80.0, 80.0)),),
        hold=(2, 3),
        pay=1.0,
    )
    act = operator(machine, as_demanded)
    rates = act(np.array([[50.0, 50.0, 58.0, 58.0]]), STILL[:, :2], CALM)
    # both want 8 in 2 s, 4 a second; the slow one can do 1, so both do, at 94 % of it (pace 0)
    assert rates[0] == pytest.approx([0.94, 0.94])


def test_distractors_and_habits_are_of_their_generators_alone():
    first = Distractors().draw(np.random.default_rng(1), 5)
    np.testing.assert_array_equal(first, Distractors().draw(np.random.default_rng(1), 5))
    assert first.shape == (5, len(Distractors().names))
    habits = draw_habits([np.random.default_rng(2), np.random.default_rng(3)], 4, 2)
    alone = draw_habits([np.random.default_rng(3)], 4, 2)
    np.testing.assert_array_equal(habits.tremble[:, 1], alone.tremble[:, 0])
    assert set(habits.side) <= {-1.0, 1.0}


def test_a_world_is_what_a_learner_may_know():
    world = World(name="mine", description="a road", physics=ROAD)
    assert world.task.observation_names == ("way_m", "speed_m_per_s")
    assert world.task.horizon == 10
    assert world.make_env(2).num_envs == 2
