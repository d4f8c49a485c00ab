"""From evidence to a rule: the right axes, demonstrations allowed, evidence forbidden."""

from typing import NamedTuple

import numpy as np
import pytest

from icrl.search import choose, tables
from icrl.search.axes import Axis
from icrl.search.choose import find_rule
from icrl.search.find import FINER, Candidate, score
from icrl.search.question import Values, put_question
from icrl.search.rule import Kept, Problem, Rule, depths_of, wall_in
from icrl.search.trying import tried_under


class World(NamedTuple):
    """Trajectories [length, q] of demonstrations and agents, and what to expect of the rule."""

    axes: tuple[Axis, ...]
    shown: list
    done: list
    names: set
    inside: np.ndarray
    """Places that are surely allowed: demonstrations are all around them."""
    beyond: np.ndarray
    """Places that are surely forbidden: the evidence is all around them."""


def numbers(*called):
    return tuple(Axis(name=name, columns=(i,)) for i, name in enumerate(called))


def values(parts):
    lengths = [len(part) for part in parts]
    return Values(
        np.concatenate(parts).astype(np.float64),
        np.repeat(np.arange(len(parts)), lengths),
        len(parts),
        np.concatenate([np.arange(length) for length in lengths]),
    )


def problem_of(axes, shown, done, strength=1.0, weights=None):
    number = len(done)
    if weights is None:
        weights = np.full(number, 1 / number)
    paid = np.zeros((number, max(len(part) for part in done)))
    return Problem(axes, values(shown), values(done), weights, paid, strength)


def drawn(rng, test, number, dimensions):
    box = rng.uniform(0, 1, (40 * number, dimensions))
    return box[test(box)][:number]


def sides(rng, allowed, evidence, dimensions, shown=20, done=8):
    """Demonstrations that fill what is allowed, and agents that also go where the evidence is."""
    demonstrations = [drawn(rng, allowed, 100, dimensions) for _ in range(shown)]
    agents = []
    for _ in range(done):
        halves = [drawn(rng, test, 20, dimensions) for test in (allowed, evidence)]
        agents.append(np.concatenate(halves))
    return demonstrations, agents


def half_plane():
    """x + y < 1 is shown, evidence lies beyond 1.3; the third axis means nothing."""
    rng = np.random.default_rng(0)

    def allowed(p):
        return p[:, 0] + p[:, 1] < 1.0

    shown, done = sides(rng, allowed, lambda p: p[:, 0] + p[:, 1] > 1.3, 3)
    sums = np.linspace(0.3, 0.95, 20)
    far = np.linspace(1.35, 1.7, 20)
    return World(
        numbers("x", "y", "noise"),
        shown,
        done,
        {"x", "y"},
        np.stack([sums / 2, sums / 2, sums], axis=1),
        np.stack([far / 2, far / 2, far - 1], axis=1),
    )


def disc():
    """A disc of 0.3 is never entered; agents cross its middle."""
    rng = np.random.default_rng(0)

    def radius(p):
        return np.hypot(p[:, 0] - 0.5, p[:, 2] - 0.5)

    shown, done = sides(rng, lambda p: radius(p) > 0.3, lambda p: radius(p) < 0.2, 3)
    turn = np.linspace(0, 2 * np.pi, 40)
    ring = np.stack([np.cos(turn), turn, np.sin(turn)], axis=1)
    return World(
        numbers("x", "noise", "y"),
        shown,
        done,
        {"x", "y"},
        ring * [0.36, 0.1, 0.36] + [0.5, 0.1, 0.5],
        ring * [0.15, 0.1, 0.15] + [0.5, 0.1, 0.5],
    )


def two_sided():
    """|a - 1/2| < 0.2 is shown, evidence lies beyond 0.35 on both sides."""
    rng = np.random.default_rng(0)

    def off(p):
        return np.abs(p[:, 1] - 0.5)

    shown, done = sides(rng, lambda p: off(p) < 0.2, lambda p: off(p) > 0.35, 2)
    near = np.linspace(-0.19, 0.19, 20)
    far = np.concatenate([np.linspace(-0.49, -0.36, 10), np.linspace(0.36, 0.49, 10)])
    return World(
        numbers("noise", "push"),
        shown,
        done,
        {"push"},
        np.stack([np.linspace(0, 1, 20), 0.5 + near], axis=1),
        np.stack([np.linspace(0, 1, 20), 0.5 + far], axis=1),
    )


