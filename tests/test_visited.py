"""The record of where a run's agents went: bounded, even, exact where it keeps, safe to read."""

import numpy as np
import pytest

from icrl.codec import pack
from icrl.errors import InputError
from icrl.types import Trajectories
from icrl.visited import (
    CHANCE,
    MOST_PAIRS,
    RecorderState,
    VisitRecorder,
    load_visited,
    save_visited,
)


def episodes(n, length, width=3, discrete=False, seed=0):
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, 2, (n, length)) if discrete else rng.normal(size=(n, length, 2))
    lengths = np.full(n, length)
    lengths[-1] = max(1, length - 3)
    return Trajectories(
        observations=rng.normal(size=(n, length, width)),
        actions=actions,
        rewards=rng.normal(size=(n, length)),
        lengths=lengths,
    )


def record(parts, evidence=(0,)):
    recorder = VisitRecorder()
    for number, part in parts:
        recorder.add(part, number, np.full(part.num_trajectories, float(number in evidence)))
    return recorder.visited()


@pytest.mark.parametrize("discrete", [False, True])
def test_a_short_run_is_kept_whole(discrete):
    part = episodes(4, 10, discrete=discrete)
    visited = record([(0, part)])
    assert len(visited.times) == part.num_steps == 37
    np.testing.assert_array_equal(
        visited.observations, part.observations[part.mask].astype(np.float32)
    )
    np.testing.assert_allclose(visited.returns, part.returns)
    again = visited.trajectories(0)
    np.testing.assert_array_equal(again.lengths, part.lengths)
    np.testing.assert_allclose(again.returns, part.returns)
    np.testing.assert_array_equal(
        again.observations[again.mask], part.observations[part.mask].astype(np.float32)
    )


def test_a_long_run_is_thinned_evenly_and_evidence_less_than_the_rest():
    parts = [(CHANCE, episodes(30, 300))] + [(number, episodes(10, 1000)) for number in range(6)]
    visited = record(parts)
    kinds = visited.rounds[visited.episodes]
    counts = {number: int(np.sum(kinds == number)) for number in range(-1, 6)}
    assert counts[CHANCE] <= MOST_PAIRS["chance"]
    assert counts[0] <= MOST_PAIRS["evidence"]
    assert sum(counts[number] for number in range(1, 6)) <= MOST_PAIRS["agents"]
    assert counts[0] > 2 * counts[3]
    # one pair an episode
    assert max(counts[n] for n in range(1, 6)) - min(counts[n] for n in range(1, 6)) <= 10
    assert set(visited.episodes) == set(range(90))
    assert not visited.by_agents[kinds == CHANCE].any()
    assert len(np.unique(visited.times[kinds == CHANCE])) == 300  # every phase occurs


def test_wide_observations_still_fit_into_five_megabytes(tmp_path):
    visited = record([(number, episodes(10, 1000, width=200)) for number in range(4)])
    save_visited(visited, tmp_path / "visited.npz")
    assert (tmp_path / "visited.npz").stat().st_size < 5_000_000
    assert len(visited.times) > 1_000


def test_it_is_read_back_to_the_bit_and_the_same_bytes_are_written(tmp_path):
    visited = record([(0, episodes(3, 20)), (1, episodes(3, 20, seed=1))])
    for name in ("a.npz", "b.npz"):
        save_visited(visited, tmp_path / name)
    again = load_visited(tmp_path / "a.npz")
    for name in (
        "observations",
        "actions",
        "episodes",
        "times",
        "rounds",
        "returns",
        "lengths",
        "evidence",
    ):
        np.testing.assert_array_equal(getattr(again, name), getattr(visited, name))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert again.trajectories(7) is None


def test_damaged_and_foreign_files_are_input_errors(tmp_path):
    visited = record([(0, episodes(3, 20))])
    path = tmp_path / "visited.npz"
    save_visited(visited, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="not a readable npz"):
        load_visited(path)
    np.savez(path, observations=np.zeros((2, 3)))
    with pytest.raises(InputError, match="has no actions, episodes"):
        load_visited(path)
    with pytest.raises(InputError, match="no such file"):
        load_visited(tmp_path / "nothing.npz")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("observations", np.full((57, 3), np.nan, np.float32), "not finite"),
        ("episodes", np.full(57, 9), "0..2"),
        ("times", np.zeros(57), "integers"),
        ("returns", np.zeros(2), "shapes"),
        ("actions", np.zeros(57), "integers"),
        (
            "rounds",
            np.array([0, 2 * 10**9, 0]),
            "rounds reach from 0 to 2000000000, expected -1 to",
        ),
        ("rounds", np.array([0, -5, 0]), "rounds reach from -5"),
        ("lengths", np.array([20, 0, 20]), "lengths reach from 0"),
        ("times", np.full(57, 10**9), "times reach from .* expected 0 to 19"),
        ("actions", np.full(57, -5), "actions reach from -5"),
    ],
)
def test_values_that_make_no_sense_are_refused(tmp_path, name, value, message):
    visited = record([(0, episodes(3, 20))])
    arrays = {n: getattr(visited, n) for n in visited.__dataclass_fields__} | {name: value}
    np.savez(tmp_path / "visited.npz", **arrays)
    with pytest.raises(InputError, match=message):
        load_visited(tmp_path / "visited.npz")


def test_a_recorder_holds_as_many_arrays_after_a_hundred_rounds_as_after_one():
    """What a round leaves between what it gives back makes memory grow
    by several times as much."""
    counts = []
    recorder = VisitRecorder()
    for number in range(100):
        recorder.add(episodes(4, 30, seed=number), number, np.zeros(4))
        counts.append(len(pack(recorder.state(), RecorderState).arrays))
    assert counts == [8] * 100
