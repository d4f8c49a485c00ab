"""Which axes explain the evidence: named among distractors, never a style, never an odometer."""

import numpy as np
import pytest

from icrl.search.axes import Axis
from icrl.search.find import LEAST, PRICE, Candidate, find, first_novel, parts_of, score
from icrl.search.question import Values, put_question, values_of
from icrl.search.tables import sets_of
from icrl.types import Trajectories


def values(parts):
    """Trajectories, each [length, q], as axis values."""
    lengths = [len(part) for part in parts]
    return Values(
        np.concatenate([np.asarray(part, np.float64) for part in parts]),
        np.repeat(np.arange(len(parts)), lengths),
        len(parts),
        np.concatenate([np.arange(length) for length in lengths]),
    )


def asked(shown, done, axes=None, weights=None, paid=None):
    """The question with equal weights, where nobody has been paid."""
    number = len(done)
    if axes is None:
        axes = tuple(Axis(name=f"n{i}", columns=(i,)) for i in range(np.shape(shown[0])[1]))
    if weights is None:
        weights = np.full(number, 1 / number)
    if paid is None:
        paid = np.zeros((number, max(len(part) for part in done)))
    return put_question(axes, values(shown), values(done), np.asarray(weights), np.asarray(paid))


def counted(lengths, longest=7):
    """Trajectories whose observation is 10 times their number plus the time; padding is -1."""
    lengths = np.asarray(lengths)
    times = np.arange(longest)
    seen = 10.0 * np.arange(len(lengths))[:, None] + times
    seen[times >= lengths[:, None]] = -1
    return Trajectories(
        observations=seen[..., None],
        actions=np.zeros((len(lengths), longest, 1)),
        rewards=np.zeros((len(lengths), longest)),
        lengths=lengths,
    )


SEEN = (Axis(name="seen", columns=(0,)),)


def test_real_steps_count_and_padding_does_not():
    found = values_of(SEEN, counted([2, 3]), discrete=False)
    assert found.values.ravel().tolist() == [0, 1, 10, 11, 12]
    assert found.owners.tolist() == [0, 0, 1, 1, 1]
    assert found.times.tolist() == [0, 1, 0, 1, 2]
    assert found.number == 2


def test_too_many_steps_are_thinned_evenly_and_nobody_is_lost(monkeypatch):
    monkeypatch.setattr("icrl.search.question._MOST_STEPS", 6)
    found = values_of(SEEN, counted([7, 1, 7]), discrete=False)  # 15 steps: every third
    assert found.values.ravel().tolist() == [0, 3, 6, 10, 20, 23, 26]
    assert found.owners.tolist() == [0, 0, 0, 1, 2, 2, 2]


def test_paid_is_told_for_the_steps_that_are_looked_at(monkeypatch):
    monkeypatch.setattr("icrl.search.question._MOST_STEPS", 6)
    found = values_of(SEEN, counted([7, 1, 7]), discrete=False)
    paid = 10.0 * np.arange(3)[:, None] + np.arange(7)
    question = put_question(SEEN, found, found, np.full(3, 1 / 3), paid)
    np.testing.assert_array_equal(question.paid, found.values.ravel())


def names_question(shown, done, weights=None):
    """Steps that are names 0, 1, 2 and nothing else."""
    axes = (Axis(name="choice", columns=(0, 1, 2)),)
    column = [[np.asarray(part, float)[:, None] for part in parts] for parts in (shown, done)]
    return asked(*column, axes=axes, weights=weights)


def test_the_score_of_a_tiny_case_by_hand():
    # of five demonstrations one alone chooses 1: h = 1/5. Agents 0 and 1 choose 2: e = 0.4 + 0.3.
    # Names have no scales: the mean over scales is 0.7 - 0.2 = 0.5.
    shown = [[0], [0], [0, 0], [0], [0, 1]]
    done = [[0, 2], [2], [1, 0], [0]]
    candidate = score(names_question(shown, done, [0.4, 0.3, 0.2, 0.1]), (0,))
    assert candidate.score == pytest.approx(0.5 - PRICE)
    assert candidate.explained == pytest.approx(0.7)
    assert candidate.refuted == pytest.approx(0.2)


