"""What a round of Algorithm 1 leaves behind, and how many rounds there are at most."""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from icrl.agent.forward_step import ForwardInfo, forward_steps
from icrl.agent.state import AgentState
from icrl.config import LearnConfig
from icrl.constraint.learned import LearnedConstraint
from icrl.errors import InputError
from icrl.tasks.task import Task
from icrl.types import CostFunction, FloatArray, Trajectories


class Phase(enum.StrEnum):
    """What the agent of a round is there for."""

    round = "round"
    """The paper's loop: one agent that goes on, under a zeta that moves a little every round."""
    scout = "scout"
    """A fresh agent without any constraint, which shows where reward leads."""
    judge = "judge"
    """A fresh agent under zeta that demonstrations do not help: does it still earn too much?"""
    final = "final"
    """The agent that is handed out."""


class Round(NamedTuple):
    """All there is after a round: enough to report it."""

    number: int
    """From 0."""
    steps: int
    """Environment steps so far, sampling included."""
    phase: Phase
    agent: AgentState
    cost: CostFunction | None
    """What the agent was trained under; None: nothing was forbidden."""
    constraint: LearnedConstraint | None
    """Zeta after the round; None: nothing is forbidden so far."""
    samples: Trajectories
    """S of this round."""
    forward_info: ForwardInfo
    constraint_info: dict[str, Any]
    """What is told of zeta, by name."""
    moved: bool
    """Zeta is another one than before the round."""
    why: str
    """Why it moved, or did not."""
    evidence_weights: FloatArray
    """[N]: how much each sample counts as evidence."""
    greedy: bool = False
    """The agent is handed out at the mode of its policy."""


class Progress(NamedTuple):
    """Where a run is, for a live display."""

    steps: int
    rounds: int
    """Rounds that will be made at most."""


OnRound = Callable[[Round], None]
OnProgress = Callable[[Progress], None]


def report_progress(on_progress: OnProgress, before: int, rounds: int, done: int) -> None:
    """Tell a display that `done` steps of a round are made, on top of those `before` it."""
    on_progress(Progress(before + done, rounds))


def learning_rate_share(steps: int, config: LearnConfig) -> float:
    """Share of the learning rate after so many steps of a run: 1 at first, then evenly down to
    `learning_rate_end` (fidelity F23)."""
    return 1.0 - (1.0 - config.forward.learning_rate_end) * steps / config.steps


def num_rounds(task: Task, config: LearnConfig) -> int:
    """N: how many whole rounds fit into `config.steps` environment steps."""
    # Sampled steps are paid for like trained ones, so that methods which sample more have no
    # advantage in a table by steps. Counted at their longest: episodes may end earlier, and then
    # the run ends with a little to spare.
    sampled = config.num_samples * task.horizon
    per_round = forward_steps(config.forward) + sampled
    rounds = config.steps // per_round
    needed = config.scouts + 1
    if rounds < needed:
        raise InputError(
            f"steps = {config.steps} is too few: {needed} round{'s' * (needed > 1)} of {per_round} "
            f"environment steps ({forward_steps(config.forward)} of training, {config.num_samples} "
            f"sampled episodes of up to {task.horizon}) must fit. Give more --steps, or lower "
            f"--forward.steps, --num-samples{' or --scouts' if config.scouts else ''}."
        )
    return rounds
