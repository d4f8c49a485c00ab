"""What agents keep of their gain while they obey a rule."""

import numpy as np
import pytest

from icrl import trials
from icrl.trials import Asked


class Scripted(Asked):
    """Agents are names, and what they earn is written down."""

    def earned(self, agent, cost):
        if cost is None:
            return {"good": 4.0, "fair": 1.0, "poor": 0.4}[agent]
        return {"good": -2.0, "fair": 0.8, "poor": 9.0}[agent]


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setattr(trials, "foreseeing", lambda rng, agent, seen, task: agent)
    monkeypatch.setattr(trials, "rule_cost", lambda rule, caution, task: rule)

    class World:
        task = None

    return lambda *agents: Scripted(World(), np.random.default_rng(0), list(agents), None, None)


def test_who_hardly_out_earns_the_demonstrations_is_not_asked(asked):
    assert asked("good", "fair", "poor").agents == ["good", "fair"]
    assert asked("poor").agents == []


def test_a_rule_must_stop_them_all(asked):
    assert asked("good").kept_under("rule") == 0.0  # less than nothing is nothing
    # 0.8 of the 4.0 that the best earns without the rule, and not of the 1.0 of its own
    assert asked("good", "fair").kept_under("rule") == pytest.approx(0.2)
