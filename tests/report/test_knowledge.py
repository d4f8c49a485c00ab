"""What each seed knows of the constraint: judged on the same pairs, on a grid of x, by hand."""

import json

import numpy as np
import pytest

from icrl.report.knowledge import (
    common_pairs,
    judge_all,
    knowledge_note,
    knowledge_table,
    seeds_table,
)
from icrl.report.records import read_groups
from icrl.tasks.registry import make_scenario
from walls import wall_run

TASK = "half-cheetah-wall"


def rows(table):
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()
    ]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]


@pytest.fixture
def runs(tmp_path):
    """Seed 0 puts the wall of -3 at -2.9, seed 1 at -8."""
    for seed, at in enumerate((-2.9, -8.0)):
        directory = tmp_path / f"icrl-seed{seed}"
        directory.mkdir()
        wall_run(TASK, directory, at=at, noise=0.0, steepness=20.0)
        config = json.loads((directory / "config.json").read_text())
        (directory / "config.json").write_text(json.dumps(config | {"seed": seed, "label": "icrl"}))
        (directory / "metrics.jsonl").write_text("")
        scores = {
            "scenario": TASK,
            "method": "icrl",
            "seed": seed,
            "steps": 10,
            "true_return": 4000.0,
            "violation_rate": 0.0,
            "expert_return": 5000.0,
            "seconds": 2.0,
            "steps_per_second": 5.0,
            "constraint": {"hit_rate": 0.25 + seed / 2, "false_alarm_rate_right_of_start": 0.125},
        }
        (directory / "scores.json").write_text(json.dumps(scores))
    return tmp_path


def test_every_seed_is_judged_on_the_same_pairs(runs):
    groups, scenario = read_groups([runs]), make_scenario(TASK)
    _, demos, _ = wall_run(TASK)
    pairs = common_pairs(groups, demos)
    assert len(pairs.observations) == 3_000  # demonstrations and two runs
    known = judge_all(groups, scenario, demos)
    right, late = known["icrl", 0], known["icrl", 1]
    assert (right["hit_rate"], right["auc"]) == (1.0, 1.0)
    assert 0.98 < right["iou"] <= 1.0
    assert right["grid_iou"] == right["grid_auc"] == 1.0
    assert right["boundary_x"] == pytest.approx(-2.875)  # the grid has steps of ¼
    x = pairs.observations[:, 0]
    assert late["hit_rate"] == pytest.approx(np.mean(x[x <= -3] <= -8.0), abs=0.01)
    # from −20 to −3 are 69 values of the grid, from −20 to −8 are 49
    assert late["grid_iou"] == pytest.approx(49 / 69, abs=0.02)
    assert late["boundary_x"] == pytest.approx(-8.0, abs=0.2)
    assert late["false_alarm_rate_right_of_start"] == 0.0


def test_the_tables_show_every_seed_and_the_spread(runs):
    groups, scenario = read_groups([runs]), make_scenario(TASK)
    _, demos, _ = wall_run(TASK)
    known = judge_all(groups, scenario, demos)
    first, second = rows(seeds_table(groups, known, 5000.0, {("icrl", 1): 0.5}).markdown())
    assert (first["expert steps forbidden"], second["expert steps forbidden"]) == ("-", "0.5000")
    assert (first["seed"], first["true return"], first["ratio to expert"]) == (
        "0",
        "4,000.0",
        "0.800",
    )
    assert (first["hit rate, own run"], second["hit rate, own run"]) == ("0.2500", "0.7500")
    assert first["false alarms x > 0, own run"] == "0.1250"
    (row,) = rows(knowledge_table(groups, known).markdown())
    assert row["IoU"].endswith(f"({known['icrl', 1]['iou']:.4f} to {known['icrl', 0]['iou']:.4f})")
    known["icrl", 1]["boundary_x"] = None
    (row,) = rows(knowledge_table(groups, known).markdown())
    assert row["boundary x"] == "-2.88 (-2.88 to -2.88, 1 of 2 seeds)"
    assert "lowest demonstrated x is -0.17" in knowledge_note(scenario, demos)
    assert "learned elsewhere" in knowledge_note(scenario, demos, transferred=True)
    assert "of the demonstrations and" not in knowledge_note(scenario, None)
