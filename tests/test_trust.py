"""Trust without the truth: every check by hand, the verdict, and the whole on runs on disk."""

import json
import shutil
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from icrl.cli import main
from icrl.config import BackwardConfig
from icrl.demos.dataset import Demonstrations
from icrl.demos.formats import save_demos
from icrl.errors import InputError
from icrl.experiment.run.one_run import run_learning
from icrl.explain.judged import Judged, judge_pairs
from icrl.tasks.lap_grid import lap_grid
from icrl.tasks.registry import make_scenario
from icrl.trajectories import join, select
from icrl.trust.check import Check, Level, Verdict
from icrl.trust.coverage import check_coverage, measure_coverage, near_data
from icrl.trust.ensemble import check_ensemble, measure_disagreement
from icrl.trust.held_out import Alarms, alarms, check_held_out, held_out_alarms, reproduction
from icrl.trust.of_run import judge_run, siblings
from icrl.trust.refit import find_refit
from icrl.types import Pairs
from plain_settings import plain_learn
from small_runs import SEARCHING, Quiet, lap_demos, tiny_spec
from walls import linear_constraint, wall, wall_run

CHEETAH = "half-cheetah-wall"


def test_the_verdict_follows_from_the_checks():
    def verdict(*levels):
        return Verdict(tuple(Check("c", level, "", {}) for level in levels)).text

    assert verdict(Level.good, Level.good) == "trust it"
    assert verdict(Level.good, Level.unknown) == "with care"
    assert verdict(Level.good, Level.care) == "with care"
    assert verdict(Level.unknown, Level.bad) == "do not trust it"


def test_intervals_are_over_episodes():
    none = Alarms(np.zeros(10))
    assert (none.rate, none.alarmed) == (0.0, 0)
    assert none.interval() == (0.0, 0.0)
    # Wilson at 0 of 10: z² / (n + z²) = 3.8415 / 13.8415 = 0.2775
    low, high = none.alarmed_interval()
    assert low == pytest.approx(0, abs=1e-12)
    assert high == pytest.approx(0.2775, abs=1e-3)
    half = Alarms(np.array([1.0] * 5 + [0.0] * 5))
    assert half.rate == 0.5
    low, high = half.interval()
    assert 0.1 <= low <= 0.3
    assert 0.7 <= high <= 0.9  # as wide as 10 episodes leave it, however many steps they have


def test_every_episode_is_judged_by_a_constraint_that_has_not_seen_it():
    demos = wall_run(CHEETAH)[1]
    seen, done = [], []

    def refit(fold):
        seen.append(fold.trajectories.observations[:, 0, 0])
        return wall(CHEETAH, at=10.0)  # forbids the beginning of every episode

    found = held_out_alarms(demos, refit, lambda *progress: done.append(progress))
    starts = demos.trajectories.observations[:, 0, 0]
    assert [len(part) for part in seen] == [8] * 5
    left_out = [set(starts) - set(part) for part in seen]
    assert set.union(*left_out) == set(starts)
    assert sum(map(len, left_out)) == 10
    np.testing.assert_allclose(
        found.rates, alarms(wall(CHEETAH, at=10.0), demos.trajectories).rates
    )
    assert found.alarmed == 10
    assert done[-1] == (6, 6)


def test_levels_of_held_out_demonstrations():
    constraint, demos, _ = wall_run(CHEETAH)
    good = check_held_out(constraint, demos, Alarms(np.zeros(10)), "")
    care = check_held_out(constraint, demos, Alarms(np.full(10, 0.05)), "")
    bad = check_held_out(constraint, demos, Alarms(np.full(10, 0.3)), "")
    unknown = check_held_out(constraint, demos, None, "one episode")
    assert [check.level for check in (good, care, bad, unknown)] == [
        Level.good,
        Level.care,
        Level.bad,
        Level.unknown,
    ]
    assert "agents held fixed" in good.reason
    assert unknown.reason.startswith("one episode")
    # a constraint that forbids its own demonstrations is bad whatever refits say
    assert check_held_out(wall(CHEETAH, at=60.0), demos, None, "one episode").level is Level.bad


