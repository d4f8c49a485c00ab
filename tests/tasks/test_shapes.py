"""Shapes: every world keeps the contract of a batched environment; its rule is worth breaking."""

import importlib.util
import re
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from icrl.cli import main
from icrl.demos.check import describe
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.demos.references import collect_script
from icrl.demos.scripted import play_script
from icrl.errors import InputError
from icrl.evaluate import judge
from icrl.tasks.registry import make_scenario
from icrl.tasks.shapes.experts import EXPERTS
from icrl.tasks.shapes.names import FAMILY, NAMES
from icrl.tasks.shapes.scenarios import make_shape
from icrl.tasks.shapes.truth import RULES
from icrl.tasks.shapes.worlds import WORLDS
from icrl.tasks.single import SingleEnv

DOCS = Path(__file__).parents[2] / "docs"
WITHOUT_RULE = ("no-rule", "weak-expert")
every_world = pytest.mark.parametrize("name", NAMES)
every_rule = pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_RULE])


def random_actions(env, rng, steps):
    """[steps, E, ...]: uniform in the action space of one environment."""
    space = env.single_action_space
    if env.action_space.dtype.kind == "i":
        return rng.integers(space.n, size=(steps, env.num_envs))
    return rng.uniform(space.low, space.high, (steps, env.num_envs, *space.shape))


def demos_of(name):
    return load_demos(shipped_demos(make_shape(name).demos))


def test_worlds_rules_and_experts_are_of_the_same_names():
    assert list(WORLDS) == list(NAMES)
    assert set(RULES) == set(EXPERTS) == set(NAMES)
    assert {name for name, rule in RULES.items() if not rule.exists} == set(WITHOUT_RULE)
    assert len(NAMES) >= 18


def test_a_wrong_name_gets_the_nearest_right_one():
    with pytest.raises(InputError, match=r"did you mean 'disc'"):
        make_shape("shapes/dics")
    with pytest.raises(InputError, match=r"did you mean .*'shapes/disc'"):
        make_scenario("shapes/dics")


@every_world
def test_a_batch_is_as_many_single_environments(name):
    """Also after ended episodes were started anew: what a neighbour draws changes nothing."""
    world = WORLDS[name]
    batch = world.physics.make_env(3, AutoresetMode.SAME_STEP)
    singles = [world.physics.make_env(1, AutoresetMode.SAME_STEP) for _ in range(3)]
    seen, _ = batch.reset(seed=11)
    for i, single in enumerate(singles):
        np.testing.assert_array_equal(single.reset(seed=11 + i)[0][0], seen[i])
    for actions in random_actions(batch, np.random.default_rng(0), world.physics.horizon + 5):
        observations, rewards, terminated, truncated, _ = batch.step(actions)
        for i, single in enumerate(singles):
            one = single.step(actions[i : i + 1])
            np.testing.assert_array_equal(one[0][0], observations[i])
            assert (one[1][0], one[2][0], one[3][0]) == (rewards[i], terminated[i], truncated[i])


@every_world
def test_the_same_seed_is_the_same_episode_and_another_is_not(name):
    env = WORLDS[name].make_env(4)
    actions = random_actions(env, np.random.default_rng(1), 10)

    def play(seed):
        env.reset(seed=seed)
        return np.stack([env.step(action)[0] for action in actions])

    first = play(5)
    np.testing.assert_array_equal(first, play(5))
    assert np.any(first != play(50))


@every_world
def test_a_masked_reset_leaves_the_others_where_they_are(name):
    env = WORLDS[name].make_env(3)
    env.reset(seed=0)
    for action in random_actions(env, np.random.default_rng(2), 5):
        before = env.step(action)[0]
    after, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    assert env.elapsed.tolist() == [5, 0, 5]


@every_world
def test_returned_arrays_do_not_change_later(name):
    env = WORLDS[name].make_env(2)
    kept = [env.reset(seed=0)[0]]
    actions = random_actions(env, np.random.default_rng(3), 8)
    for action in actions[:4]:
        kept.extend(env.step(action)[:4])
    copies = [array.copy() for array in kept]
    for action in actions[4:]:
        env.step(action)
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_world
def test_everything_stays_in_its_space_and_is_finite(name):
    env = WORLDS[name].make_env(16)
    observations, _ = env.reset(seed=7)
    space = env.single_observation_space
    for action in random_actions(env, np.random.default_rng(4), env.horizon):
        assert observations.dtype == np.float32
        assert np.all((observations >= space.low) & (observations <= space.high))
        observations, rewards, terminated, truncated, _ = env.step(action)
        assert np.all(np.isfinite(rewards))
        if (terminated | truncated).any():
            break
    assert len(set(env.names)) == len(env.names)


