"""`--method greedy`: the tabular forms, what is found in them,
and a run that leaves what every run leaves."""

import json

import numpy as np
import pytest

from icrl.baselines.greedy import learn_greedy
from icrl.constraint.learned import load_constraint
from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.errors import InputError
from icrl.tabular.worlds import STAY, bridges_form, bridges_walks, square_of, tabular_form
from icrl.tasks import bridges_map as plane
from icrl.tasks.registry import make_scenario
from icrl.types import Trajectories


def random_walks(num_envs, seed=0):
    """Episodes of the plane under random pushes."""
    env = make_scenario("bridges").task.make_env(num_envs)
    rng = np.random.default_rng(seed)
    seen, pushes, rewards = [env.reset(seed=seed)[0]], [], []
    done, lengths = np.zeros(num_envs, bool), np.full(num_envs, plane.HORIZON)
    for t in range(plane.HORIZON):
        pushes.append(rng.uniform(-1.5, 1.5, (num_envs, 2)) + np.array([0.3, 0.0]))
        observation, reward, terminated, _, _ = env.step(pushes[-1])
        seen.append(observation)
        rewards.append(np.where(done, 0.0, reward))
        lengths[terminated & ~done] = t + 1
        done |= terminated
        env.ended[:] = False  # ended episodes idle on; their rows are padding
    return Trajectories(
        observations=np.stack(seen[:-1], 1),
        actions=np.stack(pushes, 1),
        rewards=np.stack(rewards, 1),
        lengths=lengths,
    )


def test_every_episode_of_the_plane_is_a_walk_of_the_grid():
    mdp = bridges_form().mdp
    trajectories = random_walks(100)
    walks = bridges_walks(mdp, trajectories)  # checks that each move is possible
    here = square_of(mdp.observations[walks.states])
    assert np.array_equal(
        here[trajectories.mask], square_of(trajectories.observations)[trajectories.mask]
    )
    ended = ~trajectories.mask
    assert ended.any()
    assert np.all(walks.actions[ended] == STAY)
    assert plane.at_goal(mdp.observations[walks.states[ended]]).all()


def test_the_grid_starts_and_pays_like_the_plane():
    mdp = bridges_form().mdp
    starts = make_scenario("bridges").task.make_env(4000).reset(seed=0)[0]
    squares = square_of(mdp.observations)
    shares = [np.mean(np.all(square_of(starts) == square, axis=1)) for square in squares]
    np.testing.assert_allclose(mdp.start, shares, atol=0.03)
    at_goal = plane.at_goal(mdp.observations)
    assert at_goal.sum() == 4
    assert np.all(mdp.reward[at_goal] == 1.0)
    assert mdp.reward[~at_goal].min() > 0
    # from the square left of the goal, to the right: arrived
    state = int(
        np.flatnonzero(np.all(squares == square_of(np.array(plane.GOAL)) - [2, 0], axis=1))[0]
    )
    assert mdp.reward[state, mdp.action_names.index("(1, 0)")] == 1.0


def test_a_demonstration_that_jumps_is_refused():
    trajectories = random_walks(2)
    trajectories.observations[1, 5] = [plane.WIDTH / 2, plane.HEIGHT / 2]
    with pytest.raises(InputError, match="demonstration 1 moves by"):
        bridges_walks(bridges_form().mdp, trajectories)


def test_lap_grid_is_solved_by_one_finding():
    scenario = make_scenario("lap-grid")
    constraint, found = learn_greedy(
        scenario.task, load_demos(shipped_demos("lap-grid.npz")), {"seed": 7}
    )
    assert [finding["forbidden"] for finding in constraint.card["findings"]] == [
        "action anticlockwise"
    ]
    assert constraint.card["findings"][0]["gain"] == found.findings[0].gain > 100
    assert (constraint.card["seed"], constraint.card["kind"]) == (7, "table")
    cells = np.repeat(np.linspace(-1, 1, 40)[:, None], 2, axis=0)
    actions = np.tile([0, 1], 40)
    np.testing.assert_array_equal(
        ~constraint.is_feasible(cells, actions), scenario.violates(cells, actions)
    )


def test_on_bridges_it_closes_the_lower_bridge_and_spares_the_demonstrations():
    scenario = make_scenario("bridges")
    demos = load_demos(shipped_demos("bridges.npz"))
    constraint, found = learn_greedy(scenario.task, demos)
    pairs = (
        demos.trajectories.observations[demos.trajectories.mask],
        demos.trajectories.actions[demos.trajectories.mask],
    )
    assert constraint.is_feasible(*pairs).all()
    x, y = np.linspace(*plane.RIVER, 41)[1:-1], np.linspace(*plane.LOWER_BRIDGE, 41)[1:-1]
    places = np.stack(np.meshgrid(x, y), axis=-1)  # [39, 39, 2]
    forbidden = ~constraint.is_feasible(places, np.zeros(places.shape))
    assert forbidden.all(axis=0).any()  # a cross-section without a gap
    gains = [finding.log_likelihood for finding in found.findings]
    assert gains == sorted(gains)
    assert gains[0] > found.nominal_log_likelihood


def test_a_task_without_a_tabular_form_is_refused_by_name():
    with pytest.raises(InputError, match=r"'point' has no tabular form.*bridges, lap-grid"):
        tabular_form("point")


@pytest.mark.slow
def test_a_run_leaves_what_every_run_leaves(tmp_path):
    from icrl.cli import main

    out = tmp_path / "run"
    main(["learn", "lap-grid", "--method", "greedy", "--steps", "60000", "--out", str(out)])
    scores = json.loads((out / "scores.json").read_text())
    assert (scores["method"], scores["scenario"]) == ("greedy", "lap-grid")
    assert scores["violation_rate"] < 0.05
    assert (out / "policy.safetensors").exists()
    constraint = load_constraint(out / "constraint")
    assert constraint.card["findings"][0]["forbidden"] == "action anticlockwise"
    assert constraint.card["method"] == "greedy"
