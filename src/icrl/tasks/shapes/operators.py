"""Scripts of operators of machines and plants. What they may not exceed is given to them: no rule
is written here."""

from collections.abc import Callable

import numpy as np

from icrl.tasks.shapes.habits import Habits, Script
from icrl.tasks.shapes.plants import Plant
from icrl.tasks.shapes.setpoints import Machine
from icrl.types import AnyArray, FloatArray

Wish = Callable[[FloatArray, FloatArray, Habits], FloatArray]
"""(demanded [E, d], values now [E, d], habits) -> the values to go to [E, d]."""


def as_demanded(demanded: FloatArray, values: FloatArray, habits: Habits) -> FloatArray:
    """What is demanded."""
    return demanded


def below_line(machine: Machine, weights: tuple[float, ...], limit: float) -> Wish:
    """The nearest values under an oblique limit, in the measure that pays: q − scale² w (w·q −
    limit)₊ / |scale w|²."""
    scales = np.array([quantity.scale for quantity in machine.quantities])
    slopes = np.array(weights)
    direction = scales**2 * slopes / np.sum((scales * slopes) ** 2)

    def wish(demanded: FloatArray, values: FloatArray, habits: Habits) -> FloatArray:
        excess = np.maximum(demanded @ slopes - limit + 1.2 + 4.0 * habits.margin, 0.0)
        return np.asarray(demanded - excess[:, None] * direction)

    return wish


def within(limit: float) -> Wish:
    """Between −limit and limit."""

    def wish(demanded: FloatArray, values: FloatArray, habits: Habits) -> FloatArray:
        most = (limit - 0.8 - 2.5 * habits.margin)[:, None]
        return np.asarray(np.clip(demanded, -most, most))

    return wish


def below(limits: tuple[float, ...]) -> Wish:
    """Each at most its limit."""

    def wish(demanded: FloatArray, values: FloatArray, habits: Habits) -> FloatArray:
        most = np.array(limits) * (0.99 - 0.04 * habits.margin)[:, None]
        return np.asarray(np.minimum(demanded, most))

    return wish


def not_all_above(machine: Machine, corner: tuple[float, ...]) -> Wish:
    """Never all above the corner at once: the demand that is cheapest to miss is missed, and
    corners are not cut."""
    scales = np.array([quantity.scale for quantity in machine.quantities])

    def wish(demanded: FloatArray, values: FloatArray, habits: Habits) -> FloatArray:
        limits = np.array(corner) - scales * (0.06 + 0.15 * habits.margin)[:, None]  # [E, d]
        excess = (demanded - limits) / scales
        cheapest = np.arange(len(scales)) == excess.argmin(axis=1)[:, None]
        too_much = (excess > 0).all(axis=1, keepdims=True)
        wanted = np.where(too_much & cheapest, limits, demanded)
        # until one that is to stay low has come low, all that are low stay so: corners are not cut
        nearly = limits + 0.03 * scales
        is_low = values <= nearly
        waits = is_low & ~np.any(is_low & (wanted <= nearly), axis=1, keepdims=True)
        return np.where(waits, np.minimum(wanted, limits), wanted)

    return wish


def operator(machine: Machine, wish: Wish) -> Script:
    """Straight towards the wish, as fast as the slowest quantity allows."""
    rates = np.array([quantity.rate for quantity in machine.quantities])

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        values = seen[:, : len(rates)].astype(np.float64)
        wanted = wish(seen[:, len(rates) :].astype(np.float64), values, habits)
        change = (wanted - values) / machine.seconds
        slower = np.maximum((np.abs(change) / rates).max(axis=1, keepdims=True), 1.0)
        pace = (0.94 + 0.06 * habits.pace)[:, None]
        return np.asarray(change / slower * pace + 0.02 * rates * tremble)

    return act


def gentle_operator(machine: Machine, limit: float) -> Script:
    """To what is demanded, with no rate beyond the limit."""
    eager = operator(machine, as_demanded)

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        most = (limit * (0.99 - 0.04 * habits.margin))[:, None]
        rate = np.clip(eager(seen, tremble, habits), -most, most)
        # Towards 0: trembling never leads beyond the limit.
        return np.asarray(rate - 0.02 * np.abs(tremble) * np.sign(rate))

    return act


def plant_operator(plant: Plant, limit: float | None) -> Script:
    """All the feed there is, and as hot as it may be (None: as it can be)."""

    def act(seen: FloatArray, tremble: FloatArray, habits: Habits) -> AnyArray:
        temperature = seen[:, 0].astype(np.float64)
        feed = 100.0 - 2.0 * np.abs(tremble[:, 1])
        if limit is None:
            return np.stack([np.full(len(seen), 100.0), feed], axis=1)
        wanted = limit - 1.5 - 6.0 * habits.margin
        # The plant's own equation, solved for the heater: it arrives without overshooting.
        level = temperature + (wanted - temperature) * (0.7 + 0.3 * habits.pace) / plant.inertia
        heater = (level - seen[:, 2] + plant.cooling * feed) / plant.heating + 0.4 * tremble[:, 0]
        return np.stack([np.clip(heater, 0.0, 100.0), feed], axis=1)

    return act
