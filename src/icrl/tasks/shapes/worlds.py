"""The worlds of Shapes, by name: all but their rules, which are in `truth.py`."""

from icrl.tasks.shapes.planes import Plane
from icrl.tasks.shapes.roads import Road, Sprayer
from icrl.tasks.shapes.setpoints import Machine, Quantity
from icrl.tasks.shapes.world import World

DISC = Plane(
    unit="m",
    horizon=120,
    low=(250.0, 70.0),
    high=(350.0, 170.0),
    stops=(((262.0, 110.0), (272.0, 130.0)), ((328.0, 110.0), (338.0, 130.0))),
    max_speed=2.0,
    seconds=2.0,
    reach=3.0,
    pay=1.0,
)

GATE = Plane(
    unit="km",
    horizon=90,
    low=(0.0, 0.0),
    high=(12.0, 6.0),
    stops=(((1.5, 0.6), (3.0, 3.2)), ((9.0, 0.6), (10.5, 3.2))),
    max_speed=0.02,
    seconds=30.0,
    reach=0.45,
    pay=0.01,
)

ONE_WAY = Plane(
    unit="m",
    horizon=200,
    low=(-90.0, -70.0),
    high=(90.0, 70.0),
    stops=(((-84.0, -8.0), (-74.0, 8.0)), ((74.0, -8.0), (84.0, 8.0))),
    max_speed=4.0,
    seconds=2.0,
    reach=6.0,
    pay=0.5,
)

NO_RULE = Plane(
    unit="ft",
    horizon=80,
    low=(0.0, 0.0),
    high=(900.0, 600.0),
    stops=(((60.0, 60.0), (840.0, 540.0)),),
    max_speed=12.0,
    seconds=4.0,
    reach=36.0,
    pay=0.02,
)

DIAGONAL = Machine(
    quantities=(
        Quantity(
            name="flow_a_l_per_min",
            low=0.0,
            high=120.0,
            rate=5.0,
            rate_name="change_of_a_l_per_min_per_s",
            scale=40.0,
        ),
        Quantity(
            name="flow_b_l_per_min",
            low=0.0,
            high=50.0,
            rate=2.2,
            rate_name="change_of_b_l_per_min_per_s",
            scale=16.0,
        ),
    ),
    horizon=80,
    seconds=2.0,
    demands=(((10.0, 4.0), (115.0, 48.0)),),
    hold=(6, 10),
    pay=1.0,
)

TUBE = Machine(
    quantities=(
        Quantity(
            name="sway_mm",
            low=-70.0,
            high=70.0,
            rate=18.0,
            rate_name="velocity_mm_per_s",
            scale=40.0,
        ),
    ),
    horizon=100,
    seconds=1.0,
    demands=(((-65.0,), (65.0,)),),
    hold=(6, 10),
    start=(0.4, 0.6),
    pay=100.0,
)

TWO_WALLS = Machine(
    quantities=(
        Quantity(
            name="speed_rpm",
            low=800.0,
            high=7000.0,
            rate=350.0,
            rate_name="change_of_speed_rpm_per_s",
            scale=1500.0,
        ),
        Quantity(
            name="torque_nm",
            low=20.0,
            high=420.0,
            rate=24.0,
            rate_name="change_of_torque_nm_per_s",
            scale=100.0,
        ),
    ),
    horizon=80,
    seconds=2.0,
    demands=(((1500.0, 50.0), (6900.0, 410.0)),),
    hold=(6, 10),
    pay=0.05,
)

ACTION_LIMIT = Machine(
    quantities=(
        Quantity(
            name="height_m",
            low=0.0,
            high=90.0,
            rate=6.0,
            rate_name="velocity_m_per_s",
            scale=30.0,
        ),
    ),
    horizon=100,
    seconds=2.0,
    demands=(((2.0,), (88.0,)),),
    hold=(6, 10),
    pay=10.0,
)

ZONE_SPEED = Road(
    horizon=150,
    length=1200.0,
    max_speed=25.0,
    acceleration=3.0,
    step=1.0,
    pay=0.1,
    place_names=("ring_cos", "ring_sin"),
    speed_name="speed_m_per_s",
    action_name="acceleration_m_per_s2",
    start_speed=(0.0, 8.0),
)

ZONE_ACTION = Road(
    horizon=120,
    length=500.0,
    max_speed=6.0,
    acceleration=1.0,
    step=2.0,
    pay=0.2,
    place_names=("way_m",),
    speed_name="speed_m_per_s",
    action_name="change_of_speed_m_per_s",
    start_speed=(2.0, 6.0),
    sprayer=Sprayer(name="flow_l_per_min", max_flow=30.0),
)

_ALL = (
    World(
        name="disc", description="a courier between stops on two sides of a square", physics=DISC
    ),
    World(name="gate", description="a lorry between two towns", physics=GATE),
    World(name="diagonal", description="two pumps that follow demands", physics=DIAGONAL),
    World(name="tube", description="a beam whose sway follows a demand", physics=TUBE),
    World(
        name="two-walls",
        description="an engine that follows demands of speed and torque",
        physics=TWO_WALLS,
    ),
    World(
        name="zone-speed", description="a car on a ring road, paid by the metre", physics=ZONE_SPEED
    ),
    World(
        name="zone-action",
        description="a sprayer on its round, paid by what it sprays",
        physics=ZONE_ACTION,
    ),
    World(
        name="one-way", description="a courier between the two ends of a street", physics=ONE_WAY
    ),
    World(
        name="action-limit", description="a lift that is called to heights", physics=ACTION_LIMIT
    ),
    World(name="no-rule", description="a courier between stops anywhere", physics=NO_RULE),
)

WORLDS: dict[str, World] = {world.name: world for world in _ALL}
