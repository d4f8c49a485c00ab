"""Zeta as a region: read off a grid, moved by caution, saved and loaded to the bit."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from small_data import box_task, discrete_task

from icrl.constraint.features import select_features
from icrl.constraint.found import region_constraint, region_cost
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.network import init_params
from icrl.constraint.region import MAX_NODES, Region, RegionAxis
from icrl.constraint.saved import CARD, TENSORS
from icrl.errors import InputError

SEEDS = st.integers(0, 10_000)


def random_region(rng, num_axes, block=False, **other):
    """Uneven nodes, random depths; with `block` the first axis is one of four names."""
    axes, shape, column = [], [], 0
    if block:
        axes.append(RegionAxis(columns=(0, 1, 2, 3), nodes=np.arange(4.0)))
        shape, column = [4], 4
    for _ in range(num_axes - block):
        nodes = np.cumsum(rng.uniform(0.1, 2.0, rng.integers(1, 6)))
        axes.append(RegionAxis(columns=(column,), nodes=nodes))
        shape.append(len(nodes))
        column += 1
    depth = rng.uniform(0, 3, shape).astype(np.float32)
    settings = {"evidence_depth": 2.5, **other}
    return Region(axes=tuple(axes), depth=depth, **settings)


def slow_depth(axes, depth, row):
    """Axis by axis: between two nodes by the rule of three, beyond the ends the end's."""
    if not axes:
        return float(depth)
    axis = axes[0]
    if axis.categorical:
        name = int(np.argmax([row[column] for column in axis.columns]))
        return slow_depth(axes[1:], depth[name], row)
    value, nodes = row[axis.columns[0]], axis.nodes
    if value <= nodes[0]:
        return slow_depth(axes[1:], depth[0], row)
    if value >= nodes[-1]:
        return slow_depth(axes[1:], depth[-1], row)
    upper = next(i for i, node in enumerate(nodes) if node > value)
    share = (value - nodes[upper - 1]) / (nodes[upper] - nodes[upper - 1])
    below = slow_depth(axes[1:], depth[upper - 1], row)
    return (1 - share) * below + share * slow_depth(axes[1:], depth[upper], row)


def random_inputs(rng, region, number=30):
    inputs = rng.uniform(-2, 9, (number, region.num_inputs))
    for axis in region.axes:
        if axis.categorical:
            names = rng.integers(0, len(axis.columns), number)
            inputs[:, axis.columns] = np.eye(len(axis.columns))[names]
    return inputs


@given(SEEDS, st.integers(1, 3), st.booleans())
def test_the_depth_equals_a_slow_interpolation(seed, num_axes, block):
    rng = np.random.default_rng(seed)
    region = random_region(rng, num_axes, block)
    inputs = random_inputs(rng, region)
    slow = [slow_depth(region.axes, region.depth, row) for row in inputs]
    np.testing.assert_allclose(region.depths(inputs), slow, atol=1e-6)
    folded = region.depths(inputs.reshape(5, 6, -1))
    np.testing.assert_allclose(folded, np.reshape(slow, (5, 6)), atol=1e-6)


def test_the_depth_at_the_nodes_is_what_was_given():
    region = random_region(np.random.default_rng(0), 3)
    nodes = np.array(list(itertools.product(*(axis.nodes for axis in region.axes))))
    np.testing.assert_allclose(region.depths(nodes), region.depth.ravel(), atol=1e-6)


def test_the_depth_by_hand():
    # at (0.5, 0.25), a quarter of the way along either: ¾·¾·0 + ¾·¼·4 + ¼·¾·8 + ¼·¼·0 = 0.75 + 1.5
    axes = (
        RegionAxis(columns=(0,), nodes=np.array([0.0, 2.0])),
        RegionAxis(columns=(1,), nodes=np.array([0.0, 1.0])),
    )
    region = Region(axes=axes, depth=np.array([[0, 4], [8, 0]], np.float32), evidence_depth=5.0)
    assert region.depths(np.array([[0.5, 0.25]])) == pytest.approx(2.25)
    # beyond the ends it is the end's
    np.testing.assert_allclose(region.depths(np.array([[-9.0, 99.0], [7.0, -1.0]])), [4.0, 8.0])
    assert region.num_inputs == 2


