"""Finished runs as the page needs them: returns and violation rates by task and label."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icrl.errors import InputError
from icrl.experiment.directory.run_directory import SCORES
from icrl.experiment.suite.statistics import standard_error
from icrl.files import MOST_JSON_BYTES, read_bytes
from icrl.json_files import parse_json
from icrl.methods.references import EXPERT_AGENT
from icrl.report.looks import default_label
from icrl.types import EXPERT, FloatArray


class Cell(NamedTuple):
    """The runs of one label on one task, by seed."""

    seeds: tuple[int, ...]
    returns: FloatArray
    """[n]: true return."""
    rates: FloatArray
    """[n]: violation rate."""

    @property
    def mean(self) -> float:
        """Of the returns."""
        return float(self.returns.mean())

    @property
    def rate(self) -> float:
        """Mean violation rate."""
        return float(self.rates.mean())

    @property
    def worst_rate(self) -> float:
        """Violation rate of the worst seed."""
        return float(self.rates.max())

    @property
    def error(self) -> float:
        """Standard error of that mean; NaN for one seed."""
        return float(standard_error(self.returns))


class Found(NamedTuple):
    """All scores that were given."""

    scores: dict[tuple[str, str], dict[int, dict[str, Any]]]
    """(task, label) -> seed -> scores."""
    directories: tuple[Path, ...]

    def cell(self, task: str, label: str) -> Cell | None:
        """None: no runs."""
        runs = self.scores.get((task, label))
        if not runs:
            return None
        seeds = tuple(sorted(runs))
        returns = np.array([runs[seed]["true_return"] for seed in seeds], np.float64)
        rates = np.array([runs[seed]["violation_rate"] for seed in seeds], np.float64)
        return Cell(seeds, returns, rates)

    def expert(self, task: str) -> tuple[float, bool] | None:
        """What the expert of a task earns, and whether it was trained as long as the agents:
        the mean of the `expert` runs, or else what the card of the demonstrations says."""
        # Experts trained as long as the agents first: a ratio above 1 must not come from a weak
        # expert.
        trained = self.cell(task, EXPERT)
        if trained is not None:
            return trained.mean, True
        for (found, _), runs in self.scores.items():
            for score in runs.values():
                if found == task and score.get("expert_return"):
                    return float(score["expert_return"]), False
        return None

    def ratio(self, task: str, label: str) -> float | None:
        """Mean true return over the expert's; None: one of the two is not there."""
        cell = self.cell(task, label)
        expert = self.expert(task)
        if cell is None or expert is None:
            return None
        return cell.mean / expert[0]

    def own_ratio(self, task: str, label: str) -> float | None:
        """Mean true return over that of experts with the same agent (the paper's, or its authors');
        None: one of the two is not there, or the agent is ours."""
        look = EXPERT_AGENT.looks.get(label)
        cell = self.cell(task, label)
        if look is None or cell is None:
            return None
        expert = self.cell(task, look.label)
        if expert is None:
            return None
        return cell.mean / expert.mean

    def picture(self, name: str) -> Path | None:
        """A figure of that name in one of the directories."""
        places = [directory / name for directory in self.directories]
        return next((place for place in places if place.is_file()), None)


def read_found(directories: Sequence[Path]) -> Found:
    """The scores in `results/NAME` or `runs/NAME` (a list in its scores.json), or of one run."""
    scores: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    places: dict[tuple[str, str, int], Path] = {}
    engines: set[str] = set()
    for directory in directories:
        for score in _read(directory / SCORES):
            task, label, seed = _key(score, directory)
            # A seed that counts twice narrows every error.
            if places.setdefault((task, label, seed), directory) != directory:
                raise InputError(
                    f"{places[task, label, seed]} and {directory} both have {label} on {task}, "
                    f"seed {seed}: a seed counts once. Leave one out."
                )
            scores.setdefault((task, label), {})[seed] = score
            if "versions" in score:
                engines.add(str(score["versions"].get("mujoco")))
    if len(engines) > 1:
        raise InputError(
            f"the runs used different versions of MuJoCo ({', '.join(sorted(engines))}), whose "
            "returns cannot be compared: give those of one."
        )
    return Found(scores, tuple(directories))


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise InputError(
            f"{path} does not exist: give directories of suites or of their reports (runs/NAME, "
            "results/NAME), which have one."
        )
    try:
        content = parse_json(read_bytes(path, MOST_JSON_BYTES))
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error!s:.200}") from error
    rows = content if isinstance(content, list) else [content]
    if not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path} holds no scores: expected a list of objects.")
    return rows


def _key(score: dict[str, Any], directory: Path) -> tuple[str, str, int]:
    try:
        label = score.get("label") or default_label(
            str(score["method"]), str(score.get("preset", "default"))
        )
        float(score["true_return"])
        float(score["violation_rate"])
        return str(score["scenario"]), str(label), int(score["seed"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{directory / SCORES} has an entry that is no score of a run with a known truth: "
            f"{type(error).__name__} {error}."
        ) from error
