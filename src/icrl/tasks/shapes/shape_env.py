"""What the worlds of Shapes share: a description of the physics, and E environments that remember
what was seen."""

from typing import Protocol

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.tasks.batched import BatchedEnv
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray


class Physics(Protocol):
    """The dynamics and the reward of one world: everything about it but the rule."""

    @property
    def horizon(self) -> int:
        """Episodes are truncated after this many steps."""

    @property
    def observation_names(self) -> tuple[str, ...]:
        """One name per observation, with its unit."""

    @property
    def action_names(self) -> tuple[str, ...]:
        """One name per component of the action (with its unit), or per choice."""

    @property
    def observation_space(self) -> gym.spaces.Box:
        """Of one environment."""

    @property
    def action_space(self) -> gym.spaces.Box | gym.spaces.Discrete:
        """Of one environment."""

    def make_env(self, num_envs: int, autoreset_mode: AutoresetMode) -> "ShapeEnv":
        """`num_envs` environments, stepped as one."""


class ShapeEnv(BatchedEnv):
    """E environments of one world. A subclass answers `begin`, `move` and `look`.

    What an episode draws, it draws at its start: noise and goals of all its steps are put into
    arrays then, so that a step is a few NumPy calls and does not depend on the neighbours.
    """

    planar = False
    """The first two observations are a place on a map, the next two its goal."""

    def __init__(self, physics: Physics, num_envs: int, autoreset_mode: AutoresetMode) -> None:
        super().__init__(
            num_envs=num_envs,
            observation_space=physics.observation_space,
            action_space=physics.action_space,
            horizon=physics.horizon,
            autoreset_mode=autoreset_mode,
        )
        width = len(physics.observation_names)
        self.names = physics.observation_names
        self.everyone: IntArray = np.arange(num_envs)
        self.nobody: BoolArray = np.zeros(num_envs, np.bool_)
        self.seen: FloatArray = np.zeros((num_envs, width), np.float32)
        """[E, o]: what is seen now."""
        self.history: FloatArray = np.zeros((physics.horizon + 1, num_envs, width), np.float32)
        """[T + 1, E, o]: what was seen since the start of each episode, for pictures."""

    def begin(self, indices: IntArray) -> None:
        """Put environments `indices` at the start of an episode, and draw all that is random in
        it."""
        raise NotImplementedError

    def move(self, actions: AnyArray) -> tuple[FloatArray, BoolArray]:
        """Move all environments one step: rewards [E], terminated [E]."""
        raise NotImplementedError

    def look(self, time: IntArray) -> FloatArray:
        """What is seen after `time` [E] steps of each episode: [E, o]."""
        raise NotImplementedError

    def start(self, indices: IntArray) -> None:
        """`begin`, and the first look."""
        self.begin(indices)
        self.seen = self.look(self.elapsed).astype(np.float32)
        # Of those that begin alone: the others are in the middle of an episode.
        self.history[0, indices] = self.seen[indices]

    def advance(self, actions: AnyArray) -> tuple[FloatArray, BoolArray, dict[str, AnyArray]]:
        """`move`, and a look at what came of it."""
        rewards, terminated = self.move(actions)
        time = self.elapsed + 1
        self.seen = self.look(time).astype(np.float32)
        self.history[time, self.everyone] = self.seen
        return rewards, terminated, {}

    def observations(self) -> AnyArray:
        """[E, o] of float32."""
        return self.seen.copy()

    def render_env(self, index: int, width: int = 480, height: int = 360) -> AnyArray:
        """A map with the way so far where there is one, else a chart of every feature over time."""
        from icrl.tasks.shapes.pictures import draw_chart, draw_map

        seen = self.history[: self.elapsed[index] + 1, index]  # [t + 1, o]
        space = self.single_observation_space
        assert isinstance(space, gym.spaces.Box)
        if self.planar:
            return draw_map(seen, space.low[:2], space.high[:2], width, height)
        return draw_chart(seen, self.names, self.horizon, width, height)
