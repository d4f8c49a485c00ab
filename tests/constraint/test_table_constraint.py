"""A constraint that is a table: looked up by the nearest place, saved and loaded to the bit."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from small_data import box_task, discrete_task

from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.network import init_params
from icrl.constraint.saved import CARD, TENSORS
from icrl.constraint.table import ALLOWED, FORBIDDEN, Table, hard_table, nearest
from icrl.errors import InputError

PLACES = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])


def over_states() -> LearnedConstraint:
    """Place 1 is forbidden, whatever the (continuous) action."""
    features = select_features(box_task(("x", "y"), ("push",), bound=0.3), ("x", "y"), 20.0)
    table = hard_table(PLACES, np.array([[True], [False], [True]]))
    return LearnedConstraint(features=features, table=table, card={"kind": "table", "findings": []})


def over_pairs() -> LearnedConstraint:
    """Action 1 is forbidden in place 0 alone."""
    task = discrete_task(("x", "y"), ("left", "right"))
    features = select_features(task, None, 20.0)
    places = np.arange(2.0 * len(task.observation_names)).reshape(2, -1)
    allowed = np.ones((2, len(task.action_names)), bool)
    allowed[0, 1] = False
    return LearnedConstraint(features=features, table=hard_table(places, allowed))


def test_the_nearest_place_decides():
    constraint = over_states()
    seen = np.array([[0.4, 0.1], [0.6, 0.1], [0.2, 2.0], [19.0, 0.0]])
    zeta = constraint.feasibility(seen, np.zeros((4, 1)))
    np.testing.assert_allclose(zeta, [ALLOWED, FORBIDDEN, ALLOWED, FORBIDDEN], rtol=1e-1)
    assert constraint.is_feasible(seen, np.ones((4, 1))).tolist() == [True, False, True, False]
    np.testing.assert_allclose(constraint.cost(seen, np.zeros((4, 1))), 1 - zeta)
    assert constraint.feasibility(seen.reshape(2, 2, 2), np.zeros((2, 2, 1))).shape == (2, 2)


def test_a_discrete_action_picks_its_column():
    constraint = over_pairs()
    places = constraint.table.rows
    assert constraint.is_feasible(places, np.array([0, 0])).tolist() == [True, True]
    assert constraint.is_feasible(places, np.array([1, 1])).tolist() == [False, True]


def test_nearest_equals_brute_force_whatever_the_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    rows, points = rng.normal(size=(7, 3)), rng.normal(size=(50, 3))
    slow = [min(range(7), key=lambda s: sum((rows[s] - point) ** 2)) for point in points]
    monkeypatch.setattr("icrl.constraint.table._CHUNK", 50)  # two points at a time
    assert nearest(rows, points).tolist() == slow


@pytest.mark.parametrize("make", [over_states, over_pairs])
def test_round_trip_to_the_bit(tmp_path: Path, make):
    constraint = make()
    constraint.save(tmp_path / "a")
    loaded = load_constraint(tmp_path / "a")
    assert loaded.table.rows.tobytes() == constraint.table.rows.tobytes()
    assert loaded.table.feasibility.tobytes() == constraint.table.feasibility.tobytes()
    assert (loaded.features, loaded.threshold, loaded.card) == (
        constraint.features,
        0.5,
        constraint.card,
    )
    assert json.loads((tmp_path / "a" / CARD).read_text())["definition"]["kind"] == "table"
    loaded.save(tmp_path / "b")
    for name in (TENSORS, CARD):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_it_goes_to_another_task_by_name():
    other = over_states().for_task(box_task(("speed", "y", "x"), ("push",), bound=0.3))
    seen = np.array([[9.0, 0.0, 1.0], [9.0, 0.0, 0.0]])  # (x, y) = (1, 0), (0, 0)
    assert other.is_feasible(seen, np.zeros((2, 1))).tolist() == [False, True]


def test_a_card_without_a_kind_is_a_network(tmp_path: Path):
    features = over_states().features
    params = init_params(np.random.default_rng(0), features.num_features, (3,))
    LearnedConstraint(features=features, params=params).save(tmp_path)
    card = json.loads((tmp_path / CARD).read_text())
    assert card["definition"].pop("kind") == "network"
    (tmp_path / CARD).write_text(json.dumps(card))
    # parsed as a network; only the checksum minds
    with pytest.raises(InputError, match="checksum"):
        load_constraint(tmp_path)


def test_a_table_of_other_sizes_than_the_card_says_is_refused(tmp_path: Path):
    over_states().save(tmp_path)
    save_file(
        {
            "table.rows": np.zeros((1, 2), np.float32),
            "table.feasibility": np.full((1, 1), 0.5, np.float32),
        },
        tmp_path / TENSORS,
    )
    with pytest.raises(InputError, match=r"\[3, 2, 1\], the file holds \[1, 2, 1\]"):
        load_constraint(tmp_path)
    save_file({"table.rows": np.zeros((1, 2), np.float32)}, tmp_path / TENSORS)
    with pytest.raises(InputError, match=r"expected the tensors table\.rows"):
        load_constraint(tmp_path)


@pytest.mark.parametrize(
    ("rows", "feasibility", "message"),
    [
        (np.zeros((2, 1)), np.full((2, 1), 0.5, np.float32), "rows must be a float32 array"),
        (np.zeros((2, 1), np.float32), np.full((3, 1), 0.5, np.float32), "2 places but 3 rows"),
        (np.full((1, 1), np.nan, np.float32), np.full((1, 1), 0.5, np.float32), "must be finite"),
        (np.zeros((2, 1), np.float32), np.array([[0.0], [1.0]], np.float32), "got 0 to 1"),
    ],
)
def test_what_is_no_table_is_refused(rows, feasibility, message):
    with pytest.raises(InputError, match=message):
        Table(rows=rows, feasibility=feasibility)


def test_a_constraint_is_a_network_or_a_table():
    constraint = over_states()
    with pytest.raises(InputError, match="not both"):
        replace(constraint, params=init_params(np.random.default_rng(0), 2, (3,)))
    with pytest.raises(InputError, match="1 features"):
        replace(
            constraint,
            features=select_features(box_task(("x", "y"), ("push",), bound=0.3), ("x",), 20.0),
        )
