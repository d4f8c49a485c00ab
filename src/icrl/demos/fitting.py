"""Logs write some things in another form than the task does;
where nothing is lost, they are put into the task's."""

from dataclasses import replace
from typing import NewType

import gymnasium as gym
import numpy as np

from icrl.demos.dataset import Demonstrations, check_against, find_mismatches
from icrl.demos.rewards import with_rewards
from icrl.tasks.task import Task
from icrl.types import AnyArray

FittedDemos = NewType("FittedDemos", Demonstrations)
"""Demonstrations in a task's own form, checked against it. Only `fit_and_check` makes them, where
demonstrations come in; whoever takes this type need not look again."""


def fit_to_task(demos: Demonstrations, task: Task) -> Demonstrations:
    """The same demonstrations as the task writes them;
    what cannot be put so is left as it is, for the check to name.

    - A column of state numbers, counted as the environment counts, becomes one-hot rows where the
      task observes one of n states.
    - Whole numbers become floats, [N, T] -> [N, T, 1], where the task has one continuous action:
      a table cannot tell.
    - Floats that are all whole become integers, [N, T, 1] -> [N, T], where actions are discrete.
    """
    return _fit_actions(_fit_states(demos, task), task)


def fit_and_check(demos: Demonstrations, task: Task) -> FittedDemos:
    """The demonstrations as the task writes them, with its rewards where they have none and it can
    say them; an `InputError` with every reason where they cannot belong to it."""
    fitted = fit_to_task(demos, task)
    check_against(fitted, task)
    return FittedDemos(with_rewards(fitted, task))


def fit_if_possible(demos: Demonstrations, task: Task) -> Demonstrations:
    """As `fit_and_check`, for who describes them: what cannot belong to the task
    is put into its form as far as it goes."""
    fitted = fit_to_task(demos, task)
    # Only of what fits can the task say what it pays.
    if find_mismatches(fitted, task):
        return fitted
    return with_rewards(fitted, task)


def _fit_states(demos: Demonstrations, task: Task) -> Demonstrations:
    observations = demos.trajectories.observations
    num_states = task.observation_space.shape[0]
    # Only where nothing can be lost: a column that already is one of the task's own is left alone.
    if not task.one_hot or num_states == 1 or observations.shape[2] != 1:
        return demos
    # padding is no state
    places = np.where(demos.trajectories.mask, observations[..., 0] - task.first_state, 0)
    if not _whole(places) or places.min() < 0 or places.max() >= num_states:
        return demos
    rows = np.eye(num_states, dtype=np.float32)[places.astype(np.int64)]  # [N, T] -> [N, T, n]
    trajectories = replace(demos.trajectories, observations=rows)
    return replace(demos, trajectories=trajectories, observation_names=task.observation_names)


def _fit_actions(demos: Demonstrations, task: Task) -> Demonstrations:
    actions = demos.trajectories.actions
    if (
        demos.discrete
        and isinstance(task.action_space, gym.spaces.Box)
        and task.action_space.shape == (1,)
    ):
        # A CSV that holds 1, 0, -1 does not say whether these are choices or numbers; the task
        # does.
        floats = replace(demos.trajectories, actions=actions.astype(np.float64)[..., None])
        return replace(demos, trajectories=floats, discrete=False, action_names=())
    if not demos.discrete and task.discrete and actions.shape[2] == 1 and _whole(actions):
        integers = replace(demos.trajectories, actions=actions[..., 0].astype(np.int64))
        return replace(demos, trajectories=integers, discrete=True, action_names=())
    return demos


def _whole(values: AnyArray) -> bool:
    return bool(np.all(values == np.floor(values)))
