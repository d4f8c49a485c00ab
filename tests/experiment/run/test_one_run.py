"""One run: its directory is the contract of the design, the same seed writes the same bytes,
nothing bad is begun."""

import json
import signal
from dataclasses import replace

import numpy as np
import pytest

from icrl.agent.policy_file import load_policy
from icrl.constraint.learned import load_constraint
from icrl.errors import InputError
from icrl.experiment.directory.run_directory import RunDirectory, without_times
from icrl.experiment.run import one_run as runs
from icrl.experiment.run.one_run import run_learning
from icrl.methods.registry import METHODS
from icrl.spans import PHASES
from icrl.tasks.lap_grid import lap_grid
from small_runs import ROUND, TINY, Quiet, lap_demos, tiny_spec

SCENARIO = lap_grid()
SCORES = {
    "scenario", "method", "seed", "steps", "true_return", "violation_rate", "expert_return",
    "seconds", "steps_per_second",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three finished runs: seed 0 twice, seed 1 once."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for name, seed in (("first", 0), ("again", 0), ("other", 1)):
        display = Quiet()
        scores, last = run_learning(
            tiny_spec(seed=seed), SCENARIO, lap_demos(), folder / name, display
        )
        found[name] = (folder / name, scores, last, display)
    return found


def test_the_directory_holds_what_the_design_says(made):
    directory, *_ = made["first"]
    names = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    assert names == {
        "config.json",
        "metrics.jsonl",
        "scores.json",
        "policy.safetensors",
        "visited.npz",
        "constraint/constraint.safetensors",
        "constraint/card.json",
    }


def test_config_holds_everything_that_makes_the_run_again(made):
    config = RunDirectory(made["first"][0]).config()
    assert {
        "command",
        "task",
        "method",
        "preset",
        "seed",
        "config",
        "demos",
        "episodes",
        "versions",
    } <= set(config)
    assert config["config"]["forward"]["num_envs"] == TINY.forward.num_envs
    assert config["versions"]["mujoco"]


def test_metrics_are_one_line_per_round_with_prefixes_that_say_who_knows_them(made):
    directory, _, _, display = made["first"]
    lines = (directory / "metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["round"] for row in rows] == [0, 1]
    assert [row["steps"] for row in rows] == [ROUND, 2 * ROUND]
    assert rows == [{**row} for row in display.rounds]
    for row in rows:
        prefixes = {name.split("/")[0] for name in row if "/" in name}
        assert prefixes == {"agent", "constraint", "truth", "time"}
        assert {name for name in row if "/" not in name} == {"round", "steps", "seconds"}
        assert {"agent/return", "agent/cost", "agent/multiplier", "constraint/cost_demos"} <= set(
            row
        )
        assert {name for name in row if name.startswith("time/")} == {f"time/{p}" for p in PHASES}
        assert {"constraint/kl_old_new", "constraint/kl_new_old", "truth/violation_rate"} <= set(
            row
        )


def test_scores_are_the_contract(made):
    directory, scores, _, _ = made["first"]
    content = RunDirectory(directory).scores()
    assert set(content) >= SCORES
    assert (content["scenario"], content["method"], content["seed"]) == ("lap-grid", "icrl", 0)
    assert content["steps"] == scores.steps == 2 * ROUND
    assert content["expert_return"] == pytest.approx(60.0)
    assert content["steps_per_second"] == pytest.approx(content["steps"] / content["seconds"])
    assert 0 <= content["violation_rate"] <= 1
    assert RunDirectory(directory).finished


def test_same_seed_same_bytes_other_seed_others(made):
    for name in ("constraint/constraint.safetensors", "policy.safetensors"):
        first, again, other = (
            (made[run][0] / name).read_bytes() for run in ("first", "again", "other")
        )
        assert first == again
        assert first != other

    def metrics(run):
        rows = RunDirectory(made[run][0]).metrics()
        return [without_times(row) for row in rows]

    assert metrics("first") == metrics("again")


def test_artefacts_come_back_as_they_were(made):
    directory, _, last, _ = made["first"]
    observations, actions = (
        lap_demos().trajectories.observations[0],
        lap_demos().trajectories.actions[0],
    )
    constraint = load_constraint(directory / "constraint")
    expected = last.constraint.feasibility(observations, actions)
    np.testing.assert_array_equal(constraint.feasibility(observations, actions), expected)
    assert constraint.card["steps"] == 2 * ROUND
    assert constraint.card["seed"] == 0
    policy = load_policy(directory / "policy.safetensors", SCENARIO.task)
    drawn = [p.act(np.random.default_rng(0), observations) for p in (policy, last.policy)]
    np.testing.assert_array_equal(*drawn)


def test_files_may_be_read_by_others(made):
    directory, *_ = made["first"]
    config, policy = (directory / name for name in ("config.json", "policy.safetensors"))
    assert policy.stat().st_mode == config.stat().st_mode


def test_the_display_knows_the_rounds_before_the_first_update(made):
    progress = made["first"][3].progress
    assert progress[0] == (0, 2)
    assert progress[-1] == (ROUND + 512, 2)


def test_nominal_learns_no_constraint_and_leaves_none(tmp_path):
    _, last = run_learning(
        tiny_spec(method="nominal"), SCENARIO, lap_demos(), tmp_path / "run", Quiet()
    )
    assert last.constraint is None
    assert not (tmp_path / "run" / "constraint").exists()
    row = RunDirectory(tmp_path / "run").metrics()[-1]
    assert {name.split("/")[0] for name in row if "/" in name} == {"agent", "truth", "time"}


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_keeps_the_budget_and_finishes(tmp_path, method):
    scores, last = run_learning(
        tiny_spec(method=method), SCENARIO, lap_demos(), tmp_path / "run", Quiet()
    )
    assert scores.method == method
    assert last.steps == 2 * ROUND
    assert RunDirectory(tmp_path / "run").finished


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"seed": -1}, "seed = -1"),
        ({"episodes": 0}, "episodes = 0"),
        ({"method": "icr"}, "did you mean 'icrl'"),
        ({"config": replace(TINY, steps=100)}, "steps = 100"),
        ({"config": replace(TINY, features=("clockwis",))}, "did you mean 'clockwise'"),
        (
            {"config": replace(TINY, backward=replace(TINY.backward, max_kl_new_old=2.5))},
            "max_kl_new_old",
        ),
    ],
)
def test_a_run_that_cannot_be_made_is_not_begun(tmp_path, changes, word):
    with pytest.raises(InputError, match=word):
        run_learning(tiny_spec(**changes), SCENARIO, lap_demos(), tmp_path / "run", Quiet())
    assert not (tmp_path / "run").exists()


def test_an_interrupted_run_keeps_the_last_whole_round(tmp_path):
    class Stops(Quiet):
        def on_update(self, progress):
            if progress.steps > ROUND:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_learning(tiny_spec(), SCENARIO, lap_demos(), tmp_path / "run", Stops())
    run = RunDirectory(tmp_path / "run")
    assert not run.finished
    assert [row["round"] for row in run.metrics()] == [0]
    assert load_constraint(run.path / "constraint").card["steps"] == ROUND
    load_policy(run.path / "policy.safetensors", SCENARIO.task)


def test_ctrl_c_between_two_files_of_a_round_waits_for_the_second(tmp_path, monkeypatch):
    real = runs.save_policy

    def interrupted_save(policy, path):
        signal.raise_signal(signal.SIGINT)
        real(policy, path)

    monkeypatch.setattr(runs, "save_policy", interrupted_save)
    with pytest.raises(KeyboardInterrupt):
        run_learning(tiny_spec(), SCENARIO, lap_demos(), tmp_path / "run", Quiet())
    run = RunDirectory(tmp_path / "run")
    assert [row["round"] for row in run.metrics()] == [0]
    assert load_constraint(run.path / "constraint").card["steps"] == ROUND
