"""What verbs share: counts that make sense, folders, columns, last words."""

import sys
from pathlib import Path
from typing import get_args

import pytest

from icrl.cli import main
from icrl.errors import InputError
from icrl.experiment.run.loggers import CsvLogger, Guarded, make_logger
from icrl.tasks.lap_grid import lap_grid
from icrl.verbs.inputs import Columns, as_folder, find_demos, find_scenario, require_counts
from icrl.verbs.loggers import LoggerName, open_loggers
from icrl.verbs.one_run import how_far


def test_counts():
    require_counts(0, episodes=1)
    with pytest.raises(InputError, match="seed = -1"):
        require_counts(-1)
    with pytest.raises(InputError, match="episodes = 0"):
        require_counts(0, episodes=0)


def test_a_task_as_a_folder():
    assert as_folder("my_module:make_env") == "my_module-make_env"
    assert as_folder("shapes/disc") == "shapes-disc"


def test_columns_are_told_by_their_names_or_all_of_them_are_said():
    assert Columns().mapping() is None
    said = Columns(observations=("a", "b"), actions=("u",), step="t")
    assert said.mapping().observations == ("a", "b")
    assert said.mapping().step == "t"
    with pytest.raises(InputError, match=r"needs both --columns\.observations and"):
        Columns(observations=("a",)).mapping()


def test_demonstrations_ship_or_must_be_given():
    demos, source = find_demos(None, find_scenario("lap-grid"))
    assert source == "shipped:lap-grid.npz"
    assert demos.has_rewards
    assert find_demos(None, find_scenario("CartPole-v1"), needed=False) == (None, None)
    with pytest.raises(InputError, match="give some with --demos"):
        find_demos(None, find_scenario("CartPole-v1"))


def test_a_logger_is_opened_once_however_often_it_is_named():
    loggers = open_loggers(["csv", "csv"], lap_grid(), None, console=None)
    assert [type(logger) for logger in loggers] == [Guarded]
    assert isinstance(loggers[0].inner, CsvLogger)
    with pytest.raises(InputError, match="did you mean 'csv'"):
        open_loggers(["cvs"], lap_grid(), None, console=None)


def test_help_names_the_loggers_that_there_are():
    with pytest.raises(InputError) as refused:
        make_logger("none such", lambda snapshot: None, print)
    known = str(refused.value)
    assert all(name in known for name in get_args(LoggerName))
    assert known.count(",") == len(get_args(LoggerName)) - 1


def test_an_interrupted_run_says_what_there_is_and_how_to_go_on(tmp_path):
    missing = tmp_path / "never"
    assert how_far(missing, 0, 5) == (
        "interrupted after 0 of 5 rounds. Nothing was written. The same command starts it."
    )
    said = how_far(Path(tmp_path), 2, 5)
    assert f"{tmp_path} holds all of it up to round 2" in said
    assert said.endswith(f"To go on: icrl learn --resume {tmp_path}")
    assert "holds the configuration only" in how_far(tmp_path, 0, 5)


def test_a_sweep_without_its_package_names_the_extra_and_writes_nothing(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "optuna", None)
    (tmp_path / "space.toml").write_text("scouts = {choices = [1, 3]}\n")
    words = ["--space", str(tmp_path / "space.toml"), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit):
        main(["sweep", "lap-grid", *words])
    assert "icrl sweep needs the extra 'sweep'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
