"""How agents get on."""

import dataclasses

from icrl.progress import improving, scouted
from icrl.rounds import Phase
from icrl.state import LearnState, Scout


def test_who_earns_no_more_for_a_while_gets_no_better():
    rising = (0.0, 0.5, 1.1, 1.3, 1.5, 1.7, 1.9)
    assert improving(rising)
    assert not improving((1.5, 1.5, 1.5, 1.55, 1.5))
    # below one deviation of the demonstrations patience lasts for ten pieces
    assert improving((0.2,) * 10)
    assert not improving((0.2,) * 11)


def test_each_scout_is_kept_at_its_best():
    state = LearnState(training=None, phase=Phase.scout)
    state = dataclasses.replace(state, scouted=scouted(state, Scout("first", 1.0)))
    state = dataclasses.replace(state, scouted=scouted(state, Scout("worse", 0.5)))
    assert [scout.agent for scout in state.scouted] == ["first"]
    state = dataclasses.replace(state, scouted=scouted(state, Scout("better", 2.0)), scouts=1)
    state = dataclasses.replace(state, scouted=scouted(state, Scout("second", 0.1)))
    assert [scout.agent for scout in state.scouted] == ["better", "second"]
    assert state.best_scout == Scout("better", 2.0)