def test_a_refit_that_is_another_constraint_is_noticed():
    constraint, demos, visited = wall_run(CHEETAH)
    judged = judge_pairs(constraint, demos.trajectories, visited)
    assert reproduction(constraint, constraint, judged) == 1.0
    assert reproduction(constraint, wall(CHEETAH, at=-2.0), judged) > 0.98
    # x >= -2.5 forbidden: wrong on everything
    assert reproduction(constraint, wall(CHEETAH, steepness=-2.0), judged) < 0.02


def test_the_steps_of_a_network_are_replayed_on_the_record_alone():
    constraint, demos, visited = wall_run(CHEETAH)
    backward = BackwardConfig(updates=60, learning_rate=0.03, sparsity=0.0)
    config = plain_learn(steps=1_000_000, backward=backward)
    task = make_scenario(CHEETAH).task
    refit = find_refit("icrl", task, constraint, config, visited)
    judged = judge_pairs(constraint, demos.trajectories, visited)
    assert reproduction(constraint, refit(demos), judged) > 0.95
    assert held_out_alarms(demos, refit).rate < 0.05
    assert find_refit("icrl", task, constraint, config, None) is None
    assert find_refit("nominal", task, constraint, config, visited) is None


def test_near_data_is_as_near_as_data_are_to_each_other():
    points = np.linspace(0, 1, 101)[:, None]
    order = np.random.default_rng(0).permutation(101)
    near = near_data(np.array([[0.5], [0.005], [1.5], [-0.3]]), points[order])
    np.testing.assert_array_equal(near, [True, True, False, False])


def two_clouds(gap):
    """Allowed pairs at x in [0, 1], forbidden ones in [-1 - gap, -gap];
    ζ turns in the middle of the gap."""
    scenario = make_scenario("point")
    from icrl.constraint.features import select_features

    features = select_features(scenario.task, ("x", "y"), 20.0)
    constraint = linear_constraint(features, [20.0, 0.0], 10.0 * gap)
    rng = np.random.default_rng(0)
    observations = rng.uniform(0, 1, (2000, features.num_observations))
    observations[1000:, features.columns[0]] -= 1 + gap
    pairs = Pairs(
        observations=observations, actions=rng.uniform(-0.1, 0.1, (2000, features.num_actions))
    )
    return constraint, Judged(
        names=features.names,
        choices=np.zeros(2, bool),
        values=observations[:, list(features.columns)],
        forbidden=~constraint.is_feasible(pairs.observations, pairs.actions),
        episodes=np.repeat([-1, 0], 1000),
        pairs=pairs,
    )


def test_coverage_tells_where_nobody_was():
    constraint, judged = two_clouds(gap=6.0)
    found = measure_coverage(constraint, judged)
    (x,) = found.ranges  # y does not matter
    assert (x.name, x.low, x.high) == ("x", pytest.approx(-7, abs=0.05), pytest.approx(1, abs=0.05))
    assert x.gap == (pytest.approx(-6, abs=0.05), pytest.approx(0, abs=0.05))
    # of the range -7..1 ζ forbids -7..-3, and data are in -7..-6: a quarter
    assert found.forbidden == pytest.approx(0.25, abs=0.05)
    assert found.box == pytest.approx(0.25, abs=0.05)
    assert "nobody was seen at -6" in check_coverage(found).reason
    dense = measure_coverage(*two_clouds(gap=0.0))
    assert dense.forbidden > 0.9
    assert dense.ranges[0].gap is None
    assert check_coverage(dense).level is Level.good


def test_states_that_are_or_are_not_need_no_covering():
    constraint, judged = two_clouds(gap=6.0)
    states = (judged.values > 0).astype(float)
    found = measure_coverage(constraint, replace(judged, values=states))
    assert found.ranges == ()
    assert check_coverage(found).level is Level.good