def test_every_axis_has_its_price():
    # 0 and 1 of both axes are shown, but never 1 of both; every agent does that: e = 1, h = 0
    axes = tuple(Axis(name=name, columns=(i, i + 1)) for i, name in ((0, "left"), (2, "right")))
    shown = [np.array([[0, 0], [0, 1], [1, 0]])] * 5
    question = asked(shown, [np.array([[0, 0], [1, 1]])] * 3, axes=axes)
    assert score(question, (0, 1)).score == pytest.approx(1.0 - 2 * PRICE)
    assert score(question, (0,)).score == pytest.approx(-PRICE)


def test_only_steps_that_are_alive_count():
    # agent 0 chooses 2 in its second step, agent 1 in its first: without second steps e = 0.5
    question = names_question([[0]] * 5, [[0, 2], [2, 0]])
    alive = np.array([True, False, True, False])
    assert score(question, (0,)).score == pytest.approx(1.0 - PRICE)
    assert score(question, (0,), alive).score == pytest.approx(0.5 - PRICE)


def test_more_refuted_than_explained_scores_nothing():
    # three of five demonstrations choose what no other does, one agent of two too: 1/2 - 3/5 < 0
    axes = (Axis(name="choice", columns=(0, 1, 2, 3, 4)),)
    shown = [[[0.0]], [[0.0]], [[1.0]], [[2.0]], [[3.0]]]
    question = asked(shown, [[[4.0]], [[0.0]]], axes=axes)
    assert score(question, (0,)).score == pytest.approx(-PRICE)


def test_first_novel_step_of_each_trajectory_by_hand():
    question = names_question([[0]] * 5, [[0, 2, 2], [0, 0], [1]])
    first = first_novel(question.tables, question.tables.look((0,), 4).novel)
    assert first[:1].tolist() == [1]
    assert first[2] == 5
    assert first[1] > 5  # never


def lanes(rng, detour, length=40):
    """From left to right through the unit square in a bow, and four axes of noise."""
    along = np.linspace(0, 1, length)
    across = 0.5 + detour * np.sin(np.pi * along) + rng.normal(0, 0.01, length)
    wander = rng.uniform(0, 1, (length, 4))
    return np.column_stack([wander[:, :2], along, wander[:, 2:], across])


def disc_question(seed=0):
    """Demonstrations go round the middle on either side, agents through it."""
    rng = np.random.default_rng(seed)
    shown = [lanes(rng, side * rng.uniform(0.35, 0.5)) for side in (-1, 1) for _ in range(15)]
    # some demonstrations also pass up and down at either end: y alone is no rule
    ends = [lanes(rng, side * 0.4) for side in (-1, 1) for _ in range(5)]
    for part in ends:
        part[:5, 5] = np.linspace(0, 1, 5)
    done = [lanes(rng, rng.uniform(-0.05, 0.05)) for _ in range(20)]
    return asked(shown + ends, done)


@pytest.mark.parametrize("seed", range(2))
def test_a_forbidden_disc_is_named_among_four_distractors(seed):
    candidates = find(disc_question(seed), sets_of(6))
    assert candidates[0].axes == (2, 5)
    assert candidates[0].score > LEAST + 0.2
    assert candidates[0].explained == pytest.approx(1.0)
    assert not candidates[0].vetoed
    assert all(other.score < candidates[0].score - 0.1 for other in candidates[1:])


def choosing(rng, choices, length=30):
    """Two numbers and a choice out of some."""
    return np.column_stack([rng.uniform(0, 1, (length, 2)), rng.choice(choices, length)])


NUMBERS_AND_ACTION = (
    Axis(name="x", columns=(0,)),
    Axis(name="y", columns=(1,)),
    Axis(name="action", columns=(2, 3, 4, 5)),
)


def test_an_action_that_is_never_taken_is_named():
    rng = np.random.default_rng(0)
    shown = [choosing(rng, [0, 1, 3]) for _ in range(20)]
    done = [choosing(rng, [0, 1, 2, 3]) for _ in range(10)]
    candidates = find(asked(shown, done, axes=NUMBERS_AND_ACTION), sets_of(3))
    assert candidates[0].axes == (2,)
    assert candidates[0].score == pytest.approx(1.0 - PRICE)


