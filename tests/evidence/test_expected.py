"""What demonstrations earn from a like start: by hand, and by leaving each of them out for real."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from icrl.evidence import expected as module
from icrl.evidence.expected import expected_of
from icrl.types import Trajectories


def episodes(rewards, starts=None, lengths=None):
    """Trajectories of rewards [N, T] from `starts` [N, o]; later observations mean nothing."""
    rewards = np.asarray(rewards, np.float64)
    number, length = rewards.shape
    if starts is None:
        starts = np.zeros((number, 1))
    if lengths is None:
        lengths = np.full(number, length)
    observations = np.full((number, length, np.shape(starts)[1]), 99.0)
    observations[:, 0] = starts
    return Trajectories(
        observations=observations,
        actions=np.zeros((number, length, 1)),
        rewards=rewards,
        lengths=np.asarray(lengths),
    )


def earning(returns, starts=None, steps=4):
    """Each return in equal parts."""
    return episodes(np.repeat(np.asarray(returns, float)[:, None] / steps, steps, axis=1), starts)


NOTHING = earning([0.0, 0.0])


def test_advantages_and_competence_by_hand():
    # demonstrations earn 8 and 12, so 10. Left out, each is missed by 4: σ = 4. Chance earns 2.
    expected = expected_of(earning([8, 12]), earning([2, 2]), horizon=4)
    assert expected.kind == "mean"
    assert expected.mean == 10
    assert expected.scatter == pytest.approx(4.0)
    assert expected.standard_error == pytest.approx(4 / np.sqrt(2))
    agents = earning([10, 14, 2, 6])
    np.testing.assert_allclose(expected.advantages(agents), [0, 1, -2, -1])
    # from chance (2) to demonstrations (10) it is 8: 14 is half of that further, 6 is half-way
    np.testing.assert_allclose(expected.competence(agents), [1.0, 1.5, 0.0, 0.5])


def test_competence_where_chance_earns_more_than_demonstrations_is_by_scatter():
    # chance earns 30: the way there is negative, σ = 4 takes its place: 14 is (14 - 10) / 4 further
    expected = expected_of(earning([8, 12]), earning([30, 30]), horizon=4)
    np.testing.assert_allclose(expected.competence(earning([10, 14])), [1.0, 2.0])


def test_paid_by_hand():
    # chance: 0.5 a step. Demonstrations: 10 in 4 steps, 10 - 4 · 0.5 = 8 beyond chance.
    expected = expected_of(earning([8, 12]), episodes([[0.5, 0.5, 0.5, 0.5]]), horizon=4)
    # before its steps the agent has 0, 4, 8 and 9, chance would have 0, 0.5, 1 and 1.5
    paid = expected.paid(episodes([[4.0, 4.0, 1.0, 77.0]]))
    np.testing.assert_allclose(paid, [[0, 3.5 / 8, 7 / 8, 7.5 / 8]])


def test_padding_is_not_paid():
    expected = expected_of(earning([8, 12]), NOTHING, horizon=4)
    agents = episodes([[5.0, 50.0, 50.0]], lengths=[1])
    np.testing.assert_allclose(expected.paid(agents), [[0, 0.5, 0.5]])
    np.testing.assert_allclose(expected.returns_of(agents), [5.0])


def test_nobody_is_paid_where_demonstrations_earn_no_more_than_chance():
    expected = expected_of(earning([10, 10]), earning([10, 10]), horizon=4)
    np.testing.assert_array_equal(expected.paid(earning([40.0])), np.zeros((1, 4)))


def test_equal_returns_still_have_a_scatter_which_grows_with_the_way_from_chance():
    near = expected_of(earning([10, 10, 10]), NOTHING, horizon=4)
    far = expected_of(earning([20, 20, 20]), NOTHING, horizon=4)
    assert 0 < near.scatter < 10
    assert far.scatter == pytest.approx(2 * near.scatter)
    # where chance earns the same on average but scatters, its scatter is what counts
    same = expected_of(earning([10, 10, 10]), earning([0, 20]), horizon=4)
    assert same.scatter == pytest.approx(near.scatter)  # deviation 10 instead of a way of 10
    nothing = expected_of(earning([0.0]), NOTHING, horizon=4)
    assert np.isfinite(nothing.advantages(earning([1.0]))).all()


ZIGZAG = np.tile([1.0, -1.0], 6)


@pytest.mark.parametrize(
    ("kind", "starts", "returns", "asked", "told"),
    [
        # returns have nothing to do with the start
        ("mean", np.arange(12.0), 5 + ZIGZAG, [3.0, 50.0], [5.0, 5.0]),
        # three places to start from, the middle one pays: no line says that
        (
            "nearest",
            np.repeat([-1.0, 0.0, 1.0], 4) + 0.01 * ZIGZAG,
            np.repeat([0.0, 9, 0], 4),
            [0.1, -7],
            [9, 0],
        ),
        # the further, the more
        ("linear", np.arange(200.0), 3 + 2 * np.arange(200.0), [50.0, 100.0], [103.0, 203.0]),
    ],
)
def test_what_is_expected_depends_on_the_start_as_returns_do(kind, starts, returns, asked, told):
    expected = expected_of(earning(returns, starts[:, None]), NOTHING, horizon=4)
    assert expected.kind == kind
    agents = earning(np.zeros(2), np.array(asked)[:, None])
    np.testing.assert_allclose(expected.from_starts(agents), told, rtol=0.01)


def left_out_for_real(starts, returns):
    """Errors of the three kinds, each demonstration foretold from the others."""
    errors = {"mean": [], "nearest": [], "linear": []}
    scaled = starts / starts.std(axis=0)
    for i in range(len(returns)):
        others = np.arange(len(returns)) != i
        x, y = scaled[others], returns[others]
        errors["mean"].append(returns[i] - y.mean())
        order = np.argsort(np.sum((x - scaled[i]) ** 2, axis=1))
        errors["nearest"].append(returns[i] - y[order[: module._NEAREST]].mean())
        # ridge as least squares with a row of √λ for each slope and none for the constant
        ridge = np.sqrt(module._RIDGE) * np.eye(x.shape[1])
        rows = np.block([[x, np.ones((len(x), 1))], [ridge, np.zeros((x.shape[1], 1))]])
        weights = np.linalg.lstsq(rows, np.concatenate([y, np.zeros(x.shape[1])]), rcond=None)[0]
        errors["linear"].append(returns[i] - np.append(scaled[i], 1.0) @ weights)
    return {kind: np.array(values) for kind, values in errors.items()}


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 3.0]), st.booleans())
def test_the_kind_and_the_scatter_are_those_of_leaving_each_out_for_real(seed, slope, bent):
    rng = np.random.default_rng(seed)
    starts = rng.normal(size=(15, 2))
    returns = slope * starts[:, 0] + 50 * rng.normal(size=15)
    if bent:
        returns = returns + 300 * np.sign(starts[:, 1]) * (np.abs(starts[:, 1]) > 0.5)
    errors = left_out_for_real(starts, returns)
    squares = {kind: np.mean(values**2) for kind, values in errors.items()}
    chance = earning(np.full(2, returns.mean()))  # nobody's scatter but the demonstrations'
    expected = expected_of(earning(returns, starts), chance, horizon=4)
    assert squares[expected.kind] <= min(squares.values()) * (1 + 1e-6)
    assert expected.scatter == pytest.approx(np.std(errors[expected.kind]), rel=1e-5)


def test_few_demonstrations_say_nothing_about_starts():
    starts = np.array([[0.0], [1.0], [2.0]])
    expected = expected_of(earning([0, 10, 20], starts), NOTHING, horizon=4)
    assert expected.kind == "mean"
    np.testing.assert_allclose(expected.from_starts(earning([0.0], [[2.0]])), [10.0])


def test_a_first_observation_that_never_varies_is_not_looked_at():
    starts = np.column_stack([np.full(200, 5.0), np.arange(200.0)])
    expected = expected_of(earning(3 + 2 * np.arange(200.0), starts), NOTHING, horizon=4)
    agents = earning([0.0, 0.0], [[5.0, 50.0], [-1e6, 50.0]])
    told = expected.from_starts(agents)
    assert told[0] == told[1] == pytest.approx(103.0, rel=0.01)
    constant = expected_of(earning(np.arange(9.0), np.ones((9, 1))), NOTHING, horizon=4)
    assert constant.kind == "mean"


def test_clips_of_longer_episodes_are_compared_over_equal_lengths():
    # demonstrations of 3 steps out of 10, a unit each: who goes on has earned no more by then
    demos = episodes(np.ones((6, 3)))
    chance = episodes(np.full((2, 10), 0.1))
    expected = expected_of(demos, chance, horizon=10)
    agents = episodes(np.array([[1.0] * 10, [0.0] * 3 + [9.0] * 7]))
    np.testing.assert_allclose(expected.returns_of(agents), [3.0, 0.0])
    np.testing.assert_allclose(expected.chance, 0.3)
    assert expected.advantages(agents)[0] == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("lengths", "horizon", "chance_steps"),
    [
        ([3, 3, 2], 10, 10),  # of different lengths: they end by themselves
        ([3, 3, 3], 3, 3),  # as long as an episode can be
        ([3, 3, 3], 10, 2),  # nobody has been seen to last longer
    ],
)
def test_whole_episodes_are_compared_whole(lengths, horizon, chance_steps):
    demos = episodes(np.ones((3, 3)), lengths=lengths)
    expected = expected_of(demos, episodes(np.full((2, chance_steps), 0.1)), horizon)
    agents = episodes(np.ones((1, 10)))
    np.testing.assert_allclose(expected.returns_of(agents), [10.0])


@given(st.integers(0, 10_000), st.floats(0.01, 1000.0))
def test_another_unit_of_reward_or_start_changes_no_judgement(seed, unit):
    rng = np.random.default_rng(seed)
    rewards = [rng.normal(1.0, 1.0, (n, 5)) for n in (9, 3, 4)]
    starts = [rng.normal(size=(n, 2)) for n in (9, 3, 4)]
    plain = [episodes(r, s) for r, s in zip(rewards, starts, strict=True)]
    other = [episodes(unit * r, 1000 * s + 7) for r, s in zip(rewards, starts, strict=True)]
    here = expected_of(plain[0], plain[1], horizon=5)
    there = expected_of(other[0], other[1], horizon=5)
    assert here.kind == there.kind
    for judge in ("advantages", "competence", "paid"):
        np.testing.assert_allclose(
            getattr(there, judge)(other[2]), getattr(here, judge)(plain[2]), rtol=1e-6, atol=1e-8
        )


def test_where_every_step_costs_being_stopped_does_not_pay():
    # chance loses 2 a step, demonstrations get there within 3 or 5 steps, 4 on average
    shown = episodes([[-1.0] * 5, [-1.0] * 5], lengths=[3, 5])
    expected = expected_of(shown, episodes([[-2.0] * 8]), horizon=8)
    agents = episodes([[-1.0] * 8, [-1.0] * 8], lengths=[8, 3])
    permitted = expected.stopped(agents, np.array([2, 3]))
    # stopped after 2 of 8 steps: -2, and 6 steps of chance; the other was not stopped
    np.testing.assert_allclose(expected.returns_of(permitted), [-2.0 - 6 * 2.0, -3.0])
    np.testing.assert_array_equal(permitted.lengths, [2, 3])
    # at once, and of an episode shorter than demonstrations are: 4 steps of chance
    permitted = expected.stopped(agents, np.array([0, 0]))
    np.testing.assert_allclose(expected.returns_of(permitted), [-16.0, -8.0])


def test_where_steps_pay_being_stopped_costs_what_would_have_come():
    expected = expected_of(earning([8, 12]), earning([2, 2]), horizon=4)
    permitted = expected.stopped(earning([8.0]), np.array([1]))
    np.testing.assert_allclose(expected.returns_of(permitted), [2.0])
