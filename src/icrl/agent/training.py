"""Solving (9) with a fresh agent: training that knows when it is done.

An agent is trained piece by piece, and measured after each. It is done when it is feasible and
earns nearly what demonstrations earn, twice in a row; then its learning rate falls, and it ends.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from gymnasium.vector import VectorEnv

from icrl.agent.cloning import clone
from icrl.agent.forward_step import ForwardInfo, Pace, forward_step, generator
from icrl.agent.imitation import Shown, shown_steps
from icrl.agent.rollout import sample_trajectories
from icrl.agent.shield import FORBIDDEN_ABOVE
from icrl.agent.state import AgentState, init_agent, policy_of
from icrl.config import ForwardConfig
from icrl.tasks.task import Task
from icrl.types import BoolArray, CostFunction, IntArray, Trajectories

_CRITIC_UPDATES = 5
"""Updates of the critics alone, after cloning."""
_PLAYED = 10
"""Episodes that say which clone earns more: from the same starts few will do."""


class Goal(NamedTuple):
    """When an agent is good enough."""

    least_return: float
    """Mean return of demonstrations, less what counts as near."""
    most_forbidden: float = 0.001
    """Largest share of steps that may be forbidden:
    one of them ends an episode in the truth's eyes."""
    passes: int = 2
    """Measurements in a row that must say so."""


class Measurement(NamedTuple):
    """What an agent does at the mode of its policy."""

    mean_return: float
    """Up to the first forbidden step of each episode."""
    forbidden: float
    """Share of steps that the given cost forbids."""


class Training(NamedTuple):
    """An agent in training: carried from piece to piece."""

    agent: AgentState
    steps: int = 0
    passes: int = 0
    """Measurements in a row that met the goal."""
    done_at: int | None = None
    """Steps when the goal was met."""
    finished: bool = False
    cloned: bool = False


class Plays:
    """Plays clones behind the shield of a cost, and counts the steps that this takes."""

    def __init__(
        self, env: VectorEnv, task: Task, config: ForwardConfig, cost: CostFunction | None
    ) -> None:
        self.env = env
        self.task = task
        self.config = config
        self.cost = cost
        self.steps = 0

    def __call__(self, agent: AgentState) -> float:
        """Mean return; all are played from the same starts."""
        policy = policy_of(agent, self.task, self.config, self.cost, greedy=True)
        samples = sample_trajectories(
            np.random.default_rng(0), policy, self.env, self.task.horizon, seed=0
        )
        self.steps += samples.num_steps
        # Not up to the first forbidden step: an imitation of those who keep a rule grazes it here
        # and there, and that would hide what it can do (decision 0031).
        return float(np.mean(samples.returns))


def start_training(
    rng: np.random.Generator,
    task: Task,
    config: ForwardConfig,
    demos: Trajectories | None = None,
    has_rewards: bool = True,
    plays: Plays | None = None,
) -> Training:
    """A fresh agent, as a clone of `demos` where they are given; `plays` says what it earns."""
    agent = init_agent(rng, task, config)
    if demos is None:
        return Training(agent)
    return Training(clone(rng, agent, demos, has_rewards, task, config, plays), cloned=True)


def pace_of(training: Training, budget: int, config: ForwardConfig) -> Callable[[int], Pace]:
    """The schedule of an agent with so many steps in all,
    as a function of the steps of its next piece."""

    def pace(ahead: int) -> Pace:
        steps = training.steps + ahead
        # fidelity F23: a finished gait is lost again at the full rate (decision 0012).
        rate = min(1.0, (budget - steps) / (config.falling * budget))
        if training.done_at is not None:
            rate = min(rate, 1.0 - (steps - training.done_at) / config.tail)
        # fidelity F14: an agent whose every trespass ends at once never sees what lies beyond, and
        # learns to stand before the wall (decisions 0016, 0019).
        soft = config.terminate.soft * max(0.0, 1.0 - steps / (config.terminate.closing * budget))
        pull = 0.0
        warming = False
        if training.cloned:
            batch = config.num_envs * config.rollout_steps
            # The clone's critics know nothing: their first advantages would undo the policy.
            warming = steps < _CRITIC_UPDATES * batch
            # Without a pull, PPO's noise beside a deadly edge undoes a clone (decision 0016: disc,
            # 10.4 to 7.0).
            pull = max(0.0, 1.0 - steps / config.pull) * max(rate, 0.0)
        return Pace(
            learning_rate=max(rate, 0.0),
            soft=soft,
            pull=0.0 if warming else pull,
            critics_only=warming,
        )

    return pace


def train_on(
    key: Any,
    training: Training,
    task: Task,
    env: VectorEnv,
    cost: CostFunction | None,
    config: ForwardConfig,
    budget: int,
    bonus: CostFunction | None = None,
    shown: Shown | None = None,
    on_update: Callable[[int], None] | None = None,
) -> tuple[Training, ForwardInfo]:
    """One piece of training."""
    pace = pace_of(training, budget, config)
    agent, info = forward_step(
        key, training.agent, task, env, cost, config, bonus, on_update, pace=pace, shown=shown
    )
    return training._replace(agent=agent, steps=training.steps + info.steps), info


