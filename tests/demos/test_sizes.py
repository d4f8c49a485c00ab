"""Sizes are read from headers, and what is too large is refused before it takes memory or time."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from icrl.demos import dataset, reading
from icrl.demos.dataset import Episode, stack_episodes
from icrl.demos.formats import load_demos
from icrl.errors import InputError
from icrl.visited import load_visited


def pack(path: Path, **shapes: tuple[int, ...]) -> Path:
    """An npz of zeros, written piece by piece: neither this test nor the file holds them all."""
    piece = bytes(1 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, shape in shapes.items():
            size = int(np.prod(shape)) * 4
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array_header_1_0(
                    stream, {"descr": "<f4", "fortran_order": False, "shape": shape}
                )
                for start in range(0, size, len(piece)):
                    stream.write(piece[: min(len(piece), size - start)])
    return path


def test_a_small_file_that_inflates_is_refused(tmp_path: Path) -> None:
    path = pack(
        tmp_path / "bomb.npz", observations=(100, 1000, 700), actions=(100, 1000, 1), lengths=(100,)
    )
    assert path.stat().st_size < 1.5e6
    words = (
        r"bomb.npz: has 1.\d+ MB and declares 0.28 GB of arrays: more than 200 times what it holds"
    )
    with pytest.raises(InputError, match=words):
        load_demos(path)


def test_what_packs_well_and_is_small_is_read(tmp_path: Path) -> None:
    path = tmp_path / "zeros.npz"
    np.savez_compressed(
        path,
        observations=np.zeros((2, 9000, 100)),
        actions=np.zeros((2, 9000, 1)),
        lengths=np.array([9000, 1]),
    )
    assert path.stat().st_size * 200 < 2 * 9000 * 100 * 8
    assert load_demos(path).trajectories.num_steps == 9001


def test_a_record_of_visited_states_is_never_large(tmp_path: Path) -> None:
    path = pack(tmp_path / "visited.npz", observations=(1000, 26_000))
    with pytest.raises(
        InputError,
        match=r"visited.npz: declares 0.10 GB of arrays, the most that is read is 0.1 GB",
    ):
        load_visited(path)


def test_padding_that_would_blow_up_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "FREE_BYTES", 1000)
    long = Episode(np.zeros((1000, 1)), np.zeros((1000, 1)), None)
    short = Episode(np.zeros((1, 1)), np.zeros((1, 1)), None)
    with pytest.raises(
        InputError, match=r"padding 1001 episodes to the longest of 1000 steps needs 0.01 GB"
    ):
        stack_episodes([long, *[short] * 1000])
    monkeypatch.setattr(dataset, "FREE_BYTES", 10**9)
    assert stack_episodes([long, *[short] * 1000])[0].num_steps == 2000


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_has_so_many_columns_at_most(tmp_path: Path, suffix: str) -> None:
    names = ["episode", *(f"obs_{i}" for i in range(50_000)), "action"]
    path = tmp_path / f"wide{suffix}"
    if suffix == ".csv":
        path.write_text("\n".join([",".join(names), ",".join(["0"] * len(names))]) + "\n")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({name: [0] for name in names}), path)
    with pytest.raises(
        InputError, match=r"wide.*: has 50,002 columns, the most that is read is 10,000"
    ):
        load_demos(path)


def test_a_csv_as_wide_as_is_read_needs_no_search_per_column(tmp_path: Path) -> None:
    class Header(list):
        """Counts how often it is searched from its beginning."""

        searches = 0

        def index(self, *arguments):
            Header.searches += 1
            return super().index(*arguments)

        def __contains__(self, name):
            Header.searches += 1
            return super().__contains__(name)

    from icrl.demos import formats_table

    names = ["episode", *(f"obs_{i}" for i in range(3000)), "action"]
    header = Header(names)
    mapping = formats_table.infer_mapping(header)
    assert len(formats_table._used(mapping, header)) == len(names)
    assert Header.searches < 10


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"pipe{suffix}")
    with pytest.raises(InputError, match="is a named pipe, expected a file"):
        load_demos(tmp_path / f"pipe{suffix}")
    with pytest.raises(InputError, match="is a named pipe, expected a file"):
        load_demos(tmp_path)


def test_pipes_in_a_run_and_in_a_minari_dataset_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "visited.npz")
    with pytest.raises(InputError, match="named pipe"):
        load_visited(tmp_path / "visited.npz")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "metadata.json").write_text("{}")
    os.mkfifo(tmp_path / "data" / "main_data.hdf5")
    with pytest.raises(InputError, match="named pipe"):
        load_demos(tmp_path)


def test_limits_are_numbers_that_people_can_read() -> None:
    with pytest.raises(
        InputError, match=r"declares 9.00 GB of arrays, the most that is read is 8 GB"
    ):
        reading.require_size(9 * 10**9)
