"""What is told of ζ before and after it is found; whole findings are in `test_learn.py`."""

import numpy as np
import pytest

from icrl.constraint.found import region_constraint
from icrl.constraint.region import Region, RegionAxis
from icrl.finding import mean_cost, rule_of, told_of, why_no_rule
from icrl.rounds import Phase
from icrl.search.find import Candidate
from icrl.search.rule import Finding
from icrl.state import LearnState
from icrl.tasks.registry import make_scenario
from icrl.types import Trajectories

TASK = make_scenario("shapes/plant").task


def state(finding=None):
    return LearnState(training=None, phase=Phase.scout, finding=finding)


def test_before_anything_is_found_nothing_is_told():
    assert rule_of(state()) is None
    assert told_of(state()) == {}


def test_where_no_rule_is_believed_the_rivals_are_told():
    finding = Finding(None, (Candidate((0, 1), 0.1, 8, 0.5, 0.0),), 0.4, ("x", "y"))
    assert rule_of(state(finding)) is None
    assert told_of(state(finding)) == {"strength": 0.4, "rivals": [["x + y", 0.1]]}


def test_scouts_that_learned_nothing_are_no_sign_that_there_is_no_rule():
    assert "nobody can tell" in why_no_rule(-3.0)
    assert "nothing needs a rule" in why_no_rule(-0.5)
    assert "nothing needs a rule" in why_no_rule(0.5)


def test_one_agent_alone_may_merely_be_better():
    assert "one agent alone" in why_no_rule(1.5)


def test_the_mean_cost_counts_real_steps_alone():
    nodes = np.array([0.0, 100.0, 100.1, 200.0])
    depth = np.array([0.0, 0.0, 3.0, 3.0], np.float32)  # forbidden from 100 on
    region = Region(axes=(RegionAxis(columns=(0,), nodes=nodes),), depth=depth, evidence_depth=3.0)
    constraint = region_constraint(region, [(0,)], TASK, {})
    observations = np.zeros((2, 2, len(TASK.observation_names)), np.float32)
    observations[0, :, 0] = [150.0, 50.0]
    observations[1, :, 0] = [50.0, 150.0]  # the second step is padding
    trajectories = Trajectories(
        observations=observations,
        actions=np.zeros((2, 2, len(TASK.action_names)), np.float32),
        rewards=np.zeros((2, 2), np.float32),
        lengths=np.array([2, 1]),
    )
    assert mean_cost(constraint, trajectories) == pytest.approx(1 / 3, abs=0.01)
