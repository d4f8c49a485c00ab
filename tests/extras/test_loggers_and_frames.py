"""The loggers as their own tools read them, and runs as pandas frames."""

import json

import pandas
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from wandb.proto import wandb_internal_pb2

import icrl
from icrl.cli import main
from icrl.errors import InputError
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.words import from_markdown

FLAGS = [
    "--steps=1824",
    "--num-samples=2",
    "--forward.steps=512",
    "--forward.num-envs=4",
    "--episodes=3",
    "--forward.rollout-steps=64",
    "--forward.hidden=16",
    "--scouts=0",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "icrl-0"
    patch = pytest.MonkeyPatch()
    for name in ("WANDB_MODE", "WANDB_API_KEY"):
        patch.delenv(name, raising=False)
    main(
        [
            "learn",
            "lap-grid",
            "--out",
            str(directory),
            *FLAGS,
            "--log",
            "tensorboard",
            "wandb",
            "csv",
        ]
    )
    patch.undo()
    return RunDirectory(directory)


def test_tensorboards_own_reader_finds_every_key(run):
    found = EventAccumulator(
        str(run.path / "tensorboard"), size_guidance={"images": 0, "scalars": 0, "tensors": 0}
    )
    found.Reload()
    metrics = run.metrics()
    for line in metrics:
        for name, value in line.items():
            if isinstance(value, str | list):  # as text, which is Markdown there
                texts = {event.step: event.tensor_proto for event in found.Tensors(name)}
                said = from_markdown(texts[line["steps"]].string_val[0].decode())
                assert said == (value if isinstance(value, str) else json.dumps(value))
                continue
            events = {event.step: event.value for event in found.Scalars(name)}
            assert events[line["steps"]] == pytest.approx(float(value), rel=1e-6)
    assert len(found.Images("constraint/picture")) == len(metrics)
    assert found.Scalars("scores/true_return")[0].value == pytest.approx(
        run.scores()["true_return"]
    )
    config = found.Tensors("config")[0].tensor_proto.string_val[0].decode()
    assert json.loads(config)["config"]["forward"]["rollout_steps"] == 64


def records(path):
    """What a file of Weights & Biases holds: a log in blocks of 32 kB, as LevelDB writes it, after
    a header."""
    data, at, whole = path.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        room = 32_768 - at % 32_768
        if room < 7:
            at += room
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            yield record


def values(items):
    return {(item.key or "/".join(item.nested_key)): json.loads(item.value_json) for item in items}


def test_a_wandb_run_is_complete_offline(run):
    (file,) = (run.path / "wandb").glob("offline-run-*/run-*.wandb")
    found = list(records(file))
    kinds = [record.WhichOneof("record_type") for record in found]
    assert "exit" in kinds
    history = [
        values(r.history.item) for r, kind in zip(found, kinds, strict=True) if kind == "history"
    ]
    assert len(history) == len(run.metrics())
    for items, line in zip(history, run.metrics(), strict=True):
        for name, value in line.items():
            assert items[name] == pytest.approx(value)
        assert items["constraint/picture/_type"] == "image-file"
    summary = {}
    for record, kind in zip(found, kinds, strict=True):
        if kind == "summary":
            summary |= values(record.summary.update)
    assert summary["scores/true_return"] == pytest.approx(run.scores()["true_return"])
    (started,) = (record.run for record, kind in zip(found, kinds, strict=True) if kind == "run")
    assert values(started.config.update)["config"]["forward"]["rollout_steps"] == 64


def test_results_are_a_frame(run):
    frame = icrl.load_results(run.path)
    assert isinstance(frame, pandas.DataFrame)
    (row,) = frame.to_dict("records")
    scores = run.scores()
    assert (row["task"], row["method"], row["seed"], row["finished"]) == (
        "lap-grid",
        "icrl",
        0,
        True,
    )
    assert row["true_return"] == scores["true_return"]
    assert row["constraint/auc"] == scores["constraint"]["auc"]
    assert row["config/forward.rollout_steps"] == 64
    rounds = icrl.load_results(str(run.path), rounds=True)
    assert list(rounds["steps"]) == [line["steps"] for line in run.metrics()]
    assert list(rounds["agent/return"]) == [line["agent/return"] for line in run.metrics()]


def test_without_pandas_the_extra_is_named(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'icrl\[pandas\]'"):
        icrl.load_results(run.path)
