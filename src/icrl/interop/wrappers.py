"""Gymnasium wrappers: any environment, and what a learned constraint says about every step in it.

Each judges the pair (s_t, a_t): the observation before the step, and the action (fidelity F6). Each
wraps a single environment: wrap first, then vectorise (in Stable-Baselines3:
`make_vec_env(lambda: CostInInfo(...))`); for what exists only as a vector there is
`VectorCostInInfo`.

The constraint judges raw observations: whatever changes them for the learner's sake (scaling,
stacking) goes around these wrappers, not inside.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from icrl.config import require
from icrl.constraint.learned import LearnedConstraint
from icrl.errors import InputError
from icrl.interop.judge import judge_for, judge_for_spaces
from icrl.types import AnyArray, BoolArray, FloatArray

Env = gym.Env[Any, Any]
Step = tuple[Any, float, bool, bool, dict[str, Any]]
COST = "cost"


class _Judged(gym.Wrapper[Any, Any, Any, Any]):
    """Remembers the last observation, so that the next action can be judged where it is taken."""

    def __init__(
        self,
        env: Env,
        constraint: LearnedConstraint,
        feature_names: Sequence[str] | None,
        hard: bool,
    ) -> None:
        # first: its refusal of a vector says what to do
        judge = judge_for(env, constraint, feature_names, hard)
        super().__init__(env)
        self._judge = judge
        self._observation: AnyArray | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; a cost of 0 in info,
        so that recorders find the same keys at every step."""
        observation, info = self.env.reset(seed=seed, options=options)
        # a copy: some environments write into what they returned
        self._observation = np.array(observation)
        return observation, {**info, COST: 0.0}

    def _judged_step(self, action: Any) -> tuple[Step, float]:
        """The wrapped step with its cost in info, and the cost."""
        if self._observation is None:
            raise gym.error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        # Before the step: the pair has the state that the action was chosen in (fidelity F6).
        cost = float(self._judge.cost(self._observation, action))
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._observation = np.array(observation)
        return (observation, float(reward), terminated, truncated, {**info, COST: cost}), cost


