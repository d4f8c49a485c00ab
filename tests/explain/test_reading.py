"""`icrl explain` on the bodies: a rule on x alone, its fidelity, the interval by name;
and what it says otherwise."""

import json
import subprocess
import sys

import numpy as np
import pytest

from icrl.cli import main
from icrl.constraint.features import select_features
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos, save_demos
from icrl.errors import InputError
from icrl.explain.judged import feature_values, influence, judge_pairs, with_feature
from icrl.explain.reading import read_constraint
from icrl.explain.slices import plane_over, slice_along
from icrl.tasks.registry import make_scenario
from icrl.types import Pairs
from small_runs import lap_demos
from walls import linear_constraint, wall, wall_run


@pytest.mark.parametrize("task", ["half-cheetah-wall", "ant-wall"])
def test_the_wall_is_read_as_a_rule_on_x_alone_and_the_open_interval_named(task):
    constraint, demos, visited = wall_run(task, at=-2.8)  # an Ant was shown at -2.6
    reading = read_constraint(constraint, demos.trajectories, visited)
    lowest = demos.trajectories.observations[demos.trajectories.mask][:, 0].min()
    (rule,) = reading.rule.rules
    assert [condition.name for condition in rule] == ["x"]
    assert -3.2 < rule[0].high < lowest
    assert reading.rule.fits
    assert reading.rule.fidelity.balanced_agreement > 0.98
    assert reading.rule.support.demonstrated == 0
    assert reading.interval.high == pytest.approx(lowest)
    assert reading.interval.low < rule[0].high < reading.interval.high
    assert reading.slices[0].name == "x"
    assert reading.influence.argmax() == constraint.features.names.index("x")


def test_without_a_record_of_agents_copies_stand_in_and_that_is_said():
    constraint, demos, _ = wall_run("half-cheetah-wall")
    reading = read_constraint(constraint, demos.trajectories, None)
    assert not reading.recorded
    assert reading.rule.rules[0][0].name == "x"
    assert -4 < reading.rule.rules[0][0].high < -0.1  # copies are few along each feature
    assert reading.interval.low is None  # nobody was flagged


def test_demonstrations_of_another_task_are_refused():
    with pytest.raises(InputError, match="observations of 18 numbers"):
        read_constraint(wall("half-cheetah-wall"), lap_demos().trajectories, None)


def test_a_slice_is_the_mean_of_zeta_with_one_feature_moved():
    constraint, demos, visited = wall_run("half-cheetah-wall", noise=0.0)
    judged = judge_pairs(constraint, demos.trajectories, visited)
    along = slice_along(constraint, judged, 0, (-5.0, 0.0))
    # only x matters: ζ = σ(2 (x + 2.5)), so ½ at -2.5 and no spread
    assert along.mean[80] == pytest.approx(0.5, abs=1e-3)
    assert along.mean[0] == pytest.approx(1 / (1 + np.exp(5)), abs=1e-3)
    np.testing.assert_allclose(along.low, along.high, atol=1e-6)
    plane = plane_over(constraint, judged, 0, 1, (-5.0, 0.0))
    np.testing.assert_allclose(
        plane.mean, np.broadcast_to(plane.mean[0], plane.mean.shape), atol=1e-6
    )
    assert plane.mean[0, 0] < 0.01 < 0.99 < plane.mean[0, -1]


def lap_constraint():
    """Forbids the anticlockwise action, wherever."""
    features = select_features(make_scenario("lap-grid").task, None, 20.0)
    return linear_constraint(features, [0.0] * (features.num_features - 1) + [-8.0], 4.0)


def test_features_are_seen_and_moved_as_zeta_sees_them():
    constraint = lap_constraint()
    pairs = Pairs(observations=np.array([[0.5], [-0.5]]), actions=np.array([0, 1]))
    width = constraint.features.num_features
    values = feature_values(constraint.features, pairs.observations, pairs.actions)
    np.testing.assert_array_equal(values[:, -2:], [[1, 0], [0, 1]])
    moved = with_feature(constraint.features, pairs, width - 1, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(moved.actions, [1, 1])  # 0: left as it was
    np.testing.assert_array_equal(
        constraint.is_feasible(moved.observations, moved.actions), [False, False]
    )


def test_an_action_that_matters_is_read_and_drawn_with_all_its_choices():
    constraint, demos = lap_constraint(), lap_demos()
    reading = read_constraint(constraint, demos.trajectories, None)
    assert str(reading.rule) == "action = anticlockwise"
    assert reading.interval is None
    assert reading.slices[0].choices == ("clockwise", "anticlockwise")
    assert reading.slices[0].mean[0] > 0.9 > 0.1 > reading.slices[0].mean[1]
    judged = judge_pairs(constraint, demos.trajectories, None)
    assert influence(constraint, judged)[0] == 0.0


def test_the_verb_prints_the_rule_and_the_interval_and_draws(tmp_path, capsys):
    wall_run("half-cheetah-wall", tmp_path)
    main(["explain", str(tmp_path)])
    said = capsys.readouterr().out
    assert "A short rule fits (balanced agreement" in said
    assert "x <= -2" in said
    assert "The data leave open: from -" in said
    demos = load_demos(shipped_demos("half-cheetah-wall.npz")).trajectories
    lowest = float(demos.observations[demos.mask][:, 0].min())  # of x
    assert f"to {lowest:.4g}" in said
    assert (tmp_path / "explain.png").read_bytes().startswith(b"\x89PNG")
    content = json.loads((tmp_path / "explain.json").read_text())
    assert content["fits"]
    assert content["rule"]["rules"][0][0]["feature"] == "x"
    assert content["open_interval"]["high"] == pytest.approx(lowest, abs=1e-4)


def test_slices_are_chosen_by_name_and_a_wrong_name_is_an_error(tmp_path, capsys):
    wall_run("half-cheetah-wall", tmp_path)
    main(["explain", str(tmp_path), "--features", "z", "vx", "--out", str(tmp_path / "other.png")])
    assert (tmp_path / "other.png").exists()
    assert not (tmp_path / "explain.png").exists()
    with pytest.raises(SystemExit):
        main(["explain", str(tmp_path), "--features", "zz"])
    assert "unknown feature of the constraint 'zz'" in capsys.readouterr().err


def test_a_directory_without_a_constraint_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["explain", str(tmp_path)])
    assert "config.json does not exist" in capsys.readouterr().err


def test_reading_needs_neither_jax_nor_mujoco_nor_matplotlib():
    code = (
        "import sys, icrl.explain.reading; print(sorted({'jax', 'mujoco', 'matplotlib'} & "
        "set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_whose_environment_is_gone_can_still_be_read(tmp_path, capsys):
    _, demos, _ = wall_run("half-cheetah-wall", tmp_path)
    save_demos(demos, tmp_path / "logs.npz")
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"task": "a_module_that_is_gone:make_env", "demos": str(tmp_path / "logs.npz")}
    (tmp_path / "config.json").write_text(json.dumps(config))
    main(["explain", str(tmp_path)])
    assert "x <= -2" in capsys.readouterr().out


def test_demonstrations_must_be_named(tmp_path, capsys):
    wall_run("half-cheetah-wall", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | {"demos": None}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(SystemExit):
        main(["explain", str(tmp_path)])
    assert "names no demonstrations" in capsys.readouterr().err
