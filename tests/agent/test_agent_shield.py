"""The shield: forbidden actions are replaced by allowed ones,
the nearest or by the policy's own odds."""

import gymnasium as gym
import numpy as np
import pytest

from icrl.agent.ahead import ActionUnit, Ahead
from icrl.agent.networks import PolicyLayers
from icrl.agent.normalizer import RunningMoments
from icrl.agent.shield import Shield, nearest_allowed, probes_of, redrawn_choices, way_back
from icrl.agent.state import Policy, shield_of

LOW = np.array([-1.0, -1.0])
HIGH = np.array([1.0, 1.0])


def beyond_half(observations, actions):
    """Forbidden: the first component above one half."""
    return actions[..., 0] > 0.5


def test_the_nearest_allowed_action_lies_just_inside_the_boundary():
    rng = np.random.default_rng(0)
    given = np.array([[0.9, 0.2], [0.6, -0.7]])
    shielded = nearest_allowed(rng, beyond_half, np.zeros((2, 1)), given, LOW, HIGH)
    assert shielded.found.all()
    assert not beyond_half(None, shielded.actions).any()
    # the nearest point of the half-plane is straight across: (0.5, 0.2) and (0.5, -0.7)
    np.testing.assert_allclose(shielded.actions[:, 0], 0.5, atol=0.05)
    np.testing.assert_allclose(shielded.actions[:, 1], given[:, 1], atol=0.2)


def test_it_is_never_farther_than_the_best_of_many_random_actions():
    def outside_disc(observations, actions):
        return np.linalg.norm(actions - 0.3, axis=-1) > 0.4

    rng = np.random.default_rng(1)
    given = rng.uniform(-1, 1, (50, 2))
    given = given[outside_disc(None, given)]
    shielded = nearest_allowed(rng, outside_disc, np.zeros((len(given), 1)), given, LOW, HIGH)
    assert not outside_disc(None, shielded.actions).any()
    exact = np.linalg.norm(given - 0.3, axis=1) - 0.4  # distance from a disc
    found = np.linalg.norm(given - shielded.actions, axis=1)
    assert (found >= exact - 1e-9).all()
    assert np.quantile(found - exact, 0.9) < 0.2


def test_where_nothing_is_allowed_the_action_stays():
    rng = np.random.default_rng(0)
    given = np.array([[0.1, 0.2]])

    def everything(observations, actions):
        return np.ones(actions.shape[:-1], np.bool_)

    shielded = nearest_allowed(rng, everything, np.zeros((1, 1)), given, LOW, HIGH)
    assert shielded.found.tolist() == [False]
    np.testing.assert_array_equal(shielded.actions, given)


def test_choices_are_drawn_again_with_the_policys_own_odds():
    def first_is_forbidden(observations, actions):
        return actions == 0

    rng = np.random.default_rng(0)
    number = 20_000
    log_probs = np.tile(np.log([0.5, 0.4, 0.1]), (number, 1))
    shielded = redrawn_choices(
        rng, first_is_forbidden, np.zeros((number, 1)), np.zeros(number, np.int64), log_probs
    )
    # 0.4 : 0.1 among what is left
    np.testing.assert_allclose(
        np.bincount(shielded.actions, minlength=3) / number, [0, 0.8, 0.2], atol=0.01
    )
    likeliest = redrawn_choices(
        None, first_is_forbidden, np.zeros((1, 1)), np.zeros(1, np.int64), log_probs[:1]
    )
    assert likeliest.actions.tolist() == [1]


def make_policy(space, bias, cost, greedy=False):
    bias = np.asarray(bias, np.float32)
    log_std = None
    if isinstance(space, gym.spaces.Box):
        log_std = np.full(len(bias), -1.0, np.float32)
    layers = PolicyLayers(((np.zeros((1, len(bias)), np.float32), bias),), log_std)
    return Policy(
        layers=layers, moments=None, action_space=space, shield=Shield(cost=cost), greedy=greedy
    )


def test_a_policy_behind_a_shield_takes_what_is_allowed_and_remembers_what_it_drew():
    space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def cost(observations, actions):
        return np.where(actions[..., 0] > 0.5, 1.0, 0.0)

    policy = make_policy(space, [0.9, 0.0], cost)
    choice = policy.choose(np.random.default_rng(0), np.zeros((40, 1), np.float32))
    assert (choice.drawn[:, 0] > 0.5).mean() >= 0.8
    assert (choice.taken[:, 0] <= 0.5).all()
    assert choice.costs.tolist() == [0.0] * 40
    kept = choice.drawn[:, 0] <= 0.5
    np.testing.assert_allclose(choice.taken[kept], np.clip(choice.drawn[kept], -1, 1))


