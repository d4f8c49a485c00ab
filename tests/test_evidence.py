"""Which samples count: the paper's form, scouts, and samples that earn too much."""

from dataclasses import replace

import numpy as np
import pytest

from icrl.config import BackwardConfig, LearnConfig
from icrl.constraint.backward_step import backward_step, constraint_cost, init_constraint
from icrl.constraint.features import select_features
from icrl.constraint.objective import loss
from icrl.demos.dataset import REWARDS_UNKNOWN, Demonstrations
from icrl.evidence import (
    Evidence,
    convicts,
    dismiss,
    evidence_of,
    evidence_weights,
    gather,
    most_convicted,
    newly_forbidden,
    out_earning,
)
from icrl.presets import preset
from icrl.scouting import Scouting, another_scout, scout_on, send_scouts
from icrl.tasks.cheetah import half_cheetah_wall
from icrl.tasks.lap_grid import lap_grid
from icrl.trajectories import join, select
from icrl.types import Trajectories
from icrl.zeta_fit import beyond_demonstrations, fit_zeta, presumable


def trajectories(returns, steps=2):
    """One trajectory per return, which it earns in its first step; the cell is the trajectory's number."""
    rewards = np.zeros((len(returns), steps), np.float32)
    rewards[:, 0] = returns
    cells = np.repeat(np.arange(len(returns), dtype=np.float32), steps).reshape(-1, steps, 1)
    lengths = np.full(len(returns), steps)
    return Trajectories(
        observations=cells, actions=np.zeros((len(returns), steps), int), rewards=rewards, lengths=lengths
    )


NO_SCOUTS = Scouting(0, 0, 1, 0)
DEMOS = Demonstrations(trajectories=trajectories([8.0, 12.0]), discrete=True)  # they earn 10 on average


def after_round(evidence, samples, scouting, returned, config):
    weights = evidence_weights(samples, DEMOS, evidence, scouting.left > 0, returned, config)
    return gather(evidence, samples, weights, scouting.left > 0, config)


def test_without_scouts_the_evidence_is_this_rounds_samples():
    old, moved = after_round(None, trajectories([1.0]), NO_SCOUTS, False, LearnConfig())
    assert moved
    new, moved = after_round(old, trajectories([2.0, 3.0]), NO_SCOUTS, False, LearnConfig())
    assert moved
    assert new.trajectories.returns.tolist() == [2.0, 3.0]
    assert new.weights.tolist() == [1.0, 1.0]


def test_scouts_add_up_and_zeta_moves_after_the_last():
    config = LearnConfig(scouts=2, evidence_margin=0.5)
    evidence, moved = after_round(None, trajectories([1.0]), Scouting(1, 0, 2, 2), True, config)
    assert not moved
    evidence, moved = after_round(evidence, trajectories([2.0]), NO_SCOUTS, True, config)
    assert moved
    assert evidence.trajectories.returns.tolist() == [1.0, 2.0]
    # 15 is not more than 10 + 0.5 · 10
    same, moved = after_round(evidence, trajectories([11.0, 15.0]), NO_SCOUTS, False, config)
    assert not moved
    assert same is evidence
    more, moved = after_round(evidence, trajectories([11.0, 16.0]), NO_SCOUTS, False, config)
    assert moved
    assert more.trajectories.returns.tolist() == [1.0, 2.0, 11.0, 16.0]
    assert more.weights.tolist() == [1.0, 1.0, 0.0, 1.0]


def test_scouts_take_at_most_half_of_the_rounds_but_one_each_and_others_a_quarter():
    assert send_scouts(34, LearnConfig(scouts=3)) == Scouting(3, 0, 5, 25)
    assert send_scouts(4, LearnConfig(scouts=3)) == Scouting(3, 0, 1, 3)
    assert send_scouts(9, LearnConfig(scouts=0)).left == 0


def test_a_scout_returns_when_it_earns_its_share_or_when_its_time_is_over():
    config = LearnConfig(scouts=2, scout_share=0.2)  # a fifth of 10 is 2
    scouting = Scouting(2, 0, 3, 6)
    left, returns = [], []
    for earned in (1.9, 2.0, 1.0, 1.0, 1.9, 9.0):
        scouting, returned = scout_on(scouting, trajectories([earned]), DEMOS, config)
        left.append(scouting.left)
        returns.append(returned)
    assert returns == [False, True, False, False, True, False]
    assert left == [2, 1, 1, 1, 0, 0]
    assert scouting.spare == 1  # five of six rounds were a scout's


