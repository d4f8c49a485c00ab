"""What a round of Algorithm 1 leaves behind, and how many rounds there are."""

import math
from collections.abc import Callable
from typing import NamedTuple

from icrl.agent.forward_step import ForwardInfo, forward_steps
from icrl.agent.state import AgentState
from icrl.config import LearnConfig
from icrl.constraint.backward_step import BackwardInfo, ConstraintState
from icrl.constraint.features import Features
from icrl.errors import InputError
from icrl.tasks.task import Task
from icrl.types import FloatArray, Trajectories


class Round(NamedTuple):
    """All there is after a round: enough to report it."""

    number: int
    """From 0."""
    steps: int
    """Environment steps so far, sampling included."""
    agent: AgentState
    constraint: ConstraintState
    features: Features
    samples: Trajectories
    """S of this round."""
    forward_info: ForwardInfo
    backward_info: BackwardInfo
    evidence_weights: FloatArray
    """[N]: how much each of them counts as evidence."""
    innocents: Trajectories | None = None
    """What chance does, where it is presumed innocent; the same in every round."""


class Progress(NamedTuple):
    """Where a run is, for a live display."""

    steps: int
    rounds: int
    """Rounds that will be made in all."""


def chance_horizon(task: Task) -> int:
    """Steps that chance is given: a quarter of an episode. In a whole one a random walk strays far from the start."""
    return math.ceil(task.horizon / 4)


def report_progress(on_progress: Callable[[Progress], None], before: int, rounds: int, done: int) -> None:
    """Tell a display that `done` steps of a round are made, on top of those `before` it."""
    on_progress(Progress(before + done, rounds))


def num_rounds(task: Task, config: LearnConfig) -> int:
    """N: how many whole rounds fit into `config.steps` environment steps."""
    sampled = config.num_samples * task.horizon
    chance = config.forward.num_envs * chance_horizon(task) if config.backward.presumption > 0 else 0
    per_round = forward_steps(config.forward) + sampled
    rounds = (config.steps - chance) // per_round
    needed = config.scouts + 1
    if rounds < needed:
        raise InputError(
            f"steps = {config.steps} is too few: {needed} round{'s' * (needed > 1)} of {per_round} environment steps "
            f"({forward_steps(config.forward)} of training, {config.num_samples} sampled episodes of up to "
            f"{task.horizon}){f' and {chance} steps of chance' if chance else ''} must fit. Give more --steps, or "
            f"lower --forward.steps, --num-samples{' or --scouts' if config.scouts else ''}."
        )
    return rounds
