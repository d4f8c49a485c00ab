"""One run's constraint for the page: ζ over any two of the features that matter, where expert and
agents were."""

import base64
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.demos.dataset import Demonstrations
from icrl.experiment.directory.run_directory import CONSTRAINT
from icrl.explain.axes import Axis, axes_of, zeta_over
from icrl.explain.judged import Judged
from icrl.explain.reading import Reading, read_constraint, threshold_of
from icrl.explain.shapes import features_of
from icrl.explain.slices import slice_along
from icrl.report.records import RunRecord
from icrl.report.web.data import rounded
from icrl.types import BoolArray, FloatArray
from icrl.visited import VISITED, load_visited
from icrl.words import one_line

_MOST_POINTS = 250
"""States of the demonstrations, and of the agents, that are drawn."""
_BINS = 48
CLOSE_UP = ", close up"


class View(NamedTuple):
    """A constraint as the page shows it."""

    reading: Reading
    data: dict[str, Any]


def view_of(identity: str, run: RunRecord, demos: Demonstrations, most_axes: int) -> View:
    """Read a run's constraint, with ζ over every pair of its first `most_axes` features."""
    constraint = load_constraint(run.directory / CONSTRAINT)
    visited = None
    if (run.directory / VISITED).exists():
        visited = load_visited(run.directory / VISITED)
    reading = read_constraint(constraint, demos.trajectories, visited)
    judged = reading.judged
    axes = _with_close_up(reading, axes_of(judged, _by_importance(reading), most_axes))
    planes = {
        f"{first},{second}": _as_bytes(zeta_over(constraint, judged, axes[first], axes[second]))
        for first, second in combinations(range(len(axes)), 2)
        if axes[first].features[0] != axes[second].features[0]
    }
    return View(reading, {
        "run": identity,
        "threshold": rounded(constraint.threshold),
        "shown": len({int(axis.features[0]) for axis in axes}),
        "features": len(axes_of(judged, _by_importance(reading), judged.values.shape[1])),
        "axes": [_axis_data(axis, constraint, judged) for axis in axes],
        "planes": planes,
        "points": {
            "demonstrations": _points(axes, judged, judged.by_expert),
            "agents": _points(axes, judged, judged.by_agents),
        },
        "marks": _marks(reading, axes),
    })  # fmt: skip


def _with_close_up(reading: Reading, axes: list[Axis]) -> list[Axis]:
    """The axes, and before them the rule's feature close up, where the data reach much further than
    its threshold."""
    zoom = reading.zoom
    found = [axis for axis in axes if zoom is not None and axis.name == zoom.name]
    if zoom is None or not found:
        return axes
    values = np.linspace(zoom.values[0], zoom.values[-1], len(found[0].values))
    return [found[0]._replace(name=f"{zoom.name}{CLOSE_UP}", values=values), *axes]


def _by_importance(reading: Reading) -> list[int]:
    """The features of the rule, then all others by how much they matter."""
    named: list[int] = []
    if reading.rule is not None:
        named = features_of(reading.rule.shape)
    return list(
        dict.fromkeys(named + [int(i) for i in np.argsort(-reading.influence, kind="stable")])
    )


def _axis_data(axis: Axis, constraint: LearnedConstraint, judged: Judged) -> dict[str, Any]:
    part = slice_along(constraint, judged, int(axis.features[0]), (axis.values[0], axis.values[-1]))
    every = 2
    if axis.choices:
        every = 1
    data: dict[str, Any] = {
        "name": one_line(axis.name),
        "choices": [one_line(choice) for choice in axis.choices],
        "feature": int(axis.features[0]),
        "low": float(axis.values[0]),
        "high": float(axis.values[-1]),
        "count": len(axis.values),
        "slice": {
            name: [rounded(value) for value in values[::every]]
            for name, values in (
                ("x", part.values),
                ("mean", part.mean),
                ("low", part.low),
                ("high", part.high),
            )
        },
        "seen": {},
    }
    for name, chosen in (("demonstrations", judged.by_expert), ("agents", judged.by_agents)):
        data["seen"][name] = _histogram(axis, axis.of(judged)[chosen])
    return data


def _histogram(axis: Axis, values: FloatArray) -> list[float | None]:
    """Shares of the states along an axis, the highest 1."""
    if axis.choices:
        counts = np.bincount(values.astype(int), minlength=len(axis.choices))
    else:
        counts = np.histogram(values, _BINS, (axis.values[0], axis.values[-1]))[0]
    return [rounded(count / max(int(counts.max(initial=0)), 1)) for count in counts]


def _points(axes: list[Axis], judged: Judged, chosen: BoolArray) -> list[list[float | None]]:
    """Some states, evenly spread over those recorded: a list for each axis."""
    rows = np.flatnonzero(chosen)
    if len(rows) > _MOST_POINTS:
        rows = rows[np.linspace(0, len(rows) - 1, _MOST_POINTS).round().astype(int)]
    return [[rounded(value) for value in axis.of(judged)[rows]] for axis in axes]


def _marks(reading: Reading, axes: list[Axis]) -> list[dict[str, Any]]:
    """The rule's threshold and the interval that the data leave open, where the rule is one
    threshold."""
    condition = threshold_of(reading.rule)
    if condition is None:
        return []
    threshold = condition.low
    if condition.low == -np.inf:
        threshold = condition.high
    between = None
    interval = reading.interval
    if interval is not None and interval.low is not None and interval.high is not None:
        between = [rounded(interval.low), rounded(interval.high)]
    names = (condition.name, f"{condition.name}{CLOSE_UP}")
    return [
        {"axis": number, "threshold": rounded(threshold), "open": between}
        for number, axis in enumerate(axes)
        if axis.name in names
    ]


def _as_bytes(zeta: FloatArray) -> str:
    """ζ in 256 steps, row by row: as fine as a screen shows it, and a tenth of the size."""
    return base64.b64encode(np.round(255 * np.clip(zeta, 0, 1)).astype(np.uint8).tobytes()).decode(
        "ascii"
    )
