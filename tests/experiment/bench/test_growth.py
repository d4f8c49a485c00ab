"""`icrl bench growth`: sizes that grow, an exponent, a table, a figure. No timing is asserted."""

import json

import numpy as np

from icrl.cli import main
from icrl.demos.formats import load_demos
from icrl.experiment.bench import growth
from icrl.experiment.bench.growth import GROWING, Point, exponent, made_up_file


def test_the_exponent_is_that_of_the_two_largest():
    points = [Point(1, 5.0, 1.0), Point(10, 1.0, 1.0), Point(100, 10.0, 1.0)]
    assert abs(exponent(points) - 1.0) < 1e-9
    assert abs(exponent([Point(10, 2.0, 1.0), Point(20, 8.0, 1.0)]) - 2.0) < 1e-9
    assert np.isnan(exponent(points[:1]))


def test_made_up_demonstrations_are_read_like_others(tmp_path):
    made_up_file(tmp_path / "demos.npz", episodes=2)
    assert load_demos(tmp_path / "demos.npz").trajectories.num_steps == 2000


def test_a_search_over_few_features_and_a_read_are_measured():
    by_name = {one.what: one.measure for one in GROWING}
    assert by_name["features"](2) > 0
    assert by_name["steps of demonstrations"](1000) > 0


def test_the_verb_measures_up_to_a_size_and_writes_numbers_and_a_picture(
    tmp_path, monkeypatch, capsys
):
    asked = []

    def measure_point(what, size):
        asked.append(size)
        return Point(size, 1e-3 * size, 100.0)

    monkeypatch.setattr(growth, "measure_point", measure_point)
    out = tmp_path / "growth.json"
    main(["bench", "growth", "--largest", "10000", "--out", str(out)])
    assert max(asked) == 10_000
    assert len(asked) == 4 + 4 + 2 + 5 + 2
    assert "grows as size^1.00" in capsys.readouterr().out
    assert set(json.loads(out.read_text())["growth"]) == {one.what for one in GROWING}
    assert out.with_suffix(".png").stat().st_size > 1000
