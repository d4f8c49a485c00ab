"""Suites: expansion, skipping, failing, interruption; specs go to JSON and back."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from icrl.config import LearnConfig
from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Layer
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.errors import InputError
from icrl.experiment.directory.checkpoint import checkpoints
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.directory.spec import spec_from_json
from icrl.experiment.engine.engine import Job, run_jobs
from icrl.experiment.run.callbacks import Callback
from icrl.experiment.run.one_run import run_learning
from icrl.experiment.suite.display import SuiteDisplay, last_words
from icrl.experiment.suite.making import make_ready, read_scores, run_suite
from icrl.experiment.suite.suite import Entry, Suite, expand
from icrl.experiment.suite.suites import SUITES, find_suite
from icrl.json_files import to_json, write_json
from icrl.presets import PRESETS
from icrl.tasks.lap_grid import lap_grid
from icrl.tasks.registry import make_scenario


def tiny(config: LearnConfig) -> LearnConfig:
    forward = replace(
        config.forward, steps=256, num_envs=4, rollout_steps=32, minibatch=32, epochs=1, hidden=(4,)
    )
    backward = replace(config.backward, updates=2, max_kl_new_old=None)
    return replace(config, steps=4_000, num_samples=2, forward=forward, backward=backward)


def small_suite(*entries: Entry) -> Suite:
    return Suite(name="small", purpose="test", entries=entries)


ICRL = Entry(label="icrl", task="lap-grid", seeds=1, change=tiny, episodes=2)
NOMINAL = Entry(
    label="nominal", task="lap-grid", method="nominal", seeds=2, change=tiny, episodes=2
)


def no_such_feature(config: LearnConfig) -> LearnConfig:
    return replace(tiny(config), features=("no-such-feature",))


FAILING = Entry(label="failing", task="lap-grid", seeds=1, change=no_such_feature, episodes=2)


class Watch:
    """Remembers what happened; may press Ctrl-C."""

    def __init__(self, interrupt_when=None):
        self.events, self.process_ids, self.interrupt_when = [], [], interrupt_when

    def started(self, job, process_id):
        self.events.append(("started", job.name))
        self.process_ids.append(process_id)

    def ended(self, job, exit_code):
        self.events.append(("ended", job.name, exit_code))

    def waiting(self):
        if self.interrupt_when is not None and self.interrupt_when():
            raise KeyboardInterrupt


def test_only_some_entries_and_what_they_need(tmp_path):
    source = Entry(label="source", task="lap-grid", seeds=1)
    kept = Entry(label="kept", task="lap-grid", seeds=1, source="source")
    suite = small_suite(source, ICRL, kept, NOMINAL)
    assert [run.directory.name for run in expand(suite, tmp_path, only=("kept",))] == [
        "source-seed0",
        "kept-seed0",
    ]
    names = [run.directory.name for run in expand(suite, tmp_path, only=("icrl", "nominal"))]
    assert names == ["icrl-seed0", "nominal-seed0", "nominal-seed1"]
    with pytest.raises(InputError, match=r"unknown entry .*nominl.*nominal"):
        expand(suite, tmp_path, only=("nominl",))


def alive(process_id):
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_method_that_does_not_exist_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(InputError, match="unknown method 'no-such-method'"):
        expand(small_suite(replace(ICRL, method="no-such-method")), tmp_path)


def test_a_suite_survives_failures_and_skips_what_is_finished(tmp_path):
    runs = expand(small_suite(ICRL, NOMINAL, FAILING), tmp_path)
    assert [run.directory.name for run in runs] == [
        "icrl-seed0",
        "nominal-seed0",
        "failing-seed0",
        "nominal-seed1",
    ]
    runs = runs[:3]
    watch = Watch()
    outcome = run_suite(runs, tmp_path, 2, watch, "icrl suite small")
    assert (outcome.skipped, sorted(outcome.finished), outcome.failed) == (
        [],
        ["icrl-seed0", "nominal-seed0"],
        ["failing-seed0"],
    )
    assert "'no-such-feature'" in last_words(tmp_path / "failing-seed0")
    assert (tmp_path / "failing-seed0" / "config.json").exists()  # so that a report can count it
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert [(s["label"], s["seed"], s["scenario"]) for s in scores] == [
        ("icrl", 0, "lap-grid"),
        ("nominal", 0, "lap-grid"),
    ]
    assert (tmp_path / "command.txt").read_text() == "icrl suite small\n"
    assert not list(tmp_path.glob(".*.stderr"))

    before = (tmp_path / "icrl-seed0" / "metrics.jsonl").stat().st_mtime_ns
    again = Watch()
    outcome = run_suite(runs[:2], tmp_path, 2, again, "icrl suite small")
    assert outcome == (["icrl-seed0", "nominal-seed0"], [], [])
    assert again.events == []
    assert (tmp_path / "icrl-seed0" / "metrics.jsonl").stat().st_mtime_ns == before
    assert make_ready(runs[2])  # what failed is tried again
    assert not runs[2].directory.exists()


def test_an_interrupted_suite_ends_its_children_and_goes_on(tmp_path):
    long = replace(NOMINAL, seeds=1, change=lambda config: replace(tiny(config), steps=100_000))
    runs = expand(small_suite(long), tmp_path)
    directory = runs[0].directory
    watch = Watch(interrupt_when=lambda: len(checkpoints(directory)) >= 1)
    with pytest.raises(KeyboardInterrupt):
        run_suite(runs, tmp_path, 1, watch, "icrl suite small")
    assert len(watch.process_ids) == 1
    assert not alive(watch.process_ids[0])
    assert (directory / "config.json").exists()
    assert not RunDirectory(directory).finished
    assert read_scores(tmp_path) == []
    assert not list(tmp_path.glob(".*.stderr"))
    # of the last round, or of the one before where the end came between its
    # metrics and its checkpoint
    last = len(RunDirectory(directory).metrics()) - 1
    assert make_ready(runs[0])
    assert checkpoints(directory)[0].name in {
        f"round-{number:06d}.safetensors" for number in (last - 1, last)
    }
    assert run_suite(runs, tmp_path, 1, Watch(), "icrl suite small").finished == ["nominal-seed0"]
    demos = load_demos(shipped_demos("lap-grid.npz"))
    run_learning(runs[0].spec, lap_grid(), demos, tmp_path / "straight", Callback())
    policies = [
        (path / "policy.safetensors").read_bytes() for path in (directory, tmp_path / "straight")
    ]
    assert policies[0] == policies[1]


def test_a_worker_ends_with_its_parent(tmp_path):
    endless = replace(
        NOMINAL, seeds=1, change=lambda config: replace(tiny(config), steps=100_000_000)
    )
    (run,) = expand(small_suite(endless), tmp_path)
    command = [sys.executable, "-m", "icrl.experiment.engine.worker", str(run.directory)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as worker:
        _, errors = worker.communicate(json.dumps(to_json(run.spec)) + "\n", timeout=60)
    assert worker.returncode in (143, 130)  # in order, or after a while
    assert errors == ""
    assert not RunDirectory(run.directory).finished


@pytest.mark.parametrize("content", ["notes.txt", "scores.csv"])
def test_other_peoples_files_are_never_touched(tmp_path, content):
    (run,) = expand(small_suite(replace(ICRL)), tmp_path)
    run.directory.mkdir()
    (run.directory / content).write_text("precious")
    with pytest.raises(InputError, match="nothing was touched"):
        make_ready(run)
    write_json(run.directory / "config.json", to_json(run.spec))
    with pytest.raises(InputError, match=content):
        make_ready(run)
    assert (run.directory / content).read_text() == "precious"


@pytest.mark.parametrize("finished", [True, False])
def test_runs_with_other_settings_are_refused(tmp_path, finished):
    (run,) = expand(small_suite(ICRL), tmp_path)
    other = replace(run.spec, config=replace(run.spec.config, steps=777))
    run.directory.mkdir()
    write_json(run.directory / "config.json", {**to_json(other), "versions": {}})
    if finished:
        write_json(run.directory / "scores.json", {})
    with pytest.raises(InputError, match=r"config\.steps 777 \(now 4000\)"):
        make_ready(run)
    assert (run.directory / "config.json").exists()
    write_json(run.directory / "config.json", {**to_json(run.spec), "config": {"knob": 1}})
    with pytest.raises(InputError, match=r"another version of icrl: .* knob"):
        make_ready(run)


def test_a_finished_run_with_the_same_settings_is_skipped(tmp_path):
    (run,) = expand(small_suite(ICRL), tmp_path)
    assert make_ready(run)
    run.directory.mkdir()
    assert make_ready(run)
    content = to_json(run.spec)
    del content["config"]["features"]  # a setting that came later: the run had its default
    write_json(run.directory / "config.json", content)
    write_json(run.directory / "scores.json", {})
    assert not make_ready(run)


def test_one_suite_at_a_time_in_a_directory(tmp_path):
    def second():
        run_suite([], tmp_path, 1, Watch(), "second")

    class Meddler(Watch):
        def waiting(self):
            second()

    second()
    job_runs = expand(small_suite(FAILING), tmp_path)
    with pytest.raises(InputError, match=rf"is being written by process {os.getpid()} on "):
        run_suite(job_runs, tmp_path, 1, Meddler(), "first")


def test_jobs_run_so_many_at_a_time(tmp_path, monkeypatch):
    (tmp_path / "exit_with.py").write_text("import sys; sys.exit(int(sys.stdin.readline()))")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    jobs = [Job(f"job{i}", "exit_with", (), str(i), tmp_path / f"errors{i}") for i in range(4)]
    running, most, codes = set(), 0, {}

    class Count(Watch):
        def started(self, job, process_id):
            nonlocal most
            running.add(job.name)
            most = max(most, len(running))

        def ended(self, job, exit_code):
            running.discard(job.name)
            codes[job.name] = exit_code

    run_jobs(jobs, 2, Count())
    assert most == 2
    assert codes == {"job0": 0, "job1": 1, "job2": 2, "job3": 3}


@pytest.mark.parametrize("preset", PRESETS)
def test_specs_survive_json(tmp_path, preset):
    (run,) = expand(small_suite(replace(ICRL, preset=preset)), tmp_path)
    assert (
        spec_from_json(json.loads(json.dumps({**to_json(run.spec), "versions": {"jax": "1"}})))
        == run.spec
    )


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("seed",), "one", "seed is 'one', expected int"),
        (("config", "forward", "respect"), "politely", "expected one of lagrangian, terminate"),
        (("config", "backward", "hidden"), 20, "expected a list"),
        (("config", "no_such"), 1, "does not know: no_such"),
        (("config",), [], "expected an object"),
        (("config", "steps"), True, "expected int"),
    ],
)
def test_bad_specs_are_refused(tmp_path, path, value, message):
    (run,) = expand(small_suite(ICRL), tmp_path)
    content = to_json(run.spec)
    place = content
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(InputError, match=message):
        spec_from_json(content)


def test_seeds_and_steps_replace_those_of_the_suite():
    runs = expand(find_suite("lap-grid"), Path("out"), seeds=2, steps=5_000)
    assert len(runs) == 2 * 5
    assert {run.spec.config.steps for run in runs} == {5_000}
    with pytest.raises(InputError, match="--seeds must be"):
        expand(find_suite("lap-grid"), Path("out"), seeds=0)


def test_the_suites_that_ship():
    sizes = {
        name: {entry.label: entry.seeds for entry in find_suite(name).entries} for name in SUITES
    }
    others = {"paper", "binary-classifier", "gail-constraint", "nominal"}
    assert sizes["lap-grid"] == {"icrl": 20} | dict.fromkeys(others, 10)
    assert sizes["half-cheetah"] == {"icrl": 10} | dict.fromkeys(others, 5)
    assert sizes["ant"] == {"icrl": 6} | dict.fromkeys(others, 3)
    learners = ("icrl", "paper", "authors", "binary-classifier", "gail-constraint")
    references = ("nominal", "expert", "expert-paper", "expert-authors")
    fair = dict.fromkeys(learners + references, 5)
    assert sizes["fair-lap-grid"] == sizes["fair-ant"] == fair
    assert sizes["fair-half-cheetah"] == fair | {"icrl": 10, "paper": 10}
    assert len(sizes["shapes"]) == 18 * 4
    assert set(sizes["shapes"].values()) == {5}
    long, short = (
        expand(find_suite(name), Path("out"))[0].spec for name in ("lap-grid-long", "lap-grid")
    )
    assert long.config == replace(short.config, steps=3 * short.config.steps)
    with pytest.raises(InputError, match="unknown suite 'lapgrid'"):
        find_suite("lapgrid")


@pytest.mark.parametrize("labels", [(), ("a", "a"), ("a/b",), ("",)])
def test_labels_tell_entries_apart(labels):
    with pytest.raises(InputError, match="different labels"):
        small_suite(*(replace(ICRL, label=label) for label in labels))


@pytest.mark.parametrize("terminal", [True, False])
def test_the_display_counts(tmp_path, terminal):
    runs = expand(small_suite(replace(ICRL, seeds=2), FAILING), tmp_path)
    console = Console(
        force_terminal=terminal, width=140, record=True, file=(tmp_path / "screen").open("w")
    )
    scores = {"scenario": "lap-grid", "method": "icrl", "seed": 0, "steps": 9}
    scores |= {
        "true_return": 30.0,
        "violation_rate": 0.75,
        "expert_return": 60.0,
        "seconds": 1,
        "steps_per_second": 2,
    }
    with SuiteDisplay("small", runs, console) as display:
        for run in runs:
            job = Job(run.directory.name, "", (), "", tmp_path)
            display.started(job, 1)
            display.waiting()
            run.directory.mkdir()
            name, content = (
                ("scores.json", scores) if run.spec.label == "icrl" else ("error.txt", {})
            )
            write_json(run.directory / name, content)
            display.ended(job, 0)
    console.file.close()
    text = console.export_text()
    if terminal:
        row = text[text.rindex("icrl") :].splitlines()[0].split("│")
        assert [cell.strip() for cell in row[1:7]] == ["2/2", "-", "30.0", "0.50", "0.7500", "2"]
    else:
        assert "finished  icrl-seed1  true return 30.0  violation rate 0.7500" in text
        assert "failed    failing-seed0" in text


def test_a_finished_transfer_must_still_belong_to_its_source(tmp_path):
    source, kept = replace(ICRL, label="source"), replace(ICRL, label="kept", source="source")
    (_, run) = expand(small_suite(source, kept), tmp_path)
    features = select_features(make_scenario("lap-grid").task, ("anticlockwise",), 20.0)

    def write(directory, bias):
        layer = Layer(np.array([[-8.0]], np.float32), np.array([bias], np.float32))
        LearnedConstraint(features=features, params=(layer,)).save(directory / "constraint")

    write(tmp_path / "source-seed0", 4.0)
    write(run.directory, 4.0)
    write_json(run.directory / "config.json", to_json(run.spec))
    write_json(run.directory / "scores.json", {})
    assert not make_ready(run)
    write(tmp_path / "source-seed0", 3.0)  # made anew, with another result
    with pytest.raises(
        InputError, match=r"kept-seed0 was given another constraint .* Move it away"
    ):
        make_ready(run)
    assert (run.directory / "scores.json").exists()
