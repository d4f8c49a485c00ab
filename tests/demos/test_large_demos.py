"""Demonstrations as large as the memory: they are held once while they are read and looked at."""

import tracemalloc

import numpy as np
import pytest

from icrl.demos.check import _fingerprints, _num_different, describe
from icrl.demos.formats import load_demos
from icrl.tasks.cheetah import half_cheetah_wall
from icrl.trajectories import real_steps
from icrl.types import Trajectories

EPISODES = 400
STEPS = 500


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """2·10⁵ made-up steps of HalfCheetah, in a file of 20 MB."""
    rng = np.random.default_rng(0)
    shape = (EPISODES, STEPS)
    path = tmp_path_factory.mktemp("large") / "demos.npz"
    np.savez(
        path,
        observations=rng.standard_normal((*shape, 18), np.float32),
        actions=rng.uniform(-1, 1, (*shape, 6)).astype(np.float32),
        rewards=rng.standard_normal(shape, np.float32),
        lengths=np.full(EPISODES, STEPS),
    )
    return path


def test_they_are_held_once(large):
    task = half_cheetah_wall().task
    size = large.stat().st_size
    tracemalloc.start()
    try:
        demos = load_demos(large)
        held, most = tracemalloc.get_traced_memory()
        assert held < 1.05 * size
        assert most < 1.8 * size
        tracemalloc.reset_peak()
        report = describe(demos, task)
        _, most = tracemalloc.get_traced_memory()
        assert most < 2.2 * size
    finally:
        tracemalloc.stop()
    assert (report.episodes, report.steps) == (EPISODES, EPISODES * STEPS)
    assert report.duplicate_rows == 0.0


def test_fingerprints_are_alike_where_pairs_are():
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 3, (5_000, 2)).astype(np.float32)
    done = rng.integers(0, 3, (5_000, 1))
    prints = _fingerprints(seen, done)
    pairs = np.concatenate([seen, done], axis=1)
    assert _num_different(prints) == len(np.unique(pairs, axis=0)) == 27


def test_real_steps_are_copied_only_where_there_is_padding():
    whole = np.arange(12.0).reshape(2, 3, 2)
    trajectories = Trajectories(
        observations=whole, actions=whole, rewards=whole[..., 0], lengths=np.array([3, 3])
    )
    assert np.shares_memory(real_steps(trajectories, whole), whole)
    np.testing.assert_array_equal(real_steps(trajectories, whole), whole.reshape(6, 2))
    padded = Trajectories(
        observations=whole, actions=whole, rewards=whole[..., 0], lengths=np.array([1, 3])
    )
    np.testing.assert_array_equal(real_steps(padded, whole)[:, 0], [0, 6, 8, 10])