def test_scouts_take_all_their_time_where_rewards_are_unknown():
    demos = replace(DEMOS, card=dict(REWARDS_UNKNOWN))
    config = LearnConfig(scouts=1, scout_share=0.0)
    scouting, returned = scout_on(Scouting(1, 0, 2, 2), trajectories([1e9]), demos, config)
    assert not returned
    assert scout_on(scouting, trajectories([1e9]), demos, config) == (Scouting(0, 0, 2, 0), True)


def test_a_scout_on_its_way_is_no_evidence():
    evidence, moved = after_round(None, trajectories([1e9]), Scouting(1, 1, 3, 2), False, LearnConfig(scouts=1))
    assert evidence is None
    assert not moved


def test_a_scout_is_judged_by_the_last_stage_of_its_round():
    config = LearnConfig(num_samples=4, scouts=1, scout_share=0.2, scout_stages=2)  # the last two samples: 2 is needed
    for returns, expected in (([0.0, 0.0, 1.0, 3.0], True), ([9.0, 9.0, 1.0, 2.9], False)):
        assert scout_on(Scouting(1, 0, 3, 3), trajectories(returns), DEMOS, config)[1] is expected


@pytest.mark.parametrize(
    ("forbidden", "spare", "left"),
    [(0.1, 5, 1), (0.3, 5, 0), (0.1, 0, 0)],  # too little convicted; enough; no time for another
)
def test_another_scout_follows_those_that_show_nothing_forbidden(forbidden, spare, left):
    samples = trajectories(np.zeros(10), steps=1)  # cells 0 to 9
    evidence = Evidence(join([samples, samples]), np.array([1.0] * 10 + [0.0] * 10), (20,))

    def cost(cells, actions):
        return (cells[:, 0] < 10 * forbidden).astype(float)

    sent = another_scout(Scouting(0, 0, 2, spare), evidence, cost, LearnConfig(scouts=2, restart_above=0.2))
    assert sent == Scouting(left, 0, 2, spare)


@pytest.mark.parametrize(("demo_return", "expected"), [(10.0, [False, False, True]), (-10.0, [True, True, True])])
def test_out_earning_by_hand(demo_return, expected):
    # 10 + 0.5 · 10 = 15 and −10 + 0.5 · 10 = −5: the margin is a share of the size, whatever the sign
    demos = Demonstrations(trajectories=trajectories([demo_return]), discrete=True)
    assert out_earning(trajectories([0.0, 15.0, 15.1]), demos, 0.5).tolist() == expected


def test_nothing_out_earns_unknown_rewards():
    demos = replace(DEMOS, card=dict(REWARDS_UNKNOWN))
    assert not out_earning(trajectories([1e9]), demos, 0.0).any()


def test_join_pads_to_the_longest_and_select_keeps_the_order():
    joined = join([trajectories([1.0], steps=2), trajectories([2.0, 3.0], steps=4)])
    assert joined.observations.shape == (3, 4, 1)
    assert joined.lengths.tolist() == [2, 4, 4]
    assert joined.returns.tolist() == [1.0, 2.0, 3.0]
    assert not joined.observations[0, 2:].any()
    assert select(joined, np.array([True, False, True])).returns.tolist() == [1.0, 3.0]


