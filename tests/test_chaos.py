"""What `benchmarks/chaos.py` counts is of one commit, and what its words ask for."""

import json
import os
import random
import sys
from pathlib import Path
from runpy import run_path
from types import ModuleType

import pytest

from icrl.experiment.suite.suite import expand
from icrl.experiment.suite.suites import find_suite

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "chaos.py"


@pytest.fixture(scope="module")
def script():
    return run_path(str(SCRIPT))


@pytest.fixture
def chaos(script, tmp_path):
    made = script["Chaos"]("lap-grid", random.Random(0), False, True, tmp_path)
    made.counts.update({"kills": 7, "runs": 2})
    made.start_up.append(1.5)
    return made


def test_counts_name_their_commit_and_are_gone_on_with(script, chaos, tmp_path):
    found = script["report"](chaos, 60.0, "python benchmarks/chaos.py")
    assert found["commit"] == script["commit"]()
    path = tmp_path / "chaos.json"
    path.write_text(json.dumps(found))
    again = script["Chaos"]("lap-grid", random.Random(0), False, True, tmp_path)
    assert script["go_on"](again, path) == 60.0
    assert again.counts["kills"] == 7
    assert again.counts["runs"] == 2
    assert again.counts["commit"] == 0


@pytest.mark.parametrize(
    ("name", "other", "words"),
    [("commit", "abcdef0", "counts kills at commit abcdef0"), ("kind", "suite", "kills of suite")],
)
def test_counts_of_another_commit_or_kind_are_not_added_to(
    script, chaos, tmp_path, name, other, words
):
    found = script["report"](chaos, 60.0, "python benchmarks/chaos.py")
    path = tmp_path / "chaos.json"
    path.write_text(json.dumps({**found, name: other}))
    with pytest.raises(SystemExit, match=words):
        script["go_on"](chaos, path)


def test_the_suite_that_is_killed_has_every_way_to_learn(script, tmp_path):
    words = script["SUITE"]
    runs = expand(find_suite(words[1]), tmp_path)
    assert [(run.spec.label, run.spec.method, run.spec.config.scouts) for run in runs][:2] == [
        ("search", "icrl", 1),
        ("gradient", "icrl", 0),
    ]
    assert [run.spec.method for run in runs][2:] == ["gail-constraint", "nominal"]
    assert all(run.spec.config.steps <= 40_000 for run in runs)  # seconds each


def test_without_ray_its_kind_names_the_extra_and_makes_nothing(script, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    out = tmp_path / "chaos.json"
    words = ["--kind", "ray", "--kills", "2", "--out", str(out)]
    with pytest.raises(
        SystemExit, match=r"--kind ray .*needs the extra 'ray'.*pip install 'icrl\[ray\]'"
    ):
        script["main"](words)
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "kind", "forks"),
    [
        (["--kind=ray", "--fork", "--worker"], "RayChaos", False),
        (["--kind=suite", "--fork", "--worker"], "Chaos", False),
        (["--kind=lap-grid", "--worker"], "Chaos", True),
    ],
)
def test_only_single_runs_have_lives_of_another_kind(script, monkeypatch, words, kind, forks):
    """A suite is a process with workers of its own, on a cluster or not."""
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    made = []

    def disturb(chaos, words, kills):
        made.append((type(chaos).__name__, words[0], chaos.fork or chaos.worker))
        chaos.start_up.append(1.0)
        chaos.counts.update(kills=kills, runs=1)

    for name in ("Chaos", "RayChaos"):
        monkeypatch.setattr(script[name], "disturb", disturb)
    found = script["main"]([*words, "--kills=1"], say=lambda text: None)
    assert made == [(kind, "learn" if forks else "suite", forks)]
    assert found["kind"] == words[0].removeprefix("--kind=")


def test_a_kind_that_there_is_not_is_refused_with_those_that_there_are(script, capsys):
    with pytest.raises(SystemExit):
        script["main"](["--kind", "cluster"])
    said = capsys.readouterr().err
    assert all(kind in said for kind in ("lap-grid", "half-cheetah", "suite", "ray"))