def category():
    """Choice 2 out of four is never taken; agents take it at times."""
    rng = np.random.default_rng(0)
    shown, done = sides(rng, lambda p: p[:, 0] < 0.75, lambda p: p[:, 0] >= 0.75, 2)
    for part in shown + done:
        part[:, 0] = np.array([0.0, 1.0, 3.0, 2.0])[(4 * part[:, 0]).astype(int)]
    axes = (Axis(name="action", columns=(1, 2, 3, 4)), Axis(name="noise", columns=(0,)))
    inside = np.stack([np.repeat([0.0, 1.0, 3.0], 5), np.linspace(0, 1, 15)], axis=1)
    beyond = np.stack([np.full(5, 2.0), np.linspace(0, 1, 5)], axis=1)
    return World(axes, shown, done, {"action"}, inside, beyond)


def gate():
    """Choice 1 out of three is taken below 0.5 of x alone; agents take it beyond 0.7 as well."""
    rng = np.random.default_rng(0)

    def taken(p):
        return (p[:, 0] * 3).astype(int) == 1

    shown, done = sides(
        rng,
        lambda p: ~taken(p) | (p[:, 1] < 0.5),
        lambda p: taken(p) & (p[:, 1] > 0.7),
        3,
    )
    for part in shown + done:
        part[:, 0] = (part[:, 0] * 3).astype(int)
    axes = (
        Axis(name="action", columns=(2, 3, 4)),
        Axis(name="x", columns=(0,)),
        Axis(name="noise", columns=(1,)),
    )
    others = np.stack([np.repeat([0.0, 2.0], 10), np.tile(np.linspace(0.05, 0.95, 10), 2)], axis=1)
    below = np.stack([np.ones(10), np.linspace(0.05, 0.48, 10)], axis=1)
    above = np.stack([np.ones(10), np.linspace(0.72, 0.95, 10)], axis=1)
    inside = np.concatenate([others, below])
    return World(
        axes,
        shown,
        done,
        {"action", "x"},
        np.column_stack([inside, inside[:, 1]]),
        np.column_stack([above, above[:, 1]]),
    )


WORLDS = {make.__name__: make() for make in (half_plane, disc, two_sided, category, gate)}


@pytest.fixture(scope="module", params=WORLDS)
def found(request):
    world = WORLDS[request.param]
    problem = problem_of(world.axes, world.shown, world.done)
    return world, problem, find_rule(problem)


def forbids(rule, axes, places):
    return depths_of(rule, axes, np.asarray(places, float)) > rule.region.level


def test_the_axes_of_the_rule_are_named(found):
    world, _, finding = found
    assert {axis.name for axis in finding.rule.axes} == world.names
    assert set(finding.named(finding.rule.candidate).split(" + ")) == world.names
    assert finding.rivals[0].axes == finding.rule.candidate.axes


def test_every_demonstrated_step_is_allowed(found):
    world, problem, finding = found
    assert not forbids(finding.rule, world.axes, problem.shown.values).any()


def test_the_evidence_is_forbidden(found):
    world, _, finding = found
    deep = np.concatenate([part[20:] for part in world.done])  # agents' second halves
    assert np.mean(forbids(finding.rule, world.axes, deep)) > 0.95
    for part in world.done:
        assert forbids(finding.rule, world.axes, part).any()


def test_the_wall_lies_between_the_last_demonstration_and_the_first_evidence(found):
    world, _, finding = found
    # the wall stands as near to demonstrations as the grid can tell:
    # between two of them it may be passed by a hair
    assert forbids(finding.rule, world.axes, world.inside).mean() <= 0.05
    assert forbids(finding.rule, world.axes, world.beyond).all()