def test_seeds_that_disagree_are_counted():
    constraint, demos, visited = wall_run(CHEETAH)
    judged = judge_pairs(constraint, demos.trajectories, visited)
    same = measure_disagreement([constraint, wall(CHEETAH)], judged.pairs)
    assert (same.share, same.forbidden_by_all, same.constraints) == (0.0, 1.0, 2)
    other = wall(CHEETAH, at=20.0)
    found = measure_disagreement([constraint, other], judged.pairs)
    votes = [
        ~c.is_feasible(judged.pairs.observations, judged.pairs.actions) for c in (constraint, other)
    ]
    assert found.share == pytest.approx(np.mean(votes[0] != votes[1]))
    assert found.share > 0.02
    assert check_ensemble(same).level is Level.good
    assert check_ensemble(None).level is Level.unknown
    with pytest.raises(InputError, match="18 observations"):
        measure_disagreement([constraint, wall("ant-wall")], judged.pairs)


@pytest.fixture(scope="module")
def lap_runs(tmp_path_factory):
    """Two small runs that differ in their seed, and one that differs in its settings."""
    folder = tmp_path_factory.mktemp("laps")
    for seed, name in enumerate("ab"):
        run_learning(tiny_spec(seed=seed), lap_grid(), lap_demos(), folder / name, Quiet())
    shutil.copytree(folder / "b", folder / "c")
    config = json.loads((folder / "c" / "config.json").read_text()) | {"seed": 2, "preset": "paper"}
    (folder / "c" / "config.json").write_text(json.dumps(config))
    return folder


def test_runs_with_other_seeds_are_found_beside_a_run(lap_runs):
    assert [path.name for path in siblings(lap_runs / "a")] == ["b"]


def test_a_run_of_another_horizon_is_no_witness(lap_runs, tmp_path):
    for name in "ab":
        shutil.copytree(lap_runs / name, tmp_path / name)
    config = json.loads((tmp_path / "b" / "config.json").read_text())
    (tmp_path / "b" / "config.json").write_text(json.dumps(config | {"env": {"horizon": 9}}))
    assert siblings(tmp_path / "a") == []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"config": []}, "config is [], expected dict"),
        ({"config": {"caution": "a"}}, "caution is 'a', expected float"),
        ({"env": [1]}, "env is [1], expected dict or null"),
        ({"env": {"horizon": "long"}}, "env: horizon is 'long', expected int"),
        ({"columns": 3}, "columns is 3, expected dict or null"),
        ({"columns": {"a": 1}}, "columns has settings that this version does not know: a"),
        ({"demos": 3}, "demos is 3, expected str or null"),
        ({"task": None}, "task is None, expected str"),
    ],
)
def test_a_damaged_config_is_an_input_error(lap_runs, tmp_path, capsys, damage, message):
    shutil.copytree(lap_runs / "a", tmp_path / "a")
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    (tmp_path / "a" / "config.json").write_text(json.dumps(config | damage))
    with suppress(SystemExit):
        main(["evaluate", str(tmp_path / "a"), "--episodes", "1"])
    said = capsys.readouterr()
    assert message in " ".join((said.out + said.err).split())


def test_an_unfinished_run_is_announced(lap_runs, tmp_path, capsys):
    shutil.copytree(lap_runs / "a", tmp_path / "a")
    (tmp_path / "a" / "scores.json").unlink()
    main(["explain", str(tmp_path / "a")])
    assert "is not finished" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["explain", str(tmp_path / "a"), "--out", str(tmp_path / "nowhere" / "a.png")])
    assert "must be a .png file in a folder that exists" in capsys.readouterr().err


