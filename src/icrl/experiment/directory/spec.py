"""Which run it is: `RunSpec`, and back from JSON, so that a run can be handed to another process,
or found again in its directory."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from icrl.config import LearnConfig
from icrl.demos.formats_table import ColumnMapping
from icrl.experiment.directory.gone import without_gone
from icrl.experiment.directory.parsing import parse_as
from icrl.tasks.options import EnvOptions


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Which run: enough to make it again."""

    task: str
    method: str
    preset: str
    seed: int
    config: LearnConfig
    demos: str | None
    """Path or name of the demonstrations; None:
    there are none (references and transfers need none)."""
    episodes: int = 100
    """Episodes of the final evaluation."""
    label: str | None = None
    """Name in tables and figures; None: made from method and preset."""
    constraint: str | None = None
    """Path of a frozen constraint that is transferred;
    None: the run learns one, or is a reference."""
    env: EnvOptions = field(default_factory=EnvOptions)
    """What was said of a user's own environment."""
    columns: ColumnMapping | None = None
    """Which column of a table of demonstrations holds what; None: told by their names."""


def spec_from_json(content: dict[str, Any]) -> RunSpec:
    """The spec in a run's `config.json`; what else stands there (command, versions) is left out."""
    # What else a record holds is for people; but an unknown setting within `config` is an error.
    names = {f.name for f in dataclasses.fields(RunSpec)}
    said = {name: value for name, value in content.items() if name in names}
    if "config" in said:
        said["config"] = without_gone(said["config"])
    spec: RunSpec = parse_as(RunSpec, said, "the run")
    return spec
