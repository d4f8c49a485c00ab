"""A fresh agent under ζ, trained now: the one question to a rule that no record answers.

It knows the task's reward and ζ, and nothing of demonstrations.
Its cost is stated in environment steps.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from icrl.agent.forward_step import forward_steps
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import policy_of
from icrl.agent.training import measure
from icrl.config import LearnConfig
from icrl.constraint.found import cost_function
from icrl.constraint.learned import LearnedConstraint
from icrl.errors import InputError
from icrl.presets import forward_alone
from icrl.tasks.task import Task
from icrl.transfer import OnProgress, Pressure, train_under
from icrl.trust.judges import Judged
from icrl.types import Trajectories

_EPISODES = 20
_SAMPLED = 2
"""Episodes that are sampled while it is trained: nobody looks at them."""


class Fresh(NamedTuple):
    """How it ended, and what it does."""

    judged: Judged
    episodes: Trajectories
    """At the mode of its policy, behind the shield."""


def train_judge(
    constraint: LearnedConstraint,
    task: Task,
    config: LearnConfig,
    steps: int,
    seed: int = 0,
    on_progress: OnProgress = lambda _: None,
) -> Fresh:
    """Train one for so many steps with the settings of the run."""
    least = forward_steps(config.forward) + _SAMPLED * task.horizon
    if steps < least:
        raise InputError(
            f"a fresh judge needs at least {least} environment steps here, got --judge {steps}."
        )
    cost = cost_function(constraint)
    # No demonstrations and no phases: the forward step alone, as a transfer has it.
    settings = dataclasses.replace(forward_alone(config), steps=steps, num_samples=_SAMPLED)
    last = train_under(Pressure(cost=cost), task, settings, seed, on_progress=on_progress)
    rng = np.random.default_rng(seed)
    # At the mode and behind the shield, as the run measured its own judges: else the two could not
    # be compared.
    policy = policy_of(last.agent, task, settings.forward, cost, greedy=True)
    env = task.make_env(_EPISODES)
    episodes = sample_trajectories(rng, policy, env, task.horizon, int(rng.integers(2**31)))
    done = measure(episodes, cost)
    return Fresh(Judged(done.mean_return, done.forbidden, steps), episodes)