def test_nothing_is_believed_where_agents_do_what_demonstrations_do():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shown = [choosing(rng, [0, 1, 3]) for _ in range(20)]
        done = [choosing(rng, [0, 1, 3]) for _ in range(10)]
        candidates = find(asked(shown, done, axes=NUMBERS_AND_ACTION), sets_of(3))
        assert all(candidate.score < LEAST / 2 for candidate in candidates)


def deed_and_meter(rng, reach):
    """First the deed (axis 1), then the meter (axis 0) counts what it has paid."""
    length = 60
    deed = np.zeros(length)
    deed[5:15] = np.linspace(0, reach, 10)
    meter = np.linspace(0, reach, length)
    return np.column_stack([meter, deed, rng.uniform(0, 1, length)])


def odometer_question(paid_at_the_deed):
    rng = np.random.default_rng(0)
    shown = [deed_and_meter(rng, rng.uniform(0.95, 1.0)) for _ in range(20)]
    done = [deed_and_meter(rng, 2.0) for _ in range(8)]
    paid = np.zeros((8, 60))
    paid[:, 15:] = paid_at_the_deed
    return asked(shown, done, paid=paid)


def test_an_odometer_is_vetoed():
    candidates = find(odometer_question(1.0), sets_of(3))
    by_axes = {candidate.axes: candidate for candidate in candidates}
    assert by_axes[(0,)].score > 0.5  # the meter by itself would be believed
    assert by_axes[(0,)].vetoed
    assert candidates[0].axes == (1,)
    assert not candidates[0].vetoed
    assert candidates[-1].vetoed


def test_what_comes_later_is_not_vetoed_where_nothing_was_paid_before():
    by_axes = {candidate.axes: candidate for candidate in find(odometer_question(0.0), sets_of(3))}
    assert not by_axes[(0,)].vetoed
    assert by_axes[(0,)].before == 0.0


def test_a_superset_of_a_better_set_is_dropped():
    rng = np.random.default_rng(0)
    shown = [rng.uniform(0, 1, (40, 3)) * [1, 0.5, 1] for _ in range(20)]
    done = [rng.uniform(0, 1, (40, 3)) for _ in range(10)]
    question = asked(shown, done)
    assert score(question, (0, 1)).score > LEAST  # it would be a candidate, were it not for (1,)
    found = [candidate.axes for candidate in find(question, sets_of(3))]
    assert found[0] == (1,)
    assert not any({1} < set(axes) for axes in found)


def test_where_nothing_scores_there_is_no_candidate():
    same = [np.random.default_rng(0).uniform(0, 1, (40, 2)) for _ in range(6)]
    assert find(asked(same, same), sets_of(2)) == []


PAIR = Candidate((0, 1), 0.70, 8, 0.9, 0.0)


@pytest.mark.parametrize(
    ("part", "taken"),
    [
        (Candidate((1,), 0.695, 8, 0.9, 0.0), True),  # as good, and simpler
        (Candidate((1,), 0.30, 8, 0.9, 0.0), False),  # scores less
        (Candidate((1,), 0.695, 8, 0.5, 0.0), False),  # explains less
        (Candidate((2,), 0.695, 8, 0.9, 0.0), False),  # is no part of it
        (Candidate((1,), 0.695, 8, 0.9, 0.0, before=0.7), False),  # is vetoed
    ],
)
def test_a_part_may_stand_for_the_whole_only_where_it_does_as_well(part, taken):
    other = Candidate((2, 3), 0.6, 8, 0.9, 0.0)
    assert parts_of(PAIR, [PAIR, part, other]) == [part] * taken


def test_of_two_parts_the_better_comes_first():
    parts = [Candidate((0,), 0.69, 8, 0.9, 0.0), Candidate((1,), 0.695, 8, 0.9, 0.0)]
    assert [c.axes for c in parts_of(PAIR, [PAIR, *parts])] == [(1,), (0,)]


def test_what_agents_keep_while_they_obey_counts_against_a_rule():
    tried = PAIR._replace(kept=0.75)
    assert PAIR.worth == PAIR.score  # nobody was asked
    assert tried.worth == pytest.approx(0.25**2 * PAIR.score)
