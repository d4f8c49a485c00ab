"""`icrl bench page`: copies are runs of their own, what is measured is written beside its budget.

Timings themselves are never asserted.
"""

import json

import pytest

from icrl.cli import main
from icrl.constraint.learned import load_constraint
from icrl.errors import InputError
from icrl.experiment.bench import pages
from icrl.experiment.bench.pages import copy_under_seed, measure_report, stand_ins
from icrl.experiment.run.callbacks import Callback
from icrl.experiment.run.one_run import run_learning
from icrl.report.records import read_groups
from icrl.tasks.lap_grid import lap_grid
from small_runs import lap_demos, tiny_spec


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run"
    run_learning(tiny_spec(), lap_grid(), lap_demos(), path, Callback())
    return path


def test_a_copy_is_a_run_of_its_own_seed(run, tmp_path):
    for seed in (0, 7):
        copy_under_seed(run, tmp_path / f"seed{seed}", seed)
    (group,) = read_groups([tmp_path])
    assert [one.seed for one in group.finished] == [0, 7]
    assert load_constraint(tmp_path / "seed7" / "constraint").card["seed"] == 7
    assert load_constraint(run / "constraint").card["seed"] == 0


def test_each_method_is_made_once_and_copied(run, tmp_path, monkeypatch):
    asked = []

    def make(arguments):
        asked.append(arguments)
        copy_under_seed(run, tmp_path / "made" / arguments[arguments.index("--out") + 1], 0)

    monkeypatch.setattr(pages, "_icrl", make)
    suite, made = stand_ins("lap-grid", 200, 6, tmp_path)
    assert made == len(asked) == 4
    assert len({(a[a.index("--method") + 1], a[a.index("--preset") + 1]) for a in asked}) == 4
    # default on lap-grid: 120,000 / (6,144 + 10 x 200) = 14 rounds, each of 16 x 128 + 2,000 steps
    assert asked[0][asked[0].index("--steps") + 1] == str(14 * (2048 + 2000))
    assert len(list(suite.iterdir())) == 6


def test_a_report_of_given_runs_is_measured_and_kept(run, tmp_path, capsys):
    out = tmp_path / "page.json"
    main(["bench", "page", "lap-grid", "--directories", str(run), "--out", str(out)])
    said = json.loads(out.read_text())
    assert said["directories"] == [str(run)]
    assert said["page_megabytes"] > 0.1
    assert said["cpu_seconds"] > 0
    assert said["budget"] == {"seconds": 20.0, "page_megabytes": 8.0}
    assert "CPU seconds" in capsys.readouterr().out


def test_what_the_report_said_is_said(tmp_path):
    with pytest.raises(InputError, match="holds no runs"):
        measure_report([tmp_path], tmp_path / "report")


def test_no_runs_are_refused():
    with pytest.raises(SystemExit):
        main(["bench", "page", "lap-grid", "--runs", "0"])
