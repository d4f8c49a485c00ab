"""All settings, as frozen dataclasses: the docstring under a field is its `--help`;
bad values fail on construction.

Nothing here imports jax. The values here are those of the preset `default` for a user's own task;
those of our tasks and of the paper's table live in `presets.py`.
"""

import enum
import math
from dataclasses import dataclass, field

from icrl.errors import InputError


class Respect(enum.StrEnum):
    """How the agent is made to respect a constraint (fidelity F14)."""

    lagrangian = "lagrangian"
    """A cost critic and a Lagrange multiplier: the paper's form (Eq. 9)."""
    terminate = "terminate"
    """The episode ends where the constraint is broken."""


class Weights(enum.StrEnum):
    """Importance weights of the sampled trajectories in the backward step (fidelity F2)."""

    trajectory = "trajectory"
    """omega(tau), self-normalised: exact."""
    step = "step"
    """omega(s, a), not normalised: the paper's Eq. 11, biased."""
    none = "none"
    """Every sample counts the same."""


class KLUnit(enum.StrEnum):
    """What a KL limit is a limit on (fidelity F13)."""

    trajectory = "trajectory"
    """Nats per trajectory: the paper's."""
    step = "step"
    """Nats per step: the KL of a trajectory divided by its mean length."""


class Train(enum.StrEnum):
    """How long the agent that is handed out is trained."""

    until_expert = "until-expert"
    """Until it is feasible and earns what demonstrations earn."""
    all_steps = "all-steps"
    """For all steps of the run."""


class Activation(enum.StrEnum):
    """Non-linearity of hidden layers."""

    tanh = "tanh"
    relu = "relu"


def require(condition: bool, name: str, value: object, expected: str) -> None:
    """Raise `InputError` naming the setting, its value and what was expected,
    unless `condition` holds."""
    if not condition:
        raise InputError(f"setting {name} = {value!r} is out of range: expected {expected}.")


@dataclass(frozen=True, kw_only=True)
class MultiplierConfig:
    """Lagrange multiplier of the forward step."""

    initial: float = 1.0
    """Initial value of the multiplier, lambda."""
    learning_rate: float = 0.1
    """Step of the ascent on (mean cost - budget)."""
    budget: float = 0.0
    """Allowed mean cost per step, alpha."""

    def __post_init__(self) -> None:
        """Validate."""
        require(self.initial >= 0, "multiplier.initial", self.initial, "a number >= 0")
        require(
            self.learning_rate >= 0, "multiplier.learning_rate", self.learning_rate, "a number >= 0"
        )
        require(self.budget >= 0, "multiplier.budget", self.budget, "a number >= 0")


@dataclass(frozen=True, kw_only=True)
class TerminateConfig:
    """Ending the episode in the learned constrained world."""

    terminal_value: float | None = None
    """What the step that forces the end is worth, with all that would follow it, in the task's own
    units. None: what a bad life earns per step (at most 0) for ever, r / (1 - gamma), less one
    deviation of the return."""
    soft: float = 0.5
    """Share of the environments, at the start of an agent's training, in which a forbidden
    step costs `penalty` and the episode goes on: so that agents see what lies beyond, and
    find ways round."""
    closing: float = 0.5
    """That share falls evenly to 0 over this share of the agent's training."""
    penalty: float = 0.05
    """What a forbidden step costs there, in deviations of the return."""

    def __post_init__(self) -> None:
        """Validate."""
        require(0 <= self.soft <= 1, "terminate.soft", self.soft, "a number in [0, 1]")
        require(0 < self.closing <= 1, "terminate.closing", self.closing, "a number in (0, 1]")
        require(self.penalty >= 0, "terminate.penalty", self.penalty, "a number >= 0")


