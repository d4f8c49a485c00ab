"""`icrl render`: frames, strip, size and format of the animation, on a hand-made run."""

import builtins

import numpy as np
import pytest
from PIL import Image

from icrl.agent.policy_file import save_policy
from icrl.agent.state import init_agent, policy_of
from icrl.cli import main
from icrl.config import Activation
from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.network import Layer
from icrl.errors import InputError
from icrl.json_files import write_json
from icrl.report import animation
from icrl.report.animation import cost_colour, draw_frames, play, render_run
from icrl.tasks.registry import make_scenario
from plain_settings import plain_forward


def hand_made_constraint(task, name, weight, bias):
    layer = Layer(np.array([[weight]], np.float32), np.array([bias], np.float32))
    features = select_features(task, (name,), 20.0)
    return LearnedConstraint(features=features, params=(layer,), activation=Activation.tanh)


def make_run(directory, task_name, constraint_name=None):
    """A run directory with an untrained policy and, if named,
    a constraint on one feature: ζ = σ(2 − 4 x)."""
    task = make_scenario(task_name).task
    directory.mkdir(parents=True)
    config = plain_forward(hidden=(8, 8))
    agent = init_agent(np.random.default_rng(0), task, config)
    save_policy(policy_of(agent, task, config), directory / "policy.safetensors")
    write_json(directory / "config.json", {"task": task_name})
    if constraint_name is not None:
        hand_made_constraint(task, constraint_name, -4.0, 2.0).save(directory / "constraint")
    return directory


@pytest.fixture
def lap_run(tmp_path):
    return make_run(tmp_path / "run", "lap-grid", "anticlockwise")


def test_an_episode_becomes_a_small_animated_webp(lap_run, capsys):
    main(["render", str(lap_run), "--steps", "6"])
    path = lap_run / "policy.webp"
    assert "policy.webp" in capsys.readouterr().out
    with Image.open(path) as image:
        assert (image.format, image.n_frames, image.width) == ("WEBP", 6, 480)
    assert path.stat().st_size < animation.MOST_BYTES


def test_the_same_seed_gives_the_same_bytes(lap_run, tmp_path):
    first, second, other = (
        render_run(lap_run, tmp_path / f"{name}.gif", seed, 5, "gif").read_bytes()
        for name, seed in (("a", 0), ("b", 0), ("c", 3))
    )
    assert first == second
    assert first != other


def test_the_strip_shows_the_learned_cost_of_the_step(lap_run):
    task = make_scenario("lap-grid").task
    policy = animation.load_policy(lap_run / "policy.safetensors", task)
    constraint = load_constraint(lap_run / "constraint")
    shown = play(task, policy, constraint, 0, 12, lambda *_: None)
    # ζ = σ(2 − 4·1) = 0.119 anticlockwise, σ(2) = 0.881 clockwise
    assert set(np.round(shown.costs, 3)) == {0.119, 0.881}
    for moment, frame in zip(shown.moments, draw_frames(shown), strict=True):
        band = np.asarray(frame)[-3, round(480 * moment.step / 12) + 5]
        assert tuple(band) == cost_colour(shown.costs[moment.step])


def test_long_episodes_are_thinned_out(lap_run):
    task = make_scenario("lap-grid").task
    policy = animation.load_policy(lap_run / "policy.safetensors", task)
    shown = play(task, policy, None, 0, 10, lambda *_: None, most_frames=4)
    assert [moment.step for moment in shown.moments] == [0, 3, 6, 9]
    assert shown.milliseconds == 150  # three steps of 50 ms
    assert shown.costs is None


def test_a_file_that_is_too_large_loses_frames(lap_run, tmp_path, monkeypatch):
    whole = render_run(lap_run, tmp_path / "whole.webp", 0, 4, "webp").stat().st_size
    monkeypatch.setattr(animation, "MOST_BYTES", whole // 3)
    with Image.open(render_run(lap_run, tmp_path / "less.webp", 0, 4, "webp")) as image:
        assert image.n_frames < 4


def test_mujoco_is_pictured_with_and_without_a_constraint(tmp_path):
    with_constraint = make_run(tmp_path / "a", "half-cheetah-wall", "x")
    without = make_run(tmp_path / "b", "half-cheetah-wall")
    for run in (with_constraint, without):
        with Image.open(render_run(run, None, 0, 3, "webp")) as image:
            assert (image.n_frames, image.size) == (3, (480, 360 + 58))
            assert np.asarray(image.convert("RGB"))[:360].std() > 20  # not an empty picture


def test_colours_run_from_blue_to_red():
    assert cost_colour(0.0) == (37, 99, 201)
    assert cost_colour(0.5) == (190, 190, 196)
    assert cost_colour(1.0) == (214, 39, 40)


def test_what_cannot_be_written_is_said_before_the_work(lap_run, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"unknown format 'webm'.*'webp'"):
        render_run(lap_run, None, 0, 3, "webm")
    with pytest.raises(InputError, match=r"does not end in \.gif"):
        render_run(lap_run, tmp_path / "x.webp", 0, 3, "gif")
    real = builtins.__import__

    def without_ffmpeg(name, *arguments):
        if name.startswith("imageio"):
            raise ImportError("No module named 'imageio_ffmpeg'")
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without_ffmpeg)
    with pytest.raises(InputError, match=r"icrl\[video\]"):
        render_run(lap_run, None, 0, 3, "mp4")
