"""The page of the paper's figures: what was run is beside it, what was not is said, and sentences
are judged by their rules."""

import json

import pytest

from icrl.cli import main
from icrl.errors import InputError
from icrl.methods.registry import preset
from icrl.report.paper.claims import verdicts
from icrl.report.paper.found import read_found
from icrl.report.paper.page import paper_page
from icrl.report.paper.printed import LEARNING, TABLE_1, TASKS, TRANSFERS


def score(task, label, seed, true_return, rate=0.0, **more):
    return {
        "scenario": task,
        "label": label,
        "method": "icrl",
        "seed": seed,
        "true_return": true_return,
        "violation_rate": rate,
        "expert_return": 100.0,
        "versions": {"mujoco": "4.0.0"},
    } | more


def written(folder, scores):
    folder.mkdir(parents=True)
    (folder / "scores.json").write_text(json.dumps(scores))
    return folder


def rows(task, label, returns, rates=None):
    rates = rates or [0.0] * len(returns)
    return [
        score(task, label, seed, value, rate)
        for seed, (value, rate) in enumerate(zip(returns, rates, strict=True))
    ]


def said(found, task, label, words):
    """The verdicts about a label on a task whose sentence has those words."""
    return [
        (verdict.here, verdict.holds)
        for verdict in verdicts(found)
        if (verdict.task, verdict.label) == (task, label) and words in verdict.sentence
    ]


def test_without_runs_every_row_says_so(tmp_path):
    found = read_found([written(tmp_path / "empty", [])])
    assert {verdict.holds for verdict in verdicts(found)} == {"no runs yet"}
    page = paper_page(found, tmp_path / "paper.md", "icrl paper empty")
    for heading in ("Figure 1", "Figure 3", "Figure 4", "Figure 5", "Table 1"):
        assert f"## {heading}" in page
    assert "| ICRL (paper's settings) | 3,380 | 0.89 | no runs yet |" in page
    assert page.endswith("```\nicrl paper empty\n```\n")


def test_shares_are_of_experts_that_were_trained_as_long(tmp_path):
    scores = rows("half-cheetah-wall", "paper", [90, 110, 100])
    found = read_found([written(tmp_path / "short", scores)])
    assert found.expert("half-cheetah-wall") == (100.0, False)
    assert said(found, "HalfCheetah", "paper", "expert-level") == [("1.00", "yes")]
    scores += rows("half-cheetah-wall", "expert", [200, 200, 200])
    found = read_found([written(tmp_path / "long", scores)])
    assert found.expert("half-cheetah-wall") == (200.0, True)
    assert said(found, "HalfCheetah", "paper", "expert-level") == [("0.50", "no")]


def test_expert_level_is_that_of_experts_with_the_same_agent(tmp_path):
    scores = rows("half-cheetah-wall", "paper", [90, 110, 100])
    scores += rows("half-cheetah-wall", "expert", [200, 200, 200])
    scores += rows("half-cheetah-wall", "expert-paper", [110, 120, 130])
    found = read_found([written(tmp_path / "a", scores)])
    # 100 / 120, where the expert that has our agent earns 200
    assert said(found, "HalfCheetah", "paper", "expert-level") == [
        ("0.83 of experts with its agent, 0.50 of ours", "yes")
    ]
    page = paper_page(found, tmp_path / "paper.md", "icrl paper a")
    row = next(line for line in page.splitlines() if line.startswith("| ICRL (paper's settings)"))
    assert "no runs yet" in row  # LapGridWorld's
    assert "| 100.0 ± 5.8 | 0.50 | 0.83 | 0.000 (0.000) | 0-2 |" in page


def test_one_seed_that_violates_is_a_violation_and_two_seeds_are_too_few(tmp_path):
    scores = rows("lap-grid", "icrl", [60, 60, 60], [0.0, 0.0, 0.4])
    scores += rows("lap-grid", "paper", [60, 60])
    found = read_found([written(tmp_path / "a", scores)])
    assert said(found, "LapGridWorld", "icrl", "no violations") == [
        ("0.133, worst seed 0.400", "no")
    ]
    assert said(found, "LapGridWorld", "paper", "no violations")[0][1] == "too few seeds (2)"


