"""What zeta looks at: a named, clipped selection of the observation and the action.

NumPy only; nothing imports jax.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from icrl.errors import InputError, unknown_name
from icrl.types import AnyArray

if TYPE_CHECKING:  # a task needs gymnasium, using a learned constraint does not
    from icrl.tasks.task import Task

NUMBERED = re.compile(r"(?:obs|state|action)\[\d+\]")
"""How features are called that nobody named (`tasks.own`): by their place."""


@dataclass(frozen=True, kw_only=True)
class Features:
    """A selection of the full vector [observation..., action...]
    (the action one-hot when discrete)."""

    names: tuple[str, ...]
    """Selected features, in the order zeta sees them: f of them."""
    columns: tuple[int, ...]
    """Index of each into the full vector."""
    lower: tuple[float, ...]
    """Each feature is clipped from below at this."""
    upper: tuple[float, ...]
    """Each feature is clipped from above at this."""
    num_observations: int
    """o: width of the observation."""
    num_actions: int
    """a: width of the action, or the number of choices when discrete."""
    discrete: bool
    """Actions are integers and enter one-hot."""

    @property
    def num_features(self) -> int:
        """f."""
        return len(self.names)

    @cached_property
    def sees_actions(self) -> bool:
        """At least one selected feature belongs to the action."""
        # Of a rule about states alone the actions are never joined on, whatever they are.
        return max(self.columns) >= self.num_observations

    @cached_property
    def selection(self) -> np.ndarray[Any, Any] | None:
        """[f] column indices; None when the whole vector is taken as it is."""
        width = self.num_observations + (self.num_actions if self.sees_actions else 0)
        if self.columns == tuple(range(width)):
            return None
        return np.asarray(self.columns)

    @cached_property
    def bounds(self) -> np.ndarray[Any, Any]:
        """[2, f] float32: lower and upper."""
        return np.asarray([self.lower, self.upper], dtype=np.float32)


def select_features(task: "Task", names: tuple[str, ...] | None, input_clip: float) -> Features:
    """The features of `task` called `names` (None: all of them).

    Observations are clipped to ±input_clip, Box actions to their space (to ±input_clip where it is
    unbounded), one-hot actions to [0, 1].
    """
    known = task.feature_names
    if len(set(known)) != len(known):
        raise InputError(
            f"task {task.name!r} uses a feature name twice: {', '.join(known)}. Give each its own "
            "name."
        )
    if names is None:
        chosen = known
    else:
        chosen = names
    if len(set(chosen)) != len(chosen) or not chosen:
        raise InputError(
            f"expected one or more different feature names, got {chosen!r}. List each once."
        )
    num_observations = len(task.observation_names)
    # A network says anything far from its data. Clipped inputs keep it from being asked there, at
    # the price that all beyond the bound looks like the bound.
    lower = np.full(len(known), -input_clip)
    upper = np.full(len(known), input_clip)
    lower[num_observations:], upper[num_observations:] = _action_bounds(task, input_clip)
    columns = tuple(_column(task, name) for name in chosen)
    return Features(
        names=tuple(chosen),
        columns=columns,
        lower=tuple(float(lower[c]) for c in columns),
        upper=tuple(float(upper[c]) for c in columns),
        num_observations=num_observations,
        num_actions=len(task.action_names),
        discrete=task.discrete,
    )


def match(features: Features, task: "Task") -> Features:
    """The same features found by name in another task:
    new columns, the bounds zeta was trained with.

    A constraint over (x, y) works on every task that has an x and a y, whatever else it
    observes. Features that nobody named are found by their number, which means something only
    among as many of them.
    """
    # Numbers before names: `obs[3]` of another environment has the right name and means another
    # thing.
    _require_same_numbers(features, task)
    _require_names(features, task)
    columns = []
    for name, old in zip(features.names, features.columns, strict=True):
        column = task.feature_names.index(name)
        was = _kind(old >= features.num_observations, features.discrete)
        now = _kind(column >= len(task.observation_names), task.discrete)
        # An x that is observed and an action called x are not the same thing, even if the name is.
        if was != now:
            raise InputError(
                f"feature {name!r} was {was} where the constraint was learned and is {now} in task "
                f"{task.name!r}. Rename it there, or learn a constraint without it (--features)."
            )
        columns.append(column)
    return replace(
        features,
        columns=tuple(columns),
        num_observations=len(task.observation_names),
        num_actions=len(task.action_names),
        discrete=task.discrete,
    )


def extract(features: Features, observations: Any, actions: Any, xp: Any = np) -> Any:
    """Zeta's inputs: x = clip([s, a][columns], lower, upper), float32.

    Shapes: observations [..., o], actions [..., a] (or [...] when discrete) -> [..., f].
    `xp` is numpy or jax.numpy.
    """
    full = observations
    if features.sees_actions:
        if features.discrete:
            choices = np.arange(features.num_actions).reshape((1,) * xp.ndim(actions) + (-1,))
            # [...] -> [..., a]
            actions = xp.equal(xp.expand_dims(actions, -1), choices).astype(np.float32)
        full = xp.concatenate([observations, actions], axis=-1)  # [..., o + a]
    if features.selection is not None:
        full = xp.take(full, features.selection, axis=-1)  # [..., f]
    lower, upper = features.bounds.reshape((2,) + (1,) * (full.ndim - 1) + (-1,))
    # clipped before the cast, so that a huge float64 does not overflow float32
    return xp.asarray(xp.minimum(xp.maximum(full, lower), upper), dtype=np.float32)


def one_hot(numbers: Any, states: range) -> AnyArray:
    """Numbers of Discrete observations as a constraint knows them: [...] -> [..., n], float32."""
    places = np.asarray(numbers)
    if places.dtype.kind not in "iu" or (
        places.size and (places.min() < states.start or places.max() >= states.stop)
    ):
        raise InputError(
            f"expected states in {states.start}..{states.stop - 1}, got {numbers!r:.60}."
        )
    return np.asarray(np.eye(len(states), dtype=np.float32)[places - states.start])


def _require_same_numbers(features: Features, task: "Task") -> None:
    """A number says nothing about what it stands for:
    at least the numbers of everything that counts must agree.

    Numbered actions beside named observations ask for as many actions;
    the observations are known by their names.
    """
    numbered = [name for name in features.names if NUMBERED.fullmatch(name)]
    by_place = len(numbered) == len(features.names) or any(
        not name.startswith("action[") for name in numbered
    )
    was = (features.num_observations, features.num_actions, features.discrete)
    now = (len(task.observation_names), len(task.action_names), task.discrete)
    if numbered and (was[1:] != now[1:] or (by_place and was[0] != now[0])):
        raise InputError(
            f"the constraint was learned on {described(*was)}, task {task.name!r} has "
            f"{described(*now)}, and "
            f"{', '.join(numbered[:4])}{', ...' if len(numbered) > 4 else ''} are numbers, not "
            "names: what they stand for there nobody can tell. Name the features of both "
            "environments (--feature-names, in Python feature_names=...) and learn the constraint "
            "so."
        )


def _require_names(features: Features, task: "Task") -> None:
    """Everything that zeta looks at must be there: what is not is never guessed."""
    missing = [name for name in features.names if name not in task.feature_names]
    if missing:
        shared = [name for name in features.names if name in task.feature_names]
        if len(missing) > 8:
            more = f" and {len(missing) - 8} more"
        else:
            more = ""
        raise InputError(
            f"the constraint looks at {', '.join(missing[:8])}{more}, which task {task.name!r} "
            f"does not have; it has {', '.join(task.feature_names)}. Rename them there, or learn a "
            f"constraint over what both have (--features {' '.join(shared[:8]) or 'NAME ...'})."
        )


def described(observations: int, actions: int, discrete: bool) -> str:
    """The sizes of a task, in words."""
    return (
        f"{observations} observations and {actions} "
        f"{'choices' if discrete else 'continuous actions'}"
    )


def _column(task: "Task", name: str) -> int:
    """Index of a feature in the full vector of `task`."""
    if name not in task.feature_names:
        raise unknown_name(f"feature of task {task.name!r}", name, task.feature_names)
    return task.feature_names.index(name)


def _kind(is_action: bool, discrete: bool) -> str:
    """What a feature is, in words."""
    if not is_action:
        return "an observation"
    if discrete:
        return "a discrete action"
    return "a continuous action"


def _action_bounds(task: "Task", input_clip: float) -> tuple[Any, Any]:
    """Clip bounds of the action part of the full vector."""
    import gymnasium as gym

    space = task.action_space
    if isinstance(space, gym.spaces.Discrete):
        # A one-hot of choices from 1 would be shifted by one, and nobody would notice.
        if int(space.start) != 0:
            raise InputError(
                f"task {task.name!r}: discrete actions must count from 0, got start = "
                f"{int(space.start)}."
            )
        return 0.0, 1.0
    low = np.asarray(space.low, dtype=np.float64)
    high = np.asarray(space.high, dtype=np.float64)
    return np.where(np.isfinite(low), low, -input_clip), np.where(
        np.isfinite(high), high, input_clip
    )
