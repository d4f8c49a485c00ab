"""Adding costs to a Minari dataset (extra `minari`):
a copy of it whose infos hold the cost of every step.

Minari's infos have one entry more than there are steps, because reset gives one too. So has the
cost: `cost[0]` belongs to the reset and is 0, and `cost[1:]` stands beside the rewards; exactly
what recording an environment in `CostInInfo` would have given. The copy is made with h5py alone: no
environment is made, and every other byte of data is kept.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.demos.formats_minari import DATA_FILE, find_minari, load_minari, minari_data_folder
from icrl.demos.reading import require_extra
from icrl.errors import InputError
from icrl.files import move_into_place, write_whole
from icrl.interop.judge import Judge, judge_for_spaces
from icrl.types import FloatArray, Trajectories

COST = "cost"
CARD_KEY = "icrl_constraint"
DATASET_ID = re.compile(r"(?:[\w-]+/)*[\w-]+?-v\d+")


class Relabelled(NamedTuple):
    """A dataset with costs, in numbers."""

    folder: Path
    num_episodes: int
    num_steps: int
    mean_cost: float
    """Over all steps."""
    share_infeasible: float
    """Share of the steps that the constraint forbids."""


def relabel_minari(
    source: str | os.PathLike[str],
    constraint: LearnedConstraint,
    dataset_id: str,
    *,
    hard: bool = False,
    feature_names: Sequence[str] | None = None,
    on_episode: Callable[[int, int], None] | None = None,
) -> Relabelled:
    """Write the dataset `dataset_id`: a copy of `source` (an id or a folder) with costs.

    Costs are 1 - ζ(s_t, a_t), or with `hard` 0 and 1. `feature_names` names the dataset's columns
    (observations, and maybe actions), for a constraint that was learned on others; without them
    sizes must agree. `on_episode(done, of)` is told how far it is. The new dataset's metadata hold
    the constraint's card.
    """
    folder = _find(source)
    target = _target(dataset_id)
    demos = load_minari(folder)
    judge = _judge(demos, constraint, feature_names, hard, folder)
    data = minari_data_folder(folder)
    assert data is not None
    # Beside the target, so that to move it is one rename on one file system.
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(data, draft / "data")
        costs = _write_costs(draft / "data" / DATA_FILE, demos.trajectories, judge, on_episode)
        _write_metadata(draft / "data", dataset_id, constraint, hard)
        move_into_place(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)  # gone already when all went well
    infeasible = costs > 0  # hard costs are 0 and 1
    if not hard:
        infeasible = costs > 1.0 - constraint.threshold
    return Relabelled(
        target,
        demos.trajectories.num_trajectories,
        len(costs),
        float(np.mean(costs)),
        float(np.mean(infeasible)),
    )


def _find(source: str | os.PathLike[str]) -> Path:
    """The folder of a dataset, given itself or by id."""
    path = Path(source)
    if path.is_dir():
        return path
    return find_minari(os.fspath(source))


def _target(dataset_id: str) -> Path:
    """Where a new dataset goes."""
    if DATASET_ID.fullmatch(dataset_id) is None:
        raise InputError(f"{dataset_id!r} is not a Minari id: expected name-v0, or group/name-v0.")
    root = Path(os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets")
    target = root / dataset_id
    if target.exists():
        raise InputError(f"{target} exists: give another id, or the next version.")
    return target


def _judge(
    demos: Demonstrations,
    constraint: LearnedConstraint,
    names: Sequence[str] | None,
    hard: bool,
    folder: Path,
) -> Judge:
    """The judge of the dataset's pairs.

    A discrete dataset does not say how many choices there are: the names do.
    """
    width = demos.trajectories.observations.shape[2]
    space: gym.spaces.Box | gym.spaces.Discrete
    if demos.discrete:
        if names is not None and len(names) > width:
            named = len(names) - width
        else:
            named = constraint.features.num_actions
        space = gym.spaces.Discrete(named)
    else:
        space = gym.spaces.Box(-np.inf, np.inf, demos.trajectories.actions.shape[2:])
    observed = gym.spaces.Box(-np.inf, np.inf, (width,))
    return judge_for_spaces(observed, space, constraint, names, hard, f"dataset {folder.name}")


def _write_costs(
    path: Path,
    trajectories: Trajectories,
    judge: Judge,
    on_episode: Callable[[int, int], None] | None,
) -> FloatArray:
    """Add `infos/cost` [T + 1] to each episode of the copy: 0 for the reset, then each pair's.

    All costs, in a row.
    """
    try:
        import h5py
    except ImportError as error:
        raise require_extra("h5py", "minari", path) from error
    found: list[FloatArray] = []
    with h5py.File(path, "r+") as file:
        numbers = sorted(
            int(match[1]) for key in file if (match := re.fullmatch(r"episode_(\d{1,9})", key))
        )
        for i, (number, steps) in enumerate(zip(numbers, trajectories.lengths, strict=True)):
            infos = file[f"episode_{number}"].require_group("infos")
            # Never overwritten: a cost of somebody else's would be lost in a copy that says it is
            # ours.
            if COST in infos:
                raise InputError(
                    f"episode_{number} has infos/{COST} already: relabel the dataset that it was "
                    "made from."
                )
            found.append(
                judge.cost(trajectories.observations[i, :steps], trajectories.actions[i, :steps])
            )
            infos.create_dataset(
                COST, data=np.concatenate([[0.0], found[-1]]), chunks=True, maxshape=(None,)
            )
            if on_episode is not None:
                on_episode(i + 1, len(numbers))
    return np.concatenate(found)


def _write_metadata(data: Path, dataset_id: str, constraint: LearnedConstraint, hard: bool) -> None:
    """The metadata of the original, with the new id, size and the constraint's card."""
    path = data / "metadata.json"
    metadata: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    metadata |= {
        "dataset_id": dataset_id,
        "dataset_size": round(sum(file.stat().st_size for file in data.rglob("*")) / 1e6, 1),
        CARD_KEY: {
            "cost": "0 (feasible) or 1" if hard else "1 - zeta(s_t, a_t)",
            "relabelled_from": metadata.get("dataset_id"),
            "features": list(constraint.features.names),
            "threshold": constraint.threshold,
            "provenance": constraint.card,
        },
    }
    write_whole(path, json.dumps(metadata).encode())
