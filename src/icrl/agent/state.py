"""`AgentState`: everything the forward step carries; `Policy`: the part of it that acts, in NumPy alone."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import optax

from icrl.agent.distributions import sample_categorical, sample_gaussian
from icrl.agent.multiplier import init_multiplier
from icrl.agent.networks import NetworkShape, PolicyLayers, apply_policy, init_params, network_shape, policy_layers
from icrl.agent.normalizer import RunningMoments, Scaling, init_moments, scaling
from icrl.config import ForwardConfig, Respect
from icrl.tasks.task import Task
from icrl.types import AnyArray, FloatArray

UNBOUNDED = 1e6
"""A bound of an action space beyond this is none: it only says which floats there are."""


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """Parameters φ, optimiser, normalisers and multiplier: carried from one forward step to the next."""

    params: AnyArray
    """Flat float32 vector: policy, reward critic, cost critic."""
    optimizer: Any
    """Adam's moments."""
    observation_moments: RunningMoments
    return_moments: RunningMoments
    """Of the discounted return: scales rewards."""
    multiplier: float
    """Raw value ν of the Lagrange multiplier; see `multiplier_value`."""
    lowest_reward: float
    """Lowest reward met so far, at most 0: bounds the value of a forced end from below."""
    shape: NetworkShape


class ActionUnit(NamedTuple):
    """What a policy calls 0 and 1, in the environment's unit; each [a] float32."""

    centre: FloatArray
    scale: FloatArray


def action_unit(space: gym.spaces.Box | gym.spaces.Discrete) -> ActionUnit | None:
    """The middle of the action space and half of its width where it has bounds on both sides, else 0 and 1.

    A network's outputs and noise begin at about one. Where that is far beyond the bounds, actions are clipped to them
    and nothing is learned; where it is far within them (a valve from 0 to 100), nothing is explored.
    """
    if isinstance(space, gym.spaces.Discrete):
        return None
    low, high = np.asarray(space.low, np.float64), np.asarray(space.high, np.float64)
    bounded = (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED) & (high > low)
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    return ActionUnit(((low + high) / 2).astype(np.float32), ((high - low) / 2).astype(np.float32))


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A stochastic policy for raw observations; actions come inside the action space."""

    layers: PolicyLayers
    moments: RunningMoments | None
    """Scaling of observations; None: they are used as they are."""
    action_space: gym.spaces.Box | gym.spaces.Discrete
    unit: ActionUnit | None = None
    """Of continuous actions; None: the environment's."""

    @cached_property
    def scaling(self) -> Scaling | None:
        """The moments, made ready once for the many steps of a rollout."""
        return None if self.moments is None else scaling(self.moments)

    def act(self, rng: np.random.Generator, observations: FloatArray) -> AnyArray:
        """Sample actions [B, a] (unclipped, in the policy's unit) or [B] for raw observations [B, o]."""
        inputs = observations if self.scaling is None else self.scaling.apply(observations)
        outputs = apply_policy(self.layers, inputs)
        if self.layers.log_std is None:
            return sample_categorical(rng, outputs)
        return sample_gaussian(rng, outputs, self.layers.log_std)

    def to_env(self, actions: AnyArray) -> AnyArray:
        """What the environment is given: continuous actions in its own unit, clipped to the space (fidelity F24)."""
        if isinstance(self.action_space, gym.spaces.Discrete):
            return actions
        if self.unit is not None:
            actions = self.unit.centre + self.unit.scale * actions
        return np.clip(actions, self.action_space.low, self.action_space.high)


def make_optimizer(config: ForwardConfig) -> optax.GradientTransformation:
    """Adam on clipped gradients."""
    return optax.chain(
        optax.clip_by_global_norm(config.max_gradient_norm), optax.adam(config.learning_rate, eps=config.adam_epsilon)
    )


def init_agent(rng: np.random.Generator, task: Task, config: ForwardConfig) -> AgentState:
    """A fresh agent: random φ, moments of nothing, the multiplier at its initial value."""
    num_critics = 2 if config.respect is Respect.lagrangian else 1
    shape = network_shape(task.observation_space, task.action_space, config.hidden, num_critics)
    params = init_params(rng, shape, config.initial_log_std)
    return AgentState(
        params=params,
        optimizer=make_optimizer(config).init(params),
        observation_moments=init_moments((shape.num_observations,)),
        return_moments=init_moments(()),
        multiplier=init_multiplier(config.multiplier),
        lowest_reward=0.0,
        shape=shape,
    )


def policy_of(agent: AgentState, task: Task, config: ForwardConfig) -> Policy:
    """The agent's policy as it is now."""
    return Policy(
        layers=policy_layers(agent.params, agent.shape),
        moments=agent.observation_moments if config.normalize_observations else None,
        action_space=task.action_space,
        unit=action_unit(task.action_space),
    )
