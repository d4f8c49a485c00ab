"""The worlds of Shapes, by name: all but their rules, which are in `truth.py`."""

from icrl.tasks.shapes.grids import Grid
from icrl.tasks.shapes.planes import Distractors, Plane
from icrl.tasks.shapes.plants import Plant
from icrl.tasks.shapes.roads import Road, Sprayer, Tank
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

NEVER_ACTION = Plane(
    unit="m",
    horizon=120,
    low=(0.0, 0.0),
    high=(400.0, 400.0),
    stops=(((30.0, 30.0), (150.0, 370.0)), ((250.0, 30.0), (370.0, 370.0))),
    max_speed=2.0,
    seconds=10.0,
    reach=20.0,
    pay=0.01,
    cost=1.0,
    legs=4,
    ride_speed=5.0,
)

OCTANT = Machine(
    quantities=(
        Quantity(
            name="temperature_c",
            low=15.0,
            high=40.0,
            rate=0.05,
            rate_name="change_of_temperature_c_per_s",
            scale=9.0,
        ),
        Quantity(
            name="humidity_percent",
            low=30.0,
            high=95.0,
            rate=0.12,
            rate_name="change_of_humidity_percent_per_s",
            scale=22.0,
        ),
        Quantity(
            name="co2_ppm",
            low=400.0,
            high=1600.0,
            rate=2.4,
            rate_name="change_of_co2_ppm_per_s",
            scale=380.0,
        ),
    ),
    horizon=100,
    seconds=60.0,
    demands=(
        ((17.0, 35.0, 450.0), (39.0, 93.0, 1550.0)),
        ((31.0, 76.0, 1150.0), (39.0, 93.0, 1550.0)),
    ),
    hold=(6, 10),
    pay=2.0,
)

BLOCKED_CELLS = Grid(
    side=7,
    horizon=60,
    goal=(3, 6),
    starts=tuple((row, 0) for row in range(7)),
    pay=25.0,
)

PLANT = Plant(
    horizon=100,
    inertia=0.2,
    heating=3.2,
    cooling=0.5,
    fastest=0.3,
    half=200.0,
    width=25.0,
    filling=0.12,
    price=200.0,
    feed_cost=300.0,
    ambient=(5.0, 35.0),
)

DISTRACTORS = Plane(
    unit="m",
    horizon=100,
    low=(0.0, 0.0),
    high=(60.0, 64.0),
    stops=(((12.0, 28.0), (16.0, 36.0)), ((44.0, 28.0), (48.0, 36.0))),
    max_speed=1.0,
    seconds=2.0,
    reach=1.6,
    pay=2.0,
    distractors=Distractors(),
)

NOISE = Plane(
    unit="m",
    horizon=120,
    low=(-500.0, -350.0),
    high=(500.0, 350.0),
    stops=(((-420.0, -60.0), (-340.0, 60.0)), ((340.0, -60.0), (420.0, 60.0))),
    max_speed=10.0,
    seconds=4.0,
    reach=30.0,
    pay=0.1,
    noise=6.0,
)

FUEL_METER = Road(
    horizon=120,
    length=8.0,
    max_speed=130.0,
    acceleration=15.0,
    step=1.0 / 600.0,
    pay=3.0,
    place_names=("way_km",),
    speed_name="speed_km_per_h",
    action_name="change_of_speed_km_per_h",
    start_speed=(0.0, 40.0),
    tank=Tank(name="fuel_litres", at_start=(25.0, 55.0), idle=0.01, full_speed=0.12),
)

WEAK_EXPERT = Plane(
    unit="cm",
    horizon=100,
    low=(-150.0, -100.0),
    high=(150.0, 100.0),
    stops=(((-130.0, -85.0), (130.0, 85.0)),),
    max_speed=6.0,
    seconds=2.0,
    reach=8.0,
    pay=5.0,
)

_ALL = (
    World(
        name="disc",
        description="a courier between stops on two sides of a square",
        physics=DISC,
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
        name="zone-speed",
        description="a car on a ring road, paid by the metre",
        physics=ZONE_SPEED,
    ),
    World(
        name="zone-action",
        description="a sprayer on its round, paid by what it sprays",
        physics=ZONE_ACTION,
    ),
    World(
        name="one-way",
        description="a courier between the two ends of a street",
        physics=ONE_WAY,
    ),
    World(
        name="action-limit",
        description="a lift that is called to heights",
        physics=ACTION_LIMIT,
    ),
    World(
        name="never-action",
        description="a pedestrian with four calls to make, who could ride; each step costs 1",
        physics=NEVER_ACTION,
    ),
    World(name="octant", description="a greenhouse that follows demands", physics=OCTANT),
    World(
        name="blocked-cells",
        description="a carrier on a grid, paid by the parcel",
        physics=BLOCKED_CELLS,
        one_hot=True,
    ),
    World(name="plant", description="a reactor that makes more the hotter it is", physics=PLANT),
    World(
        name="distractors",
        description="a courier who also sees 16 features of no meaning",
        physics=DISTRACTORS,
    ),
    World(name="noise", description="a boat on a sea that pushes it about", physics=NOISE),
    World(
        name="fuel-meter",
        description="a car on a circuit with a fuel meter, paid by the kilometre",
        physics=FUEL_METER,
    ),
    World(name="no-rule", description="a courier between stops anywhere", physics=NO_RULE),
    World(name="weak-expert", description="a robot between stops anywhere", physics=WEAK_EXPERT),
)

WORLDS: dict[str, World] = {world.name: world for world in _ALL}
