"""`AgentState`: everything the forward step carries;
`Policy`: the part of it that acts, in NumPy alone."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import optax

from icrl.agent.ahead import ActionUnit, Ahead
from icrl.agent.distributions import log_softmax, sample_categorical, sample_gaussian
from icrl.agent.foresight import Foresight, in_use, init_foresight
from icrl.agent.moments import fresh_moments
from icrl.agent.multiplier import init_multiplier
from icrl.agent.networks import (
    NetworkShape,
    PolicyLayers,
    apply_policy,
    init_params,
    network_shape,
    policy_layers,
)
from icrl.agent.normalizer import (
    RunningMoments,
    Scaling,
    init_moments,
    on_one_scale,
    scaling,
    without,
)
from icrl.agent.shield import (
    FEWER_CANDIDATES,
    FORBIDDEN_ABOVE,
    NUM_CANDIDATES,
    Shield,
    Shielded,
    nearest_allowed,
    probes_of,
    redrawn_choices,
    way_back,
)
from icrl.config import ForwardConfig, Respect
from icrl.spans import go_on_as
from icrl.tasks.task import Task
from icrl.types import AnyArray, CostFunction, FloatArray

UNBOUNDED = 1e6
"""A bound of an action space beyond this is none: it only says which floats there are."""


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """Parameters φ, optimiser, normalisers and multiplier:
    carried from one forward step to the next."""

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
    """What a bad life earns per step, at most 0: bounds the value of a forced end from below."""
    shape: NetworkShape
    foresight: Foresight | None = None
    """What follows from an action, for the shield; None: it judges the present pair alone."""
    one_scale: bool = False
    """Its networks see all features on one scale, and not each on its own."""
    sees: FloatArray | None = None
    """[o]: 0 for features that its networks do not see, else 1; None: they see all."""

    @property
    def input_moments(self) -> RunningMoments:
        """Those by which its networks' inputs are scaled."""
        moments = self.observation_moments
        if self.one_scale:
            moments = on_one_scale(moments)
        if self.sees is not None:
            moments = without(moments, self.sees)
        return moments


def action_unit(space: gym.spaces.Box | gym.spaces.Discrete) -> ActionUnit | None:
    """The middle of the action space and half of its width where it has bounds on
    both sides, else 0 and 1.

    A network's outputs and noise begin at about one. Where that is far beyond the bounds, actions
    are clipped to them and nothing is learned; where it is far within them (a valve from 0 to 100),
    nothing is explored.
    """
    if isinstance(space, gym.spaces.Discrete):
        return None
    low, high = np.asarray(space.low, np.float64), np.asarray(space.high, np.float64)
    bounded = (np.abs(low) < UNBOUNDED) & (np.abs(high) < UNBOUNDED) & (high > low)
    # Per dimension, fidelity F24: where one has no bounds, its unit is the environment's.
    low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
    return ActionUnit(((low + high) / 2).astype(np.float32), ((high - low) / 2).astype(np.float32))


