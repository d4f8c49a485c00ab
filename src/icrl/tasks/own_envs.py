"""Many environments of a user's as one, in this process or spread over several."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from icrl.errors import InputError
from icrl.tasks.answers import warn_if_outside
from icrl.tasks.batched import BatchedEnv
from icrl.tasks.bundle import Elsewhere, Here, WorkerLost
from icrl.tasks.factories import RGB, EnvFactory
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray

_MOST_NAMED = 6
"""Episodes that are named of a process that is lost."""


class OwnEnvs(BatchedEnv):
    """E environments of a user's as one, reset by the caller;
    in this process, or spread over several."""

    def __init__(
        self,
        factory: EnvFactory,
        num_envs: int,
        observation_space: gym.spaces.Box,
        action_space: gym.spaces.Box | gym.spaces.Discrete,
        horizon: int,
        processes: int,
        render_mode: str | None,
        name: str,
        timeout: float | None,
    ) -> None:
        super().__init__(
            num_envs=num_envs,
            observation_space=observation_space,
            action_space=action_space,
            horizon=horizon,
            autoreset_mode=AutoresetMode.DISABLED,
        )
        num_bundles = min(processes, num_envs)
        place: type[Here | Elsewhere] = Elsewhere
        if num_bundles == 1:
            place = Here
        self.parts: list[IntArray] = np.array_split(np.arange(num_envs), num_bundles)
        """The environments of each bundle."""
        self.bundles = [place(factory, len(part), render_mode, timeout) for part in self.parts]
        self.name = name
        self.box = observation_space
        self.episode_seeds: IntArray = np.zeros(num_envs, np.int64)
        """[E]: the seed that each episode was started with."""
        self.seen: FloatArray = np.zeros((num_envs, *observation_space.shape), np.float32)

    def start(self, indices: IntArray) -> None:
        """Every episode has a seed of its own, drawn from the environment's generator."""
        # Drawn here, not in the processes: over how many an environment is spread changes nothing.
        seeds = {int(i): int(self.rngs[i].integers(2**31)) for i in indices}
        wanted = [part[np.isin(part, indices)] for part in self.parts]
        asked = [
            (bundle, part, mine)
            for bundle, part, mine in zip(self.bundles, self.parts, wanted, strict=True)
            if len(mine)
        ]
        for index, seed in seeds.items():
            self.episode_seeds[index] = seed
        for bundle, part, mine in asked:
            with self._placed(mine):
                bundle.ask("reset", [int(i - part[0]) for i in mine], [seeds[int(i)] for i in mine])
        for bundle, _, mine in asked:
            with self._placed(mine):
                self.seen[mine] = bundle.answer()
        warn_if_outside(self.seen, self.box, self.name)

    def advance(self, actions: AnyArray) -> tuple[FloatArray, BoolArray, dict[str, AnyArray]]:
        """All bundles are asked before the first is heard."""
        for bundle, part in zip(self.bundles, self.parts, strict=True):
            with self._placed(part):
                bundle.ask("step", actions[part])
        steps = []
        for bundle, part in zip(self.bundles, self.parts, strict=True):
            with self._placed(part):
                steps.append(bundle.answer())
        self.seen = np.concatenate([step.observations for step in steps])
        warn_if_outside(self.seen, self.box, self.name)
        # A user's environment may cut an episode itself: that is no end (fidelity F8).
        self.cut = np.concatenate([step.truncated for step in steps])
        rewards = np.concatenate([step.rewards for step in steps])
        return rewards, np.concatenate([step.terminated for step in steps]), {}

    def observations(self) -> AnyArray:
        """What is seen now: a fresh array [E, o]."""
        return self.seen.copy()

    def render_env(self, index: int, width: int = 480, height: int = 360) -> AnyArray:
        """One environment as an RGB image of the size that it has;
        a small one is enlarged to about `width`."""
        which = next(i for i, part in enumerate(self.parts) if index in part)
        self.bundles[which].ask("render", int(index - self.parts[which][0]))
        picture = np.asarray(self.bundles[which].answer())
        times = max(1, round(width / picture.shape[1]))
        return picture.repeat(times, axis=0).repeat(times, axis=1)

    @contextmanager
    def _placed(self, indices: IntArray) -> Iterator[None]:
        """Say of a process that is lost which environment it had, and where in
        which episodes that was."""
        try:
            yield
        except WorkerLost as error:
            seeds = self.episode_seeds
            steps = self.elapsed + 1
            some = [f"seed {seeds[i]} at step {steps[i]}" for i in indices[:_MOST_NAMED]]
            if len(indices) > _MOST_NAMED:
                more = ", ..."
            else:
                more = ""
            raise InputError(
                f"{self.name}: {error} Its episodes: {', '.join(some)}{more}.",
            ) from error

    def close_extras(self, **options: Any) -> None:
        """Close the environments, and end the processes."""
        for bundle in self.bundles:
            # All at once: they end side by side, and not one after the other.
            bundle.hang_up()
        for bundle in self.bundles:
            bundle.close()


@dataclass(frozen=True)
class MakeOwnEnvs:
    """`Task.make_env` of a user's environment."""

    factory: EnvFactory
    observation_space: gym.spaces.Box
    action_space: gym.spaces.Box | gym.spaces.Discrete
    horizon: int
    processes: int
    pictures: bool
    """It offers rgb_array."""
    name: str
    timeout: float | None
    """Seconds that a reset or a step may take."""

    def __call__(self, num_envs: int) -> OwnEnvs:
        """`num_envs` new environments.

        One alone is made so that it can be pictured, where it offers that.
        """
        # Many environments with windows or buffers of their own would cost memory for nobody.
        if self.pictures and num_envs == 1:
            render_mode = RGB
        else:
            render_mode = None
        return OwnEnvs(
            self.factory,
            num_envs,
            self.observation_space,
            self.action_space,
            self.horizon,
            self.processes,
            render_mode,
            self.name,
            self.timeout,
        )
