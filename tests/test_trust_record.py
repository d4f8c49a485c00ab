"""What a run's record says of its rule: right ones pass,
each kind of wrong one is caught by a question of its own."""

import dataclasses

import numpy as np
import pytest

from icrl.constraint.found import region_constraint
from icrl.constraint.region import Region, RegionAxis
from icrl.demos.dataset import Demonstrations
from icrl.rounds import Phase
from icrl.tasks.lap_grid import lap_grid
from icrl.tasks.registry import make_scenario
from icrl.trajectories import select
from icrl.trust.check import Check, Level, Verdict
from icrl.trust.demonstrations import check_demonstrations, check_enough
from icrl.trust.evidence import check_evidence, check_wall
from icrl.trust.fresh import Fresh
from icrl.trust.judges import Judged, check_judges, judge_of_card
from icrl.trust.of_run import found_by_search
from icrl.trust.record import record_of
from icrl.trust.returns import check_returns
from icrl.trust.rule import (
    WIDER,
    Scored,
    Standing,
    check_elsewhere,
    check_rivals,
    standing_of,
    strange_places,
)
from icrl.types import Trajectories
from icrl.visited import VisitRecorder

TASK = make_scenario("shapes/no-rule").task
"""east, north, stop east, stop north; velocity east, velocity north"""
NUM = 20
LENGTH = 60


def episodes(north, reward, num=NUM, seed=0, velocity=(-1.0, 1.0)):
    """Episodes that wander over east from 0 to 100 and over north within
    limits, for so much a step."""
    rng = np.random.default_rng(seed)
    observations = rng.uniform(0, 100, (num, LENGTH, 4)).astype(np.float32)
    observations[:, :, 1] = rng.uniform(*north, (num, LENGTH))
    actions = rng.uniform(-1, 1, (num, LENGTH, 2)).astype(np.float32)
    actions[:, :, 0] = rng.uniform(*velocity, (num, LENGTH))
    rewards = np.full((num, LENGTH), reward) + rng.normal(0, 0.02, (num, 1))
    return Trajectories(
        observations=observations, actions=actions, rewards=rewards, lengths=np.full(num, LENGTH)
    )


DEMOS = Demonstrations(
    trajectories=episodes((0, 48), 1.0, seed=1), discrete=False, card={"rewards": "known"}
)


def record(scouts=(2.0, (0, 100)), agents=(1.0, (0, 48)), judges=(1.0, (0, 48)), demos=DEMOS):
    """Scouts that know of no rule, judges and agents under one:
    (what a step pays, how far north they go)."""
    recorder = VisitRecorder()
    recorder.add(episodes(scouts[1], scouts[0], seed=2), 0, np.ones(NUM))
    recorder.add(episodes(judges[1], judges[0], seed=3), 1)
    recorder.add(episodes(agents[1], agents[0], seed=4), 2)
    phases = {0: Phase.scout.value, 1: Phase.judge.value, 2: Phase.final.value}
    return record_of(recorder.visited(), demos, phases)


def rule(column=1, at=50.0, *, above=True, evidence_depth=9.0, **search):
    """Forbidden beyond `at`: the depth is 1 there and rises by 1 with every 5 units."""
    nodes = np.linspace(-50, 150, 401)
    beyond = nodes - at if above else at - nodes
    depth = np.where(beyond > -5, np.maximum(1 + beyond / 5, 0), 0).astype(np.float32)
    region = Region(
        axes=(RegionAxis(columns=(0,), nodes=nodes),), depth=depth, evidence_depth=evidence_depth
    )
    name = TASK.feature_names[column]
    card = {
        "search": {
            "axes": [name],
            "demonstrations": NUM,
            "strength": 1.0,
            "generations": 1,
            **search,
        }
    }
    return region_constraint(region, [(column,)], TASK, card)


NOTHING = region_constraint(None, (), TASK, {"search": {"rivals": []}})


