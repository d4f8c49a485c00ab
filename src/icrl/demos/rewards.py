"""Rewards of demonstrations that came without any,
computed by a task that can say what a step (s, a, s') pays."""

from dataclasses import replace

import numpy as np

from icrl.demos.dataset import REWARDS_COMPUTED, Demonstrations
from icrl.errors import InputError
from icrl.tasks.factories import blamed
from icrl.tasks.task import RewardOf, Task
from icrl.types import AnyArray, FloatArray, Trajectories

HOW_COMPUTED = (
    "The demonstrations came without rewards: the task computed them. The last step of each "
    "episode, whose successor is not recorded, is left out, and what it paid is not counted."
)
"""For whoever is shown what was made of the demonstrations."""


def with_rewards(demos: Demonstrations, task: Task) -> Demonstrations:
    """The same demonstrations, which fit the task, with its rewards where they have none;
    as they are where they have rewards, or the task cannot say them.

    A reward of (s, a, s') needs s': the last step of each episode has none, and is dropped.
    """
    if demos.has_rewards or task.reward_of is None:
        return demos
    short = np.flatnonzero(demos.trajectories.lengths < 2)
    if short.size:
        raise InputError(
            f"the demonstrations have no rewards, and task {task.name} computes them from (s, a, "
            f"s'), yet episode {short[0]} has only 1 step, expected at least 2 (the last has no "
            f"s'); {short.size} of {demos.trajectories.num_trajectories} episodes are like this: "
            "drop them, or record rewards."
        )
    trajectories = _rewarded(demos.trajectories, task.reward_of, task.name)
    return replace(demos, trajectories=trajectories, card=demos.card | REWARDS_COMPUTED)


def _rewarded(recorded: Trajectories, reward_of: RewardOf, name: str) -> Trajectories:
    """All steps that have a successor, and what they pay."""
    observations = recorded.observations[:, :-1]  # [N, T, o] -> [N, T - 1, o]
    actions = recorded.actions[:, :-1]
    rewards = np.zeros(observations.shape[:2])
    shown = Trajectories(
        observations=observations,
        actions=actions,
        rewards=rewards,
        lengths=np.asarray(recorded.lengths) - 1,
    )
    mask = shown.mask
    # Without the padding, which a user's function need not make sense of; and copies, into which it
    # may write: [N, T - 1, ...] -> [n, ...].
    rewards[mask] = _asked(
        reward_of,
        observations=observations[mask],
        actions=actions[mask],
        next_observations=recorded.observations[:, 1:][mask],
        name=name,
    )
    return shown


def _asked(
    reward_of: RewardOf,
    *,
    observations: AnyArray,
    actions: AnyArray,
    next_observations: AnyArray,
    name: str,
) -> FloatArray:
    """What the task answers, which must be n finite numbers. [n, o], [n, a] or [n], [n, o]
    -> [n]."""
    # Observations may be anything finite: what overflows is told below, in words.
    with blamed(f"reward_of of {name}"), np.errstate(over="ignore", invalid="ignore"):
        answer = np.asarray(reward_of(observations, actions, next_observations))
    if answer.shape != (len(observations),) or answer.dtype.kind not in "fiu":
        raise InputError(
            f"reward_of of {name} returned {answer.dtype} of shape {list(answer.shape)} for "
            f"{len(observations)} steps, expected as many numbers [{len(observations)}]: let it "
            "answer for all steps at once, one reward each."
        )
    paid = answer.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(paid))
    if wrong.size:
        raise InputError(
            f"reward_of of {name} returned rewards that are not finite: {wrong.size} of "
            f"{len(paid)}, the first for step {wrong[0]} ({paid[wrong[0]]}), expected finite "
            "numbers: mend it, or look at the observations there (icrl demos check)."
        )
    return paid