def test_nothing_lies_between_two_names():
    axis = RegionAxis(columns=(0, 1, 2), nodes=np.arange(3.0))
    region = Region(axes=(axis,), depth=np.array([0, 5, 0], np.float32), evidence_depth=5.0)
    np.testing.assert_array_equal(region.depths(np.eye(3)), [0, 5, 0])
    # the largest of the block decides, however close the others are
    blurred = np.array([[0.51, 0.49, 0.0], [0.1, 0.3, 0.2]])
    np.testing.assert_array_equal(region.depths(blurred), [0, 5])


@given(SEEDS, st.floats(0.0, 1.0))
def test_zeta_is_below_a_half_exactly_where_the_depth_exceeds_the_level(seed, caution):
    rng = np.random.default_rng(seed)
    region = random_region(rng, 2, caution=caution)
    inputs = random_inputs(rng, region)
    np.testing.assert_array_equal(region.logits(inputs) < 0, region.depths(inputs) > region.level)


def at_depths(depths, **other):
    """A region over x whose depth at x = 0, 1, 2, ... is given, as a constraint on x alone."""
    axis = RegionAxis(columns=(0,), nodes=np.arange(float(len(depths))))
    region = Region(axes=(axis,), depth=np.asarray(depths, np.float32), **other)
    return region_constraint(region, ((1,),), box_task(("y", "x"), ("push",)), {"kind": "region"})


def judged(constraint, xs):
    xs = np.asarray(xs, float)
    return constraint.is_feasible(np.stack([0 * xs, xs], axis=1), np.zeros((len(xs), 1)))


def test_what_lies_exactly_at_the_level_is_allowed():
    constraint = at_depths([0.0, 1.0, 1.001, 3.0], evidence_depth=3.0)
    assert judged(constraint, [0, 1, 2, 3]).tolist() == [True, True, False, False]
    # with no caution at all the level is the depth of the evidence
    assert judged(constraint.with_caution(0.0), [2, 3]).tolist() == [True, True]


def test_less_caution_never_forbids_more():
    rng = np.random.default_rng(0)
    region = random_region(rng, 2, evidence_depth=2.9)
    inputs = random_inputs(rng, region, 300)
    forbidden = [region.with_caution(c).logits(inputs) < 0 for c in np.linspace(0, 1, 9)]
    levels = [region.with_caution(c).level for c in np.linspace(0, 1, 9)]
    assert np.all(np.diff(levels) < 0)
    assert levels[0] == pytest.approx(2.9)
    assert levels[-1] == pytest.approx(1.0)
    for less, more in itertools.pairwise(forbidden):
        assert np.all(more[less])
    assert forbidden[0].sum() < forbidden[-1].sum()


def test_caution_leaves_the_old_constraint_as_it_was():
    constraint = at_depths([0.0, 2.0], evidence_depth=3.0)
    bolder = constraint.with_caution(0.0)
    assert judged(constraint, [1.0]).tolist() == [False]
    assert judged(bolder, [1.0]).tolist() == [True]
    assert bolder.features == constraint.features
    assert bolder.with_caution(1.0).region.level == constraint.region.level


def test_only_a_region_has_a_caution():
    features = select_features(box_task(("x",), ("push",)), ("x",), 20.0)
    params = init_params(np.random.default_rng(0), 1, (3,))
    network = LearnedConstraint(features=features, params=params)
    with pytest.raises(InputError, match="network or a table"):
        network.with_caution(0.5)


def over_a_block():
    """Numbers beside the choice of an action: x and one of three."""
    task = discrete_task(("y", "x"), ("left", "stay", "right"))
    axes = (
        RegionAxis(columns=(0,), nodes=np.array([0.0, 1 / 3, 2.0, 5.0])),
        RegionAxis(columns=(1, 2, 3), nodes=np.arange(3.0)),
    )
    depth = np.random.default_rng(3).uniform(0, 9, (4, 3)).astype(np.float32)
    region = Region(axes=axes, depth=depth, evidence_depth=float(np.pi), caution=0.1)
    return region, ((1,), (2, 3, 4)), task