def test_a_record_knows_who_was_what_and_how_much_it_earned():
    found = record()
    assert found.of(Phase.scout).sum() == NUM
    assert found.of(Phase.scout, Phase.final).sum() == 2 * NUM
    assert found.best_round(Phase.scout) > 10  # twice the return, which scatters by a fiftieth
    assert found.weights[found.of(Phase.scout)].min() > 0.99
    assert found.weights[found.of(Phase.final)].mean() < 0.3
    assert found.best_round(Phase.round) == -np.inf
    # half of the north is forbidden to scouts, nothing to agents
    forbidden = found.forbidden(rule())
    assert np.mean(forbidden[found.steps_of(found.of(Phase.scout))]) == pytest.approx(0.5, abs=0.06)
    assert not forbidden[found.steps_of(found.of(Phase.final))].any()


@pytest.mark.parametrize(
    ("constraint", "level", "words"),
    [
        (rule(), Level.good, "100% of what out-earns"),
        (rule(at=110.0), Level.bad, "something else held the expert back"),
        (NOTHING, Level.care, "merely weaker"),
    ],
)
def test_what_out_earns_the_demonstrations_must_be_forbidden(constraint, level, words):
    check = check_evidence(constraint, record(), None)
    assert check.level is level
    assert words in check.reason


def test_an_empty_constraint_is_bad_where_a_rule_was_to_be_found_and_good_where_nobody_out_earns():
    check = check_evidence(NOTHING, record(), ("north_ft", 0.6))
    assert (check.level, "a rule over north_ft" in check.reason) == (Level.bad, True)
    assert (
        check_evidence(NOTHING, record(scouts=(1.0, (0, 48))), ("north_ft", 0.05)).level
        is Level.good
    )
    assert (
        check_evidence(rule(), record_of(record().visited, DEMOS, {}), None).level is Level.unknown
    )


def test_an_empty_constraint_is_bad_where_agents_have_not_learned_the_task():
    poor = record(scouts=(0.2, (0, 48)), judges=(0.2, (0, 48)), agents=(0.2, (0, 48)))
    check = check_evidence(NOTHING, poor, None)
    assert (check.level, "no agent earns" in check.reason) == (Level.bad, True)


def test_agents_that_were_trained_under_another_constraint_give_it_away():
    check = check_evidence(rule(), record(agents=(1.0, (0, 100))), None)
    assert (check.level, "do not keep it" in check.reason) == (Level.bad, True)
    assert check.numbers["agents_steps_infeasible"] == pytest.approx(0.5, abs=0.06)


def test_a_constraint_that_touches_nobody_changes_nothing():
    rare = record(scouts=(2.0, (0, 50.3)))  # scouts break it by a hair, on few steps
    check = check_evidence(rule(), rare, None)
    assert check.level is not Level.good
    assert "agents that know of no rule break ζ on 1% of their steps" in check.reason


@pytest.mark.parametrize(
    ("at", "level"), [(50.0, Level.good), (56.0, Level.care), (75.0, Level.bad)]
)
def test_a_wall_far_from_the_demonstrations_leaves_room_for_agents(at, level):
    # demonstrations end at 48, the data at 100: the room is about (at - 48) / 100
    check = check_wall(record().space(rule(at=at)))
    assert check.level is level
    assert check.numbers["room"] == pytest.approx((at - 48) / 100, abs=0.02)


def test_names_have_no_wall_between_them():
    axis = RegionAxis(columns=(0, 1), nodes=np.arange(2.0))
    region = Region(axes=(axis,), depth=np.array([0, 3], np.float32), evidence_depth=3.0)
    either = region_constraint(region, [(0, 1)], TASK, {})
    assert check_wall(record().space(either)) is None


def test_a_constraint_that_forbids_its_own_demonstrations_is_bad():
    check = check_demonstrations(rule(at=20.0), record(), record().space(rule(at=20.0)))
    assert check.level is Level.bad
    assert "its own demonstrations" in check.reason


def with_a_demonstration_at(north):
    """The same demonstrations, and two steps of one of them further north than all others go."""
    shown = dataclasses.replace(
        DEMOS.trajectories, observations=DEMOS.trajectories.observations.copy()
    )
    shown.observations[0, :2, 1] = north
    return dataclasses.replace(DEMOS, trajectories=shown)


