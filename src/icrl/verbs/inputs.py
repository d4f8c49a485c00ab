"""What a verb starts from: a scenario, demonstrations, counts that make sense."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from icrl.config import require
from icrl.errors import InputError

if TYPE_CHECKING:
    from icrl.demos.fitting import FittedDemos
    from icrl.demos.formats_table import ColumnMapping
    from icrl.tasks.options import EnvOptions
    from icrl.tasks.task import Scenario


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which column of a CSV or Parquet table holds what;
    by default they are told by their names."""

    observations: tuple[str, ...] = ()
    """Columns with the observation, in the task's order; none: all called obs_* or obs[...]."""
    actions: tuple[str, ...] = ()
    """Columns with the action, in the task's order; none: all called action*."""
    episode: str | None = "episode"
    """Column that says which episode a row belongs to; None: every file is one episode."""
    step: str | None = None
    """Column that counts the steps of an episode; None: rows are in order."""
    reward: str | None = None
    """Column with the reward; None: unknown."""

    def mapping(self) -> "ColumnMapping | None":
        """As the readers take it; None: nothing was said."""
        # Nothing was said: then names decide, and each file may have its own.
        if self == Columns():
            return None
        if not self.observations or not self.actions:
            raise InputError(
                "--columns needs both --columns.observations and --columns.actions: name the "
                "columns of the table that hold them (and, where there are any, --columns.episode, "
                ".step and .reward)."
            )
        from icrl.demos.formats_table import ColumnMapping

        return ColumnMapping(
            observations=self.observations,
            actions=self.actions,
            episode=self.episode,
            step=self.step,
            reward=self.reward,
        )


def find_scenario(name: str, options: "EnvOptions | None" = None) -> "Scenario":
    """The scenario of that name: one of ours, a Gymnasium id, or module:function."""
    from icrl.tasks.registry import make_scenario

    return make_scenario(name, options)


def find_demos(
    path: str | None,
    scenario: "Scenario",
    columns: "ColumnMapping | None" = None,
    needed: bool = True,
) -> "tuple[FittedDemos | None, str | None]":
    """Demonstrations, given or shipped, checked against the task; and where they came from.

    None where none are needed and there are none.
    """
    from icrl.experiment.run.inputs import open_demos, open_demos_if_any

    if needed:
        return open_demos(path, scenario, columns)
    return open_demos_if_any(path, scenario, columns)


def as_folder(name: str) -> str:
    """A task's name as that of a folder: my_module:make_env -> my_module-make_env."""
    # A folder that begins with a dot would be hidden.
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")


def require_counts(seed: int, **counts: int) -> None:
    """The seed is at least 0, everything else at least 1."""
    require(seed >= 0, "seed", seed, "an integer >= 0")
    for name, value in counts.items():
        require(value >= 1, name, value, "an integer >= 1")