def test_metres_and_millimetres_give_the_same_judgements(found):
    world, problem, finding = found
    scale = np.array([1.0 if axis.categorical else 1000.0 for axis in world.axes])
    shift = np.array([0.0 if axis.categorical else 7.0 for axis in world.axes])
    other = find_rule(
        problem_of(
            world.axes,
            [part * scale + shift for part in world.shown],
            [part * scale + shift for part in world.done],
        )
    )
    assert other.rule.candidate.axes == finding.rule.candidate.axes
    assert other.rule.candidate.score == pytest.approx(finding.rule.candidate.score)
    assert other.rule.borne == pytest.approx(finding.rule.borne)
    places = np.concatenate([problem.shown.values, problem.done.values, world.inside, world.beyond])
    here = depths_of(finding.rule, world.axes, places)
    there = depths_of(other.rule, world.axes, places * scale + shift)
    np.testing.assert_allclose(there, here, rtol=1e-3, atol=1e-3)


def test_a_rule_sees_the_features_of_its_axes_in_order(found):
    _, _, finding = found
    columns = [column for axis in finding.rule.region.axes for column in axis.columns]
    assert columns == list(range(sum(len(axis.columns) for axis in finding.rule.axes)))
    for mine, axis in zip(finding.rule.region.axes, finding.rule.axes, strict=True):
        assert mine.categorical == axis.categorical


def one_sided(low, high):
    """Demonstrations between 0.3 and 0.7 of one axis, agents also from `low` to `high`."""
    rng = np.random.default_rng(0)
    shown = []
    for _ in range(15):
        shown.append(np.stack([rng.uniform(0.3, 0.7, 60), rng.uniform(0, 1, 60)], axis=1))
    done = []
    for _ in range(6):
        pushes = np.concatenate([rng.uniform(0.3, 0.7, 20), np.linspace(low, high, 20)])
        done.append(np.stack([pushes, rng.uniform(0, 1, 40)], axis=1))
    return shown, done


def test_a_counter_example_on_the_other_side_moves_the_wall_there():
    axes = numbers("push", "noise")
    shown, done = one_sided(0.85, 1.0)
    _, counter = one_sided(0.0, 0.15)
    old = find_rule(problem_of(axes, shown, done)).rule
    left = np.stack([np.linspace(0.02, 0.13, 12), np.linspace(0, 1, 12)], axis=1)
    right = left * [-1, 1] + [1, 0]
    assert forbids(old, axes, right).all()
    assert not forbids(old, axes, left).any()  # nothing was known against it
    new = find_rule(problem_of(axes, shown, done + counter), old).rule
    assert new.candidate.axes == old.candidate.axes
    assert forbids(new, axes, right).all()
    assert forbids(new, axes, left).all()
    assert not forbids(new, axes, np.concatenate(shown)).any()


def beside_the_half_plane(places):
    # shown below 1, evidence so far beyond 1.3
    total = places[:, 0] + places[:, 1]
    return (total > 1.1) & (total < 1.2)


def beside_the_ring(places):
    # shown beyond 0.3, evidence so far below 0.2
    radius = np.hypot(places[:, 0] - 0.5, places[:, 2] - 0.5)
    return (radius > 0.22) & (radius < 0.26)


BESIDE = {"half_plane": beside_the_half_plane, "disc": beside_the_ring}


@pytest.mark.parametrize("name", BESIDE)
def test_a_counter_example_nearer_to_demonstrations_keeps_the_rule_valid(name):
    world = WORLDS[name]
    rng = np.random.default_rng(5)
    old = find_rule(problem_of(world.axes, world.shown, world.done)).rule
    between = drawn(rng, BESIDE[name], 20, 3)
    counter = [np.concatenate([world.shown[i][:20], between]) for i in range(4)]
    newest = np.arange(12) >= 8
    weights = np.where(newest, 0.5 / 4, 0.5 / 8)  # generations count the same
    problem = problem_of(world.axes, world.shown, world.done + counter, weights=weights)
    new = find_rule(problem, old).rule
    assert {axis.name for axis in new.axes} == world.names
    assert not forbids(new, world.axes, problem.shown.values).any()
    assert forbids(new, world.axes, world.beyond).all()
    for places in counter:
        assert forbids(new, world.axes, places).any()


