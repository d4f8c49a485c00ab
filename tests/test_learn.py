"""Algorithm 1: the budget is kept to the step, rounds are reported, a restart happens when it should, seeds decide."""

import itertools
import sys
from dataclasses import replace

import numpy as np
import pytest

import icrl
from icrl.agent.sampling import sample_agent
from icrl.config import BackwardConfig, KLUnit
from icrl.errors import InputError
from icrl.evaluate import judge
from icrl.evidence import newly_forbidden
from icrl.experiment.methods import METHODS
from icrl.learn import learn, learn_constraint
from icrl.presets import preset
from icrl.rounds import num_rounds
from icrl.scouting import stages_of_round
from icrl.tasks.lap_grid import lap_grid
from icrl.types import Trajectories
from small_runs import ROUND, TINY, Counter, lap_demos

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
    with pytest.raises(InputError, match=r"steps = 911 .* 1 round of 912 .*512 of training, 2 sampled .* 200"):
        learn(TASK, lap_demos(), replace(TINY, steps=911))


@pytest.mark.parametrize("extra", [0, 1, 500])
def test_steps_counted_are_steps_made_and_never_more_than_asked_for(extra):
    counter, config = Counter(), replace(TINY, steps=2 * ROUND + extra)
    last = learn(counter.watch(TASK), lap_demos(), config)
    assert last.steps == counter.steps == 2 * ROUND <= config.steps


def test_nominal_steps_counted_are_steps_made():
    counter = Counter()
    config = replace(TINY, steps=2 * ROUND + 7)
    last = METHODS["nominal"](counter.watch(TASK), lap_demos(), config, 0, {}, lambda _: None, lambda _: None)
    assert last.steps == counter.steps == 2 * ROUND
    with pytest.raises(InputError, match="1 round"):
        METHODS["nominal"](TASK, lap_demos(), replace(TINY, steps=900), 0, {}, lambda _: None, lambda _: None)


def test_every_round_and_every_update_is_reported():
    rounds, progress = [], []
    last = learn(TASK, lap_demos(), TINY, on_round=rounds.append, on_progress=progress.append)
    assert [(r.number, r.steps) for r in rounds] == [(0, ROUND), (1, 2 * ROUND)]
    assert rounds[-1] is last
    assert [(p.steps, p.rounds) for p in progress] == [(256, 2), (512, 2), (ROUND + 256, 2), (ROUND + 512, 2)]
    assert all(r.samples.num_trajectories == 2 and r.samples.num_steps == 400 for r in rounds)


def one_trajectory(cells):
    steps = len(cells)
    return Trajectories(
        observations=np.asarray(cells, np.float32).reshape(1, steps, 1),
        actions=np.zeros((1, steps), np.int64),
        rewards=np.zeros((1, steps), np.float32),
        lengths=np.array([steps - 1]),  # the last one is padding
    )


def test_newly_forbidden_by_hand():
    samples = one_trajectory([0.1, 0.4, 0.6, 0.9, 0.9])

    def new(observations, actions):
        return observations[..., 0]

    def old(observations, actions):
        return np.where(observations[..., 0] > 0.8, 1.0, 0.0)

    assert newly_forbidden(samples, None, new) == pytest.approx(2 / 4)  # 0.6 and 0.9 of the four real steps
    assert newly_forbidden(samples, old, new) == pytest.approx(1 / 4)  # 0.9 was forbidden before
    assert newly_forbidden(samples, new, new) == 0.0
    # exactly one half is allowed
    assert newly_forbidden(one_trajectory([0.5, 0.5, 0.0]), None, new) == 0.0


def agents_of(config):
    """Normaliser counts of the agent at the end of each round: a fresh agent has seen only its own round."""
    seen = []
    learn(TASK, lap_demos(), config, on_round=lambda r: seen.append(float(r.agent.observation_moments.num_seen)))
    return seen


def test_an_agent_that_settled_on_forbidden_ways_starts_afresh():
    harsh = replace(TINY, backward=replace(TINY.backward, learning_rate=1.0, sparsity=0.0))
    assert agents_of(replace(harsh, restart_above=0.01)) == pytest.approx([512, 512], rel=0.01)
    assert agents_of(replace(harsh, restart_above=None)) == pytest.approx([512, 1024], rel=0.01)
    # updates this small forbid nothing that was not forbidden: no restart, although any share would be enough
    gentle = replace(TINY.backward, learning_rate=1e-9)
    mild = replace(TINY, restart_above=0.0, backward=gentle)
    assert agents_of(mild) == pytest.approx([512, 1024], rel=0.01)


SCOUTING = replace(
    TINY, steps=3 * ROUND + 200, scouts=2, scout_share=0.0, backward=replace(TINY.backward, presumption=0.5)
)


def test_scouts_know_no_constraint_and_are_fresh():
    rounds = []
    learn(TASK, lap_demos(), SCOUTING, on_round=rounds.append)
    assert [r.forward_info.cost for r in rounds[:2]] == [0.0, 0.0]
    assert rounds[2].forward_info.cost > 0.0
    seen = [float(r.agent.observation_moments.num_seen) for r in rounds]
    assert seen == pytest.approx([512, 512, 512], rel=0.01)