@dataclass(frozen=True, kw_only=True)
class ForwardConfig:
    """Forward step: PPO under the current constraint (Eq. 9)."""

    steps: int = 10_240
    """Environment steps of one forward step (rounded up to whole rollouts)."""
    num_envs: int = 32
    """Environments simulated side by side."""
    rollout_steps: int = 64
    """Steps of each environment between two policy updates."""
    epochs: int = 10
    """Most passes over a rollout; fewer when `target_kl` is reached."""
    minibatch: int = 256
    """Samples per gradient step."""
    learning_rate: float = 5e-4
    """Adam's step size."""
    learning_rate_end: float = 0.0
    """Share of it that is left at the end of a run of the paper's way or of a transfer;
    it falls evenly. A finished gait is lost again at full size (fidelity F23)."""
    falling: float = 0.25
    """Share of an agent's training over which the learning rate falls to 0, at the end of it."""
    tail: int = 20_000
    """Steps over which it falls once the agent has met its goal."""
    pull: int = 150_000
    """Steps over which the pull towards demonstrations fades, where an agent is helped by them."""
    adam_epsilon: float = 1e-4
    """Adam's epsilon. Gradients of a saturated policy are tiny; a smaller epsilon blows their noise
    up to whole steps, and a finished agent unlearns (fidelity F16)."""
    clip: float = 0.2
    """PPO's ratio clip."""
    target_kl: float | None = 0.03
    """Stop an update after the pass over the rollout in which the policy moved 1.5 times this far
    (nats), on average over its minibatches; None: never (fidelity F18)."""
    gamma: float = 0.99
    """Discount of rewards."""
    gae_lambda: float = 0.9
    """Trace decay of the reward advantage."""
    cut_is_end: bool = False
    """Nothing follows an episode that is cut by the horizon or truncated by its environment.
    Otherwise the value of the state it was cut in follows, which rests on itself where no agent
    goes on from there (fidelity F8)."""
    cost_gamma: float = 0.99
    """Discount of costs."""
    cost_gae_lambda: float = 0.95
    """Trace decay of the cost advantage."""
    entropy_bonus: float = 0.0
    """Weight of the policy's entropy, 1/beta (fidelity F10)."""
    choice_bonus: float = 0.03
    """Added to it where actions are choices: one that is hardly drawn any more is hardly learned of
    any more (decision 0030). Where they are numbers, their spread is learned on its own."""
    value_weight: float = 0.5
    """Weight of the critics' squared errors in the loss."""
    max_gradient_norm: float = 0.5
    """Gradients are scaled down to this norm."""
    hidden: tuple[int, ...] = (64, 64)
    """Hidden units of the policy and of each critic."""
    initial_log_std: float = -0.5
    """Initial log standard deviation of continuous actions."""
    normalize_observations: bool = True
    """Networks see observations scaled by their running mean and deviation."""
    normalize_rewards: bool = True
    """Critics see rewards scaled by the running deviation of the discounted return."""
    respect: Respect = Respect.terminate
    """How the constraint is respected."""
    shield: bool = True
    """Where the constraint forbids the action drawn, the nearest allowed one is taken in its place;
    an episode ends only where no action is allowed."""
    foresight: bool = True
    """The shield looks one step ahead, by a model that is learned beside the policy:
    an action is also refused where it leads to a state in which every action is forbidden."""
    scale_cost_advantages: bool = False
    """Lagrangian form: scale cost advantages to unit deviation
    (they are always centred; fidelity F12)."""
    multiplier: MultiplierConfig = field(default_factory=MultiplierConfig)
    terminate: TerminateConfig = field(default_factory=TerminateConfig)

    def __post_init__(self) -> None:
        """Validate."""
        for name in ("steps", "num_envs", "rollout_steps", "epochs", "minibatch"):
            require(
                getattr(self, name) >= 1, f"forward.{name}", getattr(self, name), "an integer >= 1"
            )
        for name in ("gamma", "gae_lambda", "cost_gamma", "cost_gae_lambda"):
            require(
                0 <= getattr(self, name) <= 1,
                f"forward.{name}",
                getattr(self, name),
                "a number in [0, 1]",
            )
        require(
            0 <= self.learning_rate_end <= 1,
            "forward.learning_rate_end",
            self.learning_rate_end,
            "in [0, 1]",
        )
        require(0 < self.falling <= 1, "forward.falling", self.falling, "a number in (0, 1]")
        require(self.tail >= 1, "forward.tail", self.tail, "an integer >= 1")
        require(self.pull >= 1, "forward.pull", self.pull, "an integer >= 1")
        for name in ("learning_rate", "adam_epsilon", "clip", "max_gradient_norm"):
            require(getattr(self, name) > 0, f"forward.{name}", getattr(self, name), "a number > 0")
        for name in ("entropy_bonus", "choice_bonus", "value_weight"):
            require(
                getattr(self, name) >= 0, f"forward.{name}", getattr(self, name), "a number >= 0"
            )
        require(
            self.target_kl is None or self.target_kl > 0,
            "forward.target_kl",
            self.target_kl,
            "a number > 0, or None",
        )
        require(
            len(self.hidden) >= 1 and min(self.hidden) >= 1,
            "forward.hidden",
            self.hidden,
            "one or more sizes >= 1",
        )
        batch = self.num_envs * self.rollout_steps
        require(
            batch % self.minibatch == 0,
            "forward.minibatch",
            self.minibatch,
            f"a divisor of num_envs * rollout_steps = {batch}, so that shapes stay static",
        )