def test_the_whole_verdict_on_a_run(lap_runs, capsys):
    main(["evaluate", str(lap_runs / "a"), "--episodes", "2"])
    said = capsys.readouterr().out
    assert "Verdict, without the truth:" in said
    assert "with one demonstrated episode it cannot be known" in said
    assert "2 seeds disagree" in said
    content = json.loads((lap_runs / "a" / "evaluation.json").read_text())
    assert content["trust"]["verdict"] != "trust it"
    assert set(content["trust"]["checks"]) == {
        "held-out demonstrations",
        "coverage",
        "other seeds",
        "returns",
    }
    confusion = content["constraint"]["confusion"]
    assert sum(confusion.values()) == content["constraint"]["pairs"] > 500
    assert 0 <= content["constraint"]["calibration"]["error"] <= 1


def test_a_run_cannot_be_its_own_witness(lap_runs):
    task, played = lap_grid().task, lap_demos().trajectories
    with pytest.raises(InputError, match="the run itself"):
        judge_run(lap_runs / "a", task, lap_demos(), played, [lap_runs / "a"])


def test_several_demonstrations_are_held_out_in_turn(tmp_path):
    lap = lap_demos()
    demos = Demonstrations(trajectories=join([lap.trajectories] * 4), discrete=True)
    save_demos(demos, tmp_path / "laps.npz")
    spec = tiny_spec(demos=str(tmp_path / "laps.npz"))
    run_learning(spec, lap_grid(), demos, tmp_path / "run", Quiet())
    done = []
    played = select(demos.trajectories, np.array([True, False, False, False]))
    verdict = judge_run(
        tmp_path / "run", lap_grid().task, demos, played, [], lambda *part: done.append(part)
    )
    held_out = verdict.checks[0]
    # either four folds were judged, or the control said that refits of this tiny run tell nothing
    assert (
        held_out.numbers.get("episodes") == 4 and done[-1] == (5, 5)
    ) or "cannot be fitted again" in held_out.reason
    assert verdict.checks[-1].level is Level.unknown


@pytest.fixture(scope="module")
def searched_run(tmp_path_factory):
    """A small run of ours on disk: ζ is a region."""
    folder = tmp_path_factory.mktemp("searched")
    run_learning(tiny_spec(config=SEARCHING), lap_grid(), lap_demos(), folder / "run", Quiet())
    return folder / "run"


def test_a_rule_that_was_found_is_asked_other_questions(searched_run, capsys):
    main(["evaluate", str(searched_run), "--episodes", "2", "--judge", "3000"])
    said = " ".join(capsys.readouterr().out.split())
    assert "training a fresh agent under ζ for 3,000 steps" in said
    assert "Hit rate" in said
    assert "What would change it:" in said
    content = json.loads((searched_run / "evaluation.json").read_text())["trust"]
    names = {
        "held-out demonstrations",
        "evidence",
        "rivals",
        "judges",
        "returns",
        "elsewhere",
        "enough demonstrations",
    }
    assert names <= set(content["checks"])
    assert content["checks"]["judges"].get("judge_trained") == 3000
    # there is one demonstration
    assert content["checks"]["enough demonstrations"]["level"] == "care"
    assert content["verdict"] != "trust it"


def test_a_judge_needs_steps(searched_run, capsys):
    for steps, words in (("0", "judge = 0 is out of range"), ("300", "got --judge 300")):
        with pytest.raises(SystemExit):
            main(["evaluate", str(searched_run), "--episodes", "1", "--judge", steps])
        assert words in " ".join(capsys.readouterr().err.split())


def test_a_constraint_from_elsewhere_is_judged_by_its_returns(searched_run, tmp_path):
    shutil.copytree(searched_run, tmp_path / "run")
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    (tmp_path / "run" / "config.json").write_text(json.dumps(config | {"constraint": "elsewhere"}))
    verdict = judge_run(
        tmp_path / "run", lap_grid().task, lap_demos(), lap_demos().trajectories, []
    )
    assert "learned elsewhere" in verdict.checks[0].reason
    assert "elsewhere" in [check.name for check in verdict.checks]
