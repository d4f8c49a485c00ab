"""Small environments and constraints that the tests of the interop room share."""

from typing import Any

import gymnasium as gym
import numpy as np

from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.network import Layer


class Corridor(gym.Env[Any, Any]):
    """x begins at 0, the action (clipped to ±1) is added; each step pays -1;
    it ends for good at x >= 3."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space: Any = gym.spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self) -> None:
        # the same array at every step: a wrapper has to copy it
        self.buffer = np.zeros(2, np.float32)
        self.x = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 0.0
        return self.observe(), {"begun": True}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.x += float(np.clip(np.asarray(action).reshape(-1)[0], -1, 1))
        return self.observe(), -1.0, self.x >= 3.0, False, {"x": self.x}

    def observe(self) -> Any:
        self.buffer[:] = (7.0, self.x)
        return self.buffer


class Steps(Corridor):
    """The corridor with choices: 0 a step back, 1 none, 2 a step on."""

    action_space = gym.spaces.Discrete(3)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return super().step(int(action) - 1)


class Rooms(gym.Env[Any, Any]):
    """Three rooms in a row, numbered from 5; the choices: 0 a room back, 1 a room on."""

    observation_space: Any = gym.spaces.Discrete(3, start=5)
    action_space: Any = gym.spaces.Discrete(2)
    room = 5

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.room = 5
        return self.room, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.room = int(np.clip(self.room + 2 * int(action) - 1, 5, 7))
        return self.room, 0.0, False, False, {}


def room_constraint() -> LearnedConstraint:
    """Forbids to go on from the middle room, number 6: ζ = σ(15 − 10 [room 6] − 10 [on])."""
    features = Features(
        names=("state[6]", "action[1]"),
        columns=(1, 4),
        lower=(0.0, 0.0),
        upper=(1.0, 1.0),
        num_observations=3,
        num_actions=2,
        discrete=True,
    )
    layer = Layer(np.array([[-10.0], [-10.0]], np.float32), np.array([15.0], np.float32))
    return LearnedConstraint(features=features, params=(layer,))


def line_constraint(
    weight: float = 8.0, at: float = 1.5, discrete: bool = False
) -> LearnedConstraint:
    """ζ(x) = σ(weight (at − x)): infeasible beyond `at`, whatever is done there."""
    features = Features(
        names=("x",),
        columns=(1,),
        lower=(-20.0,),
        upper=(20.0,),
        num_observations=2,
        num_actions=3 if discrete else 1,
        discrete=discrete,
    )
    layer = Layer(np.array([[-weight]], np.float32), np.array([weight * at], np.float32))
    return LearnedConstraint(features=features, params=(layer,), card={"seed": 3})


def push_constraint(discrete: bool = False) -> LearnedConstraint:
    """Forbids a push to the right (the last choice) beyond x = 0.5:
    ζ = σ(20 − 20 [a = right] − 20 [x > 0.5]...)."""
    features = Features(
        names=("x", "on" if discrete else "push"),
        columns=(1, 4 if discrete else 2),
        lower=(0.0, 0.0),
        upper=(1.0, 1.0),
        num_observations=2,
        num_actions=3 if discrete else 1,
        discrete=discrete,
    )
    layer = Layer(np.array([[-20.0], [-20.0]], np.float32), np.array([25.0], np.float32))
    return LearnedConstraint(features=features, params=(layer,))