def test_a_greedy_policy_acts_at_its_mode():
    space = gym.spaces.Discrete(3)
    policy = make_policy(
        space, [5.0, 4.0, 0.0], lambda observations, actions: 1.0 * (actions == 0), greedy=True
    )
    choice = policy.choose(np.random.default_rng(0), np.zeros((4, 1), np.float32))
    assert choice.drawn.tolist() == [0] * 4
    assert choice.taken.tolist() == [1] * 4


@pytest.mark.parametrize("state", [0.0, 1.0])
def test_a_state_in_which_everything_is_forbidden_costs_one(state):
    space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    policy = make_policy(space, [0.0], lambda observations, actions: observations[..., 0])
    choice = policy.choose(np.random.default_rng(0), np.full((3, 1), state, np.float32))
    assert choice.costs.tolist() == [state] * 3


def one_step_ahead(spread=0.0):
    """A model that knows: a place x, pushed by an action a, is x + a."""
    moments = RunningMoments(np.zeros(1), np.ones(1), np.asarray(1.0))
    unit = ActionUnit(np.zeros(1, np.float32), np.ones(1, np.float32))
    nothing = [np.zeros(size, np.float32) for size in ((2, 1), (1,), (1, 1), (1,))]
    straight = np.array([[0.0], [1.0]], np.float32)
    one = np.ones(1, np.float32)
    return Ahead(moments, unit, 1, (*nothing, straight), 0 * one, one, np.float32(spread) * one)


def beyond_two(observations, actions):
    return np.where(observations[..., 0] > 2.0, 1.0, 0.0)


def push_policy(mean, shield):
    layers = PolicyLayers(
        ((np.zeros((1, 1), np.float32), np.array([mean], np.float32)),), np.zeros(1, np.float32)
    )
    space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    unit = ActionUnit(np.zeros(1, np.float32), np.ones(1, np.float32))
    return Policy(
        layers=layers, moments=None, action_space=space, unit=unit, shield=shield, greedy=True
    )


def test_a_step_that_leads_into_the_forbidden_is_shortened_before_it_is_taken():
    space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    policy = push_policy(1.0, shield_of(beyond_two, space, one_step_ahead()))
    seen = np.array([[0.5], [1.5], [1.9]], np.float32)
    choice = policy.choose(np.random.default_rng(0), seen)
    np.testing.assert_array_equal(choice.drawn, np.ones((3, 1)))  # what the update sees
    following = seen + choice.taken
    assert choice.taken[0, 0] == 1.0
    assert (following <= 2.0).all()
    assert (following[1:] > 1.8).all()  # and no shorter than it must be
    assert (choice.costs == 0).all()


def test_it_keeps_as_far_away_as_its_model_errs():
    space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    seen = np.array([[1.5]], np.float32)
    taken = [
        push_policy(1.0, shield_of(beyond_two, space, one_step_ahead(spread)))
        .choose(np.random.default_rng(0), seen).taken.item()
        for spread in (0.0, 0.1)
    ]  # fmt: skip
    assert taken[0] > 0.45
    assert taken[1] < 0.35


def test_where_everything_is_forbidden_the_way_back_is_taken():
    space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    policy = push_policy(1.0, shield_of(beyond_two, space, one_step_ahead()))
    choice = policy.choose(np.random.default_rng(0), np.array([[3.5]], np.float32))
    assert choice.drawn.item() == 1.0
    assert choice.taken.item() == -1.0
    assert choice.costs.item() == 1.0  # the state itself is forbidden: the episode ends


def test_deep_inside_the_way_back_follows_what_the_cost_says_of_depth():
    class Deep:
        """Forbidden beyond 2, and the way out from 30 is longer than the shield looks ahead."""

        def __call__(self, observations, actions):
            return beyond_two(observations, actions)

        def beyond(self, observations, actions):
            return observations[..., 0] - 2.0

    space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    seen = np.array([[30.0]], np.float32)
    back = push_policy(1.0, shield_of(Deep(), space, one_step_ahead()))
    assert back.choose(np.random.default_rng(0), seen).taken.item() == -1.0
    # a cost that is 1 everywhere there tells nothing, and what was drawn is taken
    blind = push_policy(1.0, shield_of(beyond_two, space, one_step_ahead()))
    assert blind.choose(np.random.default_rng(0), seen).taken.item() == 1.0


