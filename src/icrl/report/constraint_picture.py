"""`constraint.png`: the learned constraint as a picture, beside the true one where it is known."""

from pathlib import Path
from typing import Any

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.tasks.lap_grid import NUM_CELLS, cell_to_observation, draw_lap_grid
from icrl.tasks.task import Scenario
from icrl.types import AnyArray, FloatArray, Trajectories

_BINS = 60
_MOST_PANELS = 6


def draw_constraint(
    scenario: Scenario, constraint: LearnedConstraint, demos: Trajectories, samples: Trajectories, path: Path
) -> None:
    """Draw the constraint the way its task is best seen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    draw = _draw_lap if scenario.task.name == "lap-grid" else _draw_slices
    draw(figure, scenario, constraint, demos, samples)
    temporary = path.with_name(f".{path.name}")
    figure.savefig(temporary, dpi=130, format="png")
    temporary.replace(path)


def _draw_lap(
    figure: Any, scenario: Scenario, constraint: LearnedConstraint, demos: Trajectories, samples: Trajectories
) -> None:
    """Each (cell, direction) of the track: true on the left, learned on the right."""
    observations = cell_to_observation(np.repeat(np.arange(NUM_CELLS), 2))
    actions = np.tile(np.arange(2), NUM_CELLS)
    true = 1.0 - scenario.violates(observations, actions)
    learned = constraint.feasibility(observations, actions)
    for axes, values, title in zip(
        figure.subplots(1, 2), (true, learned), ("true constraint (never shown to the learner)", "learned constraint"),
        strict=True,
    ):  # fmt: skip
        draw_lap_grid(axes, feasibility=np.asarray(values, np.float64).reshape(NUM_CELLS, 2))
        axes.set_title(title, fontsize=12)


def _draw_slices(
    figure: Any, scenario: Scenario, constraint: LearnedConstraint, demos: Trajectories, samples: Trajectories
) -> None:
    """Mean feasibility over each feature, on demonstrated and on sampled states, for the features that matter most."""
    names = list(constraint.features.names)
    pools = [_pairs(demos), _pairs(samples)]
    values = [_feature_values(constraint, *pool) for pool in pools]
    zeta = [constraint.feasibility(*pool) for pool in pools]
    spread = [_spread(np.concatenate([v[:, i] for v in values]), np.concatenate(zeta)) for i in range(len(names))]
    shown = sorted(np.argsort(spread)[::-1][:_MOST_PANELS])
    grid = np.atleast_1d(figure.subplots(2, 3) if len(shown) > 3 else figure.subplots(1, len(shown))).ravel()
    for axes, index in zip(grid, shown, strict=False):
        for v, z, colour, label in zip(values, zeta, ("#2563c9", "#d97706"), ("demos", "agent"), strict=True):
            centres, means, share = _binned(v[:, index], z)
            axes.plot(centres, means, color=colour, label=f"ζ on states of {label}")
            axes.fill_between(centres, share, color=colour, alpha=0.15, lw=0)
        axes.set(xlabel=names[index], ylim=(-0.02, 1.04))
        axes.axhline(0.5, color="#999999", lw=0.6, ls=":")
    grid[0].legend(fontsize=8, loc="center right")
    for axes in grid[len(shown) :]:
        axes.set_axis_off()
    figure.suptitle(
        f"{scenario.task.name}: learned feasibility ζ over single features (shaded: where the states are)   "
        f"truth: {scenario.constraint}", fontsize=11,
    )  # fmt: skip


def _pairs(trajectories: Trajectories) -> tuple[AnyArray, AnyArray]:
    return trajectories.observations[trajectories.mask], trajectories.actions[trajectories.mask]


def _feature_values(constraint: LearnedConstraint, observations: AnyArray, actions: AnyArray) -> FloatArray:
    from icrl.constraint.features import extract

    return np.asarray(extract(constraint.features, observations, actions))


def _spread(values: FloatArray, zeta: FloatArray) -> float:
    """How much the mean of ζ varies over the bins of a feature, weighted by how many states they hold."""
    _, means, share = _binned(values, zeta)
    known = ~np.isnan(means)
    weights = share[known] / max(float(share[known].sum()), 1e-9)
    centre = float(np.sum(weights * means[known]))
    return float(np.sum(weights * (means[known] - centre) ** 2))


def _binned(values: FloatArray, zeta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bin centres, mean ζ in each (NaN where empty), and the bins' shares scaled to a highest of 1."""
    low, high = float(values.min()), float(values.max())
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    index = np.clip(np.digitize(values, edges) - 1, 0, _BINS - 1)
    counts = np.bincount(index, minlength=_BINS)
    sums = np.bincount(index, weights=zeta, minlength=_BINS)
    means = np.divide(sums, counts, out=np.full(_BINS, np.nan), where=counts > 0)
    return (edges[:-1] + edges[1:]) / 2, means, counts / max(int(counts.max()), 1)
