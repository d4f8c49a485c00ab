"""Whose constraint lies in a run's directory: its card is held against the run's configuration, its
features against the task. Files can be copied; a verdict on another run's constraint must not pass
for one on this run's."""

import hashlib
import json
from pathlib import Path
from typing import Any

from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.saved import CARD
from icrl.errors import InputError
from icrl.experiment.directory.run_directory import CONSTRAINT
from icrl.tasks.task import Task

_COMPARED = ("task", "method", "preset", "seed")


def config_digest(config: Any) -> str:
    """SHA-256 of a run's settings, as its `config.json` holds them."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def open_constraint(source: str) -> LearnedConstraint:
    """A constraint from its own folder, or from the run directory that learned it."""
    path = Path(source)
    if (path / CONSTRAINT / CARD).exists():
        return load_constraint(path / CONSTRAINT)
    if not (path / CARD).exists():
        raise InputError(
            f"{path} holds no constraint: expected a run directory with {CONSTRAINT}/ in it, or "
            f"the folder with {CARD} itself. Learn one with icrl learn."
        )
    return load_constraint(path)


def constraint_of_run(
    directory: Path,
    config: dict[str, Any],
    task: Task | None,
) -> LearnedConstraint:
    """The constraint of a run, if it is this run's; without a task its
    features are not compared."""
    constraint = load_constraint(directory / CONSTRAINT)
    other = [*_other_origin(constraint, config), *_other_features(constraint, task)]
    if other:
        raise InputError(
            f"{directory / CONSTRAINT} is not the constraint of this run: {'; '.join(other[:4])}. "
            "Was it copied from "
            f"another run? Put its own back; to judge another run's constraint, name that run."
        )
    return constraint


def _other_origin(constraint: LearnedConstraint, config: dict[str, Any]) -> list[str]:
    """What the card says of how the constraint was made, where that is not how the run was made.

    A transfer's card says how the constraint was learned and, under `transfer`,
    to which run it was given.
    """
    card: Any = constraint.card
    if config.get("constraint") is not None:
        card = constraint.card.get("transfer", {})
        if not isinstance(card, dict):
            return [f"its card says transfer {card!r:.40}"]
    elif "transfer" in constraint.card:
        return ["its card says that it was transferred, the run learned its own"]
    found = [
        f"its card says {name} {card[name]!r:.40}, config.json {config[name]!r:.40}"
        for name in _COMPARED
        # What one of them does not say is no contradiction: older cards say less.
        if name in card and name in config and card[name] != config[name]
    ]
    # cards of earlier versions have no digest
    if not found and "config" in card and card["config"] != config_digest(config.get("config")):
        found = ["it was made with other settings than config.json holds"]
    return found


def _other_features(constraint: LearnedConstraint, task: Task | None) -> list[str]:
    """Columns that are called otherwise in the task."""
    if task is None:
        return []
    features = constraint.features
    sizes = (features.num_observations, features.num_actions, features.discrete)
    here = (len(task.observation_names), len(task.action_names), task.discrete)
    if sizes != here:
        return [
            f"it judges {sizes[0]} observations and {sizes[1]} actions (discrete: {sizes[2]}), "
            f"{task.name} has "
            f"{here[0]} and {here[1]} (discrete: {here[2]})"
        ]
    names = zip(features.names, features.columns, strict=True)
    return [
        f"its column {column} is {name}, that of {task.name} is {task.feature_names[column]}"
        for name, column in names
        if task.feature_names[column] != name
    ]
