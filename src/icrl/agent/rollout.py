"""Stepping a vector environment with a policy:
rollouts for the forward step, trajectories for the backward one."""

import numpy as np
from gymnasium.vector import VectorEnv

from icrl.agent.shield import FORBIDDEN_ABOVE
from icrl.agent.state import Policy
from icrl.config import ForwardConfig, Respect
from icrl.spans import span
from icrl.types import AnyArray, BoolArray, CostFunction, FloatArray, Rollout, Trajectories


class EnvStream:
    """An environment in motion: where each episode is.

    The environment resets nothing by itself (see `Task.make_env`);
    the stream resets what has ended.
    """

    def __init__(self, env: VectorEnv, seed: int) -> None:
        self.env = env
        self.observations: FloatArray = np.asarray(env.reset(seed=seed)[0], np.float32)
        self.carried_return = np.zeros(env.num_envs)
        """[E]: discounted return so far, for the reward normaliser."""

    def step(self, actions: AnyArray) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
        """Next observations, rewards, terminated, truncated; nothing is reset yet."""
        observations, rewards, terminated, truncated, _ = self.env.step(actions)
        self.observations = np.asarray(observations, np.float32)
        return self.observations, rewards, terminated, truncated

    def reset_ended(self, ended: BoolArray) -> None:
        """Start new episodes where the old ones ended."""
        if ended.any():
            self.observations = np.asarray(
                self.env.reset(options={"reset_mask": ended})[0], np.float32
            )


def collect_rollout(
    rng: np.random.Generator,
    stream: EnvStream,
    policy: Policy,
    cost: CostFunction | None,
    config: ForwardConfig,
    num_soft: int = 0,
) -> Rollout:
    """T steps of E environments under the policy.

    With `terminate`, a forbidden step ends its episode, but in the first `num_soft` environments.
    """
    steps = config.rollout_steps
    num_envs = stream.env.num_envs
    observations = np.empty((steps, *stream.observations.shape), np.float32)
    next_observations = np.empty_like(observations)
    rewards, costs = np.zeros((2, steps, num_envs), np.float32)
    terminated, truncated, stopped = np.zeros((3, steps, num_envs), np.bool_)
    actions: list[AnyArray] = []
    env_actions: list[AnyArray] = []
    # Costs are needed at every step only where one of them ends the episode; otherwise they are
    # asked for once per rollout, which is cheaper by the overhead of a call (decision 0002).
    stops = cost is not None and config.respect is Respect.terminate
    for t in range(steps):
        observations[t] = stream.observations
        with span("acting"):
            choice = policy.choose(rng, stream.observations)
        # The update must see what the policy drew: the shield is part of the world, as clipping is,
        # and the likelihood of what it chose instead is not the policy's (decision 0016).
        actions.append(choice.drawn)
        env_actions.append(choice.taken)
        with span("physics"):
            next_observations[t], rewards[t], terminated[t], truncated[t] = stream.step(
                choice.taken
            )
        if stops and cost is not None:
            # A shield has asked already.
            if choice.costs is None:
                with span("shield"):
                    costs[t] = cost(observations[t], choice.taken)
            else:
                costs[t] = choice.costs
            stopped[t, num_soft:] = costs[t, num_soft:] > FORBIDDEN_ABOVE
            terminated[t] |= stopped[t]
        with span("physics"):
            stream.reset_ended(terminated[t] | truncated[t])
    # [T, E, a] or [T, E]
    given = np.stack(env_actions)
    if cost is not None and not stops:
        with span("shield"):
            costs = np.asarray(cost(observations, given), np.float32)
    return Rollout(
        observations=observations,
        next_observations=next_observations,
        actions=np.stack(actions),
        env_actions=given,
        rewards=rewards,
        costs=costs,
        terminated=terminated,
        # Never both: an episode that ends in its last step is over, and no value follows it (F8).
        truncated=truncated & ~terminated,
        stopped=stopped,
    )


@span("sampling")
def sample_trajectories(
    rng: np.random.Generator,
    policy: Policy,
    env: VectorEnv,
    horizon: int,
    seed: int,
    ends_at: CostFunction | None = None,
) -> Trajectories:
    """S ~ π^φ: one whole episode from each environment of `env`, in the nominal world.

    With `ends_at`, an episode is over with its first step that this forbids.
    """
    observations = np.asarray(env.reset(seed=seed)[0], np.float32)
    num_envs = env.num_envs
    all_observations = np.zeros((num_envs, horizon, observations.shape[1]), np.float32)
    rewards = np.zeros((num_envs, horizon), np.float32)
    lengths = np.zeros(num_envs, np.int64)
    alive = np.ones(num_envs, np.bool_)
    actions: list[AnyArray] = []
    for t in range(horizon):
        # Zeros where an episode is over: what lies beyond the mask must not depend on what others
        # did.
        all_observations[:, t] = np.where(alive[:, None], observations, 0.0)
        action = policy.choose(rng, observations).taken
        actions.append(
            np.where(alive if action.ndim == 1 else alive[:, None], action, np.zeros_like(action))
        )
        stopped = np.zeros(num_envs, np.bool_)
        if ends_at is not None:
            stopped = alive & (np.asarray(ends_at(observations, action)) > FORBIDDEN_ABOVE)
        observations, reward, terminated, truncated, _ = env.step(action)
        observations = np.asarray(observations, np.float32)
        rewards[:, t] = np.where(alive, reward, 0.0)
        lengths += alive
        ended = terminated | truncated | stopped
        alive = alive & ~ended
        if not alive.any():
            break
        # keep stepping the others; what an ended one does from here on is not recorded
        if ended.any():
            observations = np.asarray(env.reset(options={"reset_mask": ended})[0], np.float32)
    longest = int(lengths.max())
    return Trajectories(
        observations=all_observations[:, :longest],
        actions=np.stack(actions[:longest], axis=1),
        rewards=rewards[:, :longest],
        lengths=lengths,
    )
