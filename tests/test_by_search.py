"""Our way through Algorithm 1, decision by decision; whole runs are in `test_learn.py`."""

import dataclasses

import numpy as np
import pytest

from icrl.agent.training import Training
from icrl.by_search import SearchWay
from icrl.config import Train
from icrl.demos.fitting import fit_and_check
from icrl.evidence.gathered import add
from icrl.presets import default
from icrl.rounds import Phase
from icrl.tasks.registry import make_scenario
from small_runs import lap_demos

TASK = make_scenario("lap-grid").task


@pytest.fixture(scope="module")
def way():
    import jax

    config = dataclasses.replace(default("lap-grid"), steps=60_000)
    return SearchWay(TASK, fit_and_check(lap_demos(), TASK), config, jax.random.key(0))


@pytest.fixture
def handed_out(way):
    """The first moment of the last phase, after a scout that nothing was learned from."""
    begun = dataclasses.replace(way.start(), number=0)
    scouted = way.sample(begun)
    evidence = add(None, scouted.samples, 0)
    return way._hand_out(dataclasses.replace(scouted, evidence=evidence), "test")


def test_a_clone_is_seen_before_it_is_trained_and_only_then(way, handed_out):
    state = handed_out
    assert state.training.cloned
    seen = way.solve(state, lambda _: None)
    assert seen.steps == state.steps
    assert seen.forward_info.steps == 0
    assert seen.training is state.training
    # it did badly: now it is trained
    after = dataclasses.replace(seen, curve=(-1.0,))
    trained = way.solve(after, lambda _: None)
    assert trained.forward_info.steps > 0
    assert trained.steps == after.steps + trained.forward_info.steps


def test_a_clone_that_does_well_twice_is_handed_out_untrained(way, handed_out):
    state = handed_out
    for _ in range(2):
        assert not state.finished
        state = way.move(way.sample(way.solve(state, lambda _: None)))
    assert state.finished
    assert state.training.steps == 0
    assert float(np.mean(state.samples.returns)) == pytest.approx(60.0)


def test_where_help_does_not_help_the_judge_goes_on(way, handed_out):
    state = handed_out
    judge = way._fresh(state, Phase.judge, "test").training.agent
    # a goal that nobody meets, and eleven looks at which nothing got better
    poor = dataclasses.replace(state.expected, returns=state.expected.returns + 1e6)
    state = dataclasses.replace(state, judge=judge, expected=poor, curve=(-9.0,) * 10)
    # while it is pulled towards the demonstrations that says nothing
    pulled = dataclasses.replace(state, training=state.training._replace(steps=1))
    assert not way.move(way.sample(pulled)).alone
    past = way.forward.pull
    state = dataclasses.replace(state, training=state.training._replace(steps=past))
    after = way.move(way.sample(state))
    assert after.alone
    assert not after.finished
    assert after.training == Training(judge)
    assert "goes on" in after.why
    # the second one that gets no better ends the run, and the best so far is handed out
    after = dataclasses.replace(after, curve=(-9.0,) * 10)
    last = way.move(way.sample(after))
    assert last.finished
    assert "not trained out" in last.why


def test_what_settling_undoes_is_not_handed_out(way, handed_out):
    state = way.solve(handed_out, lambda _: None)
    good = way.move(way.sample(state))
    settling = good.training._replace(steps=2 * way.forward.tail, done_at=1, passes=3)
    # a goal that the last look misses
    poor = dataclasses.replace(good.expected, returns=good.expected.returns + 1e6)
    spoiled = dataclasses.replace(way._fresh(good, Phase.final, "test").training.agent)
    last = dataclasses.replace(
        good, expected=poor, training=settling._replace(agent=spoiled), acted=spoiled
    )
    last = way.move(way.sample(last))
    assert last.finished
    assert last.acted is good.best
    assert "worse than the best before it" in last.why


def test_who_trains_all_steps_never_stops_early(way, handed_out):
    state = handed_out
    patient = dataclasses.replace(way.config, train=Train.all_steps)
    other = SearchWay(way.task, way.demos, patient, way.key_agents)
    state = dataclasses.replace(state, curve=(-9.0,) * 30)
    assert not other.move(other.sample(state)).finished
