"""Suites whose runs need other runs: sources first,
borrowed where another suite has them, failures passed on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from icrl.config import Respect, Train, Weights
from icrl.errors import InputError
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.engine.engine import NOT_STARTED, Job, run_jobs
from icrl.experiment.suite.display import last_words
from icrl.experiment.suite.making import make_ready, run_suite
from icrl.experiment.suite.suite import Entry, Suite, expand
from icrl.experiment.suite.suites import ABLATION_UPDATES, find_suite
from icrl.json_files import to_json, write_json
from icrl.methods.registry import preset
from icrl.presets import forward_alone


class Silent:
    def __init__(self):
        self.events = []

    def started(self, job, process_id):
        self.events.append(job.name)

    def ended(self, job, exit_code):
        self.events.append((job.name, exit_code))

    def waiting(self):
        pass


def tiny(config):
    forward = replace(
        config.forward, steps=256, num_envs=4, rollout_steps=32, minibatch=32, epochs=1, hidden=(4,)
    )
    backward = replace(config.backward, updates=2)
    return forward_alone(
        replace(config, steps=700, num_samples=2, forward=forward, backward=backward)
    )


SOURCE = Entry(label="source-icrl", task="lap-grid", seeds=1, change=tiny, episodes=2)
KEPT = Entry(label="icrl", task="lap-grid", seeds=1, change=tiny, episodes=2, source="source-icrl")


def small(*entries):
    return Suite(name="small", purpose="test", entries=entries)


def finished_run(run, **changes):
    """A finished run on disk, as the report and other suites see it."""
    write_json(run.directory / "config.json", {**to_json(run.spec), **changes})
    write_json(run.directory / "scores.json", {})


def test_a_transfer_waits_for_its_source_and_uses_its_constraint(tmp_path):
    runs = expand(small(SOURCE, KEPT), tmp_path)
    assert [(run.directory.name, run.after) for run in runs] == [
        ("source-icrl-seed0", ()),
        ("icrl-seed0", ("source-icrl-seed0",)),
    ]
    watch = Silent()
    outcome = run_suite(runs, tmp_path, 2, watch, "icrl suite small")
    assert watch.events == [
        runs[0].directory.name,
        ("source-icrl-seed0", 0),
        "icrl-seed0",
        ("icrl-seed0", 0),
    ]
    assert outcome.failed == []
    source, kept = (RunDirectory(run.directory) for run in runs)
    assert kept.config()["constraint"] == str(source.path)
    names = ("constraint/constraint.safetensors",)
    assert [(source.path / name).read_bytes() for name in names] == [
        (kept.path / name).read_bytes() for name in names
    ]
    assert run_suite(runs, tmp_path, 1, Silent(), "again").skipped == [
        "source-icrl-seed0",
        "icrl-seed0",
    ]


def test_a_failing_source_is_recorded_with_all_that_needed_it(tmp_path):
    def no_such_feature(config):
        return replace(SOURCE.change(config), features=("no-such-feature",))

    runs = expand(small(replace(SOURCE, change=no_such_feature), KEPT), tmp_path)
    outcome = run_suite(runs, tmp_path, 2, Silent(), "icrl suite small")
    assert outcome.failed == ["source-icrl-seed0", "icrl-seed0"]
    assert last_words(tmp_path / "icrl-seed0") == "not started: source-icrl-seed0 failed."
    assert (tmp_path / "icrl-seed0" / "config.json").exists()
    assert all(make_ready(run) for run in runs)  # both are tried again


def test_only_what_depends_on_a_failure_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "exit_with.py").write_text("import sys; sys.exit(int(sys.stdin.readline()))")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    plan = (
        ("bad", "1", ()),
        ("child", "0", ("bad",)),
        ("grandchild", "0", ("child",)),
        ("other", "0", ()),
    )
    watch = Silent()
    run_jobs(
        [Job(name, "exit_with", (), code, tmp_path / name, after) for name, code, after in plan],
        1,
        watch,
    )
    assert watch.events == [
        "bad",
        ("bad", 1),
        ("child", NOT_STARTED),
        ("grandchild", NOT_STARTED),
        "other",
        ("other", 0),
    ]


def test_a_run_of_another_suite_is_borrowed(tmp_path):
    entry = replace(SOURCE, borrow="lap/icrl")
    (other,) = expand(small(replace(SOURCE, label="icrl")), tmp_path / "lap")
    out = tmp_path / "transfer"
    assert len(expand(small(entry, KEPT), out)) == 2  # not there yet: learned here
    other.directory.mkdir(parents=True)
    finished_run(other)
    (run,) = expand(small(entry, KEPT), out)
    assert (run.spec.constraint, run.after) == (str(other.directory), ())
    (out / "source-icrl-seed0").mkdir(parents=True)
    assert len(expand(small(entry, KEPT), out)) == 2  # begun here: stays here


def test_a_run_that_is_something_else_is_not_borrowed(tmp_path):
    (other,) = expand(small(replace(SOURCE, label="icrl")), tmp_path / "lap")
    other.directory.mkdir(parents=True)
    finished_run(other, method="nominal")
    with pytest.raises(InputError, match=r"is not the run that source-icrl stands for.*'nominal'"):
        expand(small(replace(SOURCE, borrow="lap/icrl"), KEPT), tmp_path / "transfer")


def test_a_shorter_run_is_borrowed_only_where_so_many_steps_are_asked_for(tmp_path):
    (other,) = expand(small(replace(SOURCE, label="icrl")), tmp_path / "lap", steps=900)
    other.directory.mkdir(parents=True)
    finished_run(other)
    entry = replace(SOURCE, borrow="lap/icrl")
    with pytest.raises(InputError, match=r"stands for: config.steps 900 \(now 700\)"):
        expand(small(entry, KEPT), tmp_path / "transfer")
    (run,) = expand(small(entry, KEPT), tmp_path / "transfer", steps=900)
    assert run.spec.constraint == str(other.directory)


def test_a_finished_transfer_is_found_again_however_its_source_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, run = expand(small(SOURCE, KEPT), Path("runs"))
    run.directory.mkdir(parents=True)
    finished_run(run)
    _, same = expand(small(SOURCE, KEPT), tmp_path / "runs")
    assert not make_ready(same)


@pytest.mark.parametrize("entries", [(KEPT, SOURCE), (KEPT,), (SOURCE, replace(KEPT, seeds=2))])
def test_sources_come_first_and_have_as_many_seeds(entries):
    with pytest.raises(InputError, match="must be an earlier entry with as many seeds"):
        small(*entries)


@pytest.mark.parametrize(
    ("name", "task", "seeds", "steps", "features"),
    [
        ("transfer-point", "point", 5, 1_500_000, ("x", "y")),
        ("transfer-ant-broken", "ant-broken", 3, 3_000_000, None),
    ],
)
def test_the_transfer_suites(name, task, seeds, steps, features, tmp_path):
    runs = expand(find_suite(name), tmp_path / name)
    sources = [run for run in runs if run.spec.label.startswith("source-")]
    others = [run for run in runs if run not in sources]
    assert {(run.spec.task, run.spec.config.features) for run in sources} == {
        ("ant-wall", features)
    }
    assert {(run.spec.task, run.spec.config.steps) for run in others} == {(task, steps)}
    methods = {"icrl", "binary-classifier", "gail-constraint"}
    assert {run.spec.label: run.spec.constraint is not None for run in others} == (
        dict.fromkeys({*methods, "icrl-lagrangian"}, True) | {"nominal": False, "expert": False}
    )
    for run in others:
        assert run.spec.config == forward_alone(preset("default", task, run.spec.method))
        if run.spec.constraint is not None:
            source = "icrl" if run.spec.label == "icrl-lagrangian" else run.spec.method
            assert run.after == (f"source-{source}-seed{run.spec.seed}",)
            assert Path(run.spec.constraint) == tmp_path / name / run.after[0]
    assert {r.spec.config.forward.respect for r in others if r.spec.label == "icrl-lagrangian"} == {
        Respect.lagrangian
    }
    assert len(runs) == (3 + 6) * seeds


def test_ant_is_not_learned_twice(tmp_path):
    learned = [
        run for run in expand(find_suite("ant"), tmp_path / "ant") if run.spec.label != "nominal"
    ]
    for run in learned:
        run.directory.mkdir(parents=True)
        finished_run(run)
    runs = expand(find_suite("transfer-ant-broken"), tmp_path / "transfer-ant-broken")
    assert {run.spec.task for run in runs} == {"ant-broken"}
    assert {run.spec.constraint for run in runs if run.spec.label == "icrl"} == {
        str(tmp_path / "ant" / f"icrl-seed{seed}") for seed in range(3)
    }


FAIR = {
    "icrl": ("icrl", "default"),
    "paper": ("icrl", "paper"),
    "authors": ("icrl", "authors"),
    "binary-classifier": ("binary-classifier", "default"),
    "gail-constraint": ("gail-constraint", "default"),
}


@pytest.mark.parametrize(
    ("name", "source", "task", "features"),
    [
        ("fair-transfer-point", "ant-wall", "point", ("x", "y")),
        ("fair-transfer-ant-broken", "ant-wall", "ant-broken", None),
        ("transfer-ant-broken-turned", "ant-wall", "ant-broken-turned", None),
        ("transfer-half-cheetah-back", "half-cheetah-wall", "half-cheetah-back", None),
    ],
)
def test_everybodys_constraint_is_transferred(name, source, task, features, tmp_path):
    runs = expand(find_suite(name), tmp_path / name)
    specs = {run.spec.label: run.spec for run in runs}
    for label, (method, given) in FAIR.items():
        learned = specs[f"source-{label}"]
        assert (learned.task, learned.method, learned.preset) == (source, method, given)
        expected = replace(preset(given, source, method), features=features)
        if name != "fair-transfer-point":  # as in the suite that lends it
            expected = replace(expected, train=Train.all_steps)
        assert learned.config == expected
        assert (specs[label].task, specs[label].preset) == (task, given)
        assert specs[label].config == forward_alone(preset(given, task, method))
    assert {label: specs[label].config.steps for label in ("nominal", "expert")} == dict.fromkeys(
        ("nominal", "expert"), preset("default", task).steps
    )
    assert {run.spec.seed for run in runs} == set(range(5))
    assert len(runs) == (5 + 5 + 3) * 5


@pytest.mark.parametrize(
    ("lender", "names"),
    [
        ("fair-ant", ("fair-transfer-ant-broken", "transfer-ant-broken-turned")),
        ("fair-half-cheetah", ("transfer-half-cheetah-back",)),
    ],
)
def test_what_the_fair_comparison_learned_is_transferred_and_not_learned_again(
    lender, names, tmp_path
):
    for run in expand(find_suite(lender), tmp_path / lender):
        run.directory.mkdir(parents=True)
        finished_run(run)
    for name in names:
        runs = expand(find_suite(name), tmp_path / name)
        assert not [run for run in runs if run.spec.label.startswith("source-")]
        for run in runs:
            if run.spec.label in FAIR:
                made = tmp_path / lender / f"{run.spec.label}-seed{run.spec.seed}"
                assert run.spec.constraint == str(made)


def test_the_experts_are_trained_as_long_as_the_agents(tmp_path):
    for name in ("fair-lap-grid", "fair-half-cheetah", "fair-ant"):
        specs = {run.spec.label: run.spec for run in expand(find_suite(name), tmp_path / name)}
        assert specs["expert"].config.steps == specs["icrl"].config.steps
        assert specs["icrl"].config.train is Train.all_steps


def test_the_ablation_has_sixteen_cells_each_with_its_switches():
    base = preset("paper", "half-cheetah-wall").backward
    specs = {
        run.spec.label: run.spec
        for run in expand(find_suite("ablation-half-cheetah"), Path("out"), seeds=1)
    }
    assert len(specs) == 16
    for updates in ABLATION_UPDATES:
        for name, weights, stops in (
            ("both", Weights.step, True),
            ("no-importance-sampling", Weights.none, True),
            ("no-early-stopping", Weights.step, False),
            ("neither", Weights.none, False),
        ):
            backward = specs[f"{name}-B{updates}"].config.backward
            assert (backward.updates, backward.weights) == (updates, weights)
            assert (backward.max_kl_old_new, backward.max_kl_new_old) == (
                (10.0, 2.5) if stops else (None, None)
            )
            assert (
                replace(
                    backward,
                    updates=10,
                    weights=base.weights,
                    max_kl_old_new=10.0,
                    max_kl_new_old=2.5,
                )
                == base
            )


def test_the_short_ablation_is_part_of_the_long_one():
    long = {
        (r.spec.label, r.spec.seed): r.spec
        for r in expand(find_suite("ablation-half-cheetah"), Path("out"))
    }
    short = expand(find_suite("ablation-half-cheetah-short"), Path("out"))
    assert len(short) == 2 * 4 * 3
    assert all(long[run.spec.label, run.spec.seed] == run.spec for run in short)
    assert json.dumps(to_json(short[0].spec))