def finite_bounds(space: gym.spaces.Box) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest actions [a] that a shield tries."""
    unit = action_unit(space)
    assert unit is not None
    return np.maximum(space.low, unit.centre - unit.scale), np.minimum(
        space.high, unit.centre + unit.scale
    )


def shield_of(
    cost: CostFunction, space: gym.spaces.Box | gym.spaces.Discrete, ahead: Ahead | None = None
) -> Shield:
    """The shield of an action space."""
    if isinstance(space, gym.spaces.Discrete):
        return Shield(cost=cost, ahead=ahead, probes=np.arange(space.n))
    return Shield(cost=cost, ahead=ahead, probes=probes_of(*finite_bounds(space)))


class Choice(NamedTuple):
    """What a policy does in B states."""

    drawn: AnyArray
    """[B, a] float, as the policy made it (its unit, unclipped), or [B] integer:
    what its update sees"""
    taken: AnyArray
    """[B, a] float, as the environment is given it (its unit, clipped, shielded), or [B] integer"""
    costs: FloatArray | None
    """[B]: cost of what is taken; None without a shield"""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A policy for raw observations; what it takes lies inside the action space."""

    layers: PolicyLayers
    moments: RunningMoments | None
    """Scaling of observations; None: they are used as they are."""
    action_space: gym.spaces.Box | gym.spaces.Discrete
    unit: ActionUnit | None = None
    """Of continuous actions; None: the environment's."""
    shield: Shield | None = None
    """Replaces forbidden actions by allowed ones; None: whatever is drawn is taken."""
    greedy: bool = False
    """It acts at its mode: the mean, or the likeliest choice."""

    @cached_property
    def scaling(self) -> Scaling | None:
        """The moments, made ready once for the many steps of a rollout."""
        if self.moments is None:
            return None
        return scaling(self.moments)

    @cached_property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        """Those of `finite_bounds`, made once likewise."""
        assert isinstance(self.action_space, gym.spaces.Box)
        return finite_bounds(self.action_space)

    def outputs(self, observations: FloatArray) -> FloatArray:
        """Means or logits [B, a] for raw observations [B, o]."""
        inputs = observations if self.scaling is None else self.scaling.apply(observations)
        return apply_policy(self.layers, inputs)

    def act(self, rng: np.random.Generator, observations: FloatArray) -> AnyArray:
        """Actions [B, a] (unclipped, in the policy's unit) or [B] for raw observations [B, o]."""
        return self._drawn(rng, self.outputs(observations))

    def _drawn(self, rng: np.random.Generator, outputs: FloatArray) -> AnyArray:
        if self.layers.log_std is None:
            if self.greedy:
                return np.asarray(np.argmax(outputs, axis=-1), np.int64)
            return sample_categorical(rng, outputs)
        if self.greedy:
            return outputs
        return sample_gaussian(rng, outputs, self.layers.log_std)

    def choose(self, rng: np.random.Generator, observations: FloatArray) -> Choice:
        """Draw actions, and take them or, where the shield forbids them, others in their place."""
        outputs = self.outputs(observations)
        drawn = self._drawn(rng, outputs)
        taken = self.to_env(drawn)
        if self.shield is None:
            return Choice(drawn, taken, None)
        go_on_as("shield")
        # Asked of all in one call, and kept: the rollout needs them, and would ask again.
        costs = np.asarray(self.shield.cost(observations, taken))
        refused = costs > FORBIDDEN_ABOVE
        # Of an action that is forbidden as it is nobody asks where it leads.
        if self.shield.ahead is not None and not refused.all():
            refused = refused | self.shield.leads_astray(observations, taken)
        # Mostly none: the shield works on the few rows that need it.
        rows = np.flatnonzero(refused)
        if len(rows) == 0:
            return Choice(drawn, taken, costs)
        shielded = self._shielded(rng, self.shield, observations[rows], taken[rows], outputs[rows])
        taken = taken.copy()
        taken[rows] = shielded.actions
        # Of a rule about states alone they are what they were.
        if not self.shield.about_states_alone:
            costs = costs.copy()
            costs[rows] = self.shield.cost(observations[rows], shielded.actions)
        return Choice(drawn, taken, costs)

    def _shielded(
        self,
        rng: np.random.Generator,
        shield: Shield,
        observations: FloatArray,
        actions: AnyArray,
        outputs: FloatArray,
    ) -> Shielded:
        """Allowed actions in place of refused ones, where there are any;
        if all lead astray, the way back."""
        shielded = self._replaced(rng, shield, observations, actions, outputs)
        stuck = np.flatnonzero(~shielded.found)
        if shield.ahead is None or len(stuck) == 0:
            return shielded
        chosen = shielded.actions.copy()
        chosen[stuck] = way_back(rng, shield, observations[stuck], actions[stuck])
        found = shielded.found.copy()
        # The present pair decides whether an episode ends; that an action leads astray does not.
        found[stuck] = ~shield.forbids(observations[stuck], chosen[stuck])
        return Shielded(chosen, found)

    def _replaced(
        self,
        rng: np.random.Generator,
        shield: Shield,
        observations: FloatArray,
        actions: AnyArray,
        outputs: FloatArray,
    ) -> Shielded:
        """Others in place of actions that are refused."""
        refuses = shield.refuses
        if isinstance(self.action_space, gym.spaces.Discrete):
            log_probs = log_softmax(outputs.astype(np.float64), np)
            drawing = None if self.greedy else rng
            return redrawn_choices(drawing, refuses, observations, actions, log_probs)
        hopeless = None
        if shield.about_states_alone:
            # No action helps in a state that is itself forbidden: candidates would be tried for
            # nothing.
            hopeless = shield.forbids(observations, actions)
            if shield.ahead is not None:
                refuses = shield.leads_any_astray  # nor is any other action forbidden as it is
        number = NUM_CANDIDATES if shield.ahead is None else FEWER_CANDIDATES
        low, high = self._bounds
        return nearest_allowed(rng, refuses, observations, actions, low, high, number, hopeless)

    def to_env(self, actions: AnyArray) -> AnyArray:
        """What the environment is given: continuous actions in its own unit,
        clipped to the space (fidelity F24)."""
        if isinstance(self.action_space, gym.spaces.Discrete):
            return actions
        if self.unit is not None:
            actions = self.unit.centre + self.unit.scale * actions
        # Clipped here and not squashed in the policy: its likelihood stays that of a plain
        # Gaussian, whose gradient is gone where all draws lie beyond a bound (decision 0015).
        return np.clip(actions, self.action_space.low, self.action_space.high)


