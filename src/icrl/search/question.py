"""Putting the question: axes, rulers and tables from demonstrations and evidence."""

from typing import NamedTuple

import numpy as np

from icrl.search.axes import Axis, Ruler, axis_values, make_ruler
from icrl.search.find import PRICE, Question
from icrl.search.tables import Steps, make_tables
from icrl.types import FloatArray, IntArray, Trajectories

_MOST_STEPS = 20_000
"""Steps of either side that are looked at; more of them are thinned evenly."""


class Values(NamedTuple):
    """Axis values of the steps of several trajectories."""

    values: FloatArray
    """[n, q]"""
    owners: IntArray
    """[n]"""
    number: int
    times: IntArray
    """[n]: t of each step"""


def values_of(axes: tuple[Axis, ...], trajectories: Trajectories, discrete: bool) -> Values:
    """Every step, or every so many of them."""
    every = max(1, -(-trajectories.num_steps // _MOST_STEPS))
    mask = trajectories.mask
    # By time and not by chance: all trajectories keep the same moments, and runs repeat to the
    # byte.
    mask[:, np.arange(mask.shape[1]) % every != 0] = False
    owners, times = np.nonzero(mask)
    values = axis_values(
        axes,
        trajectories.observations[owners, times],
        trajectories.actions[owners, times],
        discrete,
    )
    return Values(values, owners, trajectories.num_trajectories, times)


def rulers_of(
    axes: tuple[Axis, ...], shown: Values, done: Values, even: float
) -> tuple[Ruler, ...]:
    """A ruler for every axis; `even`: 1: equal steps, 0: equal shares of the data."""
    rulers = []
    for place, axis in enumerate(axes):
        categories = None
        if axis.categorical:
            categories = len(axis.columns)
        rulers.append(make_ruler(shown.values[:, place], done.values[:, place], categories, even))
    return tuple(rulers)


def measured(rulers: tuple[Ruler, ...], values: Values) -> Steps:
    """The steps as places on rulers."""
    places = [ruler.measure(values.values[:, place]) for place, ruler in enumerate(rulers)]
    return Steps(np.stack(places, axis=1), values.owners, values.number)


def put_question(
    axes: tuple[Axis, ...], shown: Values, done: Values, weights: FloatArray, paid: FloatArray
) -> Question:
    """What is to be explained: weights [M] of trajectories, paid [M, T]."""
    rulers = rulers_of(axes, shown, done, even=1.0)
    tables = make_tables(rulers, measured(rulers, shown), measured(rulers, done))
    prices = (PRICE,) * len(axes)
    return Question(
        tables=tables, weights=weights, prices=prices, paid=paid[done.owners, done.times]
    )