def test_a_demonstration_beyond_the_others_by_a_hair_is_not_one_deep_inside():
    hair = record(demos=with_a_demonstration_at(50.5))
    check = check_demonstrations(rule(at=51), hair, hair.space(rule(at=51)))
    assert check.level is Level.good
    assert check.numbers["left_out_touched"] == pytest.approx(1 / NUM)
    assert check.numbers["left_out_deep"] == 0
    # seven of twenty, each alone more than half-way to where scouts go (100): at 80, 83, ...
    shown = dataclasses.replace(
        DEMOS.trajectories, observations=DEMOS.trajectories.observations.copy()
    )
    for number in range(7):
        shown.observations[number, 0, :2] = (14 * number, 90 + 0.5 * number)
    deep = record(demos=dataclasses.replace(DEMOS, trajectories=shown))
    grid = np.linspace(-50, 150, 101)
    mesh = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    allowed = np.zeros(mesh.shape[:2], bool)
    for number in range(7):
        allowed |= np.linalg.norm(mesh - (14 * number, 90 + 0.5 * number), axis=-1) < 3
    depth = np.where((mesh[..., 1] > 50) & ~allowed, 3.0, 0.0).astype(np.float32)
    axes = (RegionAxis(columns=(0,), nodes=grid), RegionAxis(columns=(1,), nodes=grid))
    region = Region(axes=axes, depth=depth, evidence_depth=3.0)
    holed = region_constraint(region, [(0,), (1,)], TASK, {})
    check = check_demonstrations(holed, deep, deep.space(holed))
    assert check.numbers["left_out_deep"] == pytest.approx(7 / NUM)
    assert check.level is Level.bad


def test_few_demonstrations_are_never_enough():
    few = dataclasses.replace(DEMOS, trajectories=select(DEMOS.trajectories, np.arange(NUM) < 3))
    check = check_enough(record(demos=few).space(rule()))
    assert (check.level, "3 demonstrations" in check.reason) == (Level.care, True)
    many = check_enough(record().space(rule()))
    assert many.level is Level.good
    strays = many.numbers["strays"]
    assert set(strays) == {"5", "10", "20"}
    assert strays["5"] > strays["20"]


def judged(mean_return, forbidden=0.0):
    return Judged(mean_return, forbidden)


def test_judges_that_out_earn_or_earn_nothing_count():
    earned = LENGTH * 1.0
    assert check_judges(rule(), DEMOS, judged(earned), False).level is Level.good
    assert check_judges(rule(), DEMOS, judged(1.4 * earned), True).level is Level.bad
    assert check_judges(rule(), DEMOS, judged(1.4 * earned), False).level is Level.care
    # 0.4 of what demonstrations earn is little beside scouts that earn 1.5 of it beyond them
    better = rule(scouts_beyond=1.5 * earned)
    assert check_judges(better, DEMOS, judged(1.4 * earned), True).level is Level.care
    assert check_judges(better, DEMOS, judged(1.6 * earned), True).level is Level.bad
    poor = check_judges(rule(), DEMOS, judged(0.1 * earned), False)
    assert (poor.level, "forbids too much" in poor.reason) == (Level.care, True)
    assert check_judges(rule(), DEMOS, None, None).level is Level.unknown
    assert check_judges(NOTHING, DEMOS, None, None).level is Level.good
    trained = check_judges(rule(), DEMOS, Judged(earned, 0.0, 1000), False)
    assert "after 1,000 steps" in trained.reason


def test_the_last_judge_of_a_card_counts_if_it_stood_under_the_last_constraint():
    told = [{"return": 5.0, "forbidden": 0.0}, {"return": 7.0, "forbidden": 0.1}]
    assert judge_of_card(rule(judged=told, generations=2)) == judged(7.0, 0.1)
    assert judge_of_card(rule(judged=told, generations=3)) is None
    assert judge_of_card(rule(judged=[{"return": "much"}])) is None
    assert judge_of_card(rule().with_card({})) is None


def test_returns_that_differ_by_a_third_are_no_good_sign():
    def level(reward, elsewhere):
        return check_returns(rule(), episodes((0, 48), reward), DEMOS, elsewhere).level

    assert level(1.0, False) is Level.good
    assert level(1.35, False) is Level.care
    assert level(1.35, True) is Level.bad
    assert level(0.6, False) is Level.care
    disobedient = check_returns(rule(), episodes((0, 100), 2.0), DEMOS, True)
    assert (disobedient.level, "does not obey" in disobedient.reason) == (Level.care, True)
    blind = dataclasses.replace(DEMOS, card={"rewards": "unknown"})
    assert check_returns(rule(), episodes((0, 48), 1.0), blind, False).level is Level.unknown