def test_three_axes_are_found_where_no_pair_explains():
    # the octant above 0.5 of all three is never entered; any two of them may be above
    rng = np.random.default_rng(0)

    def allowed(places):
        return (places < 0.5).any(axis=1)

    shown = [drawn(rng, allowed, 300, 3) for _ in range(20)]
    done = []
    for _ in range(6):
        deep = rng.uniform(0.65, 1.0, (6, 3))
        done.append(np.concatenate([drawn(rng, allowed, 10, 3), deep]))
    axes = numbers("x", "y", "z")
    finding = find_rule(problem_of(axes, shown, done))
    assert finding.rule.candidate.axes == (0, 1, 2)
    assert not forbids(finding.rule, axes, np.concatenate(shown)).any()
    deep = np.random.default_rng(1).uniform(0.7, 0.95, (200, 3))
    assert np.mean(forbids(finding.rule, axes, deep)) > 0.95
    two_above = [[0.2, 0.8, 0.8], [0.8, 0.2, 0.8], [0.8, 0.8, 0.2]]
    assert not forbids(finding.rule, axes, two_above).any()


def test_nothing_is_forbidden_where_agents_do_what_demonstrations_do():
    rng = np.random.default_rng(0)
    parts = [rng.uniform(0, 1, (100, 3)) for _ in range(28)]
    finding = find_rule(problem_of(numbers("x", "y", "z"), parts[:20], parts[20:]))
    assert finding.rule is None


def test_nothing_is_forbidden_where_there_is_nothing_to_explain():
    world = WORLDS["two_sided"]
    finding = find_rule(problem_of(world.axes, world.shown, world.done, strength=0.0))
    assert finding.rule is None
    assert finding.strength == 0.0
    assert finding.named(finding.rivals[0]) == "push"  # what it would have been


def test_the_old_axes_stay_where_others_do_no_better():
    # the second axis is the first in another unit: both explain the same
    shown, done = one_sided(0.85, 1.0)
    for part in shown + done:
        part[:, 1] = 3 * part[:, 0] - 1
    problem = problem_of(numbers("push", "copy"), shown, done)
    first = find_rule(problem).rule
    assert first.candidate.axes == (0,)
    old = first._replace(candidate=first.candidate._replace(axes=(1,)))
    assert find_rule(problem, old).rule.candidate.axes == (1,)


def test_the_old_axes_go_where_others_explain_clearly_more():
    world = WORLDS["two_sided"]
    problem = problem_of(world.axes, world.shown, world.done)
    wrong = find_rule(problem).rule
    wrong = wrong._replace(candidate=wrong.candidate._replace(axes=(0,)))  # the noise
    assert find_rule(problem, wrong).rule.candidate.axes == (1,)


def test_axes_that_agents_can_give_up_without_loss_are_no_rule():
    """A style shared by all agents explains more than the rule; who gives it up still out-earns."""
    rng = np.random.default_rng(0)

    def shown_one():
        return np.stack(
            [rng.uniform(0, 0.5, 60), rng.uniform(0, 0.7, 60), rng.uniform(0, 1, 60)], axis=1
        )

    shown = [shown_one() for _ in range(20)]
    # beyond 0.5 of the style, beyond 0.7 of the place
    done = [rng.uniform(0, 1, (60, 3)) for _ in range(8)]
    problem = problem_of(numbers("style", "place", "noise"), shown, done)
    assert [axis.name for axis in find_rule(problem).rule.axes] == ["style"]

    def kept_under(rule):
        return Kept(float("place" not in {axis.name for axis in rule.axes}))

    finding = find_rule(problem._replace(kept_under=kept_under))
    assert "place" in {axis.name for axis in finding.rule.axes}
    assert finding.rule.candidate.kept == 0.0
    told = {rival["axes"]: rival["kept"] for rival in finding.card()["rivals"]}
    assert told["style"] == 1.0
    assert find_rule(problem._replace(kept_under=lambda rule: Kept(1.0))).rule is None


def two_that_rise_together(leaves_by):
    """y follows x within 0.02; agents leave that band by so much. The third axis means nothing."""
    rng = np.random.default_rng(0)

    def along(offsets):
        x = rng.uniform(0, 1, len(offsets))
        return np.stack([x, x + offsets, rng.uniform(0, 1, len(offsets))], axis=1)

    shown = [along(rng.uniform(-0.02, 0.02, 150)) for _ in range(20)]
    done = []
    for _ in range(8):
        parts = [along(rng.uniform(-0.02, 0.02, 40)), along(np.full(20, leaves_by))]
        done.append(np.concatenate(parts))
    return problem_of(numbers("x", "y", "noise"), shown, done)


