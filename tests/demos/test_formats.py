"""Round trips to the bit through every format, and every error message."""

import builtins
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from icrl.demos import formats_npz, formats_table, reading
from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations, shipped_demos
from icrl.demos.formats import ColumnMapping, load_demos, save_demos
from icrl.errors import InputError
from icrl.files import write_through
from icrl.types import Trajectories


def make_demos(
    discrete: bool = False, dtype: Any = np.float64, rewards: bool = True, width: int = 2
) -> Demonstrations:
    rng = np.random.default_rng(7)
    actions = rng.integers(0, 3, (3, 4)) if discrete else rng.normal(size=(3, 4, 2)).astype(dtype)
    return Demonstrations(
        trajectories=Trajectories(
            observations=(
                rng.normal(size=(3, 4, width)) * 10.0 ** rng.integers(-300, 300, (3, 4, width))
            ).astype(dtype)
            if dtype == np.float64
            else rng.normal(size=(3, 4, width)).astype(dtype),
            actions=actions,
            rewards=rng.normal(size=(3, 4)) if rewards else np.zeros((3, 4)),
            lengths=np.array([4, 1, 3]),
        ),
        discrete=discrete,
        card={"expert": "ünï", "n": [1, 2.5]} | ({} if rewards else REWARDS_UNKNOWN),
        observation_names=("x", *(f"obs_{i}" for i in range(1, width))),
        action_names=("left", "right", "stay") if discrete else ("push", "action_1"),
    )


def assert_same(ours: Demonstrations, theirs: Demonstrations, dtypes: bool = True) -> None:
    for name in ("observations", "actions", "rewards", "lengths"):
        a, b = getattr(ours.trajectories, name), getattr(theirs.trajectories, name)
        assert a.shape == b.shape
        if dtypes:
            assert a.dtype == b.dtype
        assert a.astype(np.float64).tobytes() == b.astype(np.float64).tobytes()
    assert ours.discrete == theirs.discrete
    assert ours.has_rewards == theirs.has_rewards
    assert ours.observation_names == theirs.observation_names


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv"])
@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rewards", [False, True])
def test_round_trip_to_the_bit(
    tmp_path: Path, suffix: str, discrete: bool, dtype: Any, rewards: bool
) -> None:
    demos = make_demos(discrete, dtype, rewards)
    path = tmp_path / "deep" / f"demos{suffix}"
    save_demos(demos, path)
    again = load_demos(path)
    # CSV has no dtypes: float32 comes back as float64 of the same value.
    assert_same(demos, again, dtypes=suffix != ".csv")
    if suffix == ".csv":
        assert again.card == {"source": "demos.csv", "format": "csv"} | (
            {} if rewards else REWARDS_UNKNOWN
        )
    else:
        assert again.card == demos.card
        assert again.action_names == demos.action_names
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".csv"])
def test_the_same_content_gives_the_same_bytes(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    save_demos(make_demos(), first)
    monkeypatch.setattr("time.time", lambda: 2e9)
    save_demos(make_demos(), second)
    assert first.read_bytes() == second.read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "demos.npz"
    path.write_bytes(b"old")

    def fail(stream: Any) -> None:
        stream.write(b"half")
        raise OSError("disk full")

    with pytest.raises(InputError, match="cannot be written: disk full"):
        write_through(path, fail)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["demos.npz"]


def save_plain(path: Path, **changes: Any) -> Path:
    arrays: dict[str, Any] = {
        "observations": np.zeros((2, 3, 2)),
        "actions": np.zeros((2, 3, 1)),
        "lengths": np.array([3, 2]),
    } | changes
    np.savez(
        path,
        allow_pickle=True,
        **{name: value for name, value in arrays.items() if value is not None},
    )
    return path


def test_a_plain_npz_of_others_is_read(tmp_path: Path) -> None:
    demos = load_demos(
        save_plain(tmp_path / "a.npz", observations=np.ones((2, 3, 2), ">f4"), extra=np.zeros(3))
    )
    assert demos.trajectories.observations.dtype == np.dtype("float32")
    assert demos.card == REWARDS_UNKNOWN
    assert not demos.has_rewards
    assert not demos.trajectories.rewards.any()
    choices = load_demos(save_plain(tmp_path / "b.npz", actions=np.ones((2, 3, 1), np.uint8)))
    assert choices.discrete
    assert choices.trajectories.actions.shape == (2, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths": None}, "has no lengths; it holds actions, observations: save observations"),
        (
            {"observations": np.array([{}], dtype=object)},
            "observations holds pickled Python objects, which are never",
        ),
        (
            {"observations": np.full((2, 3, 2), "a")},
            "observations have dtype <U1, expected numbers",
        ),
        (
            {"actions": np.zeros((2, 3))},
            r"actions have shape \[2, 3\], expected \[episodes, steps, columns\]",
        ),
        ({"lengths": np.array([3.0, 2.0])}, "lengths have dtype float64, expected integers"),
        ({"card": np.array("[1]")}, "its card is a JSON list, expected an object"),
        ({"card": np.array("{")}, "not a readable npz file.*JSONDecodeError"),
        (
            {"card": np.array('{"observation_names": 3}')},
            "observation_names in its card is 3, expected a list",
        ),
        ({"observations": np.full((2, 3, 2), np.nan)}, "episode 0, step 0, column 0 is nan"),
    ],
)
def test_bad_npz_files_are_named_with_the_reason(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    path = save_plain(tmp_path / "bad.npz", **changes)
    with pytest.raises(InputError, match=f"bad.npz: .*{message}"):
        load_demos(path)


def test_a_pickle_is_never_run(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(tmp_path / "boom"),))

    path = save_plain(tmp_path / "bomb.npz", actions=np.array([Bomb()], dtype=object))
    with pytest.raises(InputError, match="pickled"):
        load_demos(path)
    assert not (tmp_path / "boom").exists()


