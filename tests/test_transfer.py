"""Transfer: features by name, the form and the sign of every method's constraint,
a whole run from the command line."""

import json
from dataclasses import replace

import numpy as np
import pytest

from icrl.agent.state import policy_of
from icrl.cli import main
from icrl.config import MultiplierConfig, Respect
from icrl.constraint.features import select_features
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.network import Layer
from icrl.errors import InputError
from icrl.experiment.directory.provenance import open_constraint
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.run.constraint_scores import (
    forbidden_share,
    over_constraint,
    share_before_forbidden,
)
from icrl.experiment.run.making import check_method
from icrl.experiment.run.one_run import run_learning
from icrl.methods.pressing import method_of, pressure_of, transfer
from icrl.methods.registry import preset
from icrl.presets import forward_alone
from icrl.rounds import num_rounds
from icrl.tasks.registry import make_scenario
from icrl.transfer import Pressure, train_under
from icrl.types import Trajectories
from plain_settings import plain_forward, plain_learn
from small_runs import FORWARD, ROUND, TINY, TINY_FLAGS, Quiet, lap_demos, tiny_spec
from worlds import tempting_door

PROBE = plain_learn(
    steps=6_000,
    num_samples=2,
    forward=plain_forward(
        steps=2_048,
        num_envs=8,
        rollout_steps=32,
        minibatch=64,
        epochs=6,
        learning_rate=5e-3,
        target_kl=None,
        hidden=(16,),
        gamma=0.9,
        multiplier=MultiplierConfig(initial=5.0, learning_rate=1.0),
    ),
)


def linear(task, names, weights, bias, **card):
    """ζ = σ(w · features + b)."""
    layer = Layer(np.array(weights, np.float32)[:, None], np.array([bias], np.float32))
    features = select_features(task, names, 20.0)
    return LearnedConstraint(features=features, params=(layer,), card=card)


def no_yes(**card):
    """ζ(no) = σ(4) = 0.982, ζ(yes) = σ(−4) = 0.018."""
    return linear(tempting_door(), ("yes",), [-8.0], 4.0, **card)


def wall(task_name="ant-wall", names=("x", "y"), **card):
    """ζ = ½ at x = −2."""
    weights = [5.0] + [0.0] * (len(names) - 1)
    return linear(make_scenario(task_name).task, names, weights, 10.0, **card)


PAIRS = np.zeros((2, 1), np.float32), np.array([0, 1])  # `no`, `yes`


def test_a_cost_is_one_minus_zeta():
    constraint = no_yes()
    for method in ("icrl", "binary-classifier", "greedy"):
        pressure = pressure_of(constraint, method)
        assert pressure.bonus is None
        np.testing.assert_allclose(pressure.cost(*PAIRS), [0.018, 0.982], atol=1e-3)
        np.testing.assert_allclose(pressure.cost(*PAIRS), 1 - constraint.feasibility(*PAIRS))


def test_a_bonus_is_log_zeta_and_lowers_the_reward_where_zeta_is_small():
    constraint = no_yes()
    pressure = pressure_of(constraint, "gail-constraint")
    assert pressure.cost is None
    np.testing.assert_allclose(pressure.bonus(*PAIRS), [-0.018, -4.018], atol=1e-3)
    np.testing.assert_allclose(pressure.bonus(*PAIRS), np.log(constraint.feasibility(*PAIRS)))


@pytest.mark.parametrize(
    ("method", "respect"),
    [
        ("icrl", Respect.terminate),
        ("binary-classifier", Respect.lagrangian),
        ("gail-constraint", Respect.lagrangian),
    ],
)
def test_an_agent_learns_to_leave_the_door_alone(method, respect):
    # `yes` pays 2, `no` pays 1: with a sign reversed, `yes` would win all the more
    task = tempting_door()
    config = replace(PROBE, forward=replace(PROBE.forward, respect=respect))
    last = transfer(no_yes(method=method), task, config, seed=0)
    policy = policy_of(last.agent, task, config.forward)
    actions = policy.act(np.random.default_rng(0), np.zeros((200, 1), np.float32))
    assert actions.mean() < 0.1
    assert share_of_yes(Pressure(), config) > 0.9  # nobody told: the door pays
    assert last.steps <= config.steps
    assert last.number + 1 == last.rounds == 2


def share_of_yes(pressure, config):
    """How often an agent that was trained under `pressure` goes through the door."""
    task = tempting_door()
    policy = policy_of(train_under(pressure, task, config, seed=0).agent, task, config.forward)
    return policy.act(np.random.default_rng(0), np.zeros((200, 1), np.float32)).mean()


def test_a_bonus_is_added_to_the_reward_of_the_new_task():
    """ζ(no) = 0.73, ζ(yes) = 0.5: by log ζ alone `no` is better by 0.38,
    with the reward `yes` is, by 0.62."""
    mild = linear(tempting_door(), ("yes",), [-1.0], 1.0)
    assert share_of_yes(pressure_of(mild, "gail-constraint"), PROBE) > 0.9