def test_a_choice_leads_back_too():
    one = np.ones(1, np.float32)
    moments = RunningMoments(np.zeros(1), np.ones(1), np.asarray(1.0))
    nothing = [np.zeros(size, np.float32) for size in ((4, 1), (1,), (1, 1), (1,))]
    straight = np.array([[0.0], [1.0], [0.0], [-1.0]], np.float32)  # on, wait, back
    ahead = Ahead(moments, None, 3, (*nothing, straight), 0 * one, one, 0 * one)
    shield = shield_of(beyond_two, gym.spaces.Discrete(3), ahead)
    seen = np.array([[4.0], [5.0]], np.float32)
    assert way_back(np.random.default_rng(0), shield, seen, np.array([0, 1])).tolist() == [2, 2]


def test_a_state_that_allows_another_action_does_not_lead_astray():
    def fast_beyond_two(observations, actions):
        return np.where((observations[..., 0] > 2.0) & (actions[..., 0] > 0.5), 1.0, 0.0)

    space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    shield = shield_of(fast_beyond_two, space, one_step_ahead())
    seen = np.array([[1.5]], np.float32)
    assert not shield.leads_astray(seen, np.array([[1.0]], np.float32)).any()
    assert (
        shield_of(beyond_two, space, one_step_ahead())
        .leads_astray(seen, np.array([[1.0]], np.float32))
        .all()
    )


def cart():
    """The exact model of a cart: v grows by the push u in [-1, 1] over ten, x by v."""
    moments = RunningMoments(np.zeros(2), np.ones(2), np.asarray(1.0))
    unit = ActionUnit(np.zeros(1, np.float32), np.ones(1, np.float32))
    straight = np.array([[0, 0], [1, 0], [0.1, 0.1]], np.float32)  # of x, v and u to both changes
    nothing = [np.zeros(size, np.float32) for size in ((3, 1), (1,), (1, 2), (2,))]
    one = np.ones(2, np.float32)
    return Ahead(moments, unit, 1, (*nothing, straight), 0 * one, one, 0 * one)


def test_a_shield_that_looks_ahead_brakes_in_time():
    def beyond_one(observations, actions):
        return np.asarray(observations[..., 0] > 1.0, np.float64)

    low, high = np.array([-1.0]), np.array([1.0])
    shield = Shield(cost=beyond_one, ahead=cart(), probes=probes_of(low, high))
    # at a speed of 0.5 the full brake takes 0.4 + 0.3 + 0.2 + 0.1 = 1.0 to stop
    states = np.array([[-0.2, 0.5], [0.2, 0.5], [0.2, -0.5], [0.9, 0.0]], np.float32)
    brake = np.full((4, 1), -1.0, np.float32)
    assert shield.leads_astray(states, brake).tolist() == [False, True, False, False]
    go = np.full((4, 1), 1.0, np.float32)
    assert shield.leads_astray(states, go).tolist() == [True, True, False, False]


def test_a_shield_that_looks_ahead_never_enters_though_the_policy_pushes_on():
    def beyond_one(observations, actions):
        return np.asarray(observations[..., 0] > 1.0, np.float64)

    rng = np.random.default_rng(0)
    low, high = np.array([-1.0], np.float32), np.array([1.0], np.float32)
    shield = Shield(cost=beyond_one, ahead=cart(), probes=probes_of(low, high))
    states = np.stack([np.linspace(-1.2, 0, 8), np.zeros(8)], axis=1).astype(np.float32)
    for _ in range(60):
        push = np.ones((8, 1), np.float32)
        rows = np.flatnonzero(shield.refuses(states, push))
        if len(rows):
            shielded = nearest_allowed(rng, shield.refuses, states[rows], push[rows], low, high)
            assert shielded.found.all()
            push[rows] = shielded.actions
        states = shield.ahead.foretold(states, push)
        assert (states[:, 0] <= 1.0).all()
    assert states[:, 0].min() > 0.5


def test_what_is_known_to_be_hopeless_changes_nothing_for_the_others():
    """The same draws, and the same answer, as where every candidate is tried in vain."""

    def refuses(observations, actions):
        return (observations[..., 0] > 1.0) | (actions[..., 0] > 0.5)

    seen = np.array([[0.0], [2.0], [0.5], [3.0]], np.float32)
    pushes = np.array([[0.9, 0.0], [0.8, 0.1], [0.7, -0.2], [0.6, 0.3]], np.float32)
    found, after = [], []
    for hopeless in (None, seen[:, 0] > 1.0, np.zeros(4, np.bool_)):
        rng = np.random.default_rng(3)
        found.append(nearest_allowed(rng, refuses, seen, pushes, LOW, HIGH, 32, hopeless))
        after.append(rng.random())
    assert found[0].found.tolist() == [True, False, True, False]
    for other in found[1:]:
        np.testing.assert_array_equal(other.actions, found[0].actions)
        np.testing.assert_array_equal(other.found, found[0].found)
    assert len(set(after)) == 1
