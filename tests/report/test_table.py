"""The report's table: numbers by hand, refusals, and the files of a whole report."""

import json
import shlex

import pytest
from report_runs import write_run

from icrl.errors import InputError
from icrl.report.page import write_report
from icrl.report.records import read_commands, read_groups
from icrl.report.table import markdown_table, notes


def cells(table):
    """{row name: {header: cell}}"""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()
    ]
    return {row[0]: dict(zip(lines[0], row, strict=True)) for row in lines[2:]}


@pytest.fixture
def runs(tmp_path):
    out = tmp_path / "runs"
    for seed, (value, rate) in enumerate([(54.0, 0.0), (60.0, 0.0), (66.0, 0.03)]):
        write_run(out, "icrl", seed, [0.0, value], [0.4, rate])
    write_run(out, "paper", 0, [0.0, -1.0], [0.4, 0.9])
    write_run(out, "paper", 1, [0.0, 60.0], [0.4, 0.0])
    write_run(out, "paper", 2, [0.0], [0.4], error="FloatingPointError: it broke")
    write_run(out, "nominal", 0, [0.0], [0.4], finished=False, method="nominal")
    (out / "command.txt").write_text("icrl suite lap-grid\n")
    return out


def test_the_table_by_hand(runs):
    groups = read_groups([runs])
    assert [group.label for group in groups] == ["icrl", "paper", "nominal"]
    table = cells(
        markdown_table(
            groups, {"expert": {"true_return": 60.0, "violation_rate": 0.0, "steps": 112_640}}
        )
    )
    ours = table["ICRL (ours)"]
    # mean (54 + 60 + 66) / 3 = 60; squares 36 + 0 + 36 = 72, error sqrt(72 / (3 * 2)) = 3.46
    assert ours["true return (mean ± SE)"] == "60.00 ± 3.46"
    assert ours["ratio to expert"] == "1.000"
    assert (ours["violation rate (mean)"], ours["violation rate (max)"]) == ("0.0100", "0.0300")
    assert (ours["seeds"], ours["failed"], ours["collapsed seeds"]) == ("3", "0", "0")
    assert (ours["steps"], ours["steps/s"]) == ("2,000", "1,000")
    # IQM of 3: (54 / 4 + 60 + 66 / 4) / 1.5 = 60;
    # the extreme resamples are three times the same seed
    assert ours["IQM [95 % CI]"] == "60.00 [54.00, 66.00]"
    paper = table["ICRL (paper's settings)"]
    assert (paper["seeds"], paper["failed"], paper["collapsed seeds"]) == ("2", "1", "1")
    # pairs with ours: -1 loses three times; 60 beats 54, equals 60, loses to 66: 1.5 of 6
    assert paper["P(better than ICRL (ours))"] == "0.25"
    assert table["nominal (no constraint)"]["true return (mean ± SE)"] == "-"
    assert table["*reference: expert*"]["ratio to expert"] == "1.000"


def test_one_seed_has_no_interval(runs):
    table = cells(markdown_table(read_groups([runs / "icrl-seed0"]), {}))
    assert table["ICRL (ours)"]["IQM [95 % CI]"] == "54.00 [one seed]"
    assert table["ICRL (ours)"]["true return (mean ± SE)"] == "54.00"


def test_collapsed_seeds_are_measured_by_the_nominal_agents(tmp_path):
    for seed in range(3):
        write_run(tmp_path, "nominal", seed, [5.0], [0.46], method="nominal")
    write_run(tmp_path, "icrl", 0, [5.0], [0.3])
    write_run(tmp_path, "icrl", 1, [60.0], [0.2])
    table = cells(markdown_table(read_groups([tmp_path]), {}))
    assert table["nominal (no constraint)"]["collapsed seeds"] == "3"
    assert table["ICRL (ours)"]["collapsed seeds"] == "1"
    reference = {"nominal": {"true_return": 5.0, "violation_rate": 0.9, "steps": 1.0}}
    table = cells(markdown_table(read_groups([tmp_path / "icrl-seed0"]), reference))
    assert table["ICRL (ours)"]["collapsed seeds"] == "0"  # 0.3 is less than half of 0.9


def test_a_scripted_reference_has_no_training_steps(runs):
    reference = {"expert": {"true_return": 60.0, "violation_rate": 0.0}}
    table = cells(markdown_table(read_groups([runs / "icrl-seed0"]), reference))
    assert table["*reference: expert*"]["steps"] == "-"


