"""A policy on disk: comes back to the bit, and what is not a policy of the task is refused."""

import numpy as np
import pytest
from safetensors.numpy import load, save

import worlds
from icrl.agent.policy_file import load_policy, save_policy
from icrl.agent.state import init_agent, policy_of
from icrl.errors import InputError
from plain_settings import plain_forward

CHOICE, PUSH = worlds.choice_reward(), worlds.push_reward()


def policy_for(task, **changes):
    config = plain_forward(hidden=(5, 4), **changes)
    return policy_of(init_agent(np.random.default_rng(0), task, config), task, config)


@pytest.mark.parametrize("task", [CHOICE, PUSH], ids=["discrete", "continuous"])
@pytest.mark.parametrize("normalize", [True, False])
def test_a_policy_comes_back_to_the_bit(tmp_path, task, normalize):
    path = tmp_path / "policy.safetensors"
    policy = policy_for(task, normalize_observations=normalize)
    save_policy(policy, path)
    loaded = load_policy(path, task)
    assert (loaded.moments is None) is not normalize
    observations = np.linspace(-3, 3, 7, dtype=np.float32)[:, None]
    actions = [p.to_env(p.act(np.random.default_rng(1), observations)) for p in (policy, loaded)]
    np.testing.assert_array_equal(*actions)
    again = tmp_path / "again.safetensors"
    save_policy(loaded, again)
    assert again.read_bytes() == path.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_policy_of_another_task_is_refused_with_the_shapes(tmp_path):
    path = tmp_path / "policy.safetensors"
    save_policy(policy_for(CHOICE), path)
    with pytest.raises(
        InputError,
        match=r"discrete actions with layers \[\(1, 5\).* push-reward has 1 observations",
    ):
        load_policy(path, PUSH)
    save_policy(policy_for(PUSH), path)
    with pytest.raises(InputError, match="continuous actions"):
        load_policy(path, CHOICE)


def test_a_file_of_an_earlier_version_has_the_environments_unit(tmp_path):
    path = tmp_path / "policy.safetensors"
    damage(path, lambda tensors: [tensors.pop(name) for name in ("action_centre", "action_scale")])
    made = np.float32([[0.3], [1.7], [9.0]])
    assert (
        load_policy(path, PUSH).to_env(made).tolist() == np.float32([[0.3], [1.7], [2.0]]).tolist()
    )
    assert policy_for(PUSH).to_env(made).tolist() == np.float32([[0.6], [2.0], [2.0]]).tolist()


def damage(path, change):
    """Rewrite a good file with its tensors changed."""
    save_policy(policy_for(PUSH), path)
    tensors = {name: np.array(tensor) for name, tensor in load(path.read_bytes()).items()}
    change(tensors)
    path.write_bytes(save(tensors))


def test_damaged_tensors_are_refused(tmp_path):
    path = tmp_path / "policy.safetensors"
    damages = {
        "layer0.bias": lambda t: t.pop("layer0.bias"),
        "not finite": lambda t: t["layer1.weight"].__setitem__((0, 0), np.nan),
        "another task": lambda t: t.update({"layer1.weight": np.zeros((9, 4), np.float32)}),
        "variance": lambda t: t.pop("variance"),
        "was it trained on": lambda t: t.pop("log_std"),
        "action_centre": lambda t: t.pop("action_centre"),
        "action_scale is not above 0": lambda t: t["action_scale"].fill(0),
        "trained on another": lambda t: t.update(action_scale=np.ones(2, np.float32)),
    }
    for word, change in damages.items():
        damage(path, change)
        with pytest.raises(InputError, match=word) as caught:
            load_policy(path, PUSH)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"hello", b"\xff" * 64])
def test_a_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "policy.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a policy of icrl"):
        load_policy(path, CHOICE)


def test_every_cut_of_the_file_is_refused(tmp_path):
    path = tmp_path / "policy.safetensors"
    save_policy(policy_for(CHOICE), path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            load_policy(path, CHOICE)


def test_a_missing_file_says_when_it_would_be_there(tmp_path):
    with pytest.raises(InputError, match="at the end of its first round"):
        load_policy(tmp_path / "policy.safetensors", CHOICE)


def test_how_a_policy_acts_comes_back_too(tmp_path):
    path = tmp_path / "policy.safetensors"
    config = plain_forward(hidden=(5, 4), shield=True)
    agent = init_agent(np.random.default_rng(0), PUSH, config)

    def cost(observations, actions):
        return np.where(actions[..., 0] > 0, 1.0, 0.0)

    save_policy(policy_of(agent, PUSH, config, cost, greedy=True), path)
    alone = load_policy(path, PUSH)
    assert alone.greedy
    assert alone.shield is None  # without its constraint nobody can say what it stood behind
    behind = load_policy(path, PUSH, cost)
    seen = np.linspace(-1, 1, 5, dtype=np.float32)[:, None]
    assert (behind.choose(np.random.default_rng(0), seen).taken <= 0).all()
    save_policy(policy_of(agent, PUSH, config), path)
    assert load_policy(path, PUSH, cost).shield is None


def test_what_the_shield_foresees_comes_back_to_the_bit(tmp_path):
    path = tmp_path / "policy.safetensors"
    config = plain_forward(hidden=(5, 4), shield=True)
    agent = init_agent(np.random.default_rng(0), PUSH, config)

    def cost(observations, actions):
        return np.where(observations[..., 0] > 1.0, 1.0, 0.0)

    policy = policy_of(agent, PUSH, config, cost)
    save_policy(policy, path)
    ahead = load_policy(path, PUSH, cost).shield.ahead
    for mine, saved in zip(policy.shield.ahead.layers, ahead.layers, strict=True):
        np.testing.assert_array_equal(mine, saved)
    seen = np.linspace(-1, 1, 5, dtype=np.float32)[:, None]
    pushes = np.full((5, 1), 0.3, np.float32)
    np.testing.assert_array_equal(
        ahead.follows(seen, pushes), policy.shield.ahead.follows(seen, pushes)
    )
    tensors = load(path.read_bytes())
    del tensors["ahead.spread"]
    path.write_bytes(save(tensors))
    with pytest.raises(InputError, match="not a policy"):
        load_policy(path, PUSH, cost)
