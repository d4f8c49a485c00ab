"""What is written beside a run, and what is said where it cannot be."""

import io
import json

from rich.console import Console

from icrl.experiment.directory.run_directory import RunDirectory
from icrl.report.cells import Table
from icrl.report.kept import keep_record, print_unfinished, write_run_page
from icrl.report.task_report import NamedTable, TaskReport


def said_by(act):
    text = io.StringIO()
    act(Console(file=text, width=200))
    return text.getvalue()


def test_a_record_is_written_or_it_is_said_why_not(tmp_path):
    assert said_by(lambda c: keep_record(tmp_path / "a.json", {"x": 1}, c)) == ""
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": 1}
    (tmp_path / "file").write_text("")
    said = said_by(lambda c: keep_record(tmp_path / "file" / "a.json", {}, c))
    assert said.startswith("This is shown, but not kept:")


def test_a_run_that_is_not_over_is_called_so_and_gets_no_page(tmp_path):
    said = said_by(lambda c: print_unfinished(RunDirectory(tmp_path), c))
    assert "is not finished (it has no scores.json)" in said.replace("\n", " ")
    assert said_by(lambda c: write_run_page(tmp_path, c)) == ""
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_made_does_not_look_like_a_run_that_failed(tmp_path):
    (tmp_path / "scores.json").write_text("{")
    said = said_by(lambda c: write_run_page(tmp_path, c))
    assert said.startswith("No report.html (")


def test_a_task_without_finished_runs_has_nothing_to_show():
    report = TaskReport(task="lap-grid", groups=[])
    assert not report.finished
    named = NamedTable(name="methods", title="Methods", table=Table(["a"], []))
    assert report.tables == []
    assert named.table.markdown() == "| a |\n| --- |\n"
