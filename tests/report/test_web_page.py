"""The page of a report: what stands in it, that it needs nothing else, and that names in it are
only names."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hostile import HOSTILE, IMAGE
from report_runs import write_run

from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import init_params
from icrl.demos.dataset import shipped_demos
from icrl.experiment.run.one_run import run_learning
from icrl.explain.axes import axes_of, zeta_over
from icrl.explain.judged import judge_pairs
from icrl.json_files import write_json
from icrl.report.page import write_report, write_run_page
from icrl.report.web.markup import element, json_element
from icrl.tasks.lap_grid import lap_grid
from small_runs import Quiet, lap_demos, tiny_spec


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, their attributes, its text."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.words, self.data, self.inside = [], [], [], "", None

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.inside = dict(attrs).get("id") if tag == "script" else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "data":
            self.data += data
        else:
            self.words.append(data)


def read(path):
    reader = Reader()
    reader.feed(path.read_text())
    return reader, json.loads(reader.data)


def data_of(markup):
    reader = Reader()
    reader.feed(markup)
    return reader.data


def zeta(names=("cell", "clockwise", "anticlockwise")):
    params = init_params(np.random.default_rng(0), 3, (4,))
    features = Features(
        names=names,
        columns=(0, 1, 2),
        lower=(-1, 0, 0),
        upper=(1, 1, 1),
        num_observations=1,
        num_actions=2,
        discrete=True,
    )
    return LearnedConstraint(features=features, params=params)


@pytest.fixture
def runs(tmp_path):
    out = tmp_path / "runs"
    for seed, value in enumerate([54.0, 60.0, 66.0]):
        zeta().save(write_run(out, "icrl", seed, [0.0, value], [0.4, 0.0]) / "constraint")
    write_run(out, "paper", 0, [0.0, -1.0], [0.4, 0.9])
    write_run(out, "nominal", 0, [0.0], [0.4], finished=False, method="nominal")
    return out


def test_the_page_holds_every_number_that_was_logged(runs, tmp_path):
    write_report([runs], tmp_path / "out", "icrl report runs")
    _, data = read(tmp_path / "out" / "index.html")
    (task,) = data["tasks"]
    ours, paper, nominal = task["groups"]
    assert [run["values"]["truth/true_return"] for run in ours["runs"]] == [
        [0, 54],
        [0, 60],
        [0, 66],
    ]
    assert ours["runs"][0]["steps"] == [1000, 2000]
    assert [run["scores"]["true_return"] for run in ours["runs"]] == [54, 60, 66]
    assert ours["intervals"]["true_return"] == [60, 54, 66]  # by hand in test_table.py
    assert paper["intervals"]["true_return"] == [-1, None, None]  # one seed has no interval
    assert nominal["runs"][0]["finished"] is False
    assert task["quantities"] == ["truth/true_return", "truth/violation_rate"]


def test_the_page_needs_nothing_but_itself(runs, tmp_path):
    write_report([runs], tmp_path / "out", "icrl report runs")
    reader, _ = read(tmp_path / "out" / "index.html")
    sources = [value for name, value in reader.attributes if name in ("src", "href")]
    assert all(source.startswith(("#", "data:")) for source in sources)
    policy = next(
        value for name, value in reader.attributes if name == "content" and "default-src" in value
    )
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline'; script-src 'sha256-" in policy


def test_the_words_of_the_page_are_those_of_the_tables(runs, tmp_path):
    write_report([runs], tmp_path / "out", "icrl report runs --out 'my results'")
    text = " ".join(read(tmp_path / "out" / "index.html")[0].words)
    for said in (
        "the anticlockwise action is forbidden",
        "60.00 [54.00, 66.00]",
        "-1.00 [one seed]",
        "Not finished: nominal-seed0",
        "icrl report runs --out 'my results'",
        "Not judged yet",
        "mujoco 4.0.0",
    ):
        assert said in text


def test_a_verdict_is_shown_with_its_reasons(runs, tmp_path):
    checks = {"coverage": {"level": "bad", "reason": "nobody was seen where it matters"}}
    write_json(
        runs / "icrl-seed1" / "evaluation.json",
        {"trust": {"verdict": "do not trust it", "checks": checks}},
    )
    write_report([runs], tmp_path / "out", "icrl report runs")
    text = " ".join(read(tmp_path / "out" / "index.html")[0].words)
    assert "do not trust it" in text
    assert "nobody was seen where it matters" in text


def test_names_are_text_and_nothing_else(tmp_path):
    out = tmp_path / "runs"
    (out / IMAGE[:10]).mkdir(parents=True)
    directory = write_run(out / IMAGE[:10], "icrl", 0, [0.0, 1.0], [0.4, 0.0])
    config = json.loads((directory / "config.json").read_text())
    # a task of somebody's own: the names of its features are theirs, and nobody knows its truth
    theirs = {"task": f"nowhere:{HOSTILE}", "demos": str(shipped_demos("lap-grid.npz"))}
    write_json(directory / "config.json", {**config, **theirs, "label": HOSTILE, "preset": IMAGE})
    scores = json.loads((directory / "scores.json").read_text())
    unknown = {"true_return": None, "violation_rate": None, "nominal_return": 1.0}
    write_json(directory / "scores.json", scores | unknown)
    evaluation = {"trust": {"verdict": HOSTILE, "checks": {IMAGE: {"level": HOSTILE}}}}
    write_json(directory / "evaluation.json", evaluation)
    zeta((IMAGE, "clockwise", HOSTILE)).save(directory / "constraint")
    write_report([out / IMAGE[:10]], tmp_path / "out", f"icrl report '{IMAGE}' ```")
    reader, data = read(tmp_path / "out" / "index.html")
    assert reader.tags.count("script") == 3  # the data and two scripts of ours
    assert "img" not in reader.tags
    seen = "<script>window.hacked = 1</script>|`*[x](y)\\x1b[31m\"'&\\n\\u202eend"
    assert data["tasks"][0]["groups"][0]["name"] == seen
    names = [axis["name"] for axis in data["tasks"][0]["constraints"][0]["axes"]]
    assert set(names) == {IMAGE, "action"}
    assert any(seen in words for words in reader.words)
    markdown = (tmp_path / "out" / "table.md").read_text()
    shown, commands = markdown.split("Made by:\n")  # these are code, between fences
    assert "<script" not in shown
    assert "\x1b" not in markdown
    rows = [line for line in markdown.splitlines() if "hacked" in line and line.startswith("|")]
    # a pipe of a name ends no cell: methods have 11 columns, seeds 8
    assert sorted(len(re.findall(r"(?<!\\)\|", row)) for row in rows) == [9, 12]
    assert commands.startswith("\n````\nicrl learn ")
    assert commands.endswith(f"\nicrl report '{IMAGE}' ```\n````\n")
    assert commands.count("````") == 2  # nothing ends the block early


def test_markup_is_only_what_was_made_as_such():
    markup = element("b", '<i>"', element("u", "&"), title='"<')
    assert markup == '<b title="&quot;&lt;">&lt;i&gt;&quot;<u>&amp;</u></b>'
    assert "</script>" not in json_element({"a": "</script><script>"}, "data")[:-9]
    assert json.loads(data_of(json_element({"a": "</script>\u2028"}, "data"))) == {
        "a": "</script>\u2028"
    }


def test_zeta_over_two_features_is_what_the_constraint_says():
    demos, constraint = lap_demos().trajectories, zeta()
    judged = judge_pairs(constraint, demos, None)
    cell, action = axes_of(judged, [0, 1, 2], 6)
    assert (cell.name, action.choices) == ("cell", ("clockwise", "anticlockwise"))
    found = zeta_over(constraint, judged, cell, action)  # [2, 33]
    # LapGridWorld has one number and one action: with both set, nothing is left to average over
    expected = constraint.feasibility(cell.values[:, None], np.ones(33, np.int64))
    np.testing.assert_allclose(found[1], expected, atol=1e-6)
    turned = zeta_over(constraint, judged, action, cell)
    np.testing.assert_allclose(turned, found.T)


def test_thirty_runs_make_a_page_of_a_few_megabytes(tmp_path):
    out = tmp_path / "runs"
    for seed in range(30):
        zeta().save(write_run(out, "icrl", seed, [0.0] * 300, [0.4] * 300) / "constraint")
    write_report([out], tmp_path / "out", "icrl report runs")
    assert (tmp_path / "out" / "index.html").stat().st_size < 8e6


def test_a_run_has_a_page_of_its_own_also_where_nobody_knows_the_truth(tmp_path):
    run_learning(tiny_spec(), lap_grid(), lap_demos(), tmp_path / "run", Quiet())
    path = write_run_page(tmp_path / "run")
    reader, data = read(path)
    assert path.name == "report.html"
    assert "icrl: icrl on lap-grid, seed 0" in reader.words
    assert f"icrl learn lap-grid --config {tmp_path / 'run'}" in reader.words
    assert len(data["tasks"][0]["constraints"]) == 1
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    write_json(
        tmp_path / "run" / "scores.json", scores | {"true_return": None, "violation_rate": None}
    )
    reader, data = read(write_run_page(tmp_path / "run"))
    text = " ".join(reader.words)
    assert "The true constraint is not known here." in text
    assert "anticlockwise action is forbidden" not in text
    assert [score["key"] for score in data["tasks"][0]["scores"]] == [
        "nominal_return",
        "agent_steps_forbidden",
    ]
