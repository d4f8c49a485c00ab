"""The best settings of a sweep as a file: all that the sweep was told is in it."""

import dataclasses
from types import SimpleNamespace

from icrl.config import LearnConfig
from icrl.demos.formats_table import ColumnMapping
from icrl.experiment.directory.config_file import read_config
from icrl.report.sweep_page import _best_file
from icrl.tasks.options import EnvOptions
from icrl.verbs.learn import parse
from small_runs import tiny_spec


def best_of(tmp_path, **changes):
    sweep = SimpleNamespace(
        spec=tiny_spec(**changes), directory=tmp_path / "sweep", objective="no-truth"
    )
    path = tmp_path / "best.toml"
    path.write_text(_best_file(sweep, dataclasses.replace(LearnConfig(), steps=77_000), 3))
    return path


def test_own_logs_need_not_be_named_again(tmp_path):
    columns = ColumnMapping(observations=("pos", "vel"), actions=("push",), episode="run")
    path = best_of(
        tmp_path,
        task="CartPole-v1",
        demos="logs.csv",
        env=EnvOptions(horizon=50),
        columns=columns,
    )
    args = parse(["CartPole-v1", "--config", str(path)])
    assert (args.demos, args.env.horizon, args.config.steps) == ("logs.csv", 50, 77_000)
    assert args.columns.mapping() == columns


def test_what_nobody_said_is_not_in_it(tmp_path):
    said = read_config(best_of(tmp_path))
    assert said.tables == {}
    assert said.run["demos"] == "shipped:lap-grid.npz"
    assert "trial 3" in (tmp_path / "best.toml").read_text()
