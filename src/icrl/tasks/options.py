"""What a user may say about an environment of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icrl.config import require
from icrl.errors import InputError


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """For an environment of your own (a Gymnasium id, or module:function);
    the tasks of ours need none of it."""

    horizon: int | None = None
    """Own environment: steps after which an episode is cut;
    None: its own limit (TimeLimit, max_episode_steps)."""
    feature_names: tuple[str, ...] | None = None
    """Own environment: a name for each observation column, then, if you like, for each action
    column (or choice); None: its attribute `feature_names`, else obs[0] ... action[0] ..."""
    processes: int | None = None
    """Own environment: processes to spread it over; 1: this one alone;
    None: one per core if a step takes over 1 ms."""
    env_timeout: float | None = 600.0
    """Own environment: seconds that a reset or a step may take before it counts as
    hung; None: for ever."""

    def __post_init__(self) -> None:
        """Validate."""
        require(
            self.horizon is None or self.horizon >= 1,
            "horizon",
            self.horizon,
            "an integer >= 1, or None",
        )
        require(
            self.processes is None or self.processes >= 1,
            "processes",
            self.processes,
            "an integer >= 1, or None",
        )
        seconds = self.env_timeout
        require(
            seconds is None or 0 < seconds < 1e9,
            "env_timeout",
            seconds,
            "seconds above 0, or None",
        )
        names = self.feature_names
        require(
            names is None or len(names) >= 1, "feature_names", names, "at least one name, or None"
        )


def env_options(
    horizon: int | None, feature_names: Any, processes: int | None, env_timeout: float | None
) -> EnvOptions:
    """The options as Python code gives them: any list of names will do, text alone will not."""
    names = None
    if feature_names is not None:
        names = name_list(feature_names)
    return EnvOptions(
        horizon=horizon, feature_names=names, processes=processes, env_timeout=env_timeout
    )


def name_list(given: Any, whose: str = "feature_names") -> tuple[str, ...]:
    """Names as a tuple.

    Text alone is refused: letter by letter, "xy" would pass for the names of two columns.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Sequence | np.ndarray):
        raise InputError(
            f"{whose} is {type(given).__name__} ({given!r:.60}), expected a list of names, "
            'one for each column: e.g. ("x", "y").'
        )
    return tuple(str(each) for each in given)
