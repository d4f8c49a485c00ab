"""Contests: of two rules that explain the gain, the one under which agents do what demonstrations
do. What agents do is written down here; whole runs are in `test_learn.py`."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from icrl.codec import classes_of, pack, unpack
from icrl.constraint.region import Region, RegionAxis
from icrl.contest import Contests, Played, _divergence
from icrl.rounds import Phase
from icrl.search.axes import Axis
from icrl.search.find import Candidate
from icrl.search.rule import Finding, Rule
from icrl.state import LearnState
from icrl.types import Trajectories

AXES = tuple(Axis(name=name, columns=(i,)) for i, name in enumerate("xyz"))
OUTSIDE, INSIDE = 0.5, 3.0
"""Values of a feature of which more than 1 is forbidden."""


def rule(place, reached=(0.0,) * 20):
    """More than 1 of a feature is forbidden: depth is the value."""
    nodes = np.array([0.0, 10.0])
    region = Region(
        axes=(RegionAxis(columns=(0,), nodes=nodes),),
        depth=nodes.astype(np.float32),
        evidence_depth=8.0,
    )
    candidate = Candidate((place,), 0.8, 4, 1.0, 0.0, kept=0.0)
    return Rule((AXES[place],), candidate, region, 0.1, 0.0, np.array(reached))


def done(x, y, competent=True, episodes=10):
    """Episodes of two steps; the second is at (x, y)."""
    observations = np.full((episodes, 2, 3), OUTSIDE)
    observations[:, 1, :2] = x, y
    return Played(
        Trajectories(
            observations=observations,
            actions=np.zeros((episodes, 2, 1)),
            rewards=np.zeros((episodes, 2)),
            lengths=np.full(episodes, 2),
        ),
        competent,
        steps=2 * episodes,
    )


class Scripted(Contests):
    """`under` says what the agent trained under the rule over each feature does."""

    def __init__(self, under, demonstrations=20):
        finder = SimpleNamespace(axes=AXES, shown=SimpleNamespace(number=demonstrations))
        super().__init__(SimpleNamespace(discrete=False), None, finder, None)
        self.under = under

    def _play(self, state, agent, rule):
        assert agent == f"judge of {rule.axes[0].name}"
        return self.under[rule.axes[0].name]


def state(by_y=None):
    """A rule over x was found, and one over y does as much."""
    by_x = rule(0)
    by_y = by_y or rule(1)
    finding = Finding(
        rule=by_x,
        rivals=(by_x.candidate, by_y.candidate),
        strength=1.0,
        names=("x", "y", "z"),
        challengers=(by_y,),
    )
    return LearnState(
        training=None, phase=Phase.judge, finding=finding, judge="judge of x", judged=("of x",)
    )


def judged(challenged):
    """The agent under the rival was trained, too."""
    return replace(challenged, judge="judge of y", judged=(*challenged.judged, "of y"))


GOES_IN = {"x": done(OUTSIDE, INSIDE), "y": done(OUTSIDE, OUTSIDE)}
"""Who obeys the rule over x breaks the one over y, and not the other way round."""


def test_a_rule_whose_agents_do_what_a_rival_forbids_is_contested():
    after = Scripted(GOES_IN).challenged(state())
    assert after.finding.rule.axes == (AXES[1],)
    assert [rival.axes for rival in after.finding.rivals] == [(1,), (0,)]
    assert after.contest.finding.rule.axes == (AXES[0],)
    assert after.contest.judge == "judge of x"
    assert after.moved
    assert after.steps == 20  # what was played is counted
    assert after.why.startswith("an agent under x does what y forbids")


@pytest.mark.parametrize(
    ("does", "by_y"),
    [
        (done(OUTSIDE, OUTSIDE), rule(1)),  # the rule says it all
        (done(OUTSIDE, INSIDE, competent=False), rule(1)),  # too poor to tell
        # most of the demonstrations get as deep where only the others are shown
        (done(OUTSIDE, INSIDE), rule(1, reached=[0.0] * 4 + [4.0] * 16)),
    ],
    ids=["keeps it", "is poor", "does what demonstrations do"],
)
def test_where_nothing_is_left_unsaid_the_rule_stands(does, by_y):
    before = state(by_y=by_y)
    after = Scripted({"x": does}).challenged(before)
    assert after.contest is None
    assert after.finding is before.finding


def test_one_demonstration_is_not_enough_to_be_sure():
    # ten of ten episodes count as 11 of 12: log 12 = 2.5 nats for each demonstration; log 20 is 3
    assert Scripted(GOES_IN, demonstrations=1).challenged(state()).contest is None
    assert Scripted(GOES_IN, demonstrations=2).challenged(state()).contest is not None


def test_a_rival_whose_agents_keep_the_old_rule_too_stays():
    contests = Scripted(GOES_IN)
    after = contests.settled(judged(contests.challenged(state())))
    assert after.contest is None
    assert after.finding.rule.axes == (AXES[1],)
    assert [(rival.axes, rival.lost) for rival in after.finding.rivals] == [
        ((1,), False),
        ((0,), True),
    ]
    assert after.judge == "judge of y"
    # the old rule is not tried again
    assert contests.challenged(after).contest is None


@pytest.mark.parametrize(
    "does",
    [done(INSIDE, OUTSIDE), done(OUTSIDE, OUTSIDE, competent=False)],
    ids=["breaks the old one", "is poor"],
)
def test_a_rival_that_says_no_more_gives_way(does):
    contests = Scripted({"x": done(OUTSIDE, INSIDE), "y": does})
    after = contests.settled(judged(contests.challenged(state())))
    assert after.finding.rule.axes == (AXES[0],)
    assert (after.judge, after.judged) == ("judge of x", ("of x",))
    # that says nothing against it: it remains a rival
    assert not any(rival.lost for rival in after.finding.rivals)
    assert contests.challenged(after).contest is None


def test_a_rival_whose_agent_out_earns_the_demonstrations_has_lost():
    contests = Scripted(GOES_IN)
    after = contests.settled(judged(contests.challenged(state())), out_earned=True)
    assert after.finding.rule.axes == (AXES[0],)
    assert [rival.lost for rival in after.finding.rivals] == [False, True]


def test_a_run_that_is_killed_in_a_contest_goes_on_with_both_rules():
    finding = state().finding._replace(challengers=(rule(1), rule(2)))
    packed = pack(finding, Finding)
    back = unpack(packed.tree, packed.arrays, Finding)
    assert [one.candidate for one in back.challengers] == [rule(1).candidate, rule(2).candidate]
    assert np.array_equal(back.challengers[0].region.depth, rule(1).region.depth)
    assert np.array_equal(back.challengers[1].reached, rule(2).reached)
    assert "icrl.state.Contest" in classes_of(LearnState)


def test_divergence_of_two_coins_by_hand():
    assert _divergence(0.5, 0.5) == 0.0
    assert _divergence(0.0, 0.75) == pytest.approx(math.log(4))
    # ¼ log(¼ / ½) + ¾ log(¾ / ½)
    assert _divergence(0.25, 0.5) == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))
