"""`icrl bench checkpoint`: every checkpoint of a run is counted, with its size and its time."""

from icrl.experiment.bench.checkpoint import measure_checkpoints
from icrl.experiment.run import keeping
from icrl.tasks.lap_grid import lap_grid
from small_runs import TINY, lap_demos


def test_checkpoints_are_counted(monkeypatch):
    monkeypatch.setattr(keeping, "_SHARE", 1e9)  # one after every round
    found = measure_checkpoints("lap-grid", lap_grid(), lap_demos(), "shipped:lap-grid.npz", TINY)
    assert found["checkpoints"] == found["rounds"] == 2
    assert found["largest_megabytes"] > 0.01
    assert found["share_of_run"] > 0