def test_declared_sizes_are_checked_before_anything_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_BYTES", 400)
    monkeypatch.setattr(formats_npz, "MAX_BYTES", 400)
    monkeypatch.setattr(formats_table, "MOST_CSV_BYTES", 400)
    for suffix in (".npz", ".csv", ".parquet"):
        save_demos(make_demos(width=20), tmp_path / f"big{suffix}")
        with pytest.raises(InputError, match=rf"big{suffix}: declares .* GB of arrays"):
            load_demos(tmp_path / f"big{suffix}")


def test_a_header_that_promises_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "liar.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999, 999999, 9), }"
    header += b" " * (117 - len(header)) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("observations.npy", b"\x93NUMPY\x01\x00\x76\x00" + header + bytes(16))
    with pytest.raises(
        InputError, match=r"observations declares shape \[999999, 999999, 9\] .* but holds 16 bytes"
    ):
        load_demos(path)


def test_a_card_that_is_not_json_is_refused(tmp_path: Path) -> None:
    demos = Demonstrations(
        trajectories=make_demos().trajectories, discrete=False, card={"who": object()}
    )
    with pytest.raises(InputError, match="the card cannot be JSON"):
        save_demos(demos, tmp_path / "a.npz")


def test_unknown_suffixes_and_missing_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "none"))
    (tmp_path / "a.pkl").write_bytes(b"x")
    with pytest.raises(InputError, match=r"suffix '\.pkl' is unknown, expected one of \.npz"):
        load_demos(tmp_path / "a.pkl")
    with pytest.raises(InputError, match=r"suffix '\.txt' is unknown"):
        save_demos(make_demos(), tmp_path / "a.txt")
    for suffix in (".npz", ".csv", ".parquet"):
        with pytest.raises(InputError, match=f"gone{suffix}: no such file: check the spelling"):
            load_demos(tmp_path / f"gone{suffix}")
    with pytest.raises(
        InputError,
        match=r"neither a file or folder, nor a Minari dataset.*minari download door/human-v1",
    ):
        load_demos("door/human-v1")
    assert not (tmp_path / "none").exists()


TABLE = "episode,step,obs_10,obs_2,action,reward\nb,1,4.0,3.0,1,0.5\na,7,6,5,0,0\nb,0,2,1,1,1e-3\n"


