"""Every method behind one signature, so that runs, suites and tables treat them alike."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

from icrl.agent.forward_step import ForwardInfo
from icrl.agent.state import Policy, policy_of
from icrl.baselines.gail_constraint import log_feasibility_bonus
from icrl.baselines.greedy import learn_greedy
from icrl.config import LearnConfig
from icrl.constraint.learned import LearnedConstraint
from icrl.constraint.objective import Objective, loss
from icrl.demos.dataset import Demonstrations
from icrl.demos.fitting import FittedDemos, fit_and_check
from icrl.errors import InputError
from icrl.learn import learn
from icrl.methods.icrl import ICRL
from icrl.methods.record import Method, Presses
from icrl.rounds import Round, num_rounds
from icrl.runtime import one_thread
from icrl.state import LearnState
from icrl.tasks.task import Task
from icrl.transfer import AgentRound, OnProgress, Pressure, train_under
from icrl.types import CostFunction, FloatArray, Trajectories


class Snapshot(NamedTuple):
    """A run after a round, whatever the method: what is logged, saved and judged."""

    number: int
    """Of the round, from 0."""
    rounds: int
    steps: int
    policy: Policy
    constraint: LearnedConstraint | None
    """None: the method learns no constraint."""
    samples: Trajectories
    metrics: dict[str, Any]
    """`agent/...` and `constraint/...`."""
    evidence_weights: FloatArray | None = None
    """[N]: how much each sample counts as evidence;
    None: the method learns no constraint from samples."""


OnSnapshot = Callable[[Snapshot], None]
Carried = LearnState | AgentRound
"""What goes from round to round: of Algorithm 1, or of the forward step alone."""


class Continuation(NamedTuple):
    """What it takes to go on with a run another time."""

    restored: Carried | None = None
    """Go on from here; None: from the beginning."""
    on_state: Callable[[Carried], None] = lambda _: None
    """Told after every round, when its snapshot is over, what would be gone on from."""


FROM_THE_START = Continuation()


class Learner(Protocol):
    """Learn on a task from demonstrations; call back after every round and policy update;
    return the last snapshot."""

    def __call__(
        self,
        task: Task,
        demos: FittedDemos,
        config: LearnConfig,
        seed: int,
        card: dict[str, Any],
        on_snapshot: OnSnapshot,
        on_progress: OnProgress,
        continuation: Continuation = FROM_THE_START,
    ) -> Snapshot:
        """Run to the end of `config.steps`."""


def agent_metrics(info: ForwardInfo, samples: Trajectories) -> dict[str, Any]:
    """What the forward step reports, as `agent/...`."""
    metrics = {f"agent/{name}": value for name, value in info._asdict().items()}
    return metrics | {"agent/return": float(samples.returns.mean())}


def run_rounds(
    task: Task,
    demos: FittedDemos,
    config: LearnConfig,
    seed: int,
    card: dict[str, Any],
    on_snapshot: OnSnapshot,
    on_progress: OnProgress,
    continuation: Continuation = FROM_THE_START,
    objective: Objective = loss,
    to_bonus: Callable[[CostFunction], CostFunction] | None = None,
) -> Snapshot:
    """Algorithm 1, or a baseline that fills in another objective or another use of zeta."""
    rounds = num_rounds(task, config)

    def snapshot(last: Round) -> Snapshot:
        metrics = agent_metrics(last.forward_info, last.samples)
        told = {
            **last.constraint_info,
            "phase": last.phase.value,
            "moved": last.moved,
            "why": last.why,
        }
        metrics |= {f"constraint/{name}": value for name, value in told.items()}
        constraint = last.constraint
        if constraint is not None:
            # What the search wrote into the card (rivals, strength) stands above what is known from
            # outside.
            constraint = constraint.with_card({**card, **constraint.card, "steps": last.steps})
        # Under the cost that it was trained under: an agent of a shield without it is another
        # agent.
        policy = policy_of(last.agent, task, config.forward, last.cost, last.greedy)
        return Snapshot(
            number=last.number,
            rounds=rounds,
            steps=last.steps,
            policy=policy,
            constraint=constraint,
            samples=last.samples,
            metrics=metrics,
            evidence_weights=last.evidence_weights,
        )

    def round_done(last: Round) -> None:
        on_snapshot(snapshot(last))

    restored = continuation.restored
    assert restored is None or isinstance(restored, LearnState)
    last = learn(
        task,
        demos,
        config,
        seed,
        round_done,
        on_progress,
        objective,
        to_bonus,
        restored=restored,
        on_state=continuation.on_state,
    )
    return snapshot(last)


def run_nominal(
    task: Task,
    demos: FittedDemos,
    config: LearnConfig,
    seed: int,
    card: dict[str, Any],
    on_snapshot: OnSnapshot,
    on_progress: OnProgress,
    continuation: Continuation = FROM_THE_START,
) -> Snapshot:
    """No constraint at all: the reference line. Demonstrations are not looked at."""
    return run_agent(
        Pressure(), None, task, config, seed, {}, on_snapshot, on_progress, continuation
    )


def run_greedy(
    task: Task,
    demos: FittedDemos,
    config: LearnConfig,
    seed: int,
    card: dict[str, Any],
    on_snapshot: OnSnapshot,
    on_progress: OnProgress,
    continuation: Continuation = FROM_THE_START,
) -> Snapshot:
    """Greedy inference in the task's tabular form;
    then, for the scores, an agent under what it found.

    The inference is exact and takes seconds: a run that goes on makes it again.
    """
    # Before the agent, and once: nothing that the agent does bears on what is found.
    constraint, found = learn_greedy(task, demos, card)
    metrics = {
        "constraint/findings": len(found.findings),
        "constraint/log_likelihood_gain": sum(f.gain for f in found.findings),
    }
    pressure = Pressure(cost=constraint.cost)
    return run_agent(
        pressure, constraint, task, config, seed, metrics, on_snapshot, on_progress, continuation
    )


def run_agent(
    pressure: Pressure,
    constraint: LearnedConstraint | None,
    task: Task,
    config: LearnConfig,
    seed: int,
    metrics: dict[str, Any],
    on_snapshot: OnSnapshot,
    on_progress: OnProgress,
    continuation: Continuation = FROM_THE_START,
) -> Snapshot:
    """The forward step alone, under a pressure that does not change;
    `constraint`, if any, is what is saved with it."""

    def snapshot(last: AgentRound) -> Snapshot:
        policy = policy_of(last.agent, task, config.forward, pressure.cost)
        found = agent_metrics(last.forward_info, last.samples) | metrics
        return Snapshot(
            last.number, last.rounds, last.steps, policy, constraint, last.samples, found
        )

    def round_done(last: AgentRound) -> None:
        # The snapshot first: a kill between the two repeats a round, and never loses one.
        on_snapshot(snapshot(last))
        continuation.on_state(last)

    restored = continuation.restored
    assert restored is None or isinstance(restored, AgentRound)
    return snapshot(train_under(pressure, task, config, seed, round_done, on_progress, restored))


def learner_of(method: Method) -> Learner:
    """The function that learns by a method: its own, or Algorithm 1 with the method's objective."""
    if method.learner is not None:
        return cast(Learner, method.learner())
    if method.objective is None:
        raise InputError(f"{method.name} learns nothing: it is told the true constraint.")
    # The one thing beside its loss in which a method of Algorithm 1 may differ.
    to_bonus = None
    if method.presses is Presses.bonus:
        to_bonus = log_feasibility_bonus
    return partial(run_rounds, objective=method.objective(), to_bonus=to_bonus)


@one_thread()
def learn_constraint(
    task: Task, demos: Demonstrations, config: LearnConfig, seed: int = 0
) -> LearnedConstraint:
    """Learn, and keep only the constraint: the artefact that judges pairs (s, a) in NumPy alone."""
    last = learn(task, fit_and_check(demos, task), config, seed)
    assert last.constraint is not None
    card = {**last.constraint.card, "task": task.name, "seed": seed, "method": ICRL.name}
    return last.constraint.with_card(card)
