"""Discs and ellipses: the best centre and radii for what is forbidden, and rounder ones."""

import math

import numpy as np

from icrl.explain.places import MOST_DIGITS, ROUND, Form, Places
from icrl.explain.shapes import (
    Disc,
)
from icrl.types import FloatArray

_SMALLEST = 1 / 128
"""The last step of the search for a centre, as a share of the extent of what is forbidden."""


def discs(places: Places, first: int, second: int) -> list[Form]:
    """A disc where both features have the same unit; an ellipse;
    either from within or from without."""
    found = []
    for inside in (True, False):
        gains = places.gains
        if not inside:
            gains = -places.gains
        # Nothing inside, so there is no centre to begin from.
        if not (gains > 0).any():
            continue
        if _unit(places.names[first]) == _unit(places.names[second]):
            found.append(
                Form("disc", 3, _round_disc(places, gains, (first, second), inside, even=True))
            )
        found.append(
            Form("ellipse", 4, _round_disc(places, gains, (first, second), inside, even=False))
        )
    return found


def _unit(name: str) -> str:
    """What follows the first word of a name:
    east_m and north_m have the same unit, and x and y have none."""
    return name.partition("_")[2]


def _round_disc(
    places: Places, gains: FloatArray, features: tuple[int, int], inside: bool, *, even: bool
) -> Disc:
    """A centre by pattern search; the best radius follows from it.

    Then rounder numbers that are as good.
    """
    columns = places.values[:, list(features)]
    chosen = columns[gains > 0]
    extent = np.maximum(np.ptp(chosen, axis=0), 1e-12)
    ratio = 1.0
    if not even:
        ratio = float(extent[1] / extent[0])
    # By its logarithm, so that twice and half the ratio are equally far.
    guess = np.array([*chosen.mean(axis=0), math.log(ratio)])
    steps = np.array([extent[0] / 4, extent[1] / 4, 0.0 if even else 0.4])
    best, radius = _radius(columns, gains, guess)
    # A pattern search: sums over places have no gradient, and a disc has but three numbers.
    size = 1.0
    while size > _SMALLEST:
        moved = False
        for j in np.flatnonzero(steps):
            for sign in (1.0, -1.0):
                trial = guess.copy()
                trial[j] += sign * size * steps[j]
                score, reach = _radius(columns, gains, trial)
                if score > best + 1e-6:
                    best = score
                    radius = reach
                    guess = trial
                    moved = True
        if not moved:
            size /= 2
    radii = (radius, radius * math.exp(guess[2]))
    names = (places.names[features[0]], places.names[features[1]])
    exact = Disc(features, names, (float(guess[0]), float(guess[1])), radii, inside)
    return _rounded(places, exact)


def _radius(columns: FloatArray, gains: FloatArray, guess: FloatArray) -> tuple[float, float]:
    """The best sum within a distance of a centre, and that distance along the first feature."""
    away = np.hypot(columns[:, 0] - guess[0], (columns[:, 1] - guess[1]) / math.exp(guess[2]))
    order = np.argsort(away)
    sums = np.cumsum(gains[order])
    best = int(np.argmax(sums))
    # Half-way to the next place: between the two all radii are as good.
    outer = away[order[min(best + 1, len(order) - 1)]]
    return float(sums[best]), float((away[order[best]] + outer) / 2)


def _rounded(places: Places, exact: Disc) -> Disc:
    """The numbers with the fewest decimals that say the same."""
    # People say 2.5 and not 2.4871: as long as it costs next to no agreement.
    goal = places.gain(exact) - ROUND
    for finer in range(MOST_DIGITS):
        size = [
            10.0 ** (math.floor(math.log10(max(radius, 1e-300))) - finer) for radius in exact.radii
        ]
        centre = (_nearest(exact.centre[0], size[0]), _nearest(exact.centre[1], size[1]))
        radii = (_nearest(exact.radii[0], size[0]), _nearest(exact.radii[1], size[1]))
        rounder = exact._replace(centre=centre, radii=radii)
        if min(radii) > 0 and places.gain(rounder) >= goal:
            return rounder
    return exact


def _nearest(value: float, step: float) -> float:
    decimals = max(0, -math.floor(math.log10(step)))
    return float(round(round(value / step) * step, decimals))
