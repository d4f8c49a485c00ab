"""`explain.png`: nothing is cut off at its edges, with one panel or many, and it says what its
lines are."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from icrl.config import Activation
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Layer
from icrl.explain.reading import read_constraint
from icrl.report.explain_picture import _draw_threshold, draw_reading
from small_runs import lap_demos


def zeta(columns):
    names = ("cell", "clockwise", "anticlockwise")
    features = Features(
        names=tuple(names[c] for c in columns), columns=columns, lower=(-1.0,) * len(columns),
        upper=(1.0,) * len(columns), num_observations=1, num_actions=2, discrete=True,
    )  # fmt: skip
    weight = np.full((len(columns), 1), 8.0, np.float32)
    layers = (
        Layer(weight, np.zeros(1, np.float32)),
        Layer(np.full((1, 1), 4.0, np.float32), np.ones(1, np.float32)),
    )
    return LearnedConstraint(features=features, params=layers, activation=Activation.tanh)


@pytest.mark.parametrize("columns", [(0,), (0, 1, 2)], ids=["one panel", "several"])
def test_nothing_is_cut_off_at_the_edges(tmp_path, columns):
    reading = read_constraint(zeta(columns), lap_demos().trajectories, None)
    draw_reading(
        reading, "a task with a <name> of $ome length | icrl, seed 0", tmp_path / "explain.png"
    )
    pixels = np.asarray(Image.open(tmp_path / "explain.png").convert("L"))
    edge = np.concatenate(
        [pixels[:2].ravel(), pixels[-2:].ravel(), pixels[:, :2].ravel(), pixels[:, -2:].ravel()]
    )
    assert edge.min() > 250  # white: all that was drawn lies inside
    assert pixels.min() < 100


def test_the_line_stands_at_the_constraints_own_threshold():
    strict = replace(zeta((0,)), threshold=0.8)
    reading = read_constraint(strict, lap_demos().trajectories, None)
    axes = Figure().subplots()
    _draw_threshold(axes, reading)
    (line,) = axes.lines
    assert line.get_ydata()[0] == 0.8
    assert line.get_label() == "infeasible below ζ = 0.8"
