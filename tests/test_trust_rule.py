"""Rivals and strange places: "trust it" is said only of a rule that is ahead of its rivals, and of
agents that go where demonstrations went."""

import dataclasses

import numpy as np
import pytest

from icrl.constraint.found import region_constraint
from icrl.constraint.region import Region, RegionAxis
from icrl.demos.dataset import Demonstrations
from icrl.tasks.lap_grid import lap_grid
from icrl.tasks.registry import make_scenario
from icrl.trust.check import Check, Level, Verdict
from icrl.trust.returns import check_returns, forbids_anything
from icrl.trust.rule import check_elsewhere, check_rivals
from icrl.types import Trajectories

TASK = make_scenario("shapes/no-rule").task


def rival(axes, score, vetoed=False):
    return {"axes": axes, "score": score, "explained": 0.9, "refuted": 0.0, "vetoed": vetoed}


def with_card(**search):
    card = {"search": {"strength": 1.0, "demonstrations": 20, **search}}
    return region_constraint(None, (), TASK, card)


@pytest.mark.parametrize(
    ("search", "level", "words"),
    [
        ({"axes": ["x"], "rivals": [rival("x", 0.9), rival("y", 0.3)]}, Level.good, "no rival"),
        ({"axes": ["x"], "rivals": [rival("x", 0.6), rival("y", 0.55)]}, Level.care, "over y"),
        ({"axes": ["x"], "rivals": [rival("x", 0.6), rival("x + y", 0.6)]}, Level.good, "no rival"),
        ({"axes": ["x"], "rivals": [rival("x", 0.6), rival("y", 0.6, True)]}, Level.good, "no rival"),
        ({"axes": ["x"], "rivals": [rival("x", 0.2)]}, Level.care, "not clearly"),
        ({"axes": ["x"], "rivals": [rival("x", 0.9)], "demonstrations": 2}, Level.care, "2 demonstrations"),
        ({"rivals": [], "strength": 0.5}, Level.good, "no rule is needed"),
        ({"rivals": [rival("x", 0.06)], "strength": 1.0}, Level.care, "x came nearest"),
    ],
)
def test_a_rule_is_as_good_as_it_is_ahead_of_its_rivals(search, level, words):
    check = check_rivals(with_card(**search))
    assert check.level is level
    assert words in check.reason


def test_a_constraint_that_was_not_searched_for_has_no_rivals():
    assert check_rivals(region_constraint(None, (), TASK, {})) is None


def walks(places, seed=0):
    """Episodes of two hundred steps whose first two features are spread over a square around places."""
    rng = np.random.default_rng(seed)
    num = len(places)
    observations = rng.uniform(0, 1, (num, 200, len(TASK.observation_names))).astype(np.float32)
    observations[:, :, :2] += np.asarray(places, np.float32)[:, None, :]
    return Trajectories(
        observations=observations,
        actions=rng.uniform(-1, 1, (num, 200, 2)).astype(np.float32),
        rewards=np.ones((num, 200), np.float32),
        lengths=np.full(num, 200),
    )


def test_an_agent_in_a_place_of_its_own_is_told_of():
    demos = Demonstrations(trajectories=walks([(0, 0)] * 10), discrete=False)
    nothing = region_constraint(None, (), TASK, {})
    same = check_elsewhere(nothing, TASK, demos, walks([(0, 0)] * 10, seed=1))
    assert same.level is Level.good
    other = check_elsewhere(nothing, TASK, demos, walks([(0, 5)] * 10, seed=1))
    assert other.level is Level.care
    assert TASK.observation_names[1] in other.reason


def test_nothing_forbidden_while_the_agent_earns_much_more_is_bad():
    demos = Demonstrations(trajectories=walks([(0, 0)] * 10), discrete=False)
    nothing = region_constraint(None, (), TASK, {})
    assert not forbids_anything(nothing)
    rich = dataclasses.replace(demos.trajectories, rewards=1.5 * demos.trajectories.rewards)
    assert check_returns(nothing, rich, demos, 1.0).level is Level.bad
    axis = RegionAxis(columns=(0,), nodes=np.array([0.0, 1e6]))
    region = Region(axes=(axis,), depth=np.array([0, 2], np.float32), evidence_depth=2.0)
    something = region_constraint(region, ((0,),), TASK, {})
    assert check_returns(something, rich, demos, 1.0).level is Level.care


def test_every_verdict_says_what_would_change_it():
    good = Check("coverage", Level.good, "", {})
    care = Check("rivals", Level.care, "", {})
    bad = Check("returns", Level.bad, "", {})
    assert "enters what ζ forbids" in Verdict((good,)).would_change
    assert "one of the rivals" in Verdict((good, care)).would_change
    assert "(returns)" in Verdict((care, bad)).would_change  # what is worst comes first
    assert Verdict((care,)).as_json()["would_change"] == Verdict((care,)).would_change


def test_discrete_worlds_can_be_asked_too():
    task = lap_grid().task
    cells = np.tile(np.linspace(-1, 1, 40, dtype=np.float32), 5)[None, :, None]
    one_way = Trajectories(
        observations=cells, actions=np.zeros((1, 200), np.int64), rewards=np.zeros((1, 200)), lengths=np.array([200])
    )
    demos = Demonstrations(trajectories=one_way, discrete=True)
    back = dataclasses.replace(one_way, actions=np.ones((1, 200), np.int64))
    assert check_elsewhere(region_constraint(None, (), task, {}), task, demos, back).level is Level.care
    assert check_elsewhere(region_constraint(None, (), task, {}), task, demos, one_way).level is Level.good