def make_optimizer(config: ForwardConfig) -> optax.GradientTransformation:
    """Adam on clipped gradients."""
    # fidelity F16: at ε 1e-5 three of four finished agents fell from 60 to about 10 on LapGridWorld
    # (decision 0006).
    return optax.chain(
        optax.clip_by_global_norm(config.max_gradient_norm),
        optax.adam(config.learning_rate, eps=config.adam_epsilon),
    )


def init_agent(
    rng: np.random.Generator, task: Task, config: ForwardConfig, one_scale: bool = False
) -> AgentState:
    """A fresh agent: random φ, moments of nothing, the multiplier at its initial value."""
    # Only a multiplier weighs costs against rewards, and needs their value.
    num_critics = 2 if config.respect is Respect.lagrangian else 1
    shape = network_shape(task.observation_space, task.action_space, config.hidden, num_critics)
    params = init_params(rng, shape, config.initial_log_std)
    foresight = None
    if config.shield and config.foresight:
        foresight = init_foresight(rng, shape.num_observations, shape.num_actions)
    return AgentState(
        params=params,
        optimizer=fresh_moments(make_optimizer(config), params),
        observation_moments=init_moments((shape.num_observations,)),
        return_moments=init_moments(()),
        multiplier=init_multiplier(config.multiplier),
        lowest_reward=0.0,
        shape=shape,
        foresight=foresight,
        one_scale=one_scale,
    )


def policy_of(
    agent: AgentState,
    task: Task,
    config: ForwardConfig,
    cost: CostFunction | None = None,
    greedy: bool = False,
) -> Policy:
    """The agent's policy as it is now; with a `cost` and where the settings
    want it, behind a shield."""
    shield = None
    unit = action_unit(task.action_space)
    if cost is not None and config.shield:
        ahead = None
        if agent.foresight is not None:
            ahead = in_use(
                agent.foresight, agent.observation_moments, unit, agent.shape.num_actions
            )
        shield = shield_of(cost, task.action_space, ahead)
    return Policy(
        layers=policy_layers(agent.params, agent.shape),
        moments=agent.input_moments if config.normalize_observations else None,
        action_space=task.action_space,
        unit=unit,
        shield=shield,
        greedy=greedy,
    )