def test_without_settings_an_agent_has_those_of_the_constraints_method(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "icrl.methods.pressing.train_under", lambda *arguments: seen.append(arguments[2])
    )
    for method in ("icrl", "binary-classifier", "gail-constraint"):
        transfer(wall(method=method), make_scenario("point").task)
        assert seen[-1] == forward_alone(preset("default", "point", method))
    assert seen[0].forward.respect is not seen[1].forward.respect


def test_the_method_is_read_off_the_card():
    assert method_of(no_yes(method="gail-constraint")) == "gail-constraint"
    with pytest.raises(InputError, match="say it with --method"):
        method_of(no_yes())
    with pytest.raises(InputError, match="unknown method of a constraint 'nominal'"):
        pressure_of(no_yes(), "nominal")


def test_features_are_found_by_name():
    ant, point = make_scenario("ant-wall").task, make_scenario("point").task
    swapped = replace(point, observation_names=("y", "x", "cos_heading", "sin_heading"))
    constraint = wall(names=("x", "y"))
    actions = np.zeros((1, 2), np.float32)
    place = np.array([[-5.0, 1.0, 1.0, 0.0]], np.float32)
    assert constraint.features.num_observations == len(ant.observation_names)
    assert constraint.for_task(point).cost(place, actions) > 0.99
    # there x is the second number: 1
    assert constraint.for_task(swapped).cost(place, actions) < 0.01
    with pytest.raises(
        InputError, match=r"looks at z, .*'point' does not have; it has x, y, cos_.*--features x\)"
    ):
        transfer(wall(names=("x", "z"), method="icrl"), point, TINY)


def test_settings_of_a_transfer_leave_the_backward_step_out():
    for method, respect in (("icrl", Respect.terminate), ("binary-classifier", Respect.lagrangian)):
        config = forward_alone(preset("default", "point", method))
        assert config.forward == preset("default", "point", method).forward
        assert config.forward.respect is respect
        assert config.scouts == 0
        task = make_scenario("point").task
        assert (
            num_rounds(task, replace(config, steps=config.forward.steps + 10 * task.horizon)) == 1
        )


