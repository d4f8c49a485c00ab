"""Runs as tables of pandas: one row per run, and one row per round, for notebooks and other
people's plots."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from icrl.errors import InputError
from icrl.report.records import RunRecord, read_groups

if TYPE_CHECKING:
    import pandas


def load_results(*directories: str | Path, rounds: bool = False) -> "pandas.DataFrame":
    """Every run in the directories (runs, or folders of runs) as a row; with `rounds`, every round
    of every run.

    Columns: task, label, method, preset, seed, directory; the numbers of `scores.json` (those of
    the constraint as `constraint/...`, the verdict of `icrl evaluate` as `verdict`) or, with
    `rounds`, of `metrics.jsonl`; every setting as `config/...`. A run that is not finished has no
    scores. Needs the extra 'pandas'.
    """
    try:
        import pandas
    except ImportError as error:
        raise InputError(
            f"icrl.load_results needs the extra 'pandas' ({error}): pip install 'icrl[pandas]'."
        ) from error
    groups = read_groups([Path(directory) for directory in directories])
    rows: list[dict[str, Any]] = []
    for run in (run for group in groups for run in group.runs):
        start = _identity(run)
        settings = _flat(run.config.get("config") or {}, "config/")
        if rounds:
            rows += [{**start, **metrics, **settings} for metrics in run.metrics]
        else:
            rows.append({**start, **_scores(run), **settings})
    return pandas.DataFrame(rows)


def _identity(run: RunRecord) -> dict[str, Any]:
    return {
        "task": run.task,
        "label": run.label,
        "method": run.config.get("method"),
        "preset": run.config.get("preset"),
        "seed": run.seed,
        "directory": str(run.directory),
    }


def _scores(run: RunRecord) -> dict[str, Any]:
    """The scores, flat; `finished` and `error` say why there are none."""
    scores = dict(run.scores or {})
    for name in ("scenario", "method", "seed", "preset", "label", "versions", "transfer"):
        scores.pop(name, None)
    constraint = scores.pop("constraint", None) or {}
    found = {"finished": run.scores is not None, "error": run.error, **scores}
    return found | _flat(constraint, "constraint/") | {"verdict": run.verdict}


def _flat(table: dict[str, Any], prefix: str) -> dict[str, Any]:
    """{"forward": {"clip": 0.2}} -> {"config/forward.clip": 0.2}; lists stay one value."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found
