"""Algorithm 1: the budget is kept to the step, rounds are reported,
both ways lead through it, seeds decide."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import icrl
from icrl.config import BackwardConfig, KLUnit
from icrl.errors import InputError
from icrl.evaluate import judge
from icrl.learn import learn
from icrl.methods.learners import learn_constraint, learner_of
from icrl.methods.registry import find_method, preset
from icrl.rounds import Phase, num_rounds
from icrl.tasks.lap_grid import lap_grid
from small_runs import ROUND, SEARCHING, TINY, Counter, lap_demos

TASK = lap_grid().task


def test_num_rounds_by_hand():
    # 512 = 2 rollouts of 4 x 64; 2 sampled laps of 200: a round is 912 steps
    assert num_rounds(TASK, TINY) == 2
    assert num_rounds(TASK, replace(TINY, steps=3 * ROUND - 1)) == 2
    assert num_rounds(TASK, replace(TINY, steps=3 * ROUND)) == 3
    # 513 training steps are rounded up to three rollouts: 768 + 400
    longer = replace(TINY, steps=1168, forward=replace(TINY.forward, steps=513))
    assert num_rounds(TASK, longer) == 1


def test_a_budget_below_one_round_is_refused_with_the_numbers():
    with pytest.raises(
        InputError, match=r"steps = 911 .* 1 round of 912 .*512 of training, 2 sampled .* 200"
    ):
        learn(TASK, lap_demos(), replace(TINY, steps=911))


@pytest.mark.parametrize("extra", [0, 1, 500])
def test_steps_counted_are_steps_made_and_never_more_than_asked_for(extra):
    counter, config = Counter(), replace(TINY, steps=2 * ROUND + extra)
    last = learn(counter.watch(TASK), lap_demos(), config)
    assert last.steps == counter.steps == 2 * ROUND <= config.steps


def test_nominal_steps_counted_are_steps_made():
    counter = Counter()
    config = replace(TINY, steps=2 * ROUND + 7)
    run = learner_of(find_method("nominal"))
    last = run(counter.watch(TASK), lap_demos(), config, 0, {}, lambda _: None, lambda _: None)
    assert last.steps == counter.steps == 2 * ROUND
    with pytest.raises(InputError, match="1 round"):
        run(TASK, lap_demos(), replace(TINY, steps=900), 0, {}, lambda _: None, lambda _: None)


def test_every_round_and_every_update_is_reported():
    rounds, progress = [], []
    last = learn(TASK, lap_demos(), TINY, on_round=rounds.append, on_progress=progress.append)
    assert [(r.number, r.steps) for r in rounds] == [(0, ROUND), (1, 2 * ROUND)]
    assert rounds[-1].number == last.number
    assert [(p.steps, p.rounds) for p in progress] == [
        (256, 2),
        (512, 2),
        (ROUND + 256, 2),
        (ROUND + 512, 2),
    ]
    assert all(r.samples.num_trajectories == 2 and r.samples.num_steps == 400 for r in rounds)


@pytest.fixture(scope="module")
def searched():
    """All rounds of one small run of ours on LapGridWorld, and the steps that were really made."""
    rounds = []
    counter = Counter()
    learn(counter.watch(TASK), lap_demos(), SEARCHING, on_round=rounds.append)
    return rounds, counter.steps


def test_ours_begins_with_scouts_and_ends_with_the_agent_that_is_handed_out(searched):
    rounds, _ = searched
    phases = [r.phase for r in rounds]
    order = [Phase.scout, Phase.judge, Phase.final]
    assert phases[0] is Phase.scout
    assert phases[-1] is Phase.final
    assert [order.index(phase) for phase in phases] == sorted(
        order.index(phase) for phase in phases
    )


def test_scouts_know_no_constraint(searched):
    rounds, _ = searched
    for r in rounds:
        if r.phase is Phase.scout:
            assert r.cost is None
            assert r.forward_info.cost == 0.0


def test_the_rule_of_the_lap_is_found_from_one_demonstration(searched):
    rounds, _ = searched
    last = rounds[-1]
    assert last.constraint_info["axes"] == "action"
    cells = np.linspace(-1, 1, 40, dtype=np.float32)[:, None]
    assert last.constraint.is_feasible(cells, np.zeros(40, np.int64)).all()  # clockwise
    assert not last.constraint.is_feasible(cells, np.ones(40, np.int64)).any()
    assert last.constraint.card["search"]["axes"] == ["action"]


def test_every_round_says_why_zeta_moved_or_did_not(searched):
    rounds, _ = searched
    assert all(r.why for r in rounds)
    moved = [r for r in rounds if r.moved]
    assert len(moved) >= 1
    assert "a rule over action" in moved[0].why


def test_steps_of_ours_are_counted_and_kept_within_the_budget(searched):
    rounds, made = searched
    assert rounds[-1].steps == made <= SEARCHING.steps


def test_the_agent_that_is_handed_out_obeys(searched):
    rounds, _ = searched
    last = rounds[-1]
    assert last.phase is Phase.final
    # the shield never lets it go anticlockwise
    assert (last.samples.actions[last.samples.mask] == 0).all()


def test_a_budget_that_leaves_no_round_after_the_scouts_is_refused():
    with pytest.raises(InputError, match=r"3 rounds of .* --scouts"):
        learn(TASK, lap_demos(), replace(SEARCHING, steps=2_000))


def test_the_papers_algorithm_runs_from_end_to_end():
    rounds = []
    config = replace(preset("paper", "lap-grid"), steps=4 * (2_048 + 13 * 200))
    config = replace(config, restart_above=None)
    config = replace(config, forward=replace(config.forward, steps=2_048))
    learn(TASK, lap_demos(), config, on_round=rounds.append)
    assert [r.phase for r in rounds] == [Phase.round] * 4
    seen = [float(r.agent.observation_moments.num_seen) for r in rounds]
    assert seen == pytest.approx([2_048, 4_096, 6_144, 8_192], rel=0.01)  # the same agent goes on
    assert all(r.moved and r.constraint_info["updates_made"] > 0 for r in rounds)
    assert all(r.constraint_info["kl_old_new"] <= 10.0 for r in rounds)  # epsilon_F of Table 1
    assert all((r.evidence_weights == 1).all() for r in rounds)  # every sample is evidence


def test_where_zeta_moved_far_the_agent_starts_afresh():
    rounds = []
    config = replace(preset("paper", "lap-grid"), steps=3 * (2_048 + 13 * 200), restart_above=0.0)
    config = replace(config, forward=replace(config.forward, steps=2_048))
    learn(TASK, lap_demos(), config, on_round=rounds.append)
    assert all(r.constraint_info["cost_change"] > 0 for r in rounds)
    seen = [float(r.agent.observation_moments.num_seen) for r in rounds]
    assert seen == pytest.approx([2_048] * 3, rel=0.01)  # each has seen its own round alone


def test_same_seed_same_constraint_other_seed_another():
    def params(seed):
        constraint = learn_constraint(TASK, lap_demos(), TINY, seed)
        return np.concatenate([np.ravel(x) for layer in constraint.params for x in layer])

    first = params(3)
    assert first.tobytes() == params(3).tobytes()
    assert first.tobytes() != params(4).tobytes()


def test_learn_constraint_returns_the_artefact_with_its_provenance():
    constraint = icrl.learn_constraint(
        TASK, lap_demos(), replace(TINY, features=("clockwise",)), seed=5
    )
    assert constraint.features.names == ("clockwise",)
    assert constraint.card["task"] == "lap-grid"
    assert constraint.card["seed"] == 5
    assert constraint.card["method"] == "icrl"


def test_bad_input_is_refused_before_anything_is_made():
    def no_env(num_envs):
        raise AssertionError("an environment was made")

    task = replace(TASK, make_env=no_env)
    with pytest.raises(InputError, match=r"unknown feature .* 'cel': did you mean 'cell'"):
        learn(task, lap_demos(), replace(TINY, features=("cel",)))
    # F13: with two samples the estimate of KL(new || old) cannot exceed log 2
    limit = BackwardConfig(max_kl_new_old=2.5, kl_unit=KLUnit.trajectory)
    with pytest.raises(InputError, match="max_kl_new_old"):
        learn(task, lap_demos(), replace(TINY, backward=limit))
    point = icrl.make_scenario("point").task
    with pytest.raises(InputError, match="columns"):
        learn_constraint(replace(point, make_env=no_env), lap_demos(), replace(TINY, steps=10**6))


def permutation_p_value(low, high):
    """One-sided: the share of relabellings whose difference of means is at least as
    large as the observed one."""
    values, n = np.array([*low, *high]), len(low)
    observed = np.mean(high) - np.mean(low)
    differences = []
    for chosen in itertools.combinations(range(len(values)), n):
        mask = np.isin(np.arange(len(values)), chosen)
        differences.append(values[~mask].mean() - values[mask].mean())
    return np.mean(np.asarray(differences) >= observed - 1e-12)


def test_the_permutation_test_by_hand():
    assert permutation_p_value([0, 0], [1, 1]) == pytest.approx(1 / 6)
    # only {0, 0} against {1, 1} differs more
    assert permutation_p_value([0, 1], [0, 1]) == pytest.approx(5 / 6)


@pytest.mark.slow
def test_icrl_violates_less_than_an_agent_without_a_constraint():
    scenario = lap_grid()
    config = replace(preset("default", "lap-grid"), steps=75_000)

    def violation_rate(method, seed):
        last = learner_of(find_method(method))(
            TASK, lap_demos(), config, seed, {}, lambda _: None, lambda _: None
        )
        return judge(scenario, last.samples).violation_rate

    rates = {
        method: [violation_rate(method, seed) for seed in range(4)]
        for method in ("icrl", "nominal")
    }
    # with four seeds each the smallest p-value is 1/70
    assert permutation_p_value(rates["icrl"], rates["nominal"]) < 0.05
    assert np.median(rates["icrl"]) <= 0.05
    assert np.median(rates["nominal"]) >= 0.3
