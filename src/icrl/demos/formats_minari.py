"""Minari datasets on disk (HDF5), by id or by path.

Read with h5py alone: no environment is made.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations, Episode, stack_episodes, to_floats
from icrl.demos.reading import reading, require_extra, require_size
from icrl.errors import InputError
from icrl.files import MOST_JSON_BYTES, read_bytes, require_regular
from icrl.types import AnyArray

DATA_FILE = "main_data.hdf5"
CARD_KEYS = (
    "dataset_id",
    "minari_version",
    "algorithm_name",
    "author",
    "code_permalink",
    "description",
    "env_spec",
)


def minari_root() -> Path:
    """Where Minari keeps local datasets: MINARI_DATASETS_PATH,
    or .minari/datasets in the home folder."""
    return Path(os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets")


def find_minari(dataset_id: str) -> Path:
    """Folder of a downloaded dataset."""
    root = minari_root()
    folder = root / dataset_id
    # An id is no path: it must not lead out of the folder of datasets.
    if ".." in dataset_id or minari_data_folder(folder) is None:
        raise InputError(
            f"{dataset_id}: neither a file or folder, nor a Minari dataset in {root}: check the "
            f"spelling, or fetch it with: minari download {dataset_id}"
        )
    return folder


def minari_data_folder(folder: Path) -> Path | None:
    """The folder with the metadata of a Minari dataset (itself or its `data`),
    or None where it is not one."""
    for candidate in (folder, folder / "data"):
        if (candidate / "metadata.json").is_file():
            return candidate
    return None


def load_minari(folder: Path) -> Demonstrations:
    """Read a Minari dataset.

    Its episodes hold T + 1 observations for T actions: the last one is dropped.
    """
    data = minari_data_folder(folder)
    if data is None:
        raise InputError(f"{folder}: not a Minari dataset: it has no metadata.json.")
    with reading(data / "metadata.json", "Minari metadata"):
        metadata = json.loads(read_bytes(data / "metadata.json", MOST_JSON_BYTES))
        if not isinstance(metadata, dict):
            raise InputError(f"holds a JSON {type(metadata).__name__}, expected an object.")
        if metadata.get("data_format", "hdf5") != "hdf5":
            raise InputError(
                f"the dataset is stored as {metadata['data_format']!r:.40}, only hdf5 is read: "
                "write it again with data_format='hdf5'."
            )
    card = {"source": folder.name, "format": "minari"} | {
        key: metadata[key] for key in CARD_KEYS if key in metadata
    }
    return load_hdf5(data / DATA_FILE, card)


def load_hdf5(path: Path, card: dict[str, Any]) -> Demonstrations:
    """Read the groups `episode_0`, `episode_1`, ... of a Minari data file."""
    try:
        import h5py
    except ImportError as error:
        raise require_extra("h5py", "minari", path) from error
    with reading(path, "Minari HDF5"):
        require_regular(path)
    with reading(path, "Minari HDF5"), h5py.File(path, "r") as file:
        numbers = sorted(
            int(match[1]) for key in file if (match := re.fullmatch(r"episode_(\d{1,9})", key))
        )
        if not numbers:
            raise InputError(
                "has no group episode_0, episode_1, ...: it is not a Minari data file."
            )
        names = ("observations", "actions", "rewards")
        parts = [
            {n: file[f"episode_{i}"][n] for n in names if n in file[f"episode_{i}"]}
            for i in numbers
        ]
        for number, part in zip(numbers, parts, strict=True):
            _require_datasets(number, part, h5py.Dataset)
            _require_chunks(number, part, path.stat().st_size)
        require_size(sum(int(dataset.nbytes) for part in parts for dataset in part.values()))
        episodes, discrete = _read_episodes(numbers, parts)
        trajectories, known = stack_episodes(episodes)
        return Demonstrations(
            trajectories=trajectories,
            discrete=discrete,
            card=card if known else card | REWARDS_UNKNOWN,
        )


def _require_datasets(number: int, part: dict[str, Any], dataset: type) -> None:
    for name in ("observations", "actions"):
        if name not in part:
            raise InputError(f"episode_{number} has no {name}.")
    for name, value in part.items():
        if not isinstance(value, dataset):
            raise InputError(
                f"episode_{number}: {name} are a group (a Dict or Tuple space), expected one "
                "array: record with gymnasium's FlattenObservation wrapper."
            )


def _require_chunks(number: int, part: dict[str, Any], file_bytes: int) -> None:
    """Refuse an extent that the file cannot hold: HDF5 would fill it chunk by chunk, for hours."""
    for name, dataset in part.items():
        chunks = 1
        for extent, chunk in zip(dataset.shape, dataset.chunks or dataset.shape, strict=True):
            chunks *= -(-extent // max(chunk, 1))
        if chunks > file_bytes:
            raise InputError(
                f"episode_{number}: {name} declare shape {list(dataset.shape)} in {chunks} pieces, "
                f"the file has {file_bytes} bytes: it is damaged."
            )


def _read_episodes(numbers: list[int], parts: list[dict[str, Any]]) -> tuple[list[Episode], bool]:
    discrete = {part["actions"].ndim == 1 and part["actions"].dtype.kind in "iu" for part in parts}
    if len(discrete) > 1:
        raise InputError(
            "some episodes have discrete actions, some continuous ones: they are of different "
            "tasks."
        )
    episodes = [
        _read_episode(number, part, True in discrete)
        for number, part in zip(numbers, parts, strict=True)
    ]
    return episodes, True in discrete


def _read_episode(number: int, part: dict[str, Any], discrete: bool) -> Episode:
    observations = part["observations"]
    actions = part["actions"]
    # of a Discrete space: one column of states
    numbered = observations.ndim == 1 and observations.dtype.kind in "iu"
    if observations.ndim != 2 and not numbered:
        raise InputError(
            f"episode_{number}: observations have shape {list(observations.shape)}, expected "
            "[steps + 1, columns], or [steps + 1] integers: record with gymnasium's "
            "FlattenObservation wrapper."
        )
    if not discrete and actions.ndim != 2:
        raise InputError(
            f"episode_{number}: actions have shape {list(actions.shape)} and dtype "
            f"{actions.dtype}, expected [steps, columns], or [steps] integers."
        )
    steps = actions.shape[0]
    if observations.shape[0] != steps + 1:
        raise InputError(
            f"episode_{number} has {observations.shape[0]} observations for {steps} actions, "
            f"expected {steps + 1} (the last one follows the last action): it was not recorded by "
            "Minari, or is damaged."
        )
    values: AnyArray = np.asarray(actions[()])
    states = to_floats("observations", np.asarray(observations[()]))[:-1]
    return Episode(
        states[:, None] if numbered else states,
        values.astype(np.int64) if discrete else to_floats("actions", values),
        to_floats("rewards", np.asarray(part["rewards"][()])) if "rewards" in part else None,
    )