def test_the_features_of_a_rule_are_scored_on_the_record():
    standing = standing_of(rule(), TASK, record())
    assert standing.own.axes == "north_ft"
    assert standing.own.score > 0.3
    assert check_rivals(standing).level is Level.good
    style = standing_of(rule(column=4, at=0.9), TASK, record())
    assert style.own.axes == TASK.feature_names[4]
    assert style.own.score < 0.1
    assert check_rivals(style).level is Level.bad
    assert standing_of(NOTHING, TASK, record()).own is None
    assert standing_of(rule().with_card({}), TASK, record()) is None


@pytest.mark.parametrize(
    ("own", "other", "level", "words"),
    [
        (0.6, 0.2, Level.good, "no rival"),
        (0.6, 0.55, Level.care, "nearly as well"),
        (0.6, 0.65, Level.care, "over y as well"),
        (0.6, 0.75, Level.bad, "explains it better"),
        (0.15, None, Level.care, "not clearly"),
        (0.05, None, Level.bad, "a style"),
        (None, 0.1, Level.good, "y came nearest"),
    ],
)
def test_a_rule_is_as_good_as_it_is_ahead_of_its_rivals(own, other, level, words):
    others = () if other is None else (Scored("y", other),)
    check = check_rivals(Standing(None if own is None else Scored("x", own), others))
    assert check.level is level
    assert words in check.reason


def test_three_features_that_explain_much_more_are_a_reason_for_care():
    check = check_rivals(Standing(Scored("x", 0.6), (), Scored("y + z + w", 0.85)))
    assert check.level is Level.care
    assert "three features (y + z + w) with 0.85" in check.reason


def test_three_features_are_named_only_where_the_rule_explains_clearly_less():
    # this world's rule is a threshold: three features explain no more
    assert standing_of(rule(), TASK, record()).wider is None
    style = standing_of(rule(column=4, at=0.9), TASK, record())
    assert style.wider.axes.count("+") == 2
    assert style.wider.score > style.own.score + WIDER


def test_the_scores_of_the_card_count_before_those_of_the_record():
    told = [
        {"axes": "north_ft", "score": 0.4, "explained": 1.0, "refuted": 0.0, "vetoed": False},
        {
            "axes": "north_ft + east_ft",
            "score": 0.9,
            "explained": 1.0,
            "refuted": 0.0,
            "vetoed": False,
        },
        {"axes": "stop_east_ft", "score": 0.7, "explained": 1.0, "refuted": 0.0, "vetoed": False},
        {"axes": "stop_north_ft", "score": 0.8, "explained": 1.0, "refuted": 0.0, "vetoed": True},
    ]
    standing = standing_of(rule(rivals=told), TASK, record())
    assert standing.own == Scored("north_ft", 0.4)
    # what has the rule's features as a part is no rival, nor is what is vetoed
    assert standing.others == (Scored("stop_east_ft", 0.7),)


def test_a_rival_that_agents_obey_at_no_cost_is_none():
    told = [
        {
            "axes": "north_ft",
            "score": 0.5,
            "explained": 1.0,
            "refuted": 0.0,
            "vetoed": False,
            "kept": 0.2,
        },
        {
            "axes": "east_ft",
            "score": 0.9,
            "explained": 1.0,
            "refuted": 0.0,
            "vetoed": False,
            "kept": 1.0,
        },
        {
            "axes": "stop_east_ft",
            "score": 0.3,
            "explained": 1.0,
            "refuted": 0.0,
            "vetoed": False,
            "kept": None,
            "by_chance": 0.5,
        },
    ]
    standing = standing_of(rule(rivals=told), TASK, record())
    assert standing.own == Scored("north_ft", pytest.approx(0.32))  # 0.5 (1 - 0.2)^2
    # nobody was asked to obey the third: it is compared as the rule is, 0.3 (1 - 0.2)^2 (1 - 0.5)
    assert standing.others == (Scored("stop_east_ft", pytest.approx(0.096)), Scored("east_ft", 0.0))
    assert check_rivals(standing).level is Level.good
    # an empty ζ is not compared with them: the question is whether any of them explains
    nothing = standing_of(dataclasses.replace(NOTHING, card=rule(rivals=told).card), TASK, record())
    assert nothing.own is None
    assert [other.score for other in nothing.others] == pytest.approx([0.4, 0.3, 0.0])