def test_over_constraint_is_the_share_of_expert_steps_that_are_forbidden():
    x = np.array([[-2.5, -1.0, -3.5], [-2.1, 0.0, 99.0]])  # the last step of the second is padding
    observations = np.zeros((2, 3, 4), np.float32)
    observations[..., 0] = x
    expert = Trajectories(
        observations=observations,
        actions=np.zeros((2, 3, 2)),
        rewards=np.zeros((2, 3)),
        lengths=np.array([3, 2]),
    )
    point = make_scenario("point")
    constraint = wall("point").for_task(point.task)
    assert forbidden_share(constraint, expert) == pytest.approx(3 / 5)
    # −3.5 is forbidden in truth
    assert over_constraint(point, constraint, expert) == pytest.approx(2 / 4)
    # both episodes begin with a forbidden step; from their second step on the first gets one of two
    # steps far, the second to its end
    assert share_before_forbidden(constraint, expert) == 0.0
    later = replace(
        expert, observations=observations[:, 1:], actions=expert.actions[:, 1:],
        rewards=expert.rewards[:, 1:], lengths=np.array([2, 1]),
    )  # fmt: skip
    assert share_before_forbidden(constraint, later) == pytest.approx((1 / 2 + 1) / 2)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run directory that learned a constraint on LapGridWorld."""
    directory = tmp_path_factory.mktemp("learned") / "run"
    run_learning(tiny_spec(), make_scenario("lap-grid"), lap_demos(), directory, Quiet())
    return directory


def test_a_constraint_is_found_in_its_folder_or_in_its_run(learned, tmp_path):
    inside, outside = open_constraint(str(learned / "constraint")), open_constraint(str(learned))
    assert inside.card == outside.card
    with pytest.raises(InputError, match="holds no constraint"):
        open_constraint(str(tmp_path))


def test_transfer_makes_a_run_like_any_other(learned, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    flags = [flag for flag in TINY_FLAGS if "backward" not in flag and "scouts" not in flag]
    words = ["lap-grid", "--constraint", str(learned), "--steps", str(2 * ROUND), *flags]
    main(["transfer", *words, "--out", "runs/new"])
    said = capsys.readouterr().out
    assert "constraint of icrl on lap-grid, seed 0" in said
    assert "icrl (this run)" in said
    new = RunDirectory(tmp_path / "runs" / "new")
    assert (new.path / "constraint.png").exists()
    config, scores = new.config(), new.scores()
    assert (config["command"], config["constraint"], config["method"]) == (
        "transfer",
        str(learned),
        "icrl",
    )
    assert scores["steps"] == 2 * ROUND
    assert 0 <= scores["constraint"]["expert_steps_forbidden"] <= 1
    before, after = (
        load_constraint(learned / "constraint"),
        load_constraint(new.path / "constraint"),
    )
    pairs = lap_demos().trajectories
    np.testing.assert_array_equal(
        before.cost(pairs.observations, pairs.actions),
        after.cost(pairs.observations, pairs.actions),
    )
    assert after.card["transfer"]["task"] == "lap-grid"
    assert {name: after.card[name] for name in before.card} == before.card
    main(["evaluate", "runs/new", "--episodes", "2"])
    assert "this run (2 episodes)" in capsys.readouterr().out
    main(["report", "runs", "--out", "results"])
    assert "expert steps forbidden" in (tmp_path / "results" / "table.md").read_text()
    assert len(json.loads((tmp_path / "results" / "scores.json").read_text())) == 1


def test_transfer_refuses_before_it_begins(learned, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words, message in (
        (["point", "--constraint", str(learned)], "which task 'point' does not have"),
        (["point", "--constraint", "nothere"], "nothere holds no constraint"),
        (
            ["lap-grid", "--constraint", str(learned), "--method", "nominal"],
            "unknown method of a constraint",
        ),
        (["lap-grid", "--constraint", str(learned), "--steps", "5"], "steps = 5 is too few"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["transfer", *words, "--out", "run"])
        assert caught.value.code == 2
        assert message in " ".join(capsys.readouterr().err.split())
        assert not (tmp_path / "run").exists()


def test_flags_change_the_settings_of_the_constraints_method():
    from icrl.verbs.transfer import config_of, parse

    args = parse(["point", "--constraint", "c", "--forward.epochs", "3"], "binary-classifier")
    config = config_of(args, "binary-classifier", "point")
    assert config.forward == replace(
        preset("default", "point", "binary-classifier").forward, epochs=3
    )
    assert config.steps == 1_500_000
    assert (
        parse(["--preset", "paper", "--constraint", "c", "point"], "icrl").forward.respect
        is Respect.lagrangian
    )


def test_references_need_no_demonstrations():
    scenario = make_scenario("point")
    config = replace(TINY, steps=1_000, forward=FORWARD)
    with pytest.raises(InputError, match="no demonstrations ship with point"):
        check_method("icrl", replace(scenario, demos=None), None, None, config)
    for method in ("expert", "nominal"):
        check_method(method, replace(scenario, demos=None), None, None, config)


def test_the_expert_is_told_the_truth_and_the_nominal_agent_nothing(tmp_path, monkeypatch, capsys):
    """An untrained agent on LapGridWorld soon goes anticlockwise:
    whoever is told of it has a cost."""
    monkeypatch.chdir(tmp_path)
    flags = [flag for flag in TINY_FLAGS if "backward" not in flag and "scouts" not in flag]
    for method in ("expert", "nominal"):
        words = [
            "lap-grid",
            "--method",
            method,
            "--scouts=0",
            "--forward.no-shield",
            "--steps",
            str(2 * ROUND),
        ]
        main(["learn", *words, *flags, "--out", method])
        assert not (tmp_path / method / "constraint").exists()
    costs = {
        m: RunDirectory(tmp_path / m).metrics()[0]["agent/cost"] for m in ("expert", "nominal")
    }
    assert costs["expert"] > 0
    assert costs["nominal"] == 0.0
    assert "expert (this run)" in capsys.readouterr().out


def test_reference_agents_can_be_made_where_no_demonstrations_ship(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sizes = ["--steps=5000", "--num-samples=2", "--scouts=0", "--episodes=1"]
    forward = [
        "--forward.steps=256",
        "--forward.num-envs=4",
        "--forward.rollout-steps=64",
        "--forward.epochs=1",
    ]
    main(["learn", "ant-broken", "--method", "nominal", *sizes, *forward, "--out", "run"])
    assert RunDirectory(tmp_path / "run").scores()["expert_return"] is None


def test_a_transferred_constraint_is_saved_with_the_columns_of_the_new_task(tmp_path):
    wall(names=("x", "y"), method="icrl").save(tmp_path / "constraint")
    constraint = load_constraint(tmp_path / "constraint")
    spec = tiny_spec(
        task="point",
        config=replace(TINY, steps=1_000, forward=FORWARD),
        demos=None,
        constraint=str(tmp_path),
    )
    run_learning(spec, make_scenario("point"), None, tmp_path / "run", Quiet(), constraint)
    moved = load_constraint(tmp_path / "run" / "constraint").features
    assert (moved.columns, moved.num_observations, moved.num_actions) == ((0, 1), 4, 2)
    assert constraint.features.num_observations == len(
        make_scenario("ant-wall").task.observation_names
    )


def test_an_agent_alone_is_the_same_for_the_same_seed():
    task = tempting_door()
    config = replace(PROBE, steps=2_100)
    first, again, other = (
        train_under(pressure_of(no_yes(), "icrl"), task, config, seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.agent.params, again.agent.params)
    assert not np.array_equal(first.agent.params, other.agent.params)