@pytest.mark.parametrize("unit", [1.0, -1e4])
def test_a_band_that_is_narrower_than_a_cell_is_found(unit, monkeypatch):
    problem = two_that_rise_together(leaves_by=0.06)
    scaled = np.array([1.0, unit, 1.0])
    problem = problem._replace(
        shown=problem.shown._replace(values=problem.shown.values * scaled),
        done=problem.done._replace(values=problem.done.values * scaled),
    )
    rule = find_rule(problem).rule
    assert [axis.name for axis in rule.axes] == ["x", "y"]
    middle = np.linspace(0.1, 0.9, 20)
    inside = np.stack([middle, middle, middle], axis=1) * scaled
    beyond = np.stack([middle, middle + 0.06, middle], axis=1) * scaled
    assert (depths_of(rule, problem.axes, inside) <= rule.region.level).all()
    assert (depths_of(rule, problem.axes, beyond) > rule.region.level).mean() > 0.9
    # along the axes themselves nothing is seen of it
    monkeypatch.setattr(tables, "_LEANS", 2.0)
    assert find_rule(problem).rule is None


def a_limit_beyond_which_evidence_is_thin():
    """Nobody shows x > 0.5; agents go there along a narrow strip of y alone."""
    rng = np.random.default_rng(0)
    shown = [np.stack([rng.uniform(0, 0.5, 90), rng.uniform(0, 1, 90)], axis=1) for _ in range(20)]
    done = []
    for _ in range(8):
        strip = np.stack([rng.uniform(0.75, 0.8, 20), rng.uniform(0.3, 0.35, 20)], axis=1)
        done.append(np.concatenate([drawn(rng, lambda p: p[:, 0] < 0.5, 20, 2), strip]))
    return problem_of(numbers("x", "y"), shown, done)


def test_ways_past_a_wall_that_nobody_had_shown_are_closed():
    problem = a_limit_beyond_which_evidence_is_thin()
    goals = np.stack(np.meshgrid(np.linspace(0.7, 0.95, 6), np.linspace(0.05, 0.95, 19)), -1)
    goals = goals.reshape(-1, 2)
    shares = []

    def kept_under(rule):
        open_ones = depths_of(rule, problem.axes, goals) <= rule.region.level
        shares.append(float(open_ones.mean()))
        ways = [np.stack([[0.3, goal[1]], goal]) for goal in goals[open_ones]]
        if not ways:
            return Kept(0.0)
        return Kept(open_ones.mean(), values(ways), np.full(len(ways), 1 / len(ways)))

    both = (0, 1)
    question = put_question(
        problem.axes, problem.shown, problem.done, problem.weights, problem.paid
    )
    asked = problem._replace(kept_under=kept_under)
    rule = tried_under(asked, question, score(question, both))
    assert shares[0] > 0.2  # the first wall has evidence of a strip alone
    assert len(shares) > 1
    assert rule.candidate.kept == shares[-1] <= 0.1
    # demonstrations stay allowed, and caution is what it was
    assert (depths_of(rule, problem.axes, problem.shown.values) <= rule.region.level).all()
    first = wall_in(problem, score(question, both), question)
    assert rule.region.evidence_depth * rule.borne == pytest.approx(
        first.region.evidence_depth * first.borne
    )


def test_axes_in_which_agents_need_no_new_way_are_asked_once_more_and_no_longer():
    problem = a_limit_beyond_which_evidence_is_thin()
    shares = []

    def kept_under(rule):
        # a gain that has nothing to do with these axes: all of it lies where demonstrations are
        shares.append(0.9)
        return Kept(0.9, values([np.full((5, 2), 0.25)]), np.ones(1))

    question = put_question(
        problem.axes, problem.shown, problem.done, problem.weights, problem.paid
    )
    asked = problem._replace(kept_under=kept_under)
    rule = tried_under(asked, question, score(question, (0, 1)))
    assert len(shares) == 2
    assert rule.candidate.kept == 0.9
    # and not at all where it could not win
    shares.clear()
    tried_under(asked, question, score(question, (0, 1)), best_worth=1.0)
    assert len(shares) == 1


