"""Algorithm 1 of the paper: learn a constraint from demonstrations. The file to open first.

    repeat
        learn π^φ under the cost 1 − ζ_θ          solve      (Eq. 9)
        sample S from π^φ                         sample     (fidelity F4)
        move ζ_θ towards what D obeys and S not   move       (Eqs. 8, 10-12)

Each step has two ways, and `config` chooses. The paper's (`by_gradient.py`): the same agent goes
on, every sample is evidence, ζ takes limited gradient steps. Ours (`by_search.py`): fresh
agents, evidence is what out-earns the demonstrations, ζ is found anew as the rule over few
features that explains it.
"""

from collections.abc import Callable
from typing import Protocol

import jax

from icrl.by_gradient import GradientWay
from icrl.by_search import SearchWay
from icrl.config import LearnConfig
from icrl.constraint.objective import Objective, loss
from icrl.demos.fitting import FittedDemos
from icrl.rounds import OnProgress, OnRound, Round
from icrl.state import LearnState
from icrl.tasks.task import Task
from icrl.types import CostFunction


class Way(Protocol):
    """The three steps of a round; each maps the state to the next one.

    Keys are folded in by the round's number.
    """

    def start(self) -> LearnState:
        """Before the first round."""

    def solve(self, state: LearnState, on_progress: OnProgress) -> LearnState:
        """Train the agent under the present ζ."""

    def sample(self, state: LearnState) -> LearnState:
        """Episodes of the agent: S."""

    def move(self, state: LearnState) -> LearnState:
        """Move ζ, or say why not."""

    def report(self, state: LearnState) -> Round:
        """What the round leaves behind."""


def learn(
    task: Task,
    demos: FittedDemos,
    config: LearnConfig,
    seed: int = 0,
    on_round: OnRound = lambda _: None,
    on_progress: OnProgress = lambda _: None,
    objective: Objective = loss,
    to_bonus: Callable[[CostFunction], CostFunction] | None = None,
    restored: LearnState | None = None,
    on_state: Callable[[LearnState], None] = lambda _: None,
) -> Round:
    """Learn the constraint that `demos` obey in `task`;
    the last round holds the constraint and an agent under it.

    The baselines have another `objective` for ζ, or make the cost 1 − ζ an addition to the reward
    (`to_bonus`). `on_state` is told what is carried on from each round; given as `restored`, the
    run goes on from there and ends as if it had never been away.
    """
    key = jax.random.key(seed)
    way: Way
    # Scouts are what our way begins with, so their number chooses it: 0 is the paper's way, and
    # both neural baselines'. The choice is made here, once; the loop below does not know which it
    # runs.
    if config.scouts > 0:
        way = SearchWay(task, demos, config, key)
    else:
        way = GradientWay(task, demos, config, key, objective, to_bonus)
    # All that one round hands to the next is in `state`. That is why a run that was killed can go
    # on, and why a step may be replaced without reading the other two.
    state = restored or way.start()
    while not state.finished:
        state = way.solve(state, on_progress)
        state = way.sample(state)
        state = way.move(state)
        on_round(way.report(state))
        # After the round is reported: a checkpoint must never be ahead of what metrics.jsonl says.
        on_state(state)
    # The authors' code keeps the model that earns most in the constrained world. Nobody has that
    # number outside of a benchmark, so the last round is what is handed out.
    return way.report(state)  # fidelity F11: not the best by the truth
