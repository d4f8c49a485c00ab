"""A region that was found, as an artefact and as a cost:
the features of its axes are columns of a task."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from icrl.constraint.chart import LOOK, Chart, make_chart
from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.region import Region, RegionAxis
from icrl.types import AnyArray, BoolArray, CostFunction, FloatArray, IntArray

if TYPE_CHECKING:  # a task needs gymnasium, using a learned constraint does not
    from icrl.tasks.task import Task

# Not infinity: a card is JSON, which has none.
_UNCLIPPED = float(np.finfo(np.float32).max)


def region_features(blocks: Sequence[tuple[int, ...]], task: "Task") -> Features:
    """The features of a region's axes: the columns of each, in order. Nothing is clipped."""
    columns = tuple(column for block in blocks for column in block)
    names = task.feature_names
    return Features(
        names=tuple(names[column] for column in columns),
        columns=columns,
        lower=(-_UNCLIPPED,) * len(columns),
        upper=(_UNCLIPPED,) * len(columns),
        num_observations=len(task.observation_names),
        num_actions=len(task.action_names),
        discrete=task.discrete,
    )


def region_constraint(
    region: Region | None, blocks: Sequence[tuple[int, ...]], task: "Task", card: dict[str, Any]
) -> LearnedConstraint:
    """A region over the columns of its axes as an artefact;
    without one, a constraint that forbids nothing."""
    if region is None:
        # A region of depth 0 and not None: an empty constraint is saved, loaded and asked like any
        # other.
        axis = RegionAxis(columns=(0,), nodes=np.zeros(1))
        region = Region(axes=(axis,), depth=np.zeros(1, np.float32), evidence_depth=1.0)
        blocks = ((0,),)
    return LearnedConstraint(features=region_features(blocks, task), region=region, card=card)


@dataclass(frozen=True, kw_only=True, eq=False)
class RegionCost:
    """1 − ζ of raw pairs, unchecked and therefore fast: what agents are trained under."""

    region: Region
    features: Features

    def __call__(self, observations: AnyArray, actions: AnyArray) -> FloatArray:
        """[..., o], [..., a] or [...] choices -> [...]."""
        logit = self.region.logits_at(self._depths(observations, actions))
        # = σ(-logit), without overflow
        return np.asarray(0.5 - 0.5 * np.tanh(0.5 * logit))

    def beyond(self, observations: AnyArray, actions: AnyArray) -> FloatArray:
        """How far inside what is forbidden, in units of g; above 0 exactly where it is forbidden.

        Unlike the cost it still tells deep from deeper where ζ is 0, so it shows a way out.
        """
        return np.asarray(self._depths(observations, actions) - self.region.level)

    def forbids(self, observations: AnyArray, actions: AnyArray) -> BoolArray:
        """True exactly where `beyond` is above 0."""
        if self._chart is None:
            return np.asarray(self.beyond(observations, actions) > 0)
        values = self._values(observations, actions)
        said = self._chart.look(values)
        closer = np.flatnonzero(said == LOOK)
        if len(closer):
            # LOOK is answered by now, so that only 0 and 1 are left, which are booleans as they
            # are.
            said.reshape(-1)[closer] = self._beyond_at(values, closer) > 0
        return said.view(np.bool_)

    def inside(self, observations: AnyArray, actions: AnyArray) -> FloatArray:
        """`beyond` where it is above 0, else 0."""
        if self._chart is None:
            return np.asarray(np.maximum(self.beyond(observations, actions), 0.0))
        values = self._values(observations, actions)
        # All but ALLOWED, which is 0: how deep a forbidden place lies the chart does not know.
        closer = np.flatnonzero(self._chart.look(values))
        depths = np.zeros(values[0].shape)
        depths.reshape(-1)[closer] = np.maximum(self._beyond_at(values, closer), 0.0)
        return depths

    @cached_property
    def _chart(self) -> Chart | None:
        """None: its columns are not all numbers."""
        # A choice is a whole number and no column: `_values` could not take it out of the actions.
        if self.features.discrete and not self.about_states_alone:
            return None
        return make_chart(self.region)

    def _values(self, observations: AnyArray, actions: AnyArray) -> list[FloatArray]:
        """[...] along each axis, all of them numbers."""
        values = []
        for axis in self.region.axes:
            column = self.features.columns[axis.columns[0]]
            if column < self.features.num_observations:
                values.append(np.asarray(observations[..., column], np.float32))
            else:
                column -= self.features.num_observations
                values.append(np.asarray(actions[..., column], np.float32))
        return values

    def _beyond_at(self, values: list[FloatArray], places: IntArray) -> FloatArray:
        """`beyond` at some of the places, by their numbers."""
        along = [
            axis.places_of(value.reshape(-1)[places])
            for axis, value in zip(self.region.axes, values, strict=True)
        ]
        return self.region.depths_at(along) - self.region.level

    def _depths(self, observations: AnyArray, actions: AnyArray) -> FloatArray:
        places = [self._places(axis, observations, actions) for axis in self.region.axes]
        return self.region.depths_at(places)

    def _places(self, axis: RegionAxis, observations: AnyArray, actions: AnyArray) -> FloatArray:
        """Where pairs lie along one axis: its columns alone are looked at."""
        columns = np.array([self.features.columns[column] for column in axis.columns])
        choices = columns - self.features.num_observations
        if choices[0] >= 0 and self.features.discrete:
            chosen = np.asarray(actions)[..., None] == choices
            if axis.categorical:
                return np.asarray(np.argmax(chosen, axis=-1), np.float64)
            return axis.places_of(chosen[..., 0])
        block = observations
        if choices[0] >= 0:
            block = actions
            columns = choices
        if axis.categorical:
            return np.asarray(np.argmax(block[..., columns], axis=-1), np.float64)
        # In float32, as `extract` has it: the fast way and the artefact must agree at the wall
        # itself.
        return axis.places_of(np.asarray(block[..., columns[0]], np.float32))

    @property
    def about_states_alone(self) -> bool:
        """Whether a pair is forbidden does not depend on its action."""
        return all(column < self.features.num_observations for column in self.features.columns)


def cost_function(constraint: LearnedConstraint) -> CostFunction:
    """1 − ζ as agents are trained under it and act under it: of a region, with what it can tell."""
    if constraint.region is None:
        return constraint.cost
    return RegionCost(region=constraint.region, features=constraint.features)


def region_cost(region: Region, blocks: Sequence[tuple[int, ...]], task: "Task") -> RegionCost:
    """The cost of a region over the columns of its axes."""
    return RegionCost(region=region, features=region_features(blocks, task))