def test_a_constraint_reads_its_own_columns_of_the_task():
    region, blocks, task = over_a_block()
    constraint = region_constraint(region, blocks, task, {})
    assert constraint.features.names == ("x", "left", "stay", "right")
    rng = np.random.default_rng(0)
    observations = rng.uniform(-1, 6, (50, 2))
    actions = rng.integers(0, 3, 50)
    inputs = np.concatenate([observations[:, 1:], np.eye(3)[actions]], axis=1)
    logits = constraint.logits(observations, actions)
    np.testing.assert_allclose(logits, region.logits(inputs), atol=1e-4)


def test_the_cost_that_agents_are_trained_under_is_the_artefacts():
    region, blocks, task = over_a_block()
    rng = np.random.default_rng(0)
    observations = rng.uniform(-1, 6, (50, 2)).astype(np.float32)
    actions = rng.integers(0, 3, 50)
    fast = region_cost(region, blocks, task)(observations, actions)
    slow = region_constraint(region, blocks, task, {}).cost(observations, actions)
    np.testing.assert_allclose(fast, slow, atol=1e-12)
    assert fast.min() < 0.1
    assert fast.max() > 0.9


@pytest.mark.parametrize("kind", ["line", "block", "nothing"])
def test_round_trip_to_the_bit(tmp_path, kind):
    if kind == "line":
        constraint = at_depths([0.0, 0.3, 2.0, 1 / 3], evidence_depth=4 / 3, caution=0.7)
    elif kind == "block":
        constraint = region_constraint(*over_a_block(), {"search": {"axes": ["x", "action"]}})
    else:
        constraint = region_constraint(None, (), box_task(("y", "x"), ("push",)), {})
    constraint.save(tmp_path / "a")
    loaded = load_constraint(tmp_path / "a")
    assert loaded.region.depth.tobytes() == constraint.region.depth.tobytes()
    for mine, theirs in zip(loaded.region.axes, constraint.region.axes, strict=True):
        assert mine.columns == theirs.columns
        assert mine.nodes.tobytes() == theirs.nodes.tobytes()
    assert loaded.region.caution == constraint.region.caution
    assert loaded.region.evidence_depth == constraint.region.evidence_depth
    assert loaded.features == constraint.features
    assert loaded.card == constraint.card
    assert json.loads((tmp_path / "a" / CARD).read_text())["definition"]["kind"] == "region"
    loaded.save(tmp_path / "b")
    for name in (TENSORS, CARD):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_saved_region_whose_caution_was_edited_is_refused(tmp_path):
    at_depths([0.0, 2.0], evidence_depth=3.0).save(tmp_path)
    text = (tmp_path / CARD).read_text()
    assert '"caution": 1.0' in text
    (tmp_path / CARD).write_text(text.replace('"caution": 1.0', '"caution": 0.5'))
    with pytest.raises(InputError, match="checksum"):
        load_constraint(tmp_path)


def test_tensors_that_are_not_the_cards_are_refused(tmp_path):
    at_depths([0.0, 2.0], evidence_depth=3.0).save(tmp_path)
    save_file({"depth": np.zeros(2, np.float32)}, tmp_path / TENSORS)
    with pytest.raises(InputError, match=r"expected the tensors axis0\.nodes, depth, got depth"):
        load_constraint(tmp_path)
    save_file({"depth": np.zeros(3, np.float32), "axis0.nodes": np.arange(2.0)}, tmp_path / TENSORS)
    with pytest.raises(InputError, match=r"axes of \(2,\) nodes and a depth of \(3,\)"):
        load_constraint(tmp_path)
    save_file({"depth": np.zeros(2), "axis0.nodes": np.arange(2.0)}, tmp_path / TENSORS)
    with pytest.raises(InputError, match="depth must be float32"):
        load_constraint(tmp_path)


def test_without_a_region_nothing_is_forbidden():
    task = discrete_task(("x", "y"), ("left", "right"))
    constraint = region_constraint(None, (), task, {"search": {}})
    rng = np.random.default_rng(0)
    observations, actions = rng.normal(0, 1e3, (100, 2)), rng.integers(0, 2, 100)
    for caution in (0.0, 1.0):
        assert constraint.with_caution(caution).is_feasible(observations, actions).all()
        assert constraint.with_caution(caution).cost(observations, actions).max() < 1e-6


def test_a_region_goes_to_another_task_by_name():
    task = box_task(("x", "speed", "y"), ("push",))
    other = at_depths([0.0, 2.0], evidence_depth=3.0).for_task(task)
    seen = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    assert other.is_feasible(seen, np.zeros((2, 1))).tolist() == [False, True]