@pytest.mark.parametrize(
    ("updates", "episodes", "stages", "expected"),
    [
        (50, 10, 5, [(10, 2)] * 5),
        (3, 10, 5, [(1, 3), (1, 3), (1, 4)]),  # no more stages than updates
        (50, 2, 5, [(25, 1), (25, 1)]),  # nor than episodes
        (50, 10, 1, [(50, 10)]),
    ],
)
def test_stages_of_a_scout_by_hand(updates, episodes, stages, expected):
    forward = replace(TINY.forward, steps=updates * TINY.forward.num_envs * TINY.forward.rollout_steps)
    assert stages_of_round(replace(TINY, forward=forward, num_samples=episodes, scout_stages=stages)) == expected


def test_a_scout_is_sampled_as_often_as_any_agent_but_at_every_stage(monkeypatch):
    rounds, made = [], []

    def watched(key, agent, *arguments):
        made.append(float(agent.observation_moments.num_seen))
        return sample_agent(key, agent, *arguments)

    for module in ("icrl.learn", "icrl.scouting"):
        monkeypatch.setattr(sys.modules[module], "sample_agent", watched)
    learn(TASK, lap_demos(), SCOUTING, on_round=rounds.append)
    assert [r.samples.num_trajectories for r in rounds] == [2, 2, 2]
    # chance, then two scouts, each after the first and the second of its two updates, then the agent
    assert made == pytest.approx([0, 256, 512, 256, 512, 512], abs=3)
    assert [r.forward_info.steps for r in rounds] == [512, 512, 512]


def test_a_scout_is_one_agent_for_all_its_rounds():
    rounds = []
    # what these demonstrations earn is out of reach, so both scouts take all their time: half of 9 rounds, shared
    demos = lap_demos()
    rich = replace(demos.trajectories, rewards=100 * demos.trajectories.rewards)
    config = replace(SCOUTING, steps=9 * ROUND + 200, scout_share=1.0)
    learn(TASK, replace(demos, trajectories=rich), config, on_round=rounds.append)
    seen = [float(r.agent.observation_moments.num_seen) for r in rounds]
    assert seen[:5] == pytest.approx([512, 1024, 512, 1024, 512], rel=0.01)
    assert [r.backward_info.updates_made > 0 for r in rounds[:5]] == [False, False, False, True, False]


def test_zeta_moves_after_the_last_scout_and_then_only_on_evidence():
    rounds = []
    config = replace(SCOUTING, steps=5 * ROUND + 200, evidence_margin=1e6, restart_above=None)
    learn(TASK, lap_demos(), config, on_round=rounds.append)
    assert [r.backward_info.updates_made for r in rounds] == [0, TINY.backward.updates, 0, 0, 0]


def test_steps_of_chance_are_counted():
    counter = Counter()
    last = learn(counter.watch(TASK), lap_demos(), SCOUTING)
    assert last.steps == counter.steps == 3 * ROUND + 200  # 4 episodes of 50 before the first round


def test_a_budget_that_leaves_no_round_after_the_scouts_is_refused():
    with pytest.raises(InputError, match=r"3 rounds of 912 .* and 200 steps of chance .* --scouts"):
        learn(TASK, lap_demos(), replace(SCOUTING, steps=3 * ROUND + 199))


def test_same_seed_same_constraint_other_seed_another():
    def params(seed):
        constraint = learn_constraint(TASK, lap_demos(), TINY, seed)
        return np.concatenate([np.ravel(x) for layer in constraint.params for x in layer])

    first = params(3)
    assert first.tobytes() == params(3).tobytes()
    assert first.tobytes() != params(4).tobytes()


def test_learn_constraint_returns_the_artefact_with_its_provenance():
    constraint = icrl.learn_constraint(TASK, lap_demos(), replace(TINY, features=("clockwise",)), seed=5)
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
        learn(replace(point, make_env=no_env), lap_demos(), replace(TINY, steps=10**6))


def permutation_p_value(low, high):
    """One-sided: the share of relabellings whose difference of means is at least as large as the observed one."""
    values, n = np.array([*low, *high]), len(low)
    observed = np.mean(high) - np.mean(low)
    differences = []
    for chosen in itertools.combinations(range(len(values)), n):
        mask = np.isin(np.arange(len(values)), chosen)
        differences.append(values[~mask].mean() - values[mask].mean())
    return np.mean(np.asarray(differences) >= observed - 1e-12)


def test_the_permutation_test_by_hand():
    assert permutation_p_value([0, 0], [1, 1]) == pytest.approx(1 / 6)
    assert permutation_p_value([0, 1], [0, 1]) == pytest.approx(5 / 6)  # only {0, 0} against {1, 1} differs more


@pytest.mark.slow
def test_icrl_violates_less_than_an_agent_without_a_constraint():
    scenario = lap_grid()
    config = replace(preset("default", "lap-grid"), steps=75_000)

    def violation_rate(method, seed):
        last = METHODS[method](TASK, lap_demos(), config, seed, {}, lambda _: None, lambda _: None)
        return judge(scenario, last.samples).violation_rate

    rates = {method: [violation_rate(method, seed) for seed in range(4)] for method in ("icrl", "nominal")}
    # with four seeds each the smallest p-value is 1/70
    assert permutation_p_value(rates["icrl"], rates["nominal"]) < 0.05
    assert np.median(rates["icrl"]) <= 0.05
    assert np.median(rates["nominal"]) >= 0.3
