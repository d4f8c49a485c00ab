"""`LearnState`: everything that Algorithm 1 carries from round to round."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from icrl.agent.forward_step import ForwardInfo
from icrl.agent.state import AgentState
from icrl.agent.training import Measurement, Training
from icrl.constraint.backward_step import ConstraintState
from icrl.evidence.expected import Expected
from icrl.evidence.gathered import Evidence
from icrl.rounds import Phase
from icrl.search.rule import Finding
from icrl.types import FloatArray, Trajectories


class Scout(NamedTuple):
    """An agent that was trained without any constraint, at its best."""

    agent: AgentState
    earned: float
    """Its mean advantage over demonstrations, in their deviations."""


class Contest(NamedTuple):
    """What stands while a rival is tried in its place."""

    finding: Finding
    judge: AgentState
    """The agent that was trained under it."""
    judged: tuple[Measurement, ...]
    missed: float
    """How unlikely it is under that rule that no demonstration does what the rival forbids: minus
    the log-likelihood."""


@dataclass(frozen=True, kw_only=True)
class LearnState:
    """One value that can be saved and restored."""

    training: Training
    """The agent of this phase."""
    phase: Phase
    number: int = -1
    """Of the last round; -1: none was made."""
    steps: int = 0
    """Environment steps so far, sampling included."""
    finished: bool = False
    # The two ways share one state, so that checkpoints, callbacks and reports need not know which
    # runs; what a way does not have is None.
    zeta: ConstraintState | None = None
    """Of the paper's way: a network and its optimiser."""
    finding: Finding | None = None
    """Of our way: the rule, its rivals, how much there was to explain."""
    evidence: Evidence | None = None
    expected: Expected | None = None
    """What demonstrations earn from a like start."""
    chance: Trajectories | None = None
    """What an agent does that has learned nothing."""
    scouts: int = 0
    """Scouts that have returned."""
    scouted: tuple[Scout, ...] = ()
    """Each of them at its best; behind them the one that is out."""
    scout_steps: int = 0
    """Most steps that one of them took."""
    curve: tuple[float, ...] = ()
    """Mean advantages of the present one, piece by piece."""
    from_scout: bool = False
    """The agent that judges zeta was the best scout."""
    generation: int = 0
    """How often zeta was found."""
    judged: tuple[Measurement, ...] = ()
    """How the agent under each zeta ended."""
    judge: AgentState | None = None
    """The last of them."""
    contest: Contest | None = None
    """A rival is being judged."""
    contested: tuple[tuple[int, ...], ...] = ()
    """Axes of rules that lost to another one."""
    alone: bool = False
    """It goes on in place of the agent that demonstrations help, which got no better."""
    acted: AgentState | None = None
    """The agent of the last round; `training` may be the next one's already."""
    acted_as: Phase = Phase.round
    best: AgentState | None = None
    """The best feasible agent of the last phase."""
    best_return: float = -math.inf
    samples: Trajectories | None = None
    """S of the last round."""
    forward_info: ForwardInfo | None = None
    constraint_info: dict[str, Any] | None = None
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    """[N]: how much each sample of the last round counts as evidence."""
    moved: bool = False
    why: str = ""

    @property
    def best_scout(self) -> Scout:
        """The one that earned most."""
        return max(self.scouted, key=lambda scout: scout.earned)
