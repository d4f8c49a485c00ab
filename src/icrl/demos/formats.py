"""Reading and writing demonstrations: npz, CSV, Parquet, Minari, or a folder of files."""

import os
from collections.abc import Callable
from pathlib import Path

from icrl.demos.dataset import (
    REWARDS_UNKNOWN,
    Demonstrations,
    Episode,
    default_names,
    stack_episodes,
)
from icrl.demos.formats_minari import find_minari, load_minari, minari_data_folder
from icrl.demos.formats_npz import load_npz, save_npz
from icrl.demos.formats_table import ColumnMapping, load_csv, load_parquet, save_csv, save_parquet
from icrl.errors import InputError
from icrl.files import make_folder, require_regular

__all__ = ["ColumnMapping", "load_demos", "save_demos"]

SUFFIXES = (".npz", ".csv", ".parquet")


def load_demos(
    path_or_id: str | os.PathLike[str], columns: ColumnMapping | None = None
) -> Demonstrations:
    """Demonstrations from a file (npz, CSV, Parquet), a folder of such files,
    or a Minari dataset (folder or id).

    `columns` says which column of a table holds what;
    without it they are told by their names (see `infer_mapping`).
    """
    if columns is not None and not isinstance(columns, ColumnMapping):
        raise InputError(
            f"columns is a {type(columns).__name__}, expected an icrl.ColumnMapping: write "
            "icrl.ColumnMapping(observations=('pos', 'vel'), actions=('push',), episode='run') "
            "with the table's names."
        )
    path = Path(path_or_id)
    if path.is_dir():
        if minari_data_folder(path) is not None:
            return load_minari(path)
        return _load_folder(path, columns)
    # By its suffix, too: of a file that is missing the message should speak, not of a Minari id.
    if path.is_file() or path.suffix in SUFFIXES:
        return _load_file(path, columns)
    return load_minari(find_minari(os.fspath(path_or_id)))


def save_demos(demos: Demonstrations, path: str | os.PathLike[str]) -> None:
    """Write demonstrations; the suffix decides the format:
    .npz (keeps everything), .parquet, .csv (drops the card)."""
    savers: dict[str, Callable[[Demonstrations, Path], None]] = {
        ".npz": save_npz,
        ".csv": save_csv,
        ".parquet": save_parquet,
    }
    path = Path(path)
    if path.suffix not in savers:
        raise InputError(
            f"{path}: the suffix {path.suffix!r} is unknown, expected one of {', '.join(SUFFIXES)}."
        )
    make_folder(path.parent)
    savers[path.suffix](demos, path)


def _load_file(path: Path, columns: ColumnMapping | None) -> Demonstrations:
    if path.suffix not in SUFFIXES:
        raise InputError(
            f"{path}: the suffix {path.suffix!r} is unknown, expected one of "
            f"{', '.join(SUFFIXES)}, a folder of such files, or the folder of a Minari dataset."
        )
    if path.exists():
        require_regular(path)
    if path.suffix == ".npz":
        return load_npz(path)
    if path.suffix == ".csv":
        return load_csv(path, columns)
    return load_parquet(path, columns)


def _load_folder(folder: Path, columns: ColumnMapping | None) -> Demonstrations:
    files = sorted(
        path
        for path in folder.iterdir()
        # Drafts of a write that was killed begin with a dot.
        if path.suffix in SUFFIXES and not path.name.startswith(".")
    )
    if not files:
        inner = sorted(path.name for path in folder.iterdir() if path.is_dir())
        advice = "give the file itself."
        if inner:
            advice = (
                f"sub-folders ({', '.join(inner[:3])}) are not searched: give one of them, or move "
                "the files up."
            )
        raise InputError(
            f"{folder}: holds no {', '.join(SUFFIXES)} file and no Minari dataset: {advice}"
        )
    parts = [_load_file(path, columns) for path in files]
    if len(parts) == 1:
        return parts[0]
    for path, part in zip(files[1:], parts[1:], strict=True):
        _require_same_columns(files[0], parts[0], path, part)
    trajectories, _ = stack_episodes([episode for part in parts for episode in _episodes(part)])
    card = {
        "source": folder.name,
        "files": [path.name for path in files],
        "cards": [part.card for part in parts],
    }
    return Demonstrations(
        trajectories=trajectories,
        discrete=parts[0].discrete,
        card=card if all(part.has_rewards for part in parts) else card | REWARDS_UNKNOWN,
        observation_names=parts[0].observation_names,
        action_names=parts[0].action_names,
    )


def _require_same_columns(
    first: Path, ours: Demonstrations, path: Path, theirs: Demonstrations
) -> None:
    for what, a, b in (
        ("observations", ours.observation_names, theirs.observation_names),
        ("actions", ours.action_names, theirs.action_names),
    ):
        if ours.discrete != theirs.discrete or (
            len(a) != len(b) and not (what == "actions" and ours.discrete)
        ):
            raise InputError(
                f"{first} has {_width(ours)} and {path} has {_width(theirs)}: files of one folder "
                "must agree; keep the recordings of different tasks apart."
            )
        if what == "observations":
            prefix = "obs"
        else:
            prefix = "action"
        # obs_0, obs_1 are no names: they contradict nothing.
        unnamed = default_names(prefix, len(a))
        if a != b and unnamed not in (a, b) and not (what == "actions" and ours.discrete):
            raise InputError(
                f"{first} and {path} name their {what} differently ({a[:4]}, {b[:4]}): use one "
                "order."
            )


def _width(demos: Demonstrations) -> str:
    if demos.discrete:
        kind = "discrete actions"
    else:
        kind = f"{demos.trajectories.actions.shape[2]} action columns"
    return f"{demos.trajectories.observations.shape[2]} observation columns, {kind}"


def _episodes(demos: Demonstrations) -> list[Episode]:
    t = demos.trajectories
    return [
        Episode(
            t.observations[i, :n], t.actions[i, :n], t.rewards[i, :n] if demos.has_rewards else None
        )
        for i, n in enumerate(t.lengths)
    ]