def test_agents_in_a_place_of_their_own_are_told_of_and_by_how_much():
    shown = DEMOS.trajectories
    style = rule(column=4, at=0.9)  # looks at a velocity alone
    strange = strange_places(style, TASK, shown, episodes((0, 100), 1.0, seed=5))
    assert "north_ft" in strange.axes
    assert strange.plain
    # half of the steps are beyond 48; cells next to demonstrated ones do not count
    assert 0.2 < strange.steps < 0.5
    check = check_elsewhere({"the agent": strange}, {"the agent": 0.0})
    assert (check.level, "which ζ does not look at" in check.reason) == (Level.care, True)
    unskilled = check_elsewhere({"the agent": strange}, {"the agent": -0.5})
    assert (unskilled.level, "earns less" in unskilled.reason) == (Level.good, True)
    assert check_elsewhere({"the agent": None}, {}).level is Level.good
    same = strange_places(style, TASK, shown, episodes((0, 48), 1.0, seed=6))
    assert check_elsewhere({"the agent": same}, {"the agent": 0.0}).level is Level.good


def verdict(constraint, played, judge=None, **parts):
    return Verdict(tuple(found_by_search(constraint, TASK, DEMOS, record(**parts), played, judge)))


def test_all_questions_together():
    played = episodes((0, 48), 1.0, seed=7)
    fair = Fresh(judged(LENGTH * 1.0), played)
    assert verdict(rule(), played, fair).text == "trust it"
    assert verdict(rule(), played).text == "with care"  # no judge
    # too much, too little, elsewhere
    for wrong in (
        rule(at=20.0),
        rule(at=75.0),
        rule(at=110.0),
        rule(at=20.0, above=False),
        rule(column=4, at=0.9),
    ):
        assert verdict(wrong, played, fair).text == "do not trust it"
    # a fresh agent that found a way past ζ, to where nobody went in what ζ ignores
    past = Fresh(judged(LENGTH * 1.5), episodes((0, 48), 1.5, seed=8, velocity=(3.0, 4.0)))
    found = verdict(rule(), played, past)
    assert found.text == "do not trust it"
    assert "(judges)" in found.would_change


def test_nothing_forbidden_under_a_weak_expert_asks_for_care():
    # all agents are faster than the demonstrations, and no rule explains it
    fast = episodes((0, 48), 1.5, seed=9, velocity=(-1.2, 1.2))
    found = verdict(NOTHING, fast, scouts=(1.5, (0, 48)), agents=(1.5, (0, 48)))
    assert found.text == "with care"
    # where one does, it was missed
    assert verdict(NOTHING, fast).text == "do not trust it"


def test_every_verdict_names_what_would_change_it():
    said = verdict(rule(at=20.0), episodes((0, 48), 1.0)).as_json()
    first, rest = said["would_change"].split("; open after that: ")
    assert first.endswith("(held-out demonstrations)")
    doubts = {name for name, check in said["checks"].items() if check["level"] != "good"}
    assert {"held-out demonstrations", *rest.split(", ")} == doubts
    assert all(check["reason"] for check in said["checks"].values())


def test_discrete_worlds_can_be_asked_too():
    task = lap_grid().task
    cells = np.tile(np.linspace(-1, 1, 40, dtype=np.float32), 5)[None, :, None]
    one_way = Trajectories(
        observations=cells,
        actions=np.zeros((1, 200), np.int64),
        rewards=np.zeros((1, 200)),
        lengths=np.array([200]),
    )
    back = dataclasses.replace(one_way, actions=np.ones((1, 200), np.int64))
    nothing = region_constraint(None, (), task, {})
    assert strange_places(nothing, task, one_way, back).plain
    assert not strange_places(nothing, task, one_way, one_way).plain


def test_what_is_worst_is_what_would_change_a_verdict():
    good = Check("coverage", Level.good, "", {})
    care = Check("rivals", Level.care, "", {})
    bad = Check("returns", Level.bad, "", {})
    assert "enters what ζ forbids" in Verdict((good,)).would_change
    assert "one of the rivals" in Verdict((good, care)).would_change
    assert "(returns)" in Verdict((care, bad)).would_change
    assert Verdict((care,)).as_json()["would_change"] == Verdict((care,)).would_change
