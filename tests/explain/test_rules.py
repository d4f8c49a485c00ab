"""Rules say what ζ says, with honest fidelity; where no short one does, that is said."""

import numpy as np
import pytest

from icrl.explain.judged import EXPERT, Judged
from icrl.explain.reading import threshold_of
from icrl.explain.rules import BAR, choose, explain_rules
from icrl.types import Pairs


def judged_by(values, forbidden, episodes=None, choices=None, names=None):
    n, d = values.shape
    return Judged(
        names=names or tuple("abcdefgh"[:d]),
        choices=np.zeros(d, bool) if choices is None else np.asarray(choices),
        values=values,
        forbidden=forbidden,
        episodes=np.where(forbidden, 0, EXPERT) if episodes is None else episodes,
        pairs=Pairs(observations=values, actions=np.zeros((n, 1))),
    )


@pytest.fixture
def points():
    return np.random.default_rng(1).uniform(-4, 4, (6000, 4))


def test_a_wall_becomes_one_threshold(points):
    judged = judged_by(points, points[:, 2] <= -1.7)
    rule = choose(explain_rules(judged))
    assert str(rule).startswith("c <= -1.")
    assert rule.rules[0][0].high == pytest.approx(-1.7, abs=0.02)
    assert rule.form == "threshold"
    assert rule.fidelity.balanced_agreement > 0.995
    assert rule.fidelity.pairs == 3000  # the half that it was not chosen on
    # what lies between the wall and the rounder number is demonstrated here
    assert (
        rule.support.demonstrated
        == np.sum((points[:, 2] > -1.7) & (points[:, 2] <= rule.rules[0][0].high))
        < 20
    )
    assert abs(rule.support.by_agents - judged.forbidden.sum()) < 20


def test_the_shortest_rule_that_fits_is_chosen_and_a_better_longer_one_kept(points):
    # beside the wall a corner of 2 %: the wall alone fits, the corner is worth mentioning
    forbidden = (points[:, 0] <= -1) | ((points[:, 1] > 3) & (points[:, 2] > 2))
    explanations = explain_rules(judged_by(points, forbidden))
    chosen = choose(explanations)
    assert [c.name for c in chosen.rules[0]] == ["a"]
    assert len(chosen.rules) == 1
    assert chosen.fits
    assert explanations[-1].fidelity.balanced_agreement > chosen.fidelity.balanced_agreement + 0.005
    assert len(explanations[-1].rules) == 2


def test_a_hidden_pattern_is_said_to_have_no_short_rule(points):
    forbidden = np.sin(3 * points[:, 0]) * np.sin(3 * points[:, 1]) > 0.1  # a chequered board
    rule = choose(explain_rules(judged_by(points, forbidden)))
    assert not rule.fits
    assert rule.fidelity.balanced_agreement < 0.8 < BAR


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_threshold_is_not_rounded_into_the_demonstrations(sign):
    x = sign * np.concatenate([np.linspace(-5, -2.64, 4000), np.linspace(-2.61, 5, 4000)])
    judged = judged_by(x[:, None], sign * x < -2.63)
    (condition,) = choose(explain_rules(judged)).rules[0]
    bound = condition.high if sign > 0 else condition.low
    assert -2.64 <= sign * bound <= -2.61
    rule = choose(explain_rules(judged))
    assert rule.support.demonstrated == 0


def test_a_state_is_or_is_not_and_has_no_threshold():
    states = np.eye(4)[np.random.default_rng(0).integers(0, 4, 2000)]  # one of four states, one-hot
    rule = choose(
        explain_rules(
            judged_by(states, states[:, 3] == 1, names=tuple(f"state[{i}]" for i in range(4)))
        )
    )
    assert str(rule) == "state[3] = 1"
    assert threshold_of(rule) is None  # nothing is left open between 0 and 1
    assert str(choose(explain_rules(judged_by(states, states[:, 3] == 0)))) == "d = 0"


def test_noise_is_not_explained(points):
    forbidden = np.random.default_rng(2).random(6000) < 0.3
    rule = choose(explain_rules(judged_by(points, forbidden)))
    # measured on pairs it was not chosen on
    assert rule.fidelity.balanced_agreement == pytest.approx(0.5, abs=0.06)


def test_rare_forbidden_pairs_count_as_much_as_the_others(points):
    judged = judged_by(points, points[:, 0] <= -3.9)
    assert judged.forbidden.mean() < 0.02
    rule = choose(explain_rules(judged))
    assert rule.fits
    assert rule.rules[0][0].high == pytest.approx(-3.9, abs=0.1)


def test_a_forbidden_action_is_named_by_itself(points):
    action = np.random.default_rng(3).integers(0, 2, 6000)
    values = np.stack([points[:, 0], action == 0, action == 1], axis=1).astype(float)
    judged = judged_by(
        values,
        action == 1,
        choices=[False, True, True],
        names=("cell", "clockwise", "anticlockwise"),
    )
    assert str(choose(explain_rules(judged))) == "action = anticlockwise"


@pytest.mark.parametrize("value", [True, False])
def test_where_all_is_judged_alike_there_is_no_rule(points, value):
    assert (
        explain_rules(judged_by(points, np.full(6000, value), episodes=np.zeros(6000, int))) == []
    )
