"""Constraints with a known shape, and runs on disk that hold one, without any learning."""

import json

import numpy as np

from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Layer
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.tasks.registry import make_scenario
from icrl.types import Trajectories
from icrl.visited import VisitRecorder, save_visited

_SMALL = 0.02


def linear_constraint(features, weights, bias):
    """ζ = σ(w · features + b), nearly: the hidden unit tanh(0.02 z) / 0.02 keeps the sign of z."""
    first = Layer(
        (_SMALL * np.asarray(weights, np.float32))[:, None], np.array([_SMALL * bias], np.float32)
    )
    second = Layer(np.array([[1 / _SMALL]], np.float32), np.zeros(1, np.float32))
    return LearnedConstraint(features=features, params=(first, second))


def wall(task_name, at=-2.5, steepness=2.0, noise=0.02):
    """ζ of a wall at x = `at` that looks a little at everything else too."""
    features = select_features(make_scenario(task_name).task, None, 20.0)
    weights = np.random.default_rng(0).normal(0, noise, features.num_features)
    weights[features.names.index("x")] = steepness
    return linear_constraint(features, weights, -steepness * at)


def mirrored(trajectories, speed, episodes=10):
    """The same episodes run to the left, so many times as far."""
    part = {
        name: getattr(trajectories, name)[:episodes].copy() for name in ("observations", "actions")
    }
    part["observations"][..., 0] = -speed * np.abs(part["observations"][..., 0])
    return Trajectories(
        **part,
        rewards=speed * trajectories.rewards[:episodes],
        lengths=trajectories.lengths[:episodes],
    )


def wall_run(task_name, directory=None, **changes):
    """A wall, the shipped demonstrations, and a record of three scouts that ran left and
    two agents that ran right."""
    demos, constraint = load_demos(shipped_demos(f"{task_name}.npz")), wall(task_name, **changes)
    recorder = VisitRecorder()
    for number, speed in enumerate((0.6, 1.0, 1.2)):
        part = mirrored(demos.trajectories, speed)
        recorder.add(part, number, np.ones(part.num_trajectories))
    for number in (3, 4):
        recorder.add(demos.trajectories, number)
    visited = recorder.visited()
    if directory is not None:
        constraint.save(directory / "constraint")
        save_visited(visited, directory / "visited.npz")
        config = {"task": task_name, "method": "icrl", "preset": "default", "seed": 0}
        (directory / "config.json").write_text(
            json.dumps(config | {"demos": f"shipped:{task_name}.npz"})
        )
    return constraint, demos, visited