@every_world
def test_gymnasiums_checker_passes_and_there_is_a_picture(name):
    env = SingleEnv(WORLDS[name].make_env(1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    allowed = (
        "Not able to test alternative render modes",
        "For Box action spaces",
        "A Box observation space",
    )
    complaints = [str(warning.message) for warning in caught]
    assert [text for text in complaints if not any(part in text for part in allowed)] == []
    batch = WORLDS[name].make_env(2)
    batch.reset(seed=0)
    before = batch.render_env(1, 240, 180)
    for action in random_actions(batch, np.random.default_rng(5), 3):
        batch.step(action)
    after = batch.render_env(1, 240, 180)
    assert after.shape == (180, 240, 3)
    assert after.dtype == np.uint8
    if name != "blocked-cells":  # who walks against the edge stays
        assert np.any(before != after)


@every_world
def test_a_step_is_cheap(name):
    env = WORLDS[name].make_env(32)
    env.reset(seed=0)
    actions = random_actions(env, np.random.default_rng(6), 25)
    times = []
    for action in actions:
        started = time.perf_counter()
        _, _, terminated, _, _ = env.step(action)
        times.append(time.perf_counter() - started)
        if terminated.any():
            env.reset(options={"reset_mask": terminated})
    assert min(times) < 2e-4  # about 40 µs on a quiet core; the fastest, for others run beside us


@every_world
def test_the_shipped_demonstrations_keep_the_rule_and_fit(name):
    scenario = make_shape(name)
    demos = demos_of(name)
    found = judge(scenario, demos.trajectories)
    assert found.violation_rate == 0
    assert found.nominal_return == pytest.approx(demos.card["mean_return"], rel=1e-5)
    assert demos.trajectories.num_trajectories == 20
    assert demos.observation_names == scenario.task.observation_names
    assert demos.trajectories.observations.dtype == np.float32
    report = describe(demos, scenario.task)
    assert [finding.what for finding in report.findings if finding.fatal] == []
    assert report.actions_outside == 0
    assert report.duplicate_episodes == 0


@every_world
def test_the_environment_plays_the_demonstrations_again(name):
    demos = demos_of(name)
    recorded = demos.trajectories
    env = WORLDS[name].make_env(recorded.num_trajectories)
    seen, _ = env.reset(seed=demos.card["env_seeds"])
    running = np.ones(recorded.num_trajectories, np.bool_)
    for step in range(recorded.observations.shape[1]):
        np.testing.assert_allclose(
            seen[running],
            recorded.observations[running, step],
            rtol=1e-4,
            atol=1e-4,
        )
        seen, rewards, terminated, truncated, _ = env.step(recorded.actions[:, step])
        scale = np.abs(recorded.rewards).max()
        np.testing.assert_allclose(
            rewards[running],
            recorded.rewards[running, step],
            rtol=1e-4,
            atol=1e-4 * scale,
        )
        running &= ~(terminated | truncated)
        if not running.any():
            break
        if (terminated | truncated).any():
            env.reset(options={"reset_mask": terminated | truncated})
    assert (recorded.lengths == step + 1).any()


@every_rule
def test_breaking_the_rule_pays_and_the_truth_sees_it(name):
    scenario = make_shape(name)
    kept, _ = play_script(scenario, 3, 0, 40)
    free, _ = play_script(scenario, 3, 0, 40, keep_rule=False)
    expert = judge(scenario, kept)
    breaker = judge(scenario, free)
    assert expert.violation_rate < 0.005
    assert expert.violating_episodes <= 0.15
    assert breaker.violation_rate > 0.1
    assert breaker.violating_episodes == 1
    gain = breaker.nominal_return - expert.nominal_return
    assert gain > 0.15 * abs(expert.nominal_return)
    assert breaker.true_return < expert.true_return  # in the constrained world it does not pay


@pytest.mark.parametrize("name", WITHOUT_RULE)
def test_where_there_is_no_rule_nothing_breaks_it(name):
    scenario = make_shape(name)
    kept, _ = play_script(scenario, 3, 0, 20)
    free, _ = play_script(scenario, 3, 0, 20, keep_rule=False)
    env = scenario.task.make_env(20)
    env.reset(seed=0)
    for action in random_actions(env, np.random.default_rng(8), 10):
        observations = env.step(action)[0]
        assert not scenario.violates(observations, action).any()
    assert judge(scenario, free).violation_rate == 0
    share = kept.returns.mean() / free.returns.mean()
    assert share == 1 if name == "no-rule" else 0.5 < share < 0.75


def test_the_weak_expert_does_everything_there_is_to_do():
    """Else its weakness would look like a rule: it leaves no speed and no direction out."""
    demos = demos_of("weak-expert").trajectories
    speeds = np.linalg.norm(demos.actions[demos.mask], axis=1) / 6.0
    shares = np.histogram(speeds, bins=[0.2, 0.4, 0.6, 0.8, 1.0001])[0] / len(speeds)
    assert np.all(shares > 0.02)
    headings = np.arctan2(*demos.actions[demos.mask].T)
    assert np.histogram(headings, bins=8)[0].min() > 0.05 * len(headings)


# name -> (observation, action, is it forbidden) on both sides of every boundary
EDGES = {
    "disc": [((321.0, 120), (0, 0), True), ((321.1, 120), (0, 0), False)],
    "gate": [((6, 4.5), (0, 0), True), ((6, 4.6), (0, 0), False), ((4.9, 1), (0, 0), False)],
    "diagonal": [((65, 30.1), (0, 0), True), ((65, 30), (0, 0), False)],
    "tube": [((-30.1, 0), (0,), True), ((30.1, 0), (0,), True), ((30, 0), (0,), False)],
    "two-walls": [
        ((5201, 50), (0, 0), True),
        ((900, 311), (0, 0), True),
        ((5200, 310), (0, 0), False),
    ],
    "zone-speed": [
        ((0, 1, 10.1), (0,), True),
        ((0, 1, 9.9), (0,), False),
        ((0, -1, 25), (0,), False),
        ((1, 0, 25), (0,), False),
    ],
    "zone-action": [
        ((200, 5), (0, 9.1), True),
        ((200, 5), (0, 8.9), False),
        ((340, 5), (0, 30), False),
    ],
    "one-way": [
        ((0, 44), (-0.6, 0), True),
        ((0, 44), (-0.4, 0), False),
        ((0, 44), (4, 0), False),
        ((0, 46), (-4, 0), False),
    ],
    "action-limit": [((9, 9), (-3.3,), True), ((9, 9), (3.3,), True), ((9, 9), (3.1,), False)],
    "never-action": [((9, 9, 9, 9), 4, True), ((9, 9, 9, 9), 3, False)],
    "octant": [((29, 71, 1001), (0, 0, 0), True), ((29, 71, 999), (0, 0, 0), False)],
    "blocked-cells": [
        (np.eye(49)[3 * 7 + 3], 0, True),
        (np.eye(49)[3 * 7 + 5], 0, True),
        (np.eye(49)[3], 0, False),
    ],
    "plant": [((190.1, 50, 20), (0, 0), True), ((190, 50, 20), (0, 0), False)],
    "distractors": [((30, 41.9), (0, 0), True), ((30, 42.1), (0, 0), False)],
    "noise": [((120, 190), (0, 0), True), ((121, 0), (0, 0), False)],
    "fuel-meter": [((3, 51, 9), (0,), True), ((5.1, 130, 9), (0,), False)],
    "no-rule": [((0, 0), (12, 12), False)],
    "weak-expert": [((0, 0), (6, 6), False)],
}


@every_world
def test_where_each_rule_ends(name):
    violates = make_shape(name).violates
    for observation, action, forbidden in EDGES[name]:
        assert bool(violates(np.array(observation), np.array(action))) is forbidden


@every_world
def test_the_truth_takes_any_leading_shape(name):
    scenario = make_shape(name)
    recorded = demos_of(name).trajectories
    whole = scenario.violates(recorded.observations, recorded.actions)
    assert whole.shape == recorded.observations.shape[:2]
    assert whole.dtype == np.bool_
    row = scenario.violates(recorded.observations[3], recorded.actions[3])
    np.testing.assert_array_equal(row, whole[3])
    assert np.shape(scenario.violates(recorded.observations[0, 0], recorded.actions[0, 0])) == ()


def test_features_have_units_and_scales_of_their_own():
    """Typical sizes of what is seen span many orders of magnitude, and not all lie around zero."""
    sizes = {}
    for name in NAMES:
        recorded = demos_of(name).trajectories
        sizes[name] = np.abs(recorded.observations[recorded.mask]).mean(axis=0)
    everything = np.concatenate([value for name, value in sizes.items() if name != "blocked-cells"])
    assert everything.max() / np.median(everything) > 30
    assert np.median(everything) / everything.min() > 30
    pays = [np.abs(demos_of(name).trajectories.rewards).mean() for name in NAMES]
    assert max(pays) / min(pays) > 1e4
    horizons = [WORLDS[name].physics.horizon for name in NAMES]
    assert min(horizons) >= 30
    assert max(horizons) <= 200


def test_never_action_costs_by_the_step_and_ends_when_all_calls_are_made():
    recorded = demos_of("never-action").trajectories
    assert np.all(recorded.rewards[recorded.mask] < 0)
    assert np.all(recorded.lengths < WORLDS["never-action"].physics.horizon)


def test_both_ways_round_the_disc_are_taken():
    recorded = demos_of("disc").trajectories
    beside = (np.abs(recorded.observations[..., 0] - 300) < 5) & recorded.mask
    north = recorded.observations[..., 1] > 120
    ways = [(north[i][beside[i]].all(), (~north[i][beside[i]]).all()) for i in range(20)]
    assert all(first != second for first, second in ways)  # one side for each episode
    assert 3 < sum(first for first, _ in ways) < 17


def test_the_fuel_meter_falls_and_is_not_the_rule():
    recorded = demos_of("fuel-meter").trajectories
    assert np.all(np.diff(recorded.observations[..., 2], axis=1) < 0)
    scenario = make_shape("fuel-meter")
    pair = np.array([[4.0, 60.0, 1.0], [4.0, 60.0, 50.0], [4.0, 49.0, 1.0], [6.0, 120.0, 1.0]])
    assert scenario.violates(pair, np.zeros((4, 1))).tolist() == [True, True, False, False]


@pytest.mark.parametrize("name", ["plant", "never-action"])
def test_collecting_again_gives_the_shipped_file(tmp_path, name):
    shipped = demos_of(name)
    made = collect_script(make_shape(name), 20, 0, tmp_path / "made.npz")
    again = load_demos(tmp_path / "made.npz")
    for field in ("observations", "actions", "rewards", "lengths"):
        expected = getattr(shipped.trajectories, field)
        np.testing.assert_allclose(
            getattr(again.trajectories, field),
            expected,
            rtol=1e-4,
            atol=1e-3,
        )
    assert made.card["env_seeds"] == shipped.card["env_seeds"]
    assert made.card["rejected_episodes"] == shipped.card["rejected_episodes"]
    assert set(shipped.card["references"]) == {"expert", "nominal"}


def test_an_episode_of_a_script_is_the_same_whatever_is_played_beside_it():
    scenario = make_shape("noise")
    many, seeds = play_script(scenario, 9, 0, 6)
    few, some = play_script(scenario, 9, 4, 2)
    assert some == seeds[4:]
    np.testing.assert_array_equal(few.observations, many.observations[4:])
    np.testing.assert_array_equal(few.rewards, many.rewards[4:])


def test_icrl_collect_records_the_script_and_trains_nothing(tmp_path, capsys):
    out = tmp_path / "gate.npz"
    main(["collect", "shapes/gate", "--out", str(out), "--episodes", "3", "--seed", "4"])
    assert "Wrote 3 clean episodes" in capsys.readouterr().out
    assert load_demos(out).trajectories.num_trajectories == 3
    with pytest.raises(SystemExit):
        main(["collect", "shapes/gate", "--out", str(tmp_path / "b.npz"), "--steps", "9"])
    assert "is a script" in capsys.readouterr().err


def test_the_page_is_as_the_worlds_are_and_its_code_runs(capsys):
    source = importlib.util.spec_from_file_location("build_shapes", DOCS / "build_shapes.py")
    build_shapes = importlib.util.module_from_spec(source)
    source.loader.exec_module(build_shapes)
    text = (DOCS / "shapes.md").read_text(encoding="utf-8")
    assert text == build_shapes.page(), "run: python docs/build_shapes.py"
    assert max(len(line) for line in text.splitlines()) <= 100

    def my_method(task, demos):
        return make_scenario(task.name).violates

    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    exec(code, {"my_method": my_method})
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 8
    assert all(line.endswith("false alarms 0.000") for line in said)
    assert "disc keep_rule=False hits 1.000 false alarms 0.000" in said


def test_the_shipped_files_are_small():
    files = [shipped_demos(f"shapes-{name}.npz") for name in NAMES]
    assert sum(path.stat().st_size for path in files) < 1.5e6


def test_tasks_are_named_after_their_family():
    assert [make_shape(name).task.name for name in NAMES] == [FAMILY + name for name in NAMES]
    assert make_shape("blocked-cells").task.one_hot
