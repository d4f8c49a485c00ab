"""A run directory describes itself: config, metrics by round, the constraint,
the policy, the scores.

Every file is written whole or not at all, after every round,
so that a run can be stopped at any moment.
"""

import dataclasses
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from icrl.errors import InputError
from icrl.experiment.directory.checkpoint import FOLDER as CHECKPOINTS
from icrl.experiment.directory.lock import HOLDER, LOCK, only_one, require_unlocked
from icrl.experiment.directory.spec import RunSpec, spec_from_json
from icrl.files import append_line, make_folder, read_bytes, write_whole
from icrl.json_files import parse_json, read_json, to_json, write_json
from icrl.types import Scores
from icrl.versions import library_versions
from icrl.visited import VISITED
from icrl.words import quoted

CONFIG, METRICS, SCORES, POLICY, CONSTRAINT = (
    "config.json", "metrics.jsonl", "scores.json", "policy.safetensors", "constraint",
)  # fmt: skip
ERROR = "error.txt"
"""Of a suite's run that failed: its last words."""
RUN_FILES = {CONFIG, METRICS, POLICY, CONSTRAINT, ERROR, VISITED, CHECKPOINTS, "constraint.png"}
"""All that a run that did not finish may have left behind."""
EVALUATION = "evaluation.json"
"""What `icrl evaluate` found."""
_Kinds = tuple[type, ...]
_TEXT: _Kinds = (str,)
_NUMBER: _Kinds = (int, float)
_NONE = type(None)
_CONFIG_ENTRIES: dict[str, _Kinds] = {
    "task": _TEXT, "method": _TEXT, "preset": _TEXT, "seed": (int,), "label": (str, _NONE),
    "demos": (str, _NONE), "constraint": (str, _NONE), "episodes": (int,), "config": (dict,),
    "env": (dict, _NONE), "columns": (dict, _NONE), "versions": (dict,),
}  # fmt: skip
_SCORE_ENTRIES: dict[str, _Kinds] = {
    "scenario": _TEXT, "method": _TEXT, "seed": (int,), "steps": _NUMBER,
    "true_return": (*_NUMBER, _NONE), "violation_rate": (*_NUMBER, _NONE),
    "expert_return": (*_NUMBER, _NONE), "seconds": _NUMBER, "steps_per_second": _NUMBER,
}  # fmt: skip
"""The contract of scores.json: all of these must be there."""
_MORE_SCORES: dict[str, _Kinds] = {
    "label": (str, _NONE), "versions": (dict,), "constraint": (dict, _NONE), "transfer": (dict,),
    "nominal_return": _NUMBER, "episode_steps": _NUMBER, "episodes": (int,),
}  # fmt: skip
_SHARES = (
    "agent_steps_forbidden", "expert_steps_forbidden", "hit_rate",
    "false_alarm_rate_right_of_start",
)  # fmt: skip
"""Of what scores.json says of the constraint, what reports show."""
_METRIC: _Kinds = (*_NUMBER, str, bool, list, _NONE)
_JUDGEMENT: _Kinds = (*_NUMBER, _NONE)
_MOST_METRICS_BYTES = 10**9
_TIMES = ("seconds", "steps_per_second")


def _require_kinds(path: Path, content: dict[str, Any], entries: dict[str, _Kinds]) -> None:
    """Raise `InputError` if an entry that is there is of another kind: the file was
    edited, or is damaged."""
    for name, kinds in entries.items():
        value = content.get(name)
        if name not in content:
            continue
        # for Python True is a number; in these files it is none
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join("null" if kind is _NONE else kind.__name__ for kind in kinds)
            raise InputError(
                f"{path}: {name} is {value!r:.60}, expected {wanted}. It was edited, or is "
                "damaged: restore it."
            )


