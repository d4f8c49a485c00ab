"""What the page's charts are drawn from, and which animations it has room for."""

import json

import pytest
from report_runs import write_run

from icrl.report.records import read_groups
from icrl.report.task_report import TaskReport
from icrl.report.web import data, run_parts
from icrl.report.web.data import rounded, run_id, task_data
from icrl.report.web.run_parts import Animations


def report_of(out):
    return TaskReport(
        task="lap-grid",
        groups=read_groups([out]),
        scenario=None,
        demos=None,
        references={},
        forbidden={},
        tables=[],
        remarks=[],
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1 / 3, 0.33333), (123456.0, 123460.0), (True, 1.0), ("3", None), (float("nan"), None)],
)
def test_numbers_have_five_digits_and_what_is_none_is_none(value, expected):
    assert rounded(value) == expected


def test_of_a_long_run_some_rounds_are_drawn_and_always_the_last(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "_MOST_POINTS", 3)
    write_run(tmp_path, "icrl", 0, [float(i) for i in range(8)], [0.0] * 8)
    (group,) = task_data(0, report_of(tmp_path))["groups"]
    (run,) = group["runs"]
    # every third of eight rounds (0, 3, 6), and the last
    assert run["steps"] == [1000, 4000, 7000, 8000]
    assert run["values"]["truth/true_return"] == [0.0, 3.0, 6.0, 7.0]


def test_one_seed_has_no_interval_and_an_unfinished_run_no_score(tmp_path):
    write_run(tmp_path, "icrl", 0, [3.0], [0.5])
    write_run(tmp_path, "icrl", 1, [9.0], [0.5], finished=False)
    (group,) = task_data(0, report_of(tmp_path))["groups"]
    assert group["intervals"]["true_return"] == [3.0, None, None]
    assert [run["finished"] for run in group["runs"]] == [True, False]
    assert group["runs"][1]["scores"]["true_return"] is None


def test_runs_are_numbered_over_all_groups(tmp_path):
    for label in ("icrl", "paper"):
        write_run(tmp_path, label, 0, [1.0], [0.0])
    report = report_of(tmp_path)
    runs = [run for group in report.groups for run in group.runs]
    assert [run_id(2, run, report) for run in runs] == ["t2-r0", "t2-r1"]


def test_words_among_the_metrics_are_no_quantity(tmp_path):
    directory = write_run(tmp_path, "icrl", 0, [1.0], [0.0])
    row = json.loads((directory / "metrics.jsonl").read_text())
    (directory / "metrics.jsonl").write_text(json.dumps({**row, "constraint/why": "so"}) + "\n")
    found = task_data(0, report_of(tmp_path))
    assert found["quantities"] == ["truth/true_return", "truth/violation_rate"]


def test_every_method_is_seen_at_work_before_a_second_seed_is(tmp_path, monkeypatch):
    monkeypatch.setattr(run_parts, "_MOST_BYTES", 25)
    runs = []
    for label, seed in (("icrl", 0), ("icrl", 1), ("paper", 0)):
        directory = write_run(tmp_path, label, seed, [1.0], [0.0])
        (directory / "policy.webp").write_bytes(b"0123456789")
    runs = [run for group in read_groups([tmp_path]) for run in group.runs]
    animations = Animations(runs)
    assert {path.name for path in animations.pictures} == {"icrl-seed0", "paper-seed0"}
    assert {path.name for path in animations.left_out} == {"icrl-seed1"}
    said = {run.directory.name: animations.of(run) for run in runs}
    assert "had no room" in said["icrl-seed1"]
    assert 'alt="Animation: the agent of seed 0' in said["paper-seed0"]
