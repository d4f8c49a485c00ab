"""`icrl bench run`: phases add up to the whole, shares are of the physics alone.

Timings themselves are never asserted.
"""

import json
import os

import pytest

from icrl.cli import main
from icrl.errors import InputError
from icrl.experiment.bench import whole_run
from icrl.experiment.bench.meters import Setting, has_physics, make_meter
from icrl.experiment.bench.whole_run import Alone, WholeRun, WholeRuns, cold_cache, measure_runs
from icrl.spans import PHASES
from icrl.verbs.bench import learn_in_this_process
from small_runs import ROUND, TINY_FLAGS


def fails(arguments):
    raise SystemExit(3)


def phases(**seconds):
    return {**dict.fromkeys(PHASES, 0.0), **seconds}


MEASURED = WholeRuns(
    runs=[
        WholeRun(1000, 10.0, 5.0, phases(physics=6.0, update=4.0)),
        WholeRun(1000, 20.0, 15.0, phases(physics=8.0, update=12.0)),
    ],
    before=Alone(200.0, 400.0),
    after=Alone(400.0, 100.0),
)


def test_shares_are_of_the_physics_before_and_after():
    # 1000/10 + 1000/20 = 150 steps/s, beside (200 + 400)/2 = 300
    assert MEASURED.share == 0.5
    # 2000 steps in 20 CPU seconds = 100, beside (400 + 100)/2 = 250
    assert MEASURED.share_by_cpu == 0.4
    assert MEASURED.phases == phases(physics=7.0, update=8.0)


def test_the_verb_shows_a_table_and_writes_numbers_and_a_picture(tmp_path, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(
        whole_run, "measure_runs", lambda *given: asked.append(given[1:]) or MEASURED
    )
    out = tmp_path / "run.json"
    words = ["--steps", "2000", "--processes", "2", "--seconds", "1", "--out", str(out)]
    main(["bench", "run", "lap-grid", *words])
    assert asked == [("lap-grid", ["--steps", "2000"], 2, 1, 1.0)]
    said = capsys.readouterr().out
    assert "46.7%" in said  # physics: 7 of 15 seconds
    assert "0.50 of the speed of the physics alone" in said
    content = json.loads(out.read_text())
    assert content["share_of_physics_alone"] == 0.5
    assert content["seconds_by_phase"]["update"] == 8.0
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_a_whole_run_is_measured_and_its_phases_add_up():
    words = [*TINY_FLAGS, "--steps", str(2 * ROUND)]
    measured = measure_runs(learn_in_this_process, "lap-grid", words, 1, 1, 0.01)
    (run,) = measured.runs
    assert run.steps == 2 * ROUND
    assert sum(run.phases.values()) == pytest.approx(run.wall)
    for name in ("import", "compile", "physics", "update", "zeta", "sampling", "pictures"):
        assert run.phases[name] > 0, name
    assert measured.before.steps_per_second > 0


def test_a_run_that_dies_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"without an answer \(exit code 3\)"):
        whole_run._runs(fails, "lap-grid", [], tmp_path, 1, 1)


def test_a_cold_cache_is_gone_afterwards(monkeypatch):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
    with cold_cache():
        folder = os.environ["JAX_COMPILATION_CACHE_DIR"]
        assert os.listdir(folder) == []
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "mine"
    assert not os.path.exists(folder)


def test_worlds_without_mujoco_are_stepped_by_themselves():
    assert has_physics("half-cheetah-wall")
    assert not has_physics("lap-grid")
    meter = make_meter("world", Setting(task="lap-grid", num_envs=4, rows=1600))
    assert meter() == 1600  # 400 steps of 4 environments: over the horizon of 200 twice


@pytest.mark.parametrize("flag", ["--processes", "--threads"])
def test_numbers_below_one_are_refused(flag, capsys):
    with pytest.raises(SystemExit):
        main(["bench", "run", "lap-grid", flag, "0"])
    assert f"{flag} must be an integer >= 1, got 0" in capsys.readouterr().err
