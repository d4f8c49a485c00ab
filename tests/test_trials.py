"""What agents keep of their gain while they obey a rule."""

import numpy as np
import pytest

from icrl import trials
from icrl.trials import Asked
from icrl.types import Trajectories


class Scripted(Asked):
    """Agents are names, and what they earn is written down."""

    def permitted(self, agent, cost):
        earned = {"good": -2.0, "fair": 0.8, "poor": 9.0}[agent]
        if cost is None:
            earned = {"good": 4.0, "fair": 1.0, "poor": 0.4}[agent]
        return Trajectories(
            observations=np.full((1, 1, 1), earned),
            actions=np.zeros((1, 1, 1)),
            rewards=np.full((1, 1), earned),
            lengths=np.ones(1, np.int64),
        )


class Nothing:
    """Demonstrations that earn nothing, by a deviation of 1."""

    def advantages(self, samples):
        return samples.returns


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setattr(trials, "foreseeing", lambda rng, agent, seen, task: agent)
    monkeypatch.setattr(trials, "rule_cost", lambda rule, caution, task: rule)

    class World:
        task = None

    return lambda *agents: Scripted(
        World(), np.random.default_rng(0), list(agents), None, Nothing()
    )


def test_who_hardly_out_earns_the_demonstrations_is_not_asked(asked):
    assert asked("good", "fair", "poor").agents == ["good", "fair"]
    assert asked("poor").agents == []


def test_a_rule_must_stop_them_all(asked):
    assert asked("good").kept_under("rule").kept == 0.0  # less than nothing is nothing
    # 0.8 of the 4.0 that the best earns without the rule, and not of the 1.0 of its own
    tried = asked("good", "fair").kept_under("rule")
    assert tried.kept == pytest.approx(0.2)
    # what each of them did is told, too
    assert tried.permitted.observations[:, 0, 0].tolist() == pytest.approx([-2.0, 0.8])
