"""`BatchedEnv`: what our natively batched environments share: seeds, clocks, the horizon, resets.

A subclass holds the state of all E environments in arrays and answers three questions:

- `start(indices)`: put these environments at the start of an episode,
  drawing only from `self.rngs[i]`;
- `advance(actions)`: move every environment one step -> rewards [E], terminated [E],
  infos (name -> array [E]);
- `observations()`: what is seen now, a fresh array [E, o].

`BatchedEnv` makes of it a `gymnasium.vector.VectorEnv` with the conventions of
Gymnasium's own `SyncVectorEnv`.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from icrl.errors import InputError
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray

Seeds = int | Sequence[int | None] | None


class BatchedEnv(VectorEnv[AnyArray, AnyArray, AnyArray]):
    """E environments stepped as one; episodes are truncated after `horizon` steps.

    With `AutoresetMode.SAME_STEP` an ended episode starts anew within `step`: its last observation
    is in `infos["final_obs"][i]` where `infos["_final_obs"][i]`. With `DISABLED` the caller resets
    ended environments by `reset(options={"reset_mask": mask})`; the mask also works in the other
    mode, and in the middle of an episode.
    """

    def __init__(
        self,
        *,
        num_envs: int,
        observation_space: gym.spaces.Box,
        action_space: gym.spaces.Box | gym.spaces.Discrete,
        horizon: int,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        if num_envs < 1 or horizon < 1:
            raise InputError(
                f"expected num_envs >= 1 and horizon >= 1, got num_envs={num_envs}, "
                f"horizon={horizon}."
            )
        if autoreset_mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
            raise InputError(
                f"expected autoreset_mode SAME_STEP or DISABLED, got {autoreset_mode}."
            )
        self.num_envs = num_envs
        self.single_observation_space = observation_space
        self.single_action_space = action_space
        self.observation_space = batch_space(observation_space, num_envs)
        self.action_space = batch_space(action_space, num_envs)
        self.horizon = horizon
        self.autoreset_mode = autoreset_mode
        # Gymnasium's wrappers read the mode from here.
        self.metadata = {"autoreset_mode": autoreset_mode, "render_modes": ["rgb_array"]}
        self.render_mode = "rgb_array"
        self.elapsed: IntArray = np.zeros(num_envs, dtype=np.int64)
        """[E]: steps since the start of each episode."""
        self.rngs: list[np.random.Generator] = []
        """One generator per environment, so that an episode does not depend on its neighbours."""
        self.seeds: list[int] = []
        """The seed that each environment was last given (or drew, when it was given none)."""
        self.ended: BoolArray = np.zeros(num_envs, dtype=np.bool_)
        """[E]: the episode has ended and waits for its reset (`DISABLED` only)."""
        self.cut: BoolArray = np.zeros(num_envs, dtype=np.bool_)
        """[E]: the simulator itself cut the episode in this step,
        before the horizon (ours never do)."""

    def start(self, indices: IntArray) -> None:
        """Put environments `indices` at the start of an episode,
        drawing only from their own `self.rngs[i]`."""
        raise NotImplementedError

    def advance(self, actions: AnyArray) -> tuple[FloatArray, BoolArray, dict[str, AnyArray]]:
        """Move all environments one step; `actions` are already checked
        and clipped to the space."""
        raise NotImplementedError

    def observations(self) -> AnyArray:
        """What is seen now: a fresh array [E, o]."""
        raise NotImplementedError

    def render_env(self, index: int, width: int = 480, height: int = 360) -> AnyArray:
        """One environment as an RGB image [height, width, 3] of uint8."""
        raise NotImplementedError

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Start new episodes: all, or those of `options["reset_mask"]`;
        returns the observations of all, [E, o].

        `seed=n` gives environment i the seed n + i, a list gives each its own;
        with None the generators run on.
        """
        mask = self._reset_mask(options)
        self._seed(seed, mask)
        self._start(np.flatnonzero(mask))
        return self.observations(), {}

    def step(
        self, actions: AnyArray
    ) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, dict[str, Any]]:
        """Step all: observations [E, o], rewards [E], terminated [E], truncated [E], infos.

        All arrays are fresh.
        """
        if not self.rngs:
            raise InputError("step before the first reset: call env.reset(seed=...) once.")
        # Decision 0003: to step on after an end would mix two episodes without an error.
        if self.ended.any():
            which = np.flatnonzero(self.ended).tolist()
            raise InputError(
                f"the episodes of environments {which[:5]} ({len(which)} of {self.num_envs}) have "
                "ended: reset them with env.reset(options={'reset_mask': terminated | truncated}) "
                "before the next step."
            )
        rewards, terminated, values = self.advance(self._checked(actions))
        self.elapsed += 1
        # An episode that ends in its last step has ended: only after a cut does the state still
        # have a value.
        truncated = ((self.elapsed >= self.horizon) | self.cut) & ~terminated
        observations = self.observations()
        ended = terminated | truncated
        infos = _with_masks(values, np.ones(self.num_envs, dtype=np.bool_))
        if ended.any():
            if self.autoreset_mode is AutoresetMode.SAME_STEP:
                # Before the reset, which overwrites the state that they are made of.
                infos |= _final(observations, values, ended)
                self._start(np.flatnonzero(ended))
                observations = self.observations()
            else:
                self.ended = ended
        return observations, rewards, terminated, truncated, infos

    def render(self) -> tuple[AnyArray, ...]:
        """RGB images of all environments."""
        return tuple(self.render_env(index) for index in range(self.num_envs))

    def _start(self, indices: IntArray) -> None:
        self.elapsed[indices] = 0
        self.ended[indices] = False
        self.start(indices)

    def _seed(self, seed: Seeds, mask: BoolArray) -> None:
        if seed is None:
            seeds: list[int | None] = [None] * self.num_envs
        elif isinstance(seed, int | np.integer):
            # As Gymnasium's vectors do it.
            seeds = [int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise InputError(
                f"expected one seed per environment ({self.num_envs}), got {len(seeds)}."
            )
        # never seeded: draw seeds, and record them, so that the run can be repeated
        if not self.rngs:
            drawn = np.random.SeedSequence().generate_state(self.num_envs, np.uint32)
            self.seeds = [int(s) for s in drawn]
            self.rngs = [np.random.default_rng(s) for s in self.seeds]
        for i, value in enumerate(seeds):
            if value is not None and mask[i]:
                self.seeds[i] = int(value)
                self.rngs[i] = np.random.default_rng(self.seeds[i])

    def _reset_mask(self, options: dict[str, Any] | None) -> BoolArray:
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        if options is None or "reset_mask" not in options:
            return everyone
        mask = np.asarray(options["reset_mask"])
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise InputError(
                f"expected options['reset_mask'] of booleans with shape ({self.num_envs},), "
                f"got {mask.dtype} with shape {mask.shape}."
            )
        # Gymnasium's SyncVectorEnv refuses an empty mask too:
        # code that runs on ours also runs on a user's.
        if not mask.any():
            raise InputError(
                "options['reset_mask'] selects no environment: reset only when some episode has "
                "ended."
            )
        if not self.rngs:
            raise InputError(
                "a masked reset before the first full one: call env.reset(seed=...) once."
            )
        return mask

    def _checked(self, actions: AnyArray) -> AnyArray:
        space = self.single_action_space
        given = np.asarray(actions)
        if given.shape != self.action_space.shape:
            raise InputError(
                f"expected actions of shape {self.action_space.shape}, got {given.shape}."
            )
        if isinstance(space, gym.spaces.Discrete):
            if (
                given.dtype.kind not in "iu"
                or given.min() < space.start
                or given.max() >= space.start + space.n
            ):
                raise InputError(
                    f"expected integer actions in [{space.start}, {space.start + space.n}), got "
                    f"{given.dtype} from {given.min()} to {given.max()}."
                )
            return given
        assert isinstance(space, gym.spaces.Box)
        # NaN survives minimum and maximum, so one sum finds it;
        # an infinite action is clipped like any large one.
        clipped: FloatArray = np.minimum(np.maximum(given, space.low), space.high, dtype=np.float64)
        if np.isnan(clipped.sum()):
            raise InputError(
                f"expected numbers as actions, got {int(np.isnan(given).sum())} NaN: the policy "
                "has diverged."
            )
        return clipped


def _with_masks(values: dict[str, AnyArray], mask: BoolArray) -> dict[str, Any]:
    infos: dict[str, Any] = {}
    for name, value in values.items():
        infos[name] = value
        infos[f"_{name}"] = mask
    return infos


def _final(observations: AnyArray, values: dict[str, AnyArray], ended: BoolArray) -> dict[str, Any]:
    """Gymnasium's layout: an object array of observations
    (None where the episode goes on), infos with masks."""
    final_obs = np.full(len(ended), None, dtype=object)
    for i in np.flatnonzero(ended):
        # Views of an array that is fresh in every step: nobody writes into it later.
        final_obs[i] = observations[i]
    final_info = _with_masks({name: value.copy() for name, value in values.items()}, ended)
    return {
        "final_obs": final_obs,
        "_final_obs": ended,
        "final_info": final_info,
        "_final_info": ended.copy(),
    }