@dataclasses.dataclass(frozen=True)
class RunDirectory:
    """Where one run lives on disk."""

    path: Path

    @property
    def finished(self) -> bool:
        """The run came to its end."""
        return (self.path / SCORES).exists()

    @contextmanager
    def held(self, resume: bool = False) -> Iterator[None]:
        """The directory is made, and nobody else writes it while the block runs."""
        # Before the folder is made: a refusal leaves nothing behind.
        self.check_free(resume)
        make_folder(self.path)
        with only_one(self.path):
            self.require_room(resume)  # another run may have come and gone since it was looked at
            yield

    def check_free(self, resume: bool = False) -> None:
        """Raise `InputError` if there is anything here already, or another
        process is writing here. With `resume` a run that did not come to its end may be here."""
        require_unlocked(self.path)
        self.require_room(resume)

    def require_room(self, resume: bool = False) -> None:
        """Raise `InputError` if there is anything here already but a lock."""
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; --out needs a directory.")
        if not self.path.is_dir():
            return
        # What a killed process left half written (drafts, its lock) is nobody's work.
        found = {path.name for path in self.path.iterdir() if not _is_draft(path)} - {LOCK, HOLDER}
        begun = CONFIG in found
        if not found or (resume and begun and not self.finished):
            return
        what = "other files"
        advice = "Choose another --out, or remove it first."
        if begun:
            what = "a run"
        if begun and not self.finished:
            advice += f" To go on with it: icrl learn --resume {quoted(self.path)}"
        raise InputError(f"{self.path} already holds {what}: nothing was overwritten. {advice}")

    def spec(self) -> RunSpec:
        """Which run it is, by its `config.json`."""
        return spec_from_json(self.config())

    def begin(self, config: dict[str, Any], resume: bool = False) -> None:
        """Write what the run is; a directory that holds another run is refused.

        With `resume`, what an attempt left that did not get through its first round is removed.
        """
        self.require_room(resume)
        make_folder(self.path)
        left = set[str]()
        if resume:
            # Only what a run itself writes: notes that somebody put there stay.
            left = RUN_FILES - {CONFIG}
        self._remove(left)
        write_json(self.path / CONFIG, {**config, "versions": library_versions()})

    def go_on(self, rounds: int) -> tuple[dict[str, Any], ...]:
        """Go on after so many rounds: lines of later ones, which will be made again, are cut off.

        Returns the lines that stay.
        """
        path = self.path / METRICS
        kept = tuple(self.metrics()[:rounds])
        if [row.get("round") for row in kept] != list(range(rounds)):
            raise InputError(
                f"{path} lacks some of the {rounds} rounds that the checkpoint has behind it: it "
                "was edited, or is damaged. Restore it, or remove the run and start it again."
            )
        # The bytes themselves, not what was parsed and written again: a run that goes on ends with
        # the same file as one that was never stopped.
        lines = path.read_bytes().splitlines(keepends=True)[:rounds]
        write_whole(path, b"".join(lines))
        self._remove({ERROR})
        return kept

    def _remove(self, names: set[str]) -> None:
        """Remove what a run wrote, and files that were being written when a run was killed."""
        for path in self.path.iterdir():
            if path.name not in names and not _is_draft(path):
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def log(self, metrics: dict[str, Any]) -> None:
        """Append one line to the metrics."""
        append_line(self.path / METRICS, json.dumps(to_json(metrics)))

    def config(self) -> dict[str, Any]:
        """What the run is."""
        content = read_json(self.path / CONFIG)
        _require_kinds(self.path / CONFIG, content, _CONFIG_ENTRIES)
        return content

    def metrics(self) -> list[dict[str, Any]]:
        """One dict per round; a last line that was cut off is left out."""
        path = self.path / METRICS
        try:
            data = read_bytes(path, _MOST_METRICS_BYTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from error
        lines = data.splitlines()
        rows: list[dict[str, Any]] = []
        for number, line in enumerate(lines, start=1):
            try:
                row = parse_json(line)
            except ValueError as error:
                # Only the last line can be cut off by a kill. Any other that is no JSON was
                # damaged.
                if number == len(lines):
                    break
                raise InputError(
                    f"{path}: line {number} is not JSON ({error!s:.100}): it is damaged.",
                ) from error
            rows.append(_checked_row(row, path, number))
        return rows

    def finish(self, scores: Scores, extra: dict[str, Any]) -> None:
        """Write the scores: the run is finished."""
        write_json(self.path / SCORES, {**to_json(scores), **extra})

    def scores(self) -> dict[str, Any]:
        """The scores of a finished run."""
        path = self.path / SCORES
        content = read_json(path)
        missing = [name for name in _SCORE_ENTRIES if name not in content]
        if missing:
            raise InputError(
                f"{path} has no {', '.join(missing)}: it was edited, or is of another version.",
            )
        _require_kinds(path, content, _SCORE_ENTRIES | _MORE_SCORES)
        judged = content.get("constraint") or {}
        _require_kinds(Path(f"{path}: constraint"), judged, dict.fromkeys(_SHARES, _JUDGEMENT))
        return content

    def evaluation(self) -> dict[str, Any]:
        """What `icrl evaluate` found; empty: it was not asked."""
        path = self.path / EVALUATION
        if not path.exists():
            return {}
        content = read_json(path)
        _require_kinds(path, content, {"trust": (dict,)})
        trust = content.get("trust", {})
        _require_kinds(path, trust, {"verdict": _TEXT, "checks": (dict,)})
        checks = trust.get("checks", {})
        _require_kinds(path, checks, dict.fromkeys(checks, (dict,)))
        return content


def without_times(row: dict[str, Any]) -> dict[str, Any]:
    """A line of the metrics, or scores, without what differs from one run to the same run again."""
    return {
        name: value
        for name, value in row.items()
        if name not in _TIMES and not name.startswith("time/")
    }


def _is_draft(path: Path) -> bool:
    """A file that was being written beside its place when its process was killed."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


def _checked_row(row: Any, path: Path, number: int) -> dict[str, Any]:
    """A line of the metrics: an object of plain values, in which what is compared is a number."""
    where = Path(f"{path}: line {number}")
    if not isinstance(row, dict):
        raise InputError(f"{where} holds {type(row).__name__}, expected an object: it is damaged.")
    kinds = dict.fromkeys(row, _METRIC)
    kinds |= {name: _JUDGEMENT for name in row if name.startswith("truth/")}
    kinds |= {"steps": _NUMBER, "seconds": _NUMBER, "round": (int,)}
    _require_kinds(where, row, kinds)
    return row
