"""Making demonstrations: train experts under the true constraint, then record them.

The expert is the one agent that is told the truth (as a cost);
what is recorded is all a learner will ever see.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from icrl.agent.forward_step import forward_step, forward_steps, generator, report_onwards
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import AgentState, Policy, init_agent, policy_of
from icrl.config import ForwardConfig
from icrl.demos.dataset import Demonstrations
from icrl.errors import InputError
from icrl.tasks.task import Scenario, Task
from icrl.trajectories import join, select
from icrl.types import CostFunction, FloatArray, Trajectories


class Training(NamedTuple):
    """A trained agent and how it got there."""

    agent: AgentState
    steps: int
    curve: list[tuple[int, float]]
    """(environment steps, mean reward per step) after each forward step."""


def true_cost(scenario: Scenario) -> CostFunction:
    """The true constraint as a cost: 1 where it is broken, 0 elsewhere."""

    def cost(observations: Any, actions: Any) -> FloatArray:
        return np.asarray(scenario.violates(observations, actions), np.float32)

    return cost


def train_agent(
    task: Task,
    cost: CostFunction | None,
    config: ForwardConfig,
    steps: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda _: None,
) -> Training:
    """The forward step alone, again and again, for `steps` environment steps;
    without a cost: a nominal agent."""
    key = jax.random.key(seed)
    env = task.make_env(config.num_envs)
    # A number that no step count reaches: the steps' keys are folded in by how many are done.
    agent = init_agent(generator(jax.random.fold_in(key, 2**31 - 1)), task, config)
    done = 0
    curve = []
    # At least once, however few steps were asked for.
    while done + forward_steps(config) <= max(steps, forward_steps(config)):
        report = partial(report_onwards, on_progress, done)
        agent, info = forward_step(
            jax.random.fold_in(key, done), agent, task, env, cost, config, on_update=report
        )
        done += info.steps
        curve.append((done, info.reward))
    return Training(agent, done, curve)


def record_clean_episodes(
    scenario: Scenario, policy: Policy, episodes: int, seed: int
) -> tuple[Trajectories, int]:
    """`episodes` whole episodes without a violation,
    and how many others were thrown away to get them."""
    kept: list[Trajectories] = []
    rejected = 0
    # As many at a time as are wanted: mostly one pass is enough.
    env = scenario.task.make_env(episodes)
    rng = np.random.default_rng(seed)
    while sum(part.num_trajectories for part in kept) < episodes:
        part = sample_trajectories(
            rng, policy, env, scenario.task.horizon, int(rng.integers(2**31))
        )
        # An expert is trained, so now and then it breaks the rule. A learner must not be shown
        # that: by the paper's assumption demonstrations are feasible.
        clean = ~np.any(scenario.violates(part.observations, part.actions) & part.mask, axis=1)
        rejected += int(np.sum(~clean))
        # An expert that mostly violates would be thrown away for ever.
        if rejected > 20 * episodes:
            raise InputError(
                f"the expert of {scenario.task.name} violates its own constraint: {rejected} "
                f"episodes rejected, {sum(p.num_trajectories for p in kept)} of {episodes} kept. "
                "Train it for more --steps."
            )
        kept.append(select(part, clean))
    everything = join(kept)
    # The first ones, whatever they earn: to choose among them would flatter the expert.
    return select(everything, np.arange(everything.num_trajectories) < episodes), rejected


def collect_demos(
    scenario: Scenario,
    config: ForwardConfig,
    steps: int,
    episodes: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda _: None,
    experts: int = 1,
) -> tuple[Demonstrations, list[Training]]:
    """Train experts under the true constraint, with seeds `seed`, `seed` + 1, ...,
    and record as much of each.

    Where many ways are equally good, an agent settles on one of them. Several show that the others
    are allowed too, as the expert of the theory would, who takes each as often as it pays.
    """
    if episodes % experts:
        raise InputError(
            f"{episodes} episodes cannot be shared out among {experts} experts: give a multiple of "
            "it."
        )
    trainings: list[Training] = []
    parts: list[Trajectories] = []
    rejected = 0
    for index in range(experts):
        report = partial(report_onwards, on_progress, sum(training.steps for training in trainings))
        training = train_agent(
            scenario.task, true_cost(scenario), config, steps, seed + index, report
        )
        # Without a cost, so without a shield: what is recorded is what the expert itself does.
        policy = policy_of(training.agent, scenario.task, config)
        part, thrown = record_clean_episodes(scenario, policy, episodes // experts, seed + index)
        trainings.append(training)
        parts.append(part)
        rejected += thrown
    trajectories = join(parts)
    card = {
        "task": scenario.task.name,
        "seed": seed,
        "experts": experts,
        # Of each: no seed is left out, and a weak expert among them must show (decision 0008).
        "mean_return_of_each": [float(np.mean(part.returns)) for part in parts],
        "expert_steps": trainings[0].steps,
        "expert_respects_by": str(config.respect),
        "episodes": episodes,
        "rejected_episodes": rejected,
        "mean_return": float(np.mean(trajectories.returns)),
        "std_return": float(np.std(trajectories.returns)),
        "violations": 0,
    }
    demos = Demonstrations(
        trajectories=trajectories,
        discrete=scenario.task.discrete,
        card=card,
        observation_names=scenario.task.observation_names,
        action_names=scenario.task.action_names,
    )
    return demos, trainings
