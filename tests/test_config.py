"""Settings: every bad value fails on construction with its name and value;
all of them survive JSON."""

import dataclasses
import json

import pytest

from icrl.config import (
    BackwardConfig,
    ForwardConfig,
    KLUnit,
    LearnConfig,
    MultiplierConfig,
    Respect,
    TerminateConfig,
    Weights,
)
from icrl.errors import InputError
from icrl.json_files import to_json

OUT_OF_RANGE = [
    (MultiplierConfig, "initial", -0.1),
    (MultiplierConfig, "learning_rate", -1.0),
    (MultiplierConfig, "budget", -1e-9),
    (TerminateConfig, "soft", 1.5),
    (TerminateConfig, "closing", 0.0),
    (TerminateConfig, "penalty", -0.1),
    (ForwardConfig, "steps", 0),
    (ForwardConfig, "num_envs", 0),
    (ForwardConfig, "rollout_steps", -1),
    (ForwardConfig, "epochs", 0),
    (ForwardConfig, "minibatch", 0),
    (ForwardConfig, "minibatch", 65),
    (ForwardConfig, "gamma", 1.01),
    (ForwardConfig, "gae_lambda", -0.1),
    (ForwardConfig, "cost_gamma", 2.0),
    (ForwardConfig, "cost_gae_lambda", 2.0),
    (ForwardConfig, "learning_rate", 0.0),
    (ForwardConfig, "adam_epsilon", 0.0),
    (ForwardConfig, "clip", 0.0),
    (ForwardConfig, "max_gradient_norm", -0.5),
    (ForwardConfig, "entropy_bonus", -0.01),
    (ForwardConfig, "choice_bonus", -0.01),
    (ForwardConfig, "value_weight", -0.01),
    (ForwardConfig, "target_kl", 0.0),
    (ForwardConfig, "hidden", ()),
    (ForwardConfig, "hidden", (64, 0)),
    (BackwardConfig, "updates", -1),
    (BackwardConfig, "learning_rate", 0.0),
    (BackwardConfig, "learning_rate_decay", 1.1),
    (BackwardConfig, "hidden", ()),
    (BackwardConfig, "input_clip", 0.0),
    (BackwardConfig, "sparsity", -0.1),
    (BackwardConfig, "max_kl_old_new", 0.0),
    (BackwardConfig, "max_kl_new_old", -1.0),
    (LearnConfig, "scouts", -1),
    (LearnConfig, "caution", 1.5),
    (LearnConfig, "restart_above", -0.1),
    (ForwardConfig, "learning_rate_end", 1.5),
    (LearnConfig, "steps", 0),
    (LearnConfig, "num_samples", 0),
    (LearnConfig, "features", ()),
]


@pytest.mark.parametrize(
    ("kind", "name", "value"), OUT_OF_RANGE, ids=lambda x: getattr(x, "__name__", str(x))
)
def test_a_value_out_of_range_is_named_with_its_value(kind, name, value):
    with pytest.raises(InputError) as caught:
        kind(**{name: value})
    message = str(caught.value)
    assert name in message
    assert repr(value) in message
    assert "expected" in message


@pytest.mark.parametrize(
    "kind", [MultiplierConfig, TerminateConfig, ForwardConfig, BackwardConfig, LearnConfig]
)
def test_not_a_number_is_out_of_range(kind):
    settings = [f.name for f in dataclasses.fields(kind) if isinstance(f.default, float)]
    unbounded = {"initial_log_std"}
    for name in set(settings) - unbounded:
        with pytest.raises(InputError, match=name):
            kind(**{name: float("nan")})
    assert settings or kind is LearnConfig


def test_settings_are_frozen_and_given_by_name():
    config = LearnConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.steps = 1
    with pytest.raises(TypeError):
        LearnConfig(1000)


def test_settings_as_json_hold_every_field_in_words():
    config = LearnConfig(
        features=("x", "y"),
        forward=ForwardConfig(respect=Respect.lagrangian),
        backward=BackwardConfig(),
    )
    content = json.loads(json.dumps(to_json(config)))
    assert set(content) == {f.name for f in dataclasses.fields(LearnConfig)}
    assert set(content["forward"]) == {f.name for f in dataclasses.fields(ForwardConfig)}
    assert content["forward"]["respect"] == "lagrangian"
    assert content["forward"]["hidden"] == [64, 64]
    assert content["backward"]["weights"] == Weights.none.value
    assert content["backward"]["kl_unit"] == KLUnit.trajectory.value
    assert content["features"] == ["x", "y"]
    assert content["forward"]["multiplier"] == {"initial": 1.0, "learning_rate": 0.1, "budget": 0.0}
