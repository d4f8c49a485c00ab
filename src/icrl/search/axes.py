"""Axes: the things that a rule can be about.

A number of the observation or action, or one of several categories.

A one-hot block (the states of a small world, the choices of a discrete action)
is one axis, not many.
"""

from dataclasses import dataclass

import numpy as np

from icrl.types import AnyArray, BoolArray, FloatArray, IntArray

FEW_VALUES = 24
"""An axis with at most so many different values keeps them as they are."""
_TAIL = 0.01
"""Share of the steps beyond either end of a ruler."""
_MOST_RULED = 20_000
"""Steps of each side that a ruler is made from."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One thing that a rule can be about."""

    name: str
    columns: tuple[int, ...]
    """Into the vector [observation..., action...] (the action one-hot when discrete);
    several: a one-hot block."""
    of_action: bool = False
    """It belongs to the action: what an agent does, not where it is."""

    @property
    def categorical(self) -> bool:
        """Its values are names, not numbers."""
        return len(self.columns) > 1


def make_axes(
    observation_names: tuple[str, ...],
    action_names: tuple[str, ...],
    one_hot_states: bool,
    discrete_actions: bool,
    chosen: tuple[str, ...] | None = None,
) -> tuple[Axis, ...]:
    """The axes of a task, or those that the features called `chosen` belong to."""
    num_observations = len(observation_names)
    axes: list[Axis] = []
    # One axis, not one for each state: a rule about several of many states was found on neither
    # seed while each was an axis of its own (decision 0017).
    if one_hot_states and num_observations > 1:
        axes.append(Axis(name="state", columns=tuple(range(num_observations))))
    else:
        axes += [Axis(name=name, columns=(i,)) for i, name in enumerate(observation_names)]
    places = range(num_observations, num_observations + len(action_names))
    if discrete_actions and len(action_names) > 1:
        axes.append(Axis(name="action", columns=tuple(places), of_action=True))
    else:
        for place, name in zip(places, action_names, strict=True):
            axes.append(Axis(name=name, columns=(place,), of_action=True))
    if chosen is None:
        return tuple(axes)
    names = observation_names + action_names
    return tuple(axis for axis in axes if any(names[column] in chosen for column in axis.columns))


def axis_values(
    axes: tuple[Axis, ...], observations: AnyArray, actions: AnyArray, discrete: bool
) -> FloatArray:
    """[..., q] float64: the value of every axis; of a category its number within the block."""
    num_observations = observations.shape[-1]
    columns = []
    for axis in axes:
        first = axis.columns[0]
        if first >= num_observations and discrete:
            columns.append(np.asarray(actions, np.float64))
            continue
        block = observations
        offset = 0
        if first >= num_observations:
            block = actions
            offset = num_observations
        if axis.categorical:
            width = len(axis.columns)
            columns.append(
                np.argmax(block[..., first - offset : first - offset + width], axis=-1).astype(
                    np.float64
                )
            )
        else:
            columns.append(np.asarray(block[..., first - offset], np.float64))
    return np.stack(columns, axis=-1)