def seen_first(training: Training, looks: int) -> bool:
    """A clone is seen before it is trained, and again where it did well: it may be done already.

    What it learns from reward afterwards leads it to where nobody has shown that one may go.
    `looks`: how often it was measured so far.
    """
    return training.cloned and training.steps == 0 and training.passes == looks


def measure(samples: Trajectories, cost: CostFunction | None) -> Measurement:
    """Return up to the first forbidden step, and the share of forbidden ones."""
    if cost is None:
        return Measurement(float(np.mean(samples.returns)), 0.0)
    forbidden = _forbidden(samples, cost)
    # As the truth counts: what is earned after the first forbidden step is not.
    before = np.cumsum(forbidden, axis=1) == 0
    returns = np.sum(samples.rewards * (before & samples.mask), axis=1)
    return Measurement(float(np.mean(returns)), float(forbidden.sum() / samples.num_steps))


def first_forbidden(samples: Trajectories, cost: CostFunction | None) -> IntArray:
    """[N]: steps of each episode before its first forbidden one;
    all of them where there is none."""
    lengths = np.asarray(samples.lengths)
    if cost is None:
        return lengths
    forbidden = _forbidden(samples, cost)
    return np.where(forbidden.any(axis=1), np.argmax(forbidden, axis=1), lengths)


def _forbidden(samples: Trajectories, cost: CostFunction) -> BoolArray:
    return (cost(samples.observations, samples.actions) > FORBIDDEN_ABOVE) & samples.mask


def judged_training(
    training: Training, measured: Measurement, goal: Goal | None, budget: int, config: ForwardConfig
) -> Training:
    """The training after a measurement: how often in a row it met its goal,
    and whether it is over."""
    passes = 0
    if goal is not None:
        good = (
            measured.mean_return >= goal.least_return and measured.forbidden <= goal.most_forbidden
        )
        passes = training.passes + 1 if good else 0
    done_at = training.done_at
    if goal is not None and done_at is None and passes >= goal.passes:
        done_at = training.steps
    over = training.steps >= budget
    # a clone that met the goal untrained has nothing to settle from
    if done_at is not None and (done_at == 0 or training.steps - done_at >= config.tail):
        over = True
    return training._replace(passes=passes, done_at=done_at, finished=over)


class Trained(NamedTuple):
    """An agent that was trained out, or as far as its steps went."""

    agent: AgentState
    steps: int
    met_goal: bool


OnPiece = Callable[[Training, Measurement, Trajectories], None]


def train_out(
    key: Any,
    task: Task,
    cost: CostFunction | None,
    config: ForwardConfig,
    budget: int,
    goal: Goal | None,
    demos: Trajectories | None = None,
    num_samples: int = 10,
    patience: int | None = None,
    on_piece: OnPiece = lambda *_: None,
) -> Trained:
    """A fresh agent under `cost`, piece by piece,
    until it meets its goal or its steps end; `demos` help it.

    With `patience`, it is also over after so many steps without a better measurement.
    """
    plays = Plays(task.make_env(min(num_samples, _PLAYED)), task, config, cost)
    training = start_training(
        generator(jax.random.fold_in(key, 0)), task, config, demos, plays=plays
    )
    shown = None
    if demos is not None:
        shown = shown_steps(demos, task)
    train_env = task.make_env(config.num_envs)
    sample_env = task.make_env(num_samples)
    best = training.agent
    best_return = -math.inf
    most = -math.inf
    most_at = 0
    number = 0
    while not training.finished:
        number += 1
        key_train, key_sample = jax.random.split(jax.random.fold_in(key, number))
        if not seen_first(training, looks=number - 1):
            training, _ = train_on(
                key_train, training, task, train_env, cost, config, budget, shown=shown
            )
        rng = generator(key_sample)
        policy = policy_of(training.agent, task, config, cost, greedy=True)
        samples = sample_trajectories(
            rng, policy, sample_env, task.horizon, int(rng.integers(2**31))
        )
        done = measure(samples, cost)
        training = judged_training(training, done, goal, budget, config)
        on_piece(training, done, samples)
        # Where steps end before the goal is met the best feasible agent is handed out, not the last
        # (decision 0016).
        if done.forbidden <= Goal(0.0).most_forbidden and done.mean_return > best_return:
            best = training.agent
            best_return = done.mean_return
        if done.mean_return > most:
            most = done.mean_return
            most_at = training.steps
        if patience is not None and training.steps - most_at >= patience:
            break
    met_goal = training.done_at is not None
    # The last look counts, too: settling may undo what was reached (decision 0028).
    steps = training.steps + plays.steps
    if goal is None or training.passes >= goal.passes:
        return Trained(training.agent, steps, met_goal)
    return Trained(best, steps, met_goal)