def test_zeta_presumes_as_much_innocence_as_leaves_a_constraint():
    # demos always take action 0; scouts take 1 half of the time, and so does chance: with the full presumption action 1
    # is cleared, with half of it forbidden
    task = lap_grid().task
    features = select_features(task, None, 20.0)
    backward = BackwardConfig(updates=300, sparsity=0.0, sample_floor=-3.0, presumption=1.0, feature_sparsity=0.05)
    config = LearnConfig(scouts=1, backward=backward)
    steps = 40
    cells = np.linspace(-1, 1, steps, dtype=np.float32)[None, :, None].repeat(4, axis=0)

    def walk(actions):
        return Trajectories(
            observations=cells, actions=actions, rewards=np.zeros((4, steps), np.float32), lengths=np.full(4, steps)
        )

    demos, mixed = walk(np.zeros((4, steps), int)), walk(np.tile(np.arange(steps) % 2, (4, 1)))
    evidence = evidence_of([mixed])
    rng = np.random.default_rng(0)
    plain, _ = backward_step(
        init_constraint(rng, features, backward), demos, mixed, features, backward, evidence.weights, loss, mixed
    )
    assert newly_forbidden(mixed, None, constraint_cost(plain, features, backward)) < 0.2
    rng = np.random.default_rng(0)
    cost = fit_zeta(rng, demos, evidence, mixed, features, config, loss).cost
    assert newly_forbidden(mixed, None, cost) == pytest.approx(0.5)
    assert newly_forbidden(demos, None, cost) == 0.0


@pytest.mark.parametrize(
    ("convicted", "taken"),
    [
        ([0.45, 0.46, 0.46], 1),  # presuming half clears nothing
        ([0.66, 0.77, 0.88], 0),  # every bit clears something: as much as leaves a constraint
        ([0.0, 0.1, 0.88], 2),  # too little is left of it
        ([0.0, 0.0, 0.0], 0),  # nothing to convict
        ([0.5], 0),
    ],
)
def test_as_much_innocence_as_the_evidence_allows(convicted, taken):
    assert presumable(convicted, 0.2) == taken


def test_an_agent_that_is_merely_better_is_dismissed():
    config = LearnConfig(scouts=1, evidence_margin=0.5)
    scouts, _ = after_round(None, trajectories([1.0, 2.0]), Scouting(0, 0, 1, 1), True, config)
    agent = trajectories([16.0, 3.0, 20.0])
    both, moved = after_round(scouts, agent, NO_SCOUTS, False, config)
    assert moved
    earlier, newest = both.parts
    assert (earlier.returns.tolist(), newest.returns.tolist()) == ([1.0, 2.0], [16.0, 20.0])  # 3 is no evidence
    left = dismiss(both, DEMOS, 0.5)
    assert left.trajectories.returns.tolist() == [1.0, 2.0]
    assert left.weights.tolist() == [1.0, 1.0]
    assert left.bar == 25.0  # the best of them, and half of what demonstrations earn
    _, moved = after_round(left, trajectories([24.0]), NO_SCOUTS, False, config)
    assert not moved
    again, moved = after_round(left, trajectories([24.0, 26.0]), NO_SCOUTS, False, config)
    assert moved
    assert again.parts[1].returns.tolist() == [26.0]
    assert again.bar == 25.0


def forbidding(*cells):
    return lambda observations, actions: np.isin(observations[..., 0], cells).astype(float)


def test_new_evidence_must_convict_and_acquit_nobody():
    # trajectories 0 to 3 are earlier evidence (2 steps in the cell of their number), 4 and 5 are the newest
    evidence = Evidence(trajectories([0.0] * 6), np.ones(6), (4, 2))
    old = forbidding(0, 1, 2)
    assert convicts(evidence, old, forbidding(0, 1, 2, 4), 0.4)
    assert not convicts(evidence, old, forbidding(0, 1, 2), 0.4)  # finds nothing in the newest
    assert not convicts(evidence, old, forbidding(0, 4, 5), 0.4)  # acquits two of three that were convicted
    assert convicts(evidence, old, forbidding(0, 1, 4, 5), 0.4)  # one of three: less than 0.4 of them


def wall_data(seed=0):
    """Demonstrations stay right of −1 in x; scouts go left of it a third of the time, and are slower (vx) everywhere,
    some of them slower than any demonstration; chance is near the start and slow too."""
    task = half_cheetah_wall().task
    rng = np.random.default_rng(seed)
    names = task.observation_names

    def walk(x, vx):
        observations = rng.normal(0.0, 0.3, (*x.shape, len(names))).astype(np.float32)
        observations[..., names.index("x")], observations[..., names.index("vx")] = x, vx
        return Trajectories(
            observations=observations,
            actions=rng.uniform(-1, 1, (*x.shape, 6)).astype(np.float32),
            rewards=np.zeros(x.shape, np.float32),
            lengths=np.full(len(x), x.shape[1]),
        )

    shape = (6, 50)
    demos = walk(rng.uniform(-1, 10, shape), rng.uniform(2.0, 6.0, shape))
    scouts = walk(rng.uniform(-6, 9, shape), rng.uniform(1.5, 4.0, shape))
    return task, demos, scouts, walk(rng.uniform(-0.5, 0.5, shape), rng.uniform(-1.0, 1.0, shape))