def test_different_lengths_are_named(runs, tmp_path):
    assert "Different lengths" not in notes(read_groups([runs / "icrl-seed0", runs / "icrl-seed1"]))
    write_run(tmp_path, "icrl", 7, [0.0, 1.0, 2.0], [0.0, 0.0, 0.0])
    text = notes(read_groups([runs / "icrl-seed0", runs / "paper-seed0", tmp_path]))
    assert (
        "the runs of ICRL (ours) have different numbers of environment steps (1 of 2,000, 1 of "
        "3,000)"
    ) in text
    assert "ICRL (ours) 3,000, ICRL (paper's settings) 2,000" in text


def test_the_notes_name_what_failed(runs):
    text = notes(read_groups([runs]))
    assert "Failed: paper-seed2: FloatingPointError: it broke" in text
    assert "Not finished: nominal-seed0" in text
    assert "Versions: python 3.11, mujoco 4.0.0." in text


def test_a_report_holds_what_is_worth_committing(runs, tmp_path):
    out = tmp_path / "results"
    written = write_report([runs], out, "icrl report runs --out results")
    assert {path.name for path in written} == {path.name for path in out.iterdir()}
    assert {path.suffix for path in written} == {
        ".json",
        ".txt",
        ".md",
        ".png",
        ".svg",
        ".csv",
        ".html",
    }
    assert len(json.loads((out / "scores.json").read_text())) == 5
    assert (
        out / "command.txt"
    ).read_text() == "icrl suite lap-grid\nicrl report runs --out results\n"
    text = (out / "table.md").read_text()
    assert "the anticlockwise action is forbidden" in text
    assert "| *reference: nominal* |" in text
    assert "icrl suite lap-grid" in text
    for path in written:
        assert path.stat().st_size > 0
        assert path.suffix != ".png" or f"({path.name})" in text


def test_single_runs_can_be_reported(runs):
    (group,) = read_groups([runs / "icrl-seed0", runs / "icrl-seed2"])
    assert [run.seed for run in group.runs] == [0, 2]


def test_runs_are_named_without_a_suite(tmp_path):
    directory = write_run(tmp_path, "icrl", 0, [1.0], [0.0])
    config = json.loads((directory / "config.json").read_text())
    for change, label in (
        ({"label": None}, "icrl"),
        ({"label": None, "preset": "paper"}, "paper"),
        ({"label": None, "method": "nominal", "preset": "paper"}, "nominal (paper)"),
    ):
        (directory / "config.json").write_text(json.dumps(config | change))
        assert read_groups([directory])[0].label == label


def test_what_cannot_be_compared_is_refused(runs, tmp_path):
    write_run(tmp_path / "copy", "icrl", 1, [0.0], [0.0])
    with pytest.raises(InputError, match="are the same run"):
        read_groups([runs, tmp_path / "copy"])
    write_run(tmp_path / "old", "icrl", 9, [0.0], [0.0], mujoco="3.3.0")
    with pytest.raises(InputError, match=r"different versions of MuJoCo \(3.3.0, 4.0.0\)"):
        read_groups([runs, tmp_path / "old"])
    with pytest.raises(InputError, match="no directory was named"):
        read_groups([])
    with pytest.raises(InputError, match="none of the 1 runs"):
        read_groups([runs / "nominal-seed0"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no runs"):
        read_groups([tmp_path / "empty"])
    with pytest.raises(InputError, match="not a directory"):
        read_groups([tmp_path / "missing"])


def test_runs_that_no_suite_made_have_the_command_that_makes_them_again(tmp_path):
    name = "a name; rm -rf"
    directory = write_run(tmp_path / name, "icrl", 3, [0.0], [0.0])
    (line,) = read_commands([tmp_path / name])
    assert shlex.split(line) == ["icrl", "learn", "lap-grid", "--config", str(directory)]
    assert read_commands([directory]) == [line]
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | {"method": "mine:method"}))
    assert read_commands([directory])[0].endswith(" --method mine:method")
    (directory / "config.json").write_text(json.dumps(config | {"constraint": "runs/x"}))
    assert read_commands([directory])[0].startswith(
        "icrl transfer lap-grid --constraint runs/x --method icrl --preset default --seed 3"
    )