class CostInInfo(_Judged):
    """Cost in `info["cost"]`; everything else as it was.

    A cost that was there already is replaced.
    """

    def __init__(
        self,
        env: Env,
        constraint: LearnedConstraint,
        *,
        hard: bool = False,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        """Soft costs 1 - ζ, or with `hard` 0 and 1;
        `feature_names` where the environment does not name its own."""
        super().__init__(env, constraint, feature_names, hard)

    def step(self, action: Any) -> Step:
        """One step, its cost in info."""
        return self._judged_step(action)[0]


class SixValueStep(_Judged):
    """The step of safe-RL libraries (Safety-Gymnasium, OmniSafe).

    It returns observation, reward, cost, terminated, truncated, info.

    No longer a Gymnasium environment by the letter: make it the outermost wrapper. Costs are 0 and
    1 unless `hard` is turned off: those libraries set limits on the sum of an episode's costs, and
    a soft cost is seldom exactly 0.
    """

    def __init__(
        self,
        env: Env,
        constraint: LearnedConstraint,
        *,
        hard: bool = True,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(env, constraint, feature_names, hard)

    def step(self, action: Any) -> Any:
        """One step, six values."""
        (observation, reward, terminated, truncated, info), cost = self._judged_step(action)
        return observation, reward, cost, terminated, truncated, info


class PenalisedReward(_Judged):
    """Reward minus weight times cost: r − w (1 − ζ), or r − w 1[infeasible] when hard.

    For any RL library. The agent trades reward for cost at the price `weight`, so it must
    exceed what breaking the constraint for one step can earn. `info` keeps the two apart:
    "task_reward" and "cost".
    """

    def __init__(
        self,
        env: Env,
        constraint: LearnedConstraint,
        *,
        weight: float,
        hard: bool = False,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(env, constraint, feature_names, hard)
        require(weight >= 0 and np.isfinite(weight), "weight", weight, "a finite number >= 0")
        self.weight = weight

    def step(self, action: Any) -> Step:
        """One step; its reward pays for its cost."""
        (observation, reward, terminated, truncated, info), cost = self._judged_step(action)
        info["task_reward"] = reward
        return observation, reward - self.weight * cost, terminated, truncated, info


class TerminateOnViolation(_Judged):
    """The episode ends once the constraint has been broken for `patience`
    steps in a row (fidelity F14).

    What the step that forces the end pays decides everything: it must be worth less than whatever
    would follow otherwise, or an agent with negative rewards learns to break the constraint so as
    to be done (fidelity F19).

    By itself it pays r_min / (1 − γ) − r_max: the lowest reward met so far (at most 0) for ever,
    and less than that by the largest magnitude of a reward met so far (1 where all were 0). γ is
    the learner's discount. A learner that clips rewards (as Stable-Baselines3's `VecNormalize`
    does) sees less of it: raise the clip, or give an `end_reward`.
    """

    def __init__(
        self,
        env: Env,
        constraint: LearnedConstraint,
        *,
        patience: int = 1,
        end_reward: float | None = None,
        gamma: float = 0.99,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(env, constraint, feature_names, hard=True)
        require(patience >= 1, "patience", patience, "an integer >= 1")
        require(0 <= gamma < 1, "gamma", gamma, "a number in [0, 1)")
        require(
            end_reward is None or np.isfinite(end_reward),
            "end_reward",
            end_reward,
            "a finite number, or None",
        )
        self.patience = patience
        self.end_reward = end_reward
        self.gamma = gamma
        self._streak = 0
        # Kept over episodes: the worst that was met is a fact about the task.
        self._lowest = 0.0
        self._largest = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: nothing has been broken yet."""
        self._streak = 0
        observation, info = super().reset(seed=seed, options=options)
        return observation, {**info, "stopped": False}

    def step(self, action: Any) -> Step:
        """One step; `info["stopped"]` says whether the constraint ended the episode."""
        (observation, reward, terminated, truncated, info), cost = self._judged_step(action)
        # Learned while it runs: who wraps an environment seldom knows the lowest reward that it can
        # give.
        self._lowest = min(self._lowest, reward)
        self._largest = max(self._largest, abs(reward))
        if cost > 0:
            self._streak = self._streak + 1
        else:
            self._streak = 0
        info["stopped"] = self._streak >= self.patience
        if info["stopped"]:
            # that step pays nothing else, and a value that would follow a time-out
            # must not be added to it
            return observation, self.value_of_forced_end(), True, False, info
        return observation, reward, terminated, truncated, info

    def value_of_forced_end(self) -> float:
        """What the step that forces the end pays:
        `end_reward`, or r_min / (1 − γ) − r_max of rewards met so far."""
        if self.end_reward is not None:
            return self.end_reward
        return self._lowest / (1.0 - self.gamma) - (self._largest or 1.0)


class VectorCostInInfo(VectorWrapper):
    """`CostInInfo` for an environment that exists only as a vector:
    one judgement for all, `info["cost"]` [E].

    Where the step only resets (Gymnasium's next-step autoreset ignores that action) the cost is 0.
    With same-step autoreset the observation after an end is already the next episode's, which is
    what the next action is judged in.
    """

    def __init__(
        self,
        env: VectorEnv,
        constraint: LearnedConstraint,
        *,
        hard: bool = False,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(env, VectorEnv):
            raise InputError(
                f"expected a gymnasium VectorEnv, got {type(env).__name__}: use CostInInfo."
            )
        super().__init__(env)
        self._judge = judge_for_spaces(
            env.single_observation_space, env.single_action_space, constraint, feature_names, hard
        )
        # Gymnasium's own vectors reset at the next step where their metadata say nothing.
        self._waits = (
            env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP) == AutoresetMode.NEXT_STEP
        )
        self._observations: AnyArray | None = None
        self._resets: BoolArray = np.zeros(env.num_envs, np.bool_)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes (those of `options["reset_mask"]`, or all)."""
        observations, info = self.env.reset(seed=seed, options=options)
        self._observations = np.array(observations)
        self._resets = np.zeros(self.num_envs, np.bool_)
        return observations, {**info, COST: np.zeros(self.num_envs)}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One step of all, their costs [E] in info."""
        if self._observations is None:
            raise gym.error.ResetNeeded("Cannot call env.step() before calling env.reset()")
        # F6 once more: the observations from before the step.
        costs: FloatArray = np.where(
            self._resets, 0.0, self._judge.cost(self._observations, actions)
        )
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        self._observations = np.array(observations)
        if self._waits:
            self._resets = terminated | truncated
        return observations, rewards, terminated, truncated, {**info, COST: costs}
