"""What differs between episodes of one scripted expert, and what a script is."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from icrl.types import AnyArray, FloatArray


class Habits(NamedTuple):
    """Of E episodes. Nobody is told of them: a learner sees what was done, and not why."""

    side: FloatArray
    """[E]: 1 or −1."""
    margin: FloatArray
    """[E] in [0, 1]: how far it keeps from the boundary."""
    pace: FloatArray
    """[E] in [0, 1]."""
    tremble: FloatArray
    """[T, E, a]: standard normal, one for each component of each action (or for each choice)."""


Script = Callable[[FloatArray, FloatArray, Habits], AnyArray]
"""(observations [E, o], tremble of this step [E, a], habits) -> actions [E, a], or [E] when
discrete."""


def draw_habits(rngs: list[np.random.Generator], horizon: int, width: int) -> Habits:
    """The habits of E episodes, each from a generator of its own."""
    return Habits(
        side=np.array([rng.choice([-1.0, 1.0]) for rng in rngs]),
        margin=np.array([rng.uniform() for rng in rngs]),
        pace=np.array([rng.uniform() for rng in rngs]),
        tremble=np.stack([rng.standard_normal((horizon, width)) for rng in rngs], axis=1),
    )
