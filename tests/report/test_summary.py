"""The tables at the end of a verb: the run, the expert and the nominal agent side by side."""

import io
from dataclasses import replace

from rich.console import Console

from icrl.evaluate import Truth
from icrl.report.summary import (
    print_references,
    print_scores,
    print_tasks,
    print_truth,
    write_pictures,
)
from icrl.tasks.lap_grid import lap_grid
from icrl.types import Scores
from small_runs import lap_demos

SCORES = Scores(
    scenario="lap-grid",
    method="icrl",
    seed=0,
    steps=110_160,
    true_return=59.94,
    violation_rate=0.00123,
    expert_return=60.0,
    seconds=5.0,
    steps_per_second=22_032.0,
)
CARD = {
    "episodes": 4,
    "rejected_episodes": 2,
    "references": {
        "expert": {"true_return": 60.0, "violation_rate": 0.0},
        "nominal": {"true_return": -1.0, "violation_rate": 0.5},
    },
}


def page(draw, *arguments):
    out = io.StringIO()
    draw(*arguments, Console(file=out, width=120))
    return out.getvalue()


def rows(text):
    return {
        line.split("│")[1].strip(): [c.strip() for c in line.split("│")[2:4]]
        for line in text.splitlines()
        if "│" in line
    }


def test_the_table_of_a_run(tmp_path):
    demos = replace(lap_demos(), card=CARD)
    text = page(print_scores, SCORES, demos, tmp_path)
    assert rows(text) == {
        "icrl (this run)": ["59.9", "0.0012"],
        "expert (knows the constraint)": ["60.0", "0.0000"],
        "nominal (no constraint)": ["-1.0", "0.5000"],
    }
    assert "110,160 environment steps in 5.0 s (22,032/s)" in text


def test_demonstrations_without_references_leave_the_run_alone():
    truth = Truth(
        true_return=12.0, violation_rate=0.25, nominal_return=20.0, violating_episodes=1.0
    )
    text = page(print_truth, truth, lap_grid(), {}, 7)
    assert rows(text) == {"this run (7 episodes)": ["12.0", "0.2500"]}
    assert "True constraint: the anticlockwise action is forbidden." in text


def test_the_table_of_a_collection(tmp_path):
    text = page(print_references, replace(lap_demos(), card=CARD), tmp_path / "demos.npz")
    assert set(rows(text)) == {"expert (knows the constraint)", "nominal (no constraint)"}
    assert "Wrote 4 clean episodes" in text
    assert "2 with violations were left out" in text


def test_the_list_of_tasks():
    text = page(print_tasks, [lap_grid()])
    assert "lap-grid" in text
    assert "2 choices" in text
    assert "200" in text


def test_without_a_constraint_there_is_nothing_to_draw(tmp_path):
    from icrl.methods.learners import Snapshot

    assert (
        write_pictures(lap_grid(), lap_demos(), Snapshot(0, 1, 1, None, None, None, {}), tmp_path)
        == []
    )
    assert list(tmp_path.iterdir()) == []