def test_ways_beside_which_the_evidence_lies_in_no_cell_of_its_own_say_nothing():
    """A ruler reaches from the 1 % to the 99 % quantile, and what lies beyond is in its last cell:
    beside 200 times as many steps, what scouts did is in the cell next to the demonstrations'."""
    problem = a_limit_beyond_which_evidence_is_thin()
    shares = []

    def kept_under(rule):
        shares.append(0.9)
        many = np.random.default_rng(1).uniform(0, 0.5, (60_000, 2))
        return Kept(0.9, values([many]), np.ones(1))

    question = put_question(
        problem.axes, problem.shown, problem.done, problem.weights, problem.paid
    )
    candidate = score(question, (0, 1))
    rule = tried_under(problem._replace(kept_under=kept_under), question, candidate)
    assert len(shares) == 1
    assert rule.candidate.kept == 0.9
    np.testing.assert_array_equal(
        rule.region.depth, wall_in(problem, candidate, question).region.depth
    )


@pytest.mark.parametrize(
    ("score", "explained", "kept", "chosen"),
    [
        (0.86, 1.0, 0.0, (0,)),  # as on HalfCheetah: x beside two velocities
        (0.60, 1.0, 0.0, (1, 2)),  # less than two thirds of 0.94
        (0.86, 0.9, 0.0, (0,)),  # agents lose all their gain under it, whatever a table says
        (0.86, 1.0, 0.1, (1, 2)),  # they keep a tenth of it, and nothing under the pair
    ],
)
def test_of_rules_that_do_as_much_the_one_over_fewer_axes_is_taken(score, explained, kept, chosen):
    pair = rule_over((1, 2), 0.94, 1.0, 0.0)
    rules = [pair, rule_over((0,), score, explained, kept), rule_over((3,), 0.6, explained, kept)]
    assert choose._simplest(pair, rules).candidate.axes == chosen


def test_of_parts_that_do_as_much_the_one_that_forbids_less_of_chance_is_taken():
    # as on distractors: all three explain more, and two pairs of them tie
    whole = rule_over((0, 1, 2), 0.58, 1.0, 0.0, by_chance=0.166)
    first = rule_over((1, 2), 0.40, 1.0, 0.0, by_chance=0.145)
    second = rule_over((0, 1), 0.40, 1.0, 0.0, by_chance=0.045)
    for rules in ([whole, first, second], [whole, second, first]):
        assert choose._simplest(whole, rules).candidate.axes == (0, 1)
    # a pair that is worth less than two thirds of them is no stand-in
    assert choose._simplest(whole, [whole, rule_over((0, 1), 0.32, 1.0, 0.0)]) == whole


@pytest.mark.parametrize(("explained", "chosen"), [(0.91, (0, 1)), (0.97, (0, 2))])
def test_of_rules_over_as_many_axes_one_that_leaves_more_unexplained_is_no_rival(explained, chosen):
    # as on two-walls: a rule over the torque that is demanded explains one of two walls, and agents
    # that have learned nothing anew keep as little under it
    best = rule_over((0, 1), 0.505, 0.986, 0.024)
    best = best._replace(candidate=best.candidate._replace(by_chance=0.211))
    other = rule_over((0, 2), 0.446, explained, 0.0)
    other = other._replace(candidate=other.candidate._replace(by_chance=0.126))
    assert choose._most_sparing([best, other]).candidate.axes == chosen


@pytest.mark.parametrize(("explained", "chosen"), [(1.0, (0,)), (0.9, (1, 2))])
def test_where_nobody_can_be_asked_a_table_says_what_rules_do(explained, chosen):
    pair = rule_over((1, 2), 0.94, 1.0, None)
    rules = [pair, rule_over((0,), 0.86, explained, None)]
    assert choose._simplest(pair, rules).candidate.axes == chosen


def rule_over(axes, score, explained, kept, by_chance=0.0):
    candidate = Candidate(axes, score, 4, explained, 0.0, kept=kept, by_chance=by_chance)
    return Rule((), candidate, region=None, borne=0.1, flagged_held_out=0.0, reached=np.zeros(1))


