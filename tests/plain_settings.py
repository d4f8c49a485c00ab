"""Settings for tests of one part: small, without shield or scouts, and the same whatever the
presets are tuned to."""

from typing import Any

from icrl.config import ForwardConfig, LearnConfig, TerminateConfig

FORWARD: dict[str, Any] = {
    "steps": 10_000,
    "num_envs": 16,
    "rollout_steps": 128,
    "minibatch": 64,
    "learning_rate": 3e-4,
    "learning_rate_end": 1.0,
    "gae_lambda": 0.95,
    "initial_log_std": 0.0,
    "choice_bonus": 0.0,
    "shield": False,
    "terminate": TerminateConfig(soft=0.0),
}


def plain_forward(**changes: Any) -> ForwardConfig:
    """PPO that ends episodes where the constraint is broken, and nothing more."""
    return ForwardConfig(**(FORWARD | changes))


def plain_learn(**changes: Any) -> LearnConfig:
    """The paper's way: no scouts."""
    plain = {"steps": 120_000, "scouts": 0, "forward": plain_forward()}
    return LearnConfig(**(plain | changes))
