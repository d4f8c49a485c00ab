"""A run directory describes itself: config, metrics by round, the constraint, the policy, the scores.

Every file is written whole or not at all, after every round, so that a run can be stopped at any moment.
"""

import dataclasses
import enum
import json
import math
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from icrl.errors import InputError
from icrl.types import Scores

CONFIG, METRICS, SCORES, POLICY, CONSTRAINT = (
    "config.json", "metrics.jsonl", "scores.json", "policy.safetensors", "constraint",
)  # fmt: skip
EVALUATION = "evaluation.json"
"""What `icrl evaluate` found."""
_LIBRARIES = ("icrl", "jax", "mujoco", "gymnasium", "numpy", "optax")


def library_versions() -> dict[str, str]:
    """Versions that a result depends on; returns depend on the physics engine's above all."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def to_json(value: Any) -> Any:
    """Dataclasses, enums, tuples and paths as plain JSON values; a number that is not finite becomes null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, os.PathLike) else value


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(to_json(value), indent=2, allow_nan=False) + "\n")
    os.replace(temporary, path)


def make_folder(path: Path) -> None:
    """Create a folder and those above it, or say why it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create the folder {path} ({error.strerror}): choose another --out.") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object, or say what is wrong with the file."""
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: is {path.parent} a run directory?") from error
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} holds {type(content).__name__}, expected a JSON object.")
    return content


@dataclasses.dataclass(frozen=True)
class RunDirectory:
    """Where one run lives on disk."""

    path: Path

    @property
    def finished(self) -> bool:
        """The run came to its end."""
        return (self.path / SCORES).exists()

    def check_free(self) -> None:
        """Raise `InputError` if there is anything here already."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; --out needs a directory.")
        if self.path.is_dir() and any(self.path.iterdir()):
            what = "a run" if (self.path / CONFIG).exists() else "other files"
            raise InputError(
                f"{self.path} already holds {what}: nothing was overwritten. Choose another --out, or remove it first."
            )

    def begin(self, config: dict[str, Any]) -> None:
        """Create the directory and write what the run is; a directory that holds another run is refused."""
        self.check_free()
        make_folder(self.path)
        write_json(self.path / CONFIG, {**config, "versions": library_versions()})

    def log(self, metrics: dict[str, Any]) -> None:
        """Append one line to the metrics."""
        with (self.path / METRICS).open("a") as file:
            file.write(json.dumps(to_json(metrics)) + "\n")

    def config(self) -> dict[str, Any]:
        """What the run is."""
        return read_json(self.path / CONFIG)

    def metrics(self) -> list[dict[str, Any]]:
        """One dict per round; a last line that was cut off is left out."""
        path = self.path / METRICS
        rows: list[dict[str, Any]] = []
        if not path.exists():
            return rows
        for line in path.read_text().splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
        return rows

    def finish(self, scores: Scores, extra: dict[str, Any]) -> None:
        """Write the scores: the run is finished."""
        write_json(self.path / SCORES, {**to_json(scores), **extra})

    def scores(self) -> dict[str, Any]:
        """The scores of a finished run."""
        return read_json(self.path / SCORES)