def test_agents_are_asked_once_for_pairs_and_triples_together():
    world = half_plane()
    problem = problem_of(world.axes, world.shown, world.done)
    asked = []

    def kept_under(rule):
        asked.append(rule.candidate.axes)
        return Kept(0.9)

    find_rule(problem._replace(kept_under=kept_under))
    # once for each fineness, since nothing is believed at any
    assert max(asked.count(axes) for axes in asked) <= 1 + len(FINER)


def test_a_small_region_is_found_at_finer_scales_where_agents_can_be_asked():
    # demonstrations keep off a patch of 0.18 x 0.18; what agents earn, they earn in it
    rng = np.random.default_rng(0)

    def everywhere():
        drawn = rng.uniform(0, 1, (900, 3))
        inside = (np.abs(drawn[:, :2] - 0.53) < 0.09).all(axis=1)
        return drawn[~inside]

    shown = [everywhere() for _ in range(20)]
    done = []
    for _ in range(8):
        patch = np.stack([rng.uniform(0.46, 0.6, 9), rng.uniform(0.46, 0.6, 9)], axis=1)
        inside = np.concatenate([patch, rng.uniform(0, 1, (9, 1))], axis=1)
        done.append(np.concatenate([everywhere()[:100], inside]))
    problem = problem_of(numbers("east", "north", "noise"), shown, done)
    assert find_rule(problem).rule is None

    def kept_under(rule):
        return Kept(float({axis.name for axis in rule.axes} != {"east", "north"}))

    finding = find_rule(problem._replace(kept_under=kept_under))
    assert [axis.name for axis in finding.rule.axes] == ["east", "north"]


def a_place_and_the_way_there():
    """Nobody shows x > 0.6, and left of it everybody steers up (a > 0.6); agents do neither."""
    rng = np.random.default_rng(0)
    shown = []
    done = []
    for _ in range(20):
        shown.append(np.stack([rng.uniform(0, 0.6, 100), rng.uniform(0.6, 1, 100)], axis=1))
    for _ in range(8):
        done.append(np.stack([np.linspace(0, 1, 40), rng.uniform(0, 0.4, 40)], axis=1))
    return shown, done


def test_of_two_rules_that_explain_as_much_the_one_that_leaves_chance_alone_is_taken():
    shown, done = a_place_and_the_way_there()
    problem = problem_of(numbers("x", "a"), shown, done)
    # chance hardly gets anywhere, and steers every way
    rng = np.random.default_rng(1)
    chance = values([np.stack([rng.uniform(0, 0.3, 50), rng.uniform(0, 1, 50)], axis=1)])
    by_evidence = find_rule(problem)
    by_chance = find_rule(problem._replace(chance=chance))
    assert by_evidence.named(by_evidence.rule.candidate) == "a"
    assert by_chance.named(by_chance.rule.candidate) == "x"
    told = {rival["axes"]: rival["by_chance"] for rival in by_chance.card()["rivals"]}
    assert told["x"] == 0.0
    # demonstrations end at 0.6, the evidence reaches 0: of even choices, 0.3 lie half-way and more
    assert told["a"] == pytest.approx(0.3, abs=0.15)


def test_challengers_forbid_no_more_than_the_rule_that_was_chosen():
    chosen = rule_over((0, 1), 0.80, 1.0, 0.0)
    rules = [
        chosen,
        rule_over((2,), 0.70, 1.0, 0.04),
        rule_over((0, 2), 0.75, 1.0, 0.0),
        rule_over((0, 1, 2), 0.90, 1.0, 0.0),  # looks at the same, and more
        rule_over((3,), 0.90, 1.0, 0.0, by_chance=0.5),  # forbids much of what chance does
        rule_over((4,), 0.90, 1.0, 0.2),  # takes less away
        rule_over((5,), 0.40, 1.0, 0.0),  # worth half as much
        rule_over((6,), 0.90, 0.8, 0.0),  # explains less
        rule_over((7,), 0.90, 1.0, None),  # nobody was asked
    ]
    assert [rule.candidate.axes for rule in choose._challengers(chosen, rules)] == [(0, 2), (2,)]