@dataclass(frozen=True, kw_only=True)
class Ruler:
    """Measures one axis from 0 to 1 along the steps that were seen; it follows where they are.

    u = e · (share of the way from the lowest to the highest) + (1 − e) · (share of the steps
    below). With e = 1 it is even; with ½ it is fine where steps are dense, and nowhere coarser than
    twice an even one. Another unit of the axis changes nothing.
    """

    values: FloatArray
    """[k] rising: marks of the ruler; of few values, all of them."""
    places: FloatArray
    """[k] rising from 0 to 1: where the marks lie; of few values, 0, 1, 2, ..."""
    few: bool
    """The axis has few values: they are cells as they are, and have no neighbours."""

    def measure(self, values: FloatArray) -> FloatArray:
        """Place of each value: from 0 to 1 where steps were seen, beyond that evenly on;
        or which of few values."""
        if self.few:
            middles = (self.values[1:] + self.values[:-1]) / 2
            return np.searchsorted(middles, values).astype(np.float64)
        inside = np.interp(values, self.values, self.places)
        slope = 1.0 / (self.values[-1] - self.values[0])
        # np.interp stays at the last mark; agents may go further than anybody was seen, and there a
        # place must still be further out.
        beyond = np.minimum(values - self.values[0], 0.0) + np.maximum(
            values - self.values[-1], 0.0
        )
        return np.asarray(inside + slope * beyond)

    def values_at(self, places: FloatArray) -> FloatArray:
        """The inverse of `measure`, for numbers."""
        inside = np.interp(places, self.places, self.values)
        beyond = np.minimum(places, 0.0) + np.maximum(places - 1.0, 0.0)
        return np.asarray(inside + (self.values[-1] - self.values[0]) * beyond)

    def cells(self, places: FloatArray, scale: int, shift: float) -> IntArray:
        """Number of the cell at a scale of so many cells, all moved by a share of one."""
        if self.few:
            return places.astype(np.int64)
        # The outermost cells hold all that lies beyond: a tail of 1 % has no cells of its own.
        inside = np.clip(places, 0.0, 1.0)
        return np.minimum(
            (inside * scale + shift).astype(np.int64), self.num_cells(scale, shift) - 1
        )

    def num_cells(self, scale: int, shift: float) -> int:
        """How many there are."""
        if self.few:
            return len(self.values)
        return scale + (shift > 0)


def make_ruler(
    shown: FloatArray, done: FloatArray, categories: int | None = None, even: float = 0.5
) -> Ruler:
    """The ruler of one axis, from the values of demonstrated steps and of
    those of agents, half each."""
    if categories is not None:
        return Ruler(
            values=np.arange(categories, dtype=np.float64),
            places=np.arange(categories) * 1.0,
            few=True,
        )
    both = np.concatenate([_evenly(shown), _evenly(done)])
    unique = np.unique(both)
    if len(unique) <= FEW_VALUES:
        return Ruler(values=unique, places=np.arange(len(unique)) * 1.0, few=True)
    # Quantiles, so that one far step does not squeeze all others into one cell.
    levels = np.linspace(_TAIL, 1 - _TAIL, 197)
    marks = (_quantiles(shown, done, levels)).astype(np.float64)
    apart = np.diff(marks) > 1e-9 * (marks[-1] - marks[0])  # nearer marks are one, but for rounding
    first = np.concatenate([[0], np.flatnonzero(apart) + 1])
    marks = marks[first]
    if len(marks) < 2:
        return Ruler(values=unique, places=np.linspace(0, 1, len(unique)), few=False)
    ranks = (levels[first] - levels[first[0]]) / (levels[first[-1]] - levels[first[0]])
    lengths = (marks - marks[0]) / (marks[-1] - marks[0])
    return Ruler(values=marks, places=even * lengths + (1 - even) * ranks, few=False)


def _quantiles(shown: FloatArray, done: FloatArray, levels: FloatArray) -> FloatArray:
    """Quantiles of both sides together, each with half of the weight."""
    values = np.concatenate([shown, done])
    # Half each, however many steps either side has: else the side with more of them would set the
    # ruler.
    weights = np.concatenate(
        [np.full(len(shown), 0.5 / len(shown)), np.full(len(done), 0.5 / len(done))]
    )
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) - weights[order] / 2
    return np.asarray(np.interp(levels, reached, values[order]))


def _evenly(values: FloatArray) -> FloatArray:
    every = max(1, len(values) // _MOST_RULED)
    return values[::every]


def dilated(visited: BoolArray, few: tuple[bool, ...]) -> BoolArray:
    """Cells that are visited or next to one, along every axis of numbers;
    [c1, c2, ...] -> the same."""
    grown = visited
    for axis, names_only in enumerate(few):
        if names_only:
            continue
        # Axis after axis, each on what the last one made: diagonal neighbours count, too.
        wider = grown.copy()
        ahead = [slice(None)] * grown.ndim
        behind = [slice(None)] * grown.ndim
        ahead[axis] = slice(1, None)
        behind[axis] = slice(None, -1)
        wider[tuple(ahead)] |= grown[tuple(behind)]
        wider[tuple(behind)] |= grown[tuple(ahead)]
        grown = wider
    return grown
