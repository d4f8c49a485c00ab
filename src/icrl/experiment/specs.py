"""A `RunSpec` as JSON and back, so that a run can be handed to another process, or found again in its directory."""

import dataclasses
from typing import Any

from icrl.experiment.parsing import parse_as
from icrl.experiment.runs import RunSpec


def spec_from_json(content: dict[str, Any]) -> RunSpec:
    """The spec in a run's `config.json`; what else stands there (command, versions) is left out."""
    names = {f.name for f in dataclasses.fields(RunSpec)}
    spec: RunSpec = parse_as(RunSpec, {k: v for k, v in content.items() if k in names}, "the run")
    return spec