@dataclass(frozen=True, kw_only=True)
class BackwardConfig:
    """Backward step: one or more updates of the constraint network zeta (Eqs. 8, 10-12)."""

    updates: int = 10
    """Most gradient steps per round, B."""
    learning_rate: float = 0.01
    """Adam's step size in the first round."""
    learning_rate_decay: float = 1.0
    """The step size is multiplied by this after each round."""
    hidden: tuple[int, ...] = (20,)
    """Hidden units of zeta."""
    activation: Activation = Activation.tanh
    """Non-linearity of zeta's hidden layers (fidelity F9)."""
    initial_bias: float = 0.0
    """Added to the bias of zeta's logit at the start. 0: zeta is about 1/2 everywhere; 2: about
    0.88, so that little is forbidden before anything was learned."""
    input_clip: float = 20.0
    """Observations are clipped to [-input_clip, input_clip] before zeta sees them;
    actions to their space."""
    weights: Weights = Weights.none
    """Importance weights of the samples."""
    sparsity: float = 0.5
    """Weight of the regulariser that keeps zeta near 1, delta (fidelity F3)."""
    max_kl_old_new: float | None = None
    """Stop once KL(old || new) exceeds this, epsilon_F; None: no limit."""
    max_kl_new_old: float | None = None
    """Stop once KL(new || old) exceeds this, epsilon_R; None: no limit."""
    kl_unit: KLUnit = KLUnit.trajectory
    """Whether the KL limits are per trajectory or per step."""

    def __post_init__(self) -> None:
        """Validate."""
        require(self.updates >= 0, "backward.updates", self.updates, "an integer >= 0")
        require(
            self.learning_rate > 0, "backward.learning_rate", self.learning_rate, "a number > 0"
        )
        require(
            0 < self.learning_rate_decay <= 1,
            "backward.learning_rate_decay",
            self.learning_rate_decay,
            "a number in (0, 1]",
        )
        require(
            len(self.hidden) >= 1 and min(self.hidden) >= 1,
            "backward.hidden",
            self.hidden,
            "one or more sizes >= 1",
        )
        require(
            abs(self.initial_bias) < math.inf,
            "backward.initial_bias",
            self.initial_bias,
            "a number",
        )
        require(self.input_clip > 0, "backward.input_clip", self.input_clip, "a number > 0")
        require(self.sparsity >= 0, "backward.sparsity", self.sparsity, "a number >= 0")
        for name in ("max_kl_old_new", "max_kl_new_old"):
            value = getattr(self, name)
            require(value is None or value > 0, f"backward.{name}", value, "a number > 0, or None")


@dataclass(frozen=True, kw_only=True)
class LearnConfig:
    """Algorithm 1: rounds of forward step, sampling and backward step.

    The values here are those of the preset `default` for an environment of your own; those of a
    task of ours, and of `paper`, are `icrl.preset(...)`.
    """

    steps: int = 2_000_000
    """Environment steps in all, sampling included; rounds are made while another one fits."""
    num_samples: int = 10
    """Trajectories sampled per round for the backward step, M."""
    features: tuple[str, ...] | None = None
    """Names of the features that zeta may look at, e.g. x y; None: all of the task's."""
    scouts: int = 3
    """Fresh agents at the start that know of no constraint, whose out-earning ways are to be
    explained: zeta is then found by search (ours). 0: every sample of every round is evidence, and
    zeta takes gradient steps (the paper's)."""
    restart_above: float | None = None
    """The paper's way: the agent starts afresh where zeta's last move changed the cost of its
    samples by more than this, on average over steps; None: it always goes on."""
    caution: float = 1.0
    """Where a zeta that was found has its wall: 1: as near to demonstrations as held-out ones bear;
    0: only where the evidence went."""
    demos_help: bool = True
    """Demonstrations help the agent that is handed out
    (never one that shows or judges anything)."""
    train: Train = Train.until_expert
    """How long that agent is trained."""
    forward: ForwardConfig = field(default_factory=ForwardConfig)
    backward: BackwardConfig = field(default_factory=BackwardConfig)

    def __post_init__(self) -> None:
        """Validate."""
        require(self.steps >= 1, "steps", self.steps, "an integer >= 1")
        require(self.num_samples >= 1, "num_samples", self.num_samples, "an integer >= 1")
        require(self.scouts >= 0, "scouts", self.scouts, "an integer >= 0")
        require(
            self.restart_above is None or self.restart_above >= 0,
            "restart_above",
            self.restart_above,
            "a number >= 0, or None",
        )
        require(0 <= self.caution <= 1, "caution", self.caution, "a number in [0, 1]")
        names = self.features
        require(names is None or len(names) >= 1, "features", names, "at least one name, or None")