GOOD = random_region(np.random.default_rng(0), 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depth": np.zeros((7, 9), np.float32)}, r"a depth of \(7, 9\)"),
        ({"axes": ()}, r"axes of \(\) nodes"),
        ({"depth": np.full(GOOD.depth.shape, -1.0, np.float32)}, "finite float32 numbers >= 0"),
        ({"depth": np.full(GOOD.depth.shape, np.nan, np.float32)}, "finite float32 numbers >= 0"),
        ({"caution": 1.5}, r"in \[0, 1\], got 1\.5"),
        ({"caution": -0.1}, r"in \[0, 1\], got -0\.1"),
        ({"caution": float("nan")}, r"in \[0, 1\], got nan"),
        ({"evidence_depth": 0.5}, r"at least 1, got 0\.5"),
        ({"evidence_depth": float("inf")}, "at least 1, got inf"),
    ],
)
def test_what_is_no_region_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(GOOD, **change)


@pytest.mark.parametrize("nodes", [[0.0, 0.0], [1.0, 0.0], [0.0, np.nan], [0.0, np.inf]])
def test_nodes_must_rise(nodes):
    axis = RegionAxis(columns=(0,), nodes=np.array(nodes))
    with pytest.raises(InputError, match="must be finite and rise"):
        Region(axes=(axis,), depth=np.zeros(2, np.float32), evidence_depth=1.0)


def test_a_block_has_a_node_for_each_of_its_columns():
    axis = RegionAxis(columns=(0, 1, 2), nodes=np.arange(2.0))
    with pytest.raises(InputError, match="a node for each of its columns"):
        Region(axes=(axis,), depth=np.zeros(2, np.float32), evidence_depth=1.0)


def test_a_grid_that_is_too_fine_is_refused():
    axes = tuple(RegionAxis(columns=(i,), nodes=np.arange(101.0)) for i in range(3))
    depth = np.broadcast_to(np.float32(0), (101,) * 3)
    with pytest.raises(InputError, match=str(MAX_NODES)):
        Region(axes=axes, depth=depth, evidence_depth=1.0)


def test_a_region_needs_as_many_features_as_it_looks_at():
    features = select_features(box_task(("x", "y"), ("push",)), ("x",), 20.0)
    with pytest.raises(InputError, match="2 inputs needs as many features: got 1"):
        LearnedConstraint(features=features, region=GOOD)


def test_a_constraint_is_a_region_or_a_network():
    features = select_features(box_task(("x", "y"), ("push",)), ("x", "y"), 20.0)
    params = init_params(np.random.default_rng(0), 2, (3,))
    with pytest.raises(InputError, match="a network, a table or a region"):
        LearnedConstraint(features=features, region=GOOD, params=params)


@given(SEEDS, st.integers(1, 3))
def test_a_region_forbids_where_it_is_deep_and_nowhere_else_to_the_last_bit(seed, num_axes):
    rng = np.random.default_rng(seed)
    task = box_task(("x", "y"), ("push",))
    region = random_region(rng, num_axes, caution=float(rng.uniform()))
    cost = region_cost(region, [(column,) for column in range(num_axes)], task)
    seen = rng.uniform(-1, 9, (400, len(task.observation_names))).astype(np.float32)
    # on the nodes, a hair beside them, and where the wall runs between two
    for column, axis in enumerate(region.axes[: seen.shape[1]]):
        near = np.float32(rng.choice(axis.nodes, 100))
        seen[:100, column] = np.nextafter(near, np.float32(rng.choice([-np.inf, np.inf])))
        seen[100:150, column] = near[:50]
        seen[150:152, column] = [-np.inf, np.inf]
    pushes = rng.uniform(-1, 9, (400, len(task.action_names))).astype(np.float32)
    beyond = cost.beyond(seen, pushes)
    np.testing.assert_array_equal(cost.forbids(seen, pushes), beyond > 0)
    np.testing.assert_array_equal(cost.inside(seen, pushes), np.maximum(beyond, 0.0))
    stacked = seen.reshape(4, 100, -1), pushes.reshape(4, 100, -1)
    np.testing.assert_array_equal(cost.forbids(*stacked).ravel(), beyond > 0)
