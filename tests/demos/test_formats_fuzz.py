"""Damaged files: each ends in `InputError` or in valid, finite demonstrations,
and in nothing else."""

import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from damage import cut, flip, splice
from icrl.demos.dataset import Demonstrations
from icrl.demos.formats import load_demos, save_demos
from icrl.demos.validate import validate_demos
from icrl.errors import InputError
from icrl.types import Trajectories

FORMATS = ("a.npz", "a.csv", "a.parquet", "set/main_data.hdf5")


def make_demos() -> Demonstrations:
    rng = np.random.default_rng(5)
    return Demonstrations(
        trajectories=Trajectories(
            observations=rng.normal(size=(3, 6, 2)),
            actions=rng.normal(size=(3, 6, 2)),
            rewards=rng.normal(size=(3, 6)),
            lengths=np.array([6, 2, 5]),
        ),
        discrete=False,
        card={"expert": "somebody"},
    )


def write_good(root: Path, demos: Demonstrations) -> dict[str, bytes]:
    (root / "set").mkdir(parents=True)
    (root / "set" / "metadata.json").write_text('{"data_format": "hdf5"}')
    for name in FORMATS[:3]:
        save_demos(demos, root / name)
    t = demos.trajectories
    with h5py.File(root / FORMATS[3], "w") as file:
        for i, n in enumerate(t.lengths):
            group = file.create_group(f"episode_{i}")
            parts = {
                "observations": np.concatenate([t.observations[i, :n], np.zeros((1, 2))]),
                "actions": t.actions[i, :n],
                "rewards": t.rewards[i, :n],
            }
            for key, value in parts.items():
                # Chunked and resizable, as Minari writes them.
                group.create_dataset(
                    key, data=value, chunks=True, maxshape=(None, *value.shape[1:])
                )
    return {name: (root / name).read_bytes() for name in FORMATS}


def overwrite_number(rng: random.Random, good: bytes) -> bytes:
    data = bytearray(good)
    number = struct.pack("<q", rng.choice((-1, 0, 2**31, 2**62, 10**10, rng.getrandbits(60))))
    at = rng.randrange(max(1, len(data) - 8))
    data[at : at + 8] = number
    return bytes(data)


def foreign(rng: random.Random, good: bytes) -> bytes:
    magics = (
        b"",
        b"PK\x03\x04",
        b"PAR1",
        b"\x89HDF\r\n\x1a\n",
        b"\x93NUMPY",
        b"\x80\x04",
        b"episode,obs_0,action\n",
        b"{}",
    )
    return rng.choice(magics) + rng.choice((b"", rng.randbytes(200), good[100:], b"1,2,3\n" * 9))


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    cut,
    flip,
    splice,
    overwrite_number,
    foreign,
)


def write_wrong_shapes(rng: random.Random, root: Path, name: str) -> None:
    """Well-formed files whose arrays do not belong together."""

    def shape(rank: int) -> tuple[int, ...]:
        return tuple(rng.choice((0, 1, 2, 3, 6)) for _ in range(rank))

    numbers = np.random.default_rng(rng.getrandbits(32))
    dtype = rng.choice(("f8", "f4", "f2", "i8", "u1", "?", "c16", "U3", ">f8"))
    arrays = {
        key: numbers.normal(size=shape(rng.choice((0, 1, 2, 3, 4)))).astype(
            dtype if rng.random() < 0.5 else "f8"
        )
        for key in ("observations", "actions", "rewards", "lengths")
    }
    if rng.random() < 0.7:
        arrays["lengths"] = numbers.integers(-1, 7, rng.choice((1, 2, 3)))
    if name.endswith("npz"):
        np.savez(root / name, allow_pickle=False, **arrays)
    elif name.endswith("hdf5"):
        with h5py.File(root / name, "w") as file:
            for key, value in arrays.items():
                file[f"episode_{rng.randrange(2)}/{key}"] = (
                    value.astype("S3") if value.dtype.kind == "U" else value
                )
    else:
        rows = rng.randrange(4)
        header = [
            rng.choice(("episode", "step", "obs_0", "obs[x]", "action", "action_1", "reward", ""))
            for _ in range(5)
        ]
        cells = [
            [rng.choice((0, 1, 2, 0.5, float("nan"), -1)) for _ in header] for _ in range(rows)
        ]
        if name.endswith("csv"):
            lines = [header, *([str(cell) for cell in line] for line in cells)]
            (root / name).write_text("\n".join(",".join(line) for line in lines))
        else:
            columns = [pa.array([float(line[i]) for line in cells]) for i in range(len(header))]
            pq.write_table(pa.Table.from_arrays(columns, names=header), root / name)


def run(tmp_path: Path, count: int, seed: int) -> dict[str, int]:
    rng = random.Random(seed)
    demos = make_demos()
    goods = write_good(tmp_path, demos)
    outcomes = {"refused": 0, "loaded": 0}
    for index in range(count):
        name = FORMATS[index % len(FORMATS)]
        choice = rng.randrange(len(DAMAGES) + 1)
        if choice == len(DAMAGES):
            write_wrong_shapes(rng, tmp_path, name)
        else:
            (tmp_path / name).write_bytes(DAMAGES[choice](rng, goods[name]))
        path = tmp_path / name
        try:
            loaded = load_demos(path.parent if name.endswith("hdf5") else path)
        except InputError as error:
            if path.name not in str(error):
                raise AssertionError(
                    f"file {index} ({name}): the message does not name the file"
                ) from error
            outcomes["refused"] += 1
            continue
        except Exception as error:
            raise AssertionError(
                f"file {index} of seed {seed} ({name}, damage {choice}) raised {error!r}"
            ) from error
        validate_demos(
            loaded.trajectories, loaded.discrete, loaded.observation_names, loaded.action_names
        )
        assert np.isfinite(loaded.trajectories.observations).all()
        # The checksums of a zip file vouch for every array:
        # what loads after damage is what was saved.
        if name.endswith("npz") and choice < len(DAMAGES):
            for key in ("observations", "actions", "lengths"):
                assert (
                    getattr(loaded.trajectories, key).tobytes()
                    == getattr(demos.trajectories, key).tobytes()
                )
        outcomes["loaded"] += 1
    return outcomes


def test_the_undamaged_files_load(tmp_path: Path) -> None:
    demos = make_demos()
    write_good(tmp_path, demos)
    for name in FORMATS:
        loaded = load_demos((tmp_path / name).parent if name.endswith("hdf5") else tmp_path / name)
        assert (
            loaded.trajectories.observations.tobytes() == demos.trajectories.observations.tobytes()
        )
    assert zipfile.is_zipfile(tmp_path / "a.npz")


def test_300_damaged_files(tmp_path: Path) -> None:
    outcomes = run(tmp_path, 300, seed=0)
    assert outcomes["refused"] >= 200
    assert outcomes["loaded"] >= 10


@pytest.mark.slow
def test_2000_damaged_files(tmp_path: Path) -> None:
    outcomes = run(tmp_path, 2000, seed=1)
    assert outcomes["refused"] + outcomes["loaded"] == 2000
    assert outcomes["refused"] >= 1300
