"""Figures: what is drawn, by hand; the same bytes each time."""

import numpy as np
import pytest
from report_runs import write_run

from icrl.config import BackwardConfig
from icrl.constraint.backward_step import freeze, init_constraint
from icrl.constraint.features import select_features
from icrl.report.figures import ZetaOverX, common_curves, draw_learning_curves, draw_zeta_over_x
from icrl.report.looks import colours
from icrl.report.records import read_groups
from icrl.report.zeta_views import _axis, _some_steps
from icrl.tasks.registry import make_scenario
from icrl.trajectories import along
from icrl.types import Trajectories


def test_seeds_meet_on_the_steps_that_all_cover(tmp_path):
    write_run(tmp_path, "icrl", 0, [0.0, 10.0, 20.0], [0, 0, 0], steps=100)  # at 100, 200, 300
    write_run(tmp_path, "icrl", 1, [6.0, 0.0], [0, 0], steps=150)  # at 150, 300
    write_run(tmp_path, "icrl", 2, [0.0], [0], finished=False)
    (group,) = read_groups([tmp_path])
    curves = common_curves(group, "truth/true_return")
    np.testing.assert_allclose(curves.steps, [150, 200, 300])
    # between 100 and 200 the first rises from 0 to 10: 5 at 150;
    # the second falls by 6 over 150 steps: 4 at 200
    np.testing.assert_allclose(curves.values, [[5, 10, 20], [6, 4, 0]])
    assert common_curves(group, "truth/no_such") is None


def test_known_labels_keep_their_colours(tmp_path):
    for label in ("icrl", "nominal", "mine", "yours"):
        write_run(tmp_path, label, 0, [1.0], [0.0])
    palette = colours(group.label for group in read_groups([tmp_path]))
    shown = [palette[label] for label in ("icrl", "paper", "nominal", "mine", "yours")]
    assert len(set(shown)) == 5
    assert palette["icrl"] == colours([])["icrl"]


def test_figures_are_the_same_bytes_each_time(tmp_path):
    for seed in range(2):
        write_run(tmp_path / "runs", "icrl", seed, [0.0, 10.0 + seed], [0.5, 0.0])
    groups = read_groups([tmp_path / "runs"])
    references = {"expert": {"true_return": 60.0, "violation_rate": 0.0}}
    first, again = (
        draw_learning_curves(groups, references, tmp_path / name) for name in ("a", "b")
    )
    assert [path.name for path in first] == ["a.png", "a.svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    other = draw_learning_curves(groups, {}, tmp_path / "c")
    assert other[0].read_bytes() != first[0].read_bytes()


@pytest.fixture
def constraint():
    task = make_scenario("point").task
    config = BackwardConfig()
    features = select_features(task, ("x", "y"), config.input_clip)
    return freeze(init_constraint(np.random.default_rng(0), features, config), features, config, {})


def test_x_is_replaced_and_nothing_else():
    rng = np.random.default_rng(0)
    pools = [
        Trajectories(
            observations=rng.normal(size=(2, 5, 4)),
            actions=rng.normal(size=(2, 5, 2)),
            rewards=np.zeros((2, 5)),
            lengths=np.array([5, 3]),
        )
        for _ in range(2)
    ]
    x = np.array([-1.0, 2.0])
    moved = along(_some_steps(pools), 0, x)
    observations = moved.observations
    actions = moved.actions
    assert observations.shape == (2, 400, 4)
    np.testing.assert_array_equal(observations[..., 0], np.broadcast_to(x[:, None], (2, 400)))
    np.testing.assert_array_equal(observations[0, :, 1:], observations[1, :, 1:])
    real = np.concatenate(
        [np.concatenate([p.observations[p.mask], p.actions[p.mask]], axis=1) for p in pools]
    )
    known = {tuple(row) for row in np.delete(real, 0, axis=1)}
    assert {
        tuple(row) for row in np.concatenate([observations[0, :, 1:], actions[0]], axis=1)
    } <= known


def test_the_axis_covers_what_was_visited_and_zeta_can_see(constraint):
    x = _axis(np.array([-4.0, 90.0]), [constraint])
    # ζ sees x clipped to 20; 15 % of 24 further where it can see
    np.testing.assert_allclose([x[0], x[-1]], [-4 - 3.6, 20])


def test_zeta_over_x_is_drawn(tmp_path):
    x = np.linspace(-5, 5, 11)
    views = [
        ZetaOverX(name, label, x, np.tile(1 / (1 + np.exp(-x)), (3, 1)), (x <= -3) * 1.0, x, x + 1)
        for name, label in (("ours", "icrl"), ("other", "other"))
    ]
    png, svg = draw_zeta_over_x("point", views, "x <= -3 is forbidden", tmp_path / "zeta")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert svg.read_text().count("<path") > 50
