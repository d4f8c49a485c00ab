"""What a sweep may change, read from TOML; and what a trial is worth without the truth."""

import json

import numpy as np
import pytest

from icrl.constraint.learned import load_constraint
from icrl.errors import InputError
from icrl.experiment.run.one_run import run_learning
from icrl.experiment.suite.sweep_objective import (
    Parts,
    how_far,
    judge_by_truth,
    judge_without_truth,
)
from icrl.experiment.suite.sweep_space import read_space, space_of
from icrl.methods.registry import preset
from icrl.tasks.lap_grid import lap_grid
from icrl.visited import load_visited
from small_runs import Quiet, lap_demos, tiny_spec


class Asks:
    """In the place of a trial of Optuna: remembers what it was asked, and takes the lowest or the
    last."""

    def __init__(self):
        self.asked = []

    def suggest_float(self, name, low, high, log):
        self.asked.append((name, low, high, log))
        return low

    def suggest_int(self, name, low, high, log):
        self.asked.append((name, low, high, log))
        return low

    def suggest_categorical(self, name, choices):
        self.asked.append((name, tuple(choices)))
        return choices[-1]


SPACE = """
steps = 9000
scouts = {low = 1, high = 4}
caution = {low = 0.1, high = 0.5}
[forward]
gamma = 0.9
learning_rate = {low = 1e-5, high = 1e-3, log = true}
hidden = {choices = [[16], [64, 64]]}
[backward]
weights = {choices = ["none", "step"]}
"""


def test_ranges_and_choices_become_settings_of_their_type(tmp_path):
    (tmp_path / "space.toml").write_text(SPACE)
    space = read_space(tmp_path / "space.toml")
    trial = Asks()
    values = {dimension.name: dimension.suggest(trial) for dimension in space.dimensions}
    assert trial.asked == [
        ("scouts", 1, 4, False),
        ("caution", 0.1, 0.5, False),
        ("forward.learning_rate", 1e-5, 1e-3, True),
        ("forward.hidden", ("[16]", "[64, 64]")),
        ("backward.weights", ("none", "step")),
    ]
    config = space.config_of(preset("default", "lap-grid"), values)
    assert (config.steps, config.scouts, config.caution) == (9000, 1, 0.1)
    assert (config.forward.gamma, config.forward.learning_rate) == (0.9, 1e-5)
    assert config.forward.hidden == (64, 64)
    assert config.backward.weights == "step"
    assert config.backward.updates == preset("default", "lap-grid").backward.updates
    assert space.fixed["forward"] == {"gamma": 0.9}  # a trial leaves no trace in the next


def test_a_space_says_whether_it_holds_what_settings_have():
    ours = preset("default", "lap-grid")
    found = space_of(
        {
            "scouts": {"low": 1, "high": 4},
            "num_samples": {"low": 20, "high": 40},
            "restart_above": {"choices": [0.05, "none"]},
            "forward": {"hidden": {"choices": [[16], [64, 64]]}},
            "backward": {
                "max_kl_old_new": {"low": 1.0, "high": 20.0},
                "kl_unit": {"choices": ["trajectory", "step"]},
                "initial_bias": {"choices": [2, 0]},
                "learning_rate_decay": {"choices": [0.9, 0.8]},
            },
        }
    )
    paper = preset("paper", "lap-grid")
    assert [dimension.holding(paper) for dimension in found.dimensions] == [
        None,  # no scouts
        None,  # 13 is below 20
        0.05,
        "[64, 64]",  # by its label, as Optuna keeps it
        10.0,
        "trajectory",
        2,
        None,  # 1 is neither
    ]
    baseline = preset("default", "lap-grid", "binary-classifier")
    assert found.dimensions[2].holding(ours) == "none"
    assert found.dimensions[4].holding(baseline) is None  # it has no limit
    assert found.dimensions[0].holding(ours) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"forward": {"learning_rat": {"low": 1, "high": 2}}},
            "did you mean 'forward.learning_rate'",
        ),
        ({"scouts": {"low": 1, "hgh": 2}}, "unknown part of scouts 'hgh': did you mean 'high'"),
        ({"scouts": {"low": 1}}, "needs low and high"),
        ({"scouts": {"low": 1.5, "high": 2}}, "scouts.low is 1.5, expected int"),
        ({"scouts": {"low": 3, "high": 2}}, "low must be below high"),
        ({"forward": {"clip": {"low": 0.0, "high": 0.2, "log": True}}}, "above 0 if log is true"),
        ({"forward": {"respect": {"low": 1, "high": 2}}}, "no number: give choices"),
        (
            {"forward": {"respect": {"choices": ["terminate", "trmnt"]}}},
            "expected one of lagrangian, terminate",
        ),
        ({"scouts": {"choices": [1]}}, "a list of two or more"),
        ({"scouts": 3}, "nothing is swept"),
        ({"forward": 3}, "expected a table of settings"),
    ],
)
def test_what_is_wrong_with_a_space_is_named(content, message):
    with pytest.raises(InputError, match=message):
        space_of(content)