def test_zeta_sees_one_feature_where_one_is_enough():
    task, demos, scouts, chance = wall_data()
    config = preset("default", task.name)
    features = select_features(task, None, config.backward.input_clip)
    shares = beyond_demonstrations(demos, scouts, features)
    assert features.names[int(np.argmax(shares))] == "x"
    x = scouts.observations[..., 0]
    lowest = demos.observations[..., 0].min()
    assert shares[0] == pytest.approx(np.mean(x < lowest))
    fit = fit_zeta(np.random.default_rng(0), demos, evidence_of([scouts]), chance, features, config, loss)
    weights = np.linalg.norm(np.asarray(fit.state.params[0].weight), axis=1)
    assert np.flatnonzero(weights).tolist() == [0]
    cost = constraint_cost(fit.state, features, config.backward)
    np.testing.assert_array_equal(  # written in all features it is the zeta that was fitted to one
        cost(scouts.observations, scouts.actions) > 0.5, cost(scouts.observations, 0 * scouts.actions) > 0.5
    )
    forbidden = cost(scouts.observations, scouts.actions) > 0.5
    assert fit.convicted == pytest.approx(forbidden.mean())
    assert forbidden[x < lowest - 1].all()
    assert not forbidden[x > 0].any()


def test_scouts_that_went_elsewhere_acquit_nobody():
    # eight scouts do what demonstrations do, one goes left: of the steps of all of them too few are beyond the line
    task, demos, scout, _ = wall_data()
    config = preset("default", task.name)
    config = replace(config, backward=replace(config.backward, presumption=0.0))  # one fit of each feature
    features = select_features(task, None, config.backward.input_clip)
    evidence = evidence_of([*[demos] * 8, scout])
    fit = fit_zeta(np.random.default_rng(0), demos, evidence, None, features, config, loss)
    forbidden = fit.cost(scout.observations, scout.actions) > 0.5
    assert newly_forbidden(evidence.trajectories, None, fit.cost) < config.restart_above < forbidden.mean()
    assert fit.convicted == most_convicted(evidence, fit.cost) == pytest.approx(forbidden.mean())
    assert forbidden[scout.observations[..., 0] < -3.0].all()
    back = Scouting(0, 0, 2, 5)
    assert another_scout(back, evidence, fit.cost, config) == back
    assert another_scout(back, evidence_of([demos, demos]), fit.cost, config).left == 1


def test_of_each_scout_only_what_counts_is_convicted():
    parts = [trajectories([0.0] * 4), trajectories([0.0] * 4)]  # 2 steps in each of the cells 0 to 3
    evidence = evidence_of(parts)
    assert most_convicted(evidence, forbidding(0)) == 0.25
    late = evidence._replace(weights=np.array([0.0] * 4 + [1.0, 1.0, 0.0, 0.0]))
    assert most_convicted(late, forbidding(0)) == 0.5
    assert most_convicted(late._replace(weights=np.zeros(8)), forbidding(0)) == 0.0


def test_zeta_allows_every_demonstrated_step():
    task, demos, scouts, chance = wall_data()
    config = preset("default", task.name)
    features = select_features(task, None, config.backward.input_clip)
    demos.observations[0, 0, 0] = -2.0  # one step far left of the others, where scouts go as well
    fit = fit_zeta(np.random.default_rng(0), demos, evidence_of([scouts]), chance, features, config, loss)
    assert not (fit.cost(demos.observations, demos.actions) > 0.5).any()
    x = scouts.observations[..., 0]
    forbidden = fit.cost(scouts.observations, scouts.actions) > 0.5
    assert not forbidden[x > -2.0].any()
    assert forbidden[x < -3.0].all()
    assert fit.convicted == pytest.approx(forbidden.mean())