def test_baselines_are_compared_in_units_of_the_expert(tmp_path):
    scores = rows("ant-wall", "icrl", [80, 80, 80])
    scores += rows("ant-wall", "gail-constraint", [75, 75, 75])
    scores += rows("ant-wall", "binary-classifier", [20, 30, 40])
    found = read_found([written(tmp_path / "a", scores)])
    # (80 - 75) / 100 = 0.05; (80 - 30) / 100 = 0.5, standard error of 20, 30, 40: 10/√3 = 5.77
    assert said(found, "Ant", "icrl", "as well as ICRL") == [("+0.05 ± 0.00", "yes")]
    assert said(found, "Ant", "icrl", "much worse") == [("+0.50 ± 0.06", "yes")]


def test_a_part_is_important_where_leaving_it_out_costs(tmp_path):
    scores = rows("half-cheetah-wall", "both-B5", [100, 200, 300])
    scores += rows("half-cheetah-wall", "no-early-stopping-B5", [40, 150, 260])
    scores += rows("half-cheetah-wall", "no-importance-sampling-B5", [90, 230, 280])
    found = read_found([written(tmp_path / "a", scores)])
    # costs 60, 50, 40: 50 ± 10/√3; 10, -30, 20: 0 ± 15.3
    assert said(found, "HalfCheetah", "paper", "early stopping is") == [
        ("costs 50 ± 6 (3 pairs, B of 5)", "yes")
    ]
    assert said(found, "HalfCheetah", "paper", "importance sampling is") == [
        ("costs 0 ± 15 (3 pairs, B of 5)", "no")
    ]


def test_a_hard_transfer_is_one_that_nominal_agents_fail(tmp_path):
    scores = rows("half-cheetah-back", "nominal", [9, 9, 9], [0.9, 0.8, 0.0])
    found = read_found([written(tmp_path / "a", scores)])
    title = "HalfCheetah, backwards pays twice"
    assert said(found, title, "nominal", "breaks it") == [("2 of 3 seeds", "yes")]


def test_a_seed_counts_once_and_engines_are_not_mixed(tmp_path):
    first = written(tmp_path / "a", rows("lap-grid", "icrl", [60]))
    second = written(tmp_path / "b", rows("lap-grid", "icrl", [60]))
    with pytest.raises(InputError, match=r"both have icrl on lap-grid, seed 0: a seed counts once"):
        read_found([first, second])
    other = score("lap-grid", "paper", 0, 60, versions={"mujoco": "3.3.0"})
    with pytest.raises(InputError, match=r"different versions of MuJoCo \(3.3.0, 4.0.0\)"):
        read_found([first, written(tmp_path / "c", [other])])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "holds no scores"),
        ("[{}]", "is no score of a run with a known truth"),
        ('[{"scenario": "x", "label": "y", "seed": 0, "true_return": null}]', "no score of a run"),
        ("[", "cannot be read as JSON"),
        (None, "does not exist"),
    ],
)
def test_what_is_no_scores_is_refused(content, message, tmp_path):
    if content is not None:
        (tmp_path / "scores.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_found([tmp_path])


def test_the_command_writes_the_page_with_its_pictures(tmp_path, capsys):
    folder = written(tmp_path / "results" / "lap-grid", rows("lap-grid", "icrl", [60, 60, 60]))
    (folder / "lap-grid-learning-curves.png").write_bytes(b"")
    out = tmp_path / "docs" / "paper.md"
    main(["paper", str(folder), "--out", str(out)])
    text = out.read_text()
    assert "(../results/lap-grid/lap-grid-learning-curves.png)" in text
    assert "| ICRL (ours) | 58 | 0.97 | 60.0 ± 0.0 | 0.60 | - | 0.000 (0.000) | 0-2 |" in text
    prose = [line for line in text.splitlines() if not line.startswith(("|", "!", "icrl "))]
    assert max(map(len, prose)) <= 100
    assert "Wrote" in capsys.readouterr().out


def test_table_1_is_what_the_paper_preset_holds():
    for path, values in TABLE_1.values():
        for task, value in zip(TASKS, values, strict=True):
            found = preset("paper", task)
            for name in path.split("."):
                found = getattr(found, name)
            assert value is None or found == value, (path, task)


def test_every_panel_names_a_task_and_all_of_the_papers_lines():
    for panel in (*LEARNING, *TRANSFERS):
        assert preset("paper", panel.task).steps == int(float(panel.steps.rstrip("M")) * 1e6)
        assert len(panel.values) == 5
