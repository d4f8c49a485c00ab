"""Callbacks see four moments of a run, may stop it, and loggers that break do not break it."""

import csv
import json
from types import SimpleNamespace

import pytest

from icrl.api.running import run
from icrl.errors import InputError
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.run.callbacks import Callback, Callbacks, StopRun
from icrl.experiment.run.loggers import CsvLogger, Guarded, TensorBoardLogger, make_logger
from icrl.experiment.run.one_run import run_learning
from icrl.tasks.lap_grid import lap_grid
from icrl.words import from_markdown
from small_runs import TINY, lap_demos, tiny_spec


class Remembers(Callback):
    def __init__(self):
        self.moments = []

    def on_start(self, started):
        assert (started.directory / "config.json").exists()
        self.moments.append(("start", started.config["task"], started.rounds))

    def on_update(self, progress):
        self.moments.append(("update", progress.steps))

    def on_round(self, snapshot, metrics):
        self.moments.append(("round", snapshot.number, metrics["round"]))

    def on_end(self, scores, details):
        self.moments.append(("end", scores.seed, details["episodes"]))


class StopsAt(Callback):
    def __init__(self, number):
        self.number = number

    def on_round(self, snapshot, metrics):
        if snapshot.number == self.number:
            raise StopRun


class Breaks(Callback):
    def on_round(self, snapshot, metrics):
        raise OSError("no space left on device")


def learn(directory, *callbacks):
    return run_learning(tiny_spec(), lap_grid(), lap_demos(), directory, Callbacks(callbacks))


def test_four_moments_in_their_order(tmp_path):
    seen, too = Remembers(), Remembers()
    learn(tmp_path / "run", seen, too)
    kinds = [moment[0] for moment in seen.moments]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    assert seen.moments[0] == ("start", "lap-grid", 2)
    assert [moment for moment in seen.moments if moment[0] == "round"] == [
        ("round", 0, 0),
        ("round", 1, 1),
    ]
    steps = [moment[1] for moment in seen.moments if moment[0] == "update"]
    assert steps[0] == 0
    assert steps == sorted(steps)
    assert too.moments == seen.moments


def test_a_run_that_is_stopped_is_scored_as_if_its_last_round_had_been_the_last(tmp_path):
    scores, last = learn(tmp_path / "run", StopsAt(0))
    directory = RunDirectory(tmp_path / "run")
    assert len(directory.metrics()) == 1
    assert (last.number, scores.steps) == (0, directory.metrics()[0]["steps"])
    assert directory.finished


def test_a_run_stopped_before_its_first_round_has_nothing_to_score(tmp_path):
    class AtOnce(Callback):
        def on_update(self, progress):
            if progress.steps:
                raise StopRun

    with pytest.raises(InputError, match="before its first round"):
        learn(tmp_path / "run", AtOnce())


def test_what_a_logger_breaks_is_said_once_and_the_run_goes_on(tmp_path):
    said = []
    learn(tmp_path / "run", Guarded("mine", Breaks(), said.append))
    assert said == ["--log mine failed and is off from here on (OSError: no space left on device)."]
    assert RunDirectory(tmp_path / "run").finished


def test_a_callback_of_ones_own_that_breaks_is_not_hidden(tmp_path):
    with pytest.raises(OSError, match="no space left"):
        learn(tmp_path / "run", Breaks())


def test_the_csv_has_every_number_of_the_log(tmp_path):
    learn(tmp_path / "run", CsvLogger())
    with (tmp_path / "run" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    logged = RunDirectory(tmp_path / "run").metrics()
    assert len(rows) == len(logged) == 2
    for row, line in zip(rows, logged, strict=True):
        assert list(row) == list(line)
        for name, value in line.items():
            assert row[name] == ("" if value is None else str(value))


def test_numbers_that_come_later_are_a_column_of_all_rows(tmp_path):
    logger = CsvLogger()
    logger.path = tmp_path / "metrics.csv"
    logger.on_round(None, {"a": 1})
    logger.on_round(None, {"a": 2, "b": 3})
    assert logger.path.read_text() == "a,b\n1,\n2,3\n"


def test_a_logger_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(InputError, match="unknown logger 'tensorbord': did you mean 'tensorboard'"):
        make_logger("tensorbord", lambda snapshot: None, print)


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_a_missing_package_names_its_extra(name, monkeypatch):
    for module in ("wandb", "tensorboard", "tensorboard.compat", "tensorboard.compat.proto"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(InputError, match=rf"--log {name} needs the extra '{name}'"):
        make_logger(name, lambda snapshot: None, print)


def test_in_python_a_run_returns_what_it_made(tmp_path):
    seen = Remembers()
    result = run("lap-grid", tmp_path / "run", config=TINY, seed=3, episodes=3, callbacks=[seen])
    assert seen.moments[-1] == ("end", 3, 3)
    assert result.scores.seed == 3
    assert result.details == json.loads((tmp_path / "run" / "scores.json").read_text())
    assert [line["round"] for line in result.metrics] == [0, 1]
    assert result.constraint is not None
    assert 0 < result.constraint.feasibility([[0.0]], [1])[0] < 1
    nominal = run("lap-grid", tmp_path / "nominal", method="nominal", config=TINY, episodes=3)
    assert nominal.constraint is None


def test_tensorboard_gets_words_and_lists_as_text():
    """Its package is an extra: here its messages are dictionaries (tests/extras reads files)."""
    proto = SimpleNamespace(
        Event=dict,
        TensorProto=dict,
        Summary=type("Summary", (dict,), {"Value": dict}),
        SummaryMetadata=type("SummaryMetadata", (dict,), {"PluginData": dict}),
    )
    logger = object.__new__(TensorBoardLogger)
    logger.protos = (proto, proto, proto)
    logger.picture = lambda snapshot: None
    events = []
    logger.writer = SimpleNamespace(add_event=events.append, flush=lambda: None)
    metrics = {"a": 1.5, "why": "a rule over <x>", "rivals": [["x", 0.9]], "nothing": None}
    logger.on_round(SimpleNamespace(steps=70), metrics)
    (event,) = events
    found = {value["tag"]: value for value in event["summary"]["value"]}
    assert event["step"] == 70
    assert set(found) == {"a", "why", "rivals"}
    assert found["a"]["simple_value"] == 1.5
    (text,) = found["why"]["tensor"]["string_val"]
    assert text == b"a rule over &lt;x&gt;"
    (text,) = found["rivals"]["tensor"]["string_val"]
    assert from_markdown(text.decode()) == '[["x", 0.9]]'