def test_what_cannot_be_told_does_not_count():
    assert Parts(1.0, None, None, 0.5).value == 0.75
    assert Parts(1.0, 0.5, 0.0, None).value == 0.5


def test_a_run_on_its_way_by_hand():
    # demonstrations cost 0.1: 0.9 allowed; return 45 of 60: 0.25 away; (0.9 + 0.75) / 2
    assert how_far({"agent/return": 45.0, "constraint/cost_demos": 0.1}, 60.0) == pytest.approx(
        0.825
    )
    assert how_far({"agent/return": 45.0, "constraint/cost_demos": 0.1}, None) == pytest.approx(0.9)
    assert how_far({"agent/return": 600.0}, 60.0) == pytest.approx(0.5)
    # it earns as much, half of it by what ζ forbids: (1 + 0.5) / 2
    told = {"agent/return": 60.0, "constraint/cost_samples": 0.5}
    assert how_far(told, 60.0) == pytest.approx(0.75)


def test_the_parts_of_a_trial_are_what_its_runs_say(tmp_path):
    demos = lap_demos()
    runs = [tmp_path / f"seed-{seed}" for seed in (0, 1)]
    for seed, run in enumerate(runs):
        run_learning(tiny_spec(seed=seed), lap_grid(), demos, run, Quiet())
    parts = judge_without_truth(runs, demos)
    shown = demos.trajectories
    constraints = [load_constraint(run / "constraint") for run in runs]
    feasible = [c.is_feasible(shown.observations[0], shown.actions[0]) for c in constraints]
    assert parts.demonstrations_allowed == pytest.approx(np.mean(feasible))
    visits = [load_visited(run / "visited.npz") for run in runs]
    shares = []
    for constraint, visited in zip(constraints, visits, strict=True):
        flagged = ~constraint.is_feasible(visited.observations, visited.actions)
        better = [
            e
            for e in range(len(visited.returns))
            if visited.returns[e] > 60 and (visited.episodes == e).any()
        ]
        share = 0.0  # where nobody out-earned the demonstrations, nothing was found out
        if better:
            share = np.mean([flagged[visited.episodes == e].any() for e in better])
        shares.append(share)
    assert parts.evidence_explained == pytest.approx(np.mean(shares))
    matched = []
    for run in runs:
        scores = json.loads((run / "scores.json").read_text())
        near = max(0.0, 1 - abs(scores["nominal_return"] - 60) / 60)
        # the one demonstration is lawful in the eyes of every ζ here: it gets to its end
        assert all(np.concatenate(feasible))
        matched.append(near * scores["constraint"]["agent_share_before_forbidden"])
    assert parts.returns_matched == pytest.approx(np.mean(matched))
    assert 0 <= parts.seeds_agree <= 1
    assert judge_without_truth(runs[:1], demos).seeds_agree is None
    assert judge_without_truth([runs[0], runs[0]], demos).seeds_agree == 1.0
    assert -1 <= judge_by_truth(runs) <= 1
