"""`constraint.png`: the learned constraint as a picture, beside the true one where it is known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.report.canvas import blank_figure, draw_zeta, save_figure
from icrl.tasks.lap_grid import NUM_CELLS, cell_to_observation, draw_lap_grid
from icrl.tasks.task import Scenario
from icrl.trajectories import along
from icrl.types import AnyArray, FloatArray, Pairs, Trajectories
from icrl.words import one_line

_TITLES = ("true constraint (never shown to the learner)", "learned constraint")
_BINS = 60
_POINTS = 200
_MAP_CELLS = 100
_MOST_PANELS = 6
_MOST_PATHS = 10
_MOST_STATES = 16


def draw_constraint(
    scenario: Scenario,
    constraint: LearnedConstraint,
    demos: Trajectories,
    samples: Trajectories,
    path: Path,
) -> None:
    """Draw the constraint the way its task is best seen."""
    with blank_figure((10, 5.4)) as figure:
        _drawing_of(scenario)(figure, scenario, constraint, demos, samples)
        save_figure(figure, path, dpi=130)


def _drawing_of(scenario: Scenario) -> Callable[..., None]:
    if scenario.task.name == "lap-grid":
        return _draw_lap
    if {"x", "y"} <= set(scenario.task.observation_names):
        return _draw_plane
    return _draw_slices


def _draw_lap(
    figure: Any,
    scenario: Scenario,
    constraint: LearnedConstraint,
    demos: Trajectories,
    samples: Trajectories,
) -> None:
    """Each (cell, direction) of the track: true on the left, learned on the right."""
    observations = cell_to_observation(np.repeat(np.arange(NUM_CELLS), 2))
    actions = np.tile(np.arange(2), NUM_CELLS)
    true = 1.0 - scenario.violates(observations, actions)
    learned = constraint.feasibility(observations, actions)
    for axes, values, title in zip(figure.subplots(1, 2), (true, learned), _TITLES, strict=True):
        draw_lap_grid(axes, feasibility=np.asarray(values, np.float64).reshape(NUM_CELLS, 2))
        axes.set_title(title, fontsize=12)


def _draw_plane(
    figure: Any,
    scenario: Scenario,
    constraint: LearnedConstraint,
    demos: Trajectories,
    samples: Trajectories,
) -> None:
    """Over the plane (x, y), all else as demonstrated:
    true (where known) on the left, learned on the right."""
    names = scenario.task.observation_names
    columns = [names.index("x"), names.index("y")]
    observations, actions = _some_pairs(demos, samples)
    ranges = [
        _range(np.concatenate([_pairs(t)[0][:, c] for t in (demos, samples)])) for c in columns
    ]
    xs, ys = (np.linspace(*limits, _MAP_CELLS) for limits in ranges)
    shape = (_MAP_CELLS, _MAP_CELLS, len(observations))
    # [y, x, states, o]
    states = np.broadcast_to(observations, (*shape, observations.shape[1])).copy()
    states[..., columns[0]] = xs[None, :, None]
    states[..., columns[1]] = ys[:, None, None]
    choices = np.broadcast_to(actions, (*shape, *actions.shape[1:]))
    maps = [np.mean(constraint.feasibility(states, choices), axis=-1)]
    if scenario.truth_known:
        maps.insert(0, np.mean(~scenario.violates(states, choices), axis=-1))
    panels = np.atleast_1d(figure.subplots(1, len(maps), sharex=True, sharey=True))
    for axes, values, title in zip(panels, maps, _TITLES[-len(maps) :], strict=True):
        image = draw_zeta(axes, values, (*ranges[0], *ranges[1]))
        for trajectories, colour, label in (
            (demos, "black", "demonstrations"),
            (samples, "#d97706", "agent"),
        ):
            _draw_paths(axes, trajectories, columns, colour, label)
        axes.set(xlabel="x", title=title)
    panels[0].set_ylabel("y")
    panels[-1].legend(fontsize=8, loc="upper right", framealpha=0.9)
    figure.colorbar(image, ax=panels, label="feasibility ζ", shrink=0.8, pad=0.01)
    figure.suptitle(f"{one_line(scenario.task.name)}: {_in_words(scenario)}", fontsize=11)


def _draw_paths(
    axes: Any, trajectories: Trajectories, columns: list[int], colour: str, label: str
) -> None:
    for index in range(min(trajectories.num_trajectories, _MOST_PATHS)):
        path = trajectories.observations[index, : trajectories.lengths[index]]
        axes.plot(
            path[:, columns[0]], path[:, columns[1]], color=colour, lw=0.9, alpha=0.8, label=label
        )
        # matplotlib leaves labels that begin with an underscore out of the legend
        label = "_another"


def _draw_slices(
    figure: Any,
    scenario: Scenario,
    constraint: LearnedConstraint,
    demos: Trajectories,
    samples: Trajectories,
) -> None:
    """ζ as one feature is changed and all else stays as demonstrated,
    for the features that matter most."""
    features = constraint.features
    numeric = [
        i
        for i, c in enumerate(features.columns)
        if c < features.num_observations or not features.discrete
    ]
    slices = [_slice(scenario, constraint, demos, samples, features.columns[i]) for i in numeric]
    order = np.argsort([-np.ptp(s.feasibility) for s in slices], kind="stable")[:_MOST_PANELS]
    if len(order) > 3:
        shape = (2, 3)
    else:
        shape = (1, max(len(order), 1))
    grid = np.atleast_1d(figure.subplots(*shape, sharey=True)).ravel()
    for axes, index in zip(grid, sorted(order), strict=False):
        _draw_slice(axes, slices[index], one_line(features.names[numeric[index]]))
    for axes in grid[len(order) :]:
        axes.set_axis_off()
    if len(order):
        figure.legend(
            *grid[0].get_legend_handles_labels(), fontsize=9, loc="outside lower center", ncols=4
        )
    name = one_line(scenario.task.name)
    figure.suptitle(
        f"{name}: learned feasibility as one feature changes and all else stays as demonstrated\n"
        f"{_in_words(scenario)}", fontsize=11,
    )  # fmt: skip


def _in_words(scenario: Scenario) -> str:
    if not scenario.truth_known:
        return "the true constraint is not known"
    return f"truth: {one_line(scenario.constraint)}"


class _Slice(NamedTuple):
    """What happens along one feature."""

    values: FloatArray
    feasibility: FloatArray
    """Mean ζ."""
    violates: FloatArray | None
    """Share of states that are truly forbidden; None: nobody knows."""
    seen: tuple[FloatArray, FloatArray]
    """The feature in demonstrated and in sampled states."""


def _slice(
    scenario: Scenario,
    constraint: LearnedConstraint,
    demos: Trajectories,
    samples: Trajectories,
    column: int,
) -> _Slice:
    seen = tuple(_full(*_pairs(trajectories), column) for trajectories in (demos, samples))
    values = np.linspace(*_range(np.concatenate(seen)), _POINTS)
    observations, actions = _some_pairs(demos, samples)
    # [points, n, .]
    moved = along(Pairs(observations=observations, actions=actions), column, values)
    feasibility = np.mean(constraint.feasibility(moved.observations, moved.actions), axis=1)
    violates = None
    if scenario.truth_known:
        violates = np.mean(scenario.violates(moved.observations, moved.actions), axis=1)
    return _Slice(values, feasibility, violates, (seen[0], seen[1]))


def _draw_slice(axes: Any, part: _Slice, name: str) -> None:
    if part.violates is not None:
        axes.fill_between(
            part.values,
            0,
            1,
            where=part.violates > 0.5,
            color="#a50026",
            alpha=0.15,
            lw=0,
            label="truly forbidden",
        )
    axes.plot(part.values, part.feasibility, color="#222222", lw=1.8, label="learned ζ")
    edges = np.linspace(part.values[0], part.values[-1], _BINS + 1)
    for seen, colour, label in zip(
        part.seen, ("#313695", "#d97706"), ("demonstrations", "agent"), strict=True
    ):
        counts = np.histogram(seen, edges)[0]
        heights = 0.25 * counts / max(int(counts.max()), 1)
        axes.stairs(
            heights, edges, fill=True, color=colour, alpha=0.35, label=f"where they are: {label}"
        )
    axes.set(xlabel=name, xlim=(part.values[0], part.values[-1]), ylim=(-0.02, 1.04))
    axes.axhline(0.5, color="#999999", lw=0.6, ls=":")


def _range(seen: FloatArray) -> tuple[float, float]:
    """The range of what was seen, widened on both sides:
    what is forbidden begins where the expert turned back."""
    low = float(seen.min())
    high = float(seen.max())
    margin = 0.35 * (high - low) or 1.0
    return low - margin, high + margin


def _pairs(trajectories: Trajectories) -> tuple[AnyArray, AnyArray]:
    return trajectories.observations[trajectories.mask], trajectories.actions[trajectories.mask]


def _some_pairs(demos: Trajectories, samples: Trajectories) -> tuple[AnyArray, AnyArray]:
    """A few demonstrated pairs (the agent's where none are), evenly spread,
    for everything that is not being drawn."""
    observations, actions = _pairs(demos if demos.num_steps else samples)
    chosen = np.unique(np.linspace(0, len(observations) - 1, _MOST_STATES).astype(int))
    return observations[chosen], actions[chosen]


def _full(observations: AnyArray, actions: AnyArray, column: int) -> FloatArray:
    """One column of the vector [observation..., action...]."""
    width = observations.shape[1]
    return np.asarray(observations[:, column] if column < width else actions[:, column - width])