def test_csv_rows_are_grouped_ordered_and_columns_sorted_by_number(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("\ufeff" + TABLE + "\n", encoding="utf-8")
    demos = load_demos(path)
    assert demos.observation_names == ("obs_2", "obs_10")
    np.testing.assert_array_equal(demos.trajectories.lengths, [2, 1])
    np.testing.assert_array_equal(
        demos.trajectories.observations, [[[1, 2], [3, 4]], [[5, 6], [0, 0]]]
    )
    np.testing.assert_array_equal(demos.trajectories.actions, [[1, 1], [0, 0]])
    np.testing.assert_array_equal(demos.trajectories.rewards, [[1e-3, 0.5], [0, 0]])
    assert demos.discrete


def test_a_mapping_says_which_column_is_which(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("t,px,py,throttle,note\n0,1,2,0.5,hello\n1,3,4,-0.5,world\n")
    mapping = ColumnMapping(
        observations=("py", "px"), actions=("throttle",), episode=None, step="t"
    )
    demos = load_demos(path, columns=mapping)
    np.testing.assert_array_equal(demos.trajectories.observations, [[[2, 1], [4, 3]]])
    assert demos.action_names == ("throttle",)
    assert not demos.has_rewards
    with pytest.raises(InputError, match=r"log.csv: unknown column 'pz': did you mean"):
        load_demos(
            path, columns=ColumnMapping(observations=("pz",), actions=("throttle",), episode=None)
        )
    with pytest.raises(InputError, match="names no observations or no actions"):
        load_demos(
            path, columns=ColumnMapping(observations=(), actions=("throttle",), episode=None)
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("obs_0,action\n1,2\n", r"no column is called episode; the columns are obs_0, action"),
        ("episode,action\n1,2\n", r"no column is called obs_\*"),
        ("episode,obs_0\n1,2\n", r"no column is called action\*"),
        ("episode,obs_0,obs_0,action\n1,2,3,4\n", "two columns are called 'obs_0'"),
        ("episode,obs_0,action\n", "there are 0 episodes"),
        ("episode,obs_0,action\n0,1,2\n0,1\n", "line 3 has 2 fields, the header 3"),
        (
            "episode,obs_0,action\n0,1,2\n0,x,2\n",
            "line 3, column obs_0 holds 'x', expected a number",
        ),
        ("episode,obs_0,action\n0,1_0,2\n", "line 2, column obs_0 holds '1_0'"),
        ("episode,obs_0,action\n0,nan,2\n", r"episode 0, step 0, column 0 \(obs_0\) is nan"),
        (TABLE.replace("b,1", "b,2"), "episode b goes from step 0 to step 2, expected 1"),
        (TABLE.replace("a,7", "a,7.5"), "the step column has dtype float64, expected integers"),
        ('episode,obs_0,action\n0,"1,2', "not a readable CSV file"),
        (
            "run,obs_0,action\n0,1,2\n",
            r"no column is called episode; .*--columns\.episode run --columns\.observations",
        ),
        (
            "Episode,obs_0,action\n0,1,2\n",
            r"no column is called episode \('Episode' differs only in case or spaces\)",
        ),
        (
            "episode,OBS_0,action\n0,1,2\n",
            r"no column is called obs_\* \('OBS_0' differs only in case",
        ),
        (
            "episode, obs_0, action\n0,1,2\n",
            r"no column is called obs_\* \(' obs_0' differs only in case or spaces",
        ),
        (
            "episode;obs_0;action\n0;1,5;2\n",
            r"separated by semicolons \('episode;obs_0;action'\), expected commas",
        ),
        ("episode\tobs_0\taction\n0\t1\t2\n", "separated by tabs"),
        (
            "\n\n",
            "the file is empty, or its first line is: expected a header such as episode,obs_0",
        ),
        # The header is line 1, line 3 is empty: the third row is line 5.
        (
            "episode,obs_0,action\n0,1,2\n\n0,2,2\n0,x,2\n",
            "line 5, column obs_0 holds 'x', expected a number",
        ),
    ],
)
def test_bad_csv_files_are_named_with_the_reason(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=f"bad.csv: .*{message}"):
        load_demos(path)


def test_parquet_of_others(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(
        pa.table({"episode": ["a", "a"], "obs_0": [1.5, 2.5], "action_0": [0.5, 0.25]}), path
    )
    demos = load_demos(path)
    np.testing.assert_array_equal(demos.trajectories.observations[0, :, 0], [1.5, 2.5])
    assert demos.card == {"source": "log.parquet", "format": "parquet"} | REWARDS_UNKNOWN
    pq.write_table(
        pa.table({"episode": [1, None], "obs_0": [1.5, 2.5], "action_0": [0.5, 0.25]}), path
    )
    with pytest.raises(InputError, match="column episode has empty cells"):
        load_demos(path)
    pq.write_table(
        pa.table({"episode": [1, 1], "obs_0": [1.5, None], "action_0": [0.5, 0.25]}), path
    )
    with pytest.raises(InputError, match=r"episode 0, step 1, column 0 \(obs_0\) is nan"):
        load_demos(path)
    pq.write_table(pa.table({"episode": [1], "obs_0": [[1.5]], "action_0": [0.5]}), path)
    with pytest.raises(InputError, match="values of obs_0 have dtype object, expected numbers"):
        load_demos(path)


@pytest.mark.parametrize(
    ("module", "extra", "name"), [("pyarrow", "tables", "a.parquet"), ("h5py", "minari", "data")]
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, extra: str, name: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "metadata.json").write_text("{}")
    original = builtins.__import__

    def without(target: str, *rest: Any) -> Any:
        if target.partition(".")[0] == module:
            raise ImportError(target)
        return original(target, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        InputError, match=rf"needs {module}, an extra: pip install 'icrl\[{extra}\]'"
    ):
        load_demos(tmp_path / name)
    if module == "pyarrow":
        with pytest.raises(InputError, match=r"icrl\[tables\]"):
            save_demos(make_demos(), tmp_path / name)


def test_a_folder_of_files_is_one_set(tmp_path: Path) -> None:
    demos = make_demos()
    for name in ("a.npz", "b.csv", "c.parquet"):
        save_demos(demos, tmp_path / name)
    (tmp_path / "notes.txt").write_text("ignored")
    together = load_demos(tmp_path)
    assert together.trajectories.num_trajectories == 9
    assert together.card["files"] == ["a.npz", "b.csv", "c.parquet"]
    assert together.has_rewards
    for i in range(3):
        part = together.trajectories.observations[3 * i : 3 * i + 3]
        assert part.tobytes() == demos.trajectories.observations.tobytes()
    save_demos(make_demos(rewards=False), tmp_path / "d.npz")
    assert not load_demos(tmp_path).has_rewards


def test_folders_that_do_not_agree_name_the_files(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"holds no \.npz, \.csv, \.parquet file .*: give the file itself"
    ):
        load_demos(tmp_path)
    (tmp_path / "monday").mkdir()
    with pytest.raises(
        InputError, match=r"holds no .* sub-folders \(monday\) are not searched: give one of them"
    ):
        load_demos(tmp_path)
    save_demos(make_demos(), tmp_path / "a.npz")
    save_demos(make_demos(width=3), tmp_path / "b.csv")
    with pytest.raises(
        InputError,
        match=r"a.npz has 2 observation columns, 2 action .*b.csv has 3 observation columns",
    ):
        load_demos(tmp_path)
    save_demos(make_demos(discrete=True), tmp_path / "b.csv")
    with pytest.raises(
        InputError, match=r"a.npz has .* 2 action columns and .*b.csv has .* discrete actions"
    ):
        load_demos(tmp_path)
    other = make_demos()
    renamed = Demonstrations(
        trajectories=other.trajectories, discrete=False, observation_names=("obs_1", "x")
    )
    save_demos(renamed, tmp_path / "b.csv")
    with pytest.raises(InputError, match="name their observations differently"):
        load_demos(tmp_path)


def test_every_shipped_file_loads() -> None:
    folder = Path(shipped_demos.__code__.co_filename).parent / "data"
    for path in folder.glob("*.npz"):
        assert shipped_demos(path.name) == path
        assert load_demos(path).card
    assert folder.parent.name == "demos"
