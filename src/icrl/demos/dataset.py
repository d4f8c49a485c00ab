"""`Demonstrations`: the expert's trajectories D, checked on construction, with their provenance."""

import importlib.resources
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from icrl.demos.validate import validate_demos
from icrl.errors import InputError, unknown_name
from icrl.tasks.task import Task
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray, Trajectories

MAX_BYTES = 8 * 10**9
"""Larger arrays are refused: the pipes keep all demonstrations in memory."""

FREE_BYTES = 250 * 10**6
"""What a packed file may declare, and padding may take, whatever the data: one-hot
arrays pack very well."""
MOST_INFLATION = 200
"""Beyond that, so many times what the data take themselves. Deflate reaches
1,000, on zeros alone."""

REWARDS_UNKNOWN = {"rewards": "unknown"}
"""The card's entry where a file held no rewards."""
REWARDS_COMPUTED = {"rewards": "computed by the task"}
"""The card's entry where the task said them afterwards (`demos.rewards`)."""

ROUNDING = 1e-5
"""Actions may pass a bound by this much, relative to the bound:
float32 logs of clipped actions do."""

_PREFIXED = re.compile(r"(?:obs|observations?|actions?)(?:\[(.+)\]|[._](.+))")


class Episode(NamedTuple):
    """One recorded episode of aligned pairs."""

    observations: AnyArray
    """[T, o]"""
    actions: AnyArray
    """[T, a], or [T] when discrete"""
    rewards: AnyArray | None
    """[T], or None where unknown"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Demonstrations:
    """The expert's trajectories D: raw aligned pairs (s_t, a_t),
    padded with zeros to the longest."""

    trajectories: Trajectories
    discrete: bool
    """Actions are integers [N, T]; otherwise floats [N, T, a]."""
    card: dict[str, Any] = field(default_factory=dict)
    """Where the demonstrations come from, as JSON; may be empty."""
    observation_names: tuple[str, ...] = ()
    """One name per observation column; obs_0, obs_1, ... where none are given."""
    action_names: tuple[str, ...] = ()
    """One name per action column, or per choice when discrete (then it may stay empty)."""

    def __post_init__(self) -> None:
        """Validate, name the columns, and put zeros on the padding, whatever stood there."""
        validate_demos(self.trajectories, self.discrete, self.observation_names, self.action_names)
        width = int(np.shape(self.trajectories.observations)[2])
        # The class is frozen for everybody else; here it is still being made.
        object.__setattr__(self, "trajectories", clean_padding(self.trajectories))
        object.__setattr__(
            self, "observation_names", self.observation_names or default_names("obs", width)
        )
        if not self.discrete and not self.action_names:
            object.__setattr__(
                self, "action_names", default_names("action", self.trajectories.actions.shape[2])
            )

    @property
    def has_rewards(self) -> bool:
        """Rewards are known; otherwise `trajectories.rewards` are all zero."""
        return self.card.get("rewards") != REWARDS_UNKNOWN["rewards"]

    @property
    def rewards_computed(self) -> bool:
        """The task computed the rewards, and the last step of each episode was left out."""
        return self.card.get("rewards") == REWARDS_COMPUTED["rewards"]

    @property
    def recorded_lengths(self) -> IntArray:
        """[N]: steps of each episode as it was recorded."""
        lengths = np.asarray(self.trajectories.lengths)
        if self.rewards_computed:
            return lengths + 1
        return lengths


def default_names(prefix: str, width: int) -> tuple[str, ...]:
    """Names of columns that came without any: obs_0, obs_1, ..."""
    return tuple(f"{prefix}_{i}" for i in range(width))


def clean_padding(trajectories: Trajectories) -> Trajectories:
    """The same trajectories, T cut to the longest and zeros on the padding,
    so that content alone decides the bytes. Where there is none, nothing is copied."""
    longest = int(np.max(trajectories.lengths))
    mask = trajectories.mask[:, :longest]
    nothing_padded = bool(mask.all())

    def clean(values: AnyArray) -> AnyArray:
        values = np.asarray(values)[:, :longest]
        if nothing_padded:
            return values
        return np.where(
            mask.reshape(mask.shape + (1,) * (values.ndim - 2)), values, np.zeros((), values.dtype)
        )

    return replace(
        trajectories,
        observations=clean(trajectories.observations),
        actions=clean(trajectories.actions),
        rewards=clean(trajectories.rewards),
        lengths=np.asarray(trajectories.lengths, dtype=np.int64),
    )


def stack_episodes(episodes: Sequence[Episode]) -> tuple[Trajectories, bool]:
    """Pad episodes with zeros to the longest;
    also says whether all of them had rewards (otherwise these are zero)."""
    if not episodes:
        raise InputError("there are 0 episodes, expected at least 1: record or select some.")
    first = episodes[0]
    for index, episode in enumerate(episodes):
        _require_alike(index, episode, first)
    lengths = np.array([len(episode.observations) for episode in episodes], dtype=np.int64)
    # All or none: zeros for some would look like episodes that failed.
    known = all(episode.rewards is not None for episode in episodes)
    rewards = [
        e.rewards if known and e.rewards is not None else np.zeros(len(e.observations))
        for e in episodes
    ]
    return Trajectories(
        observations=_pad([e.observations for e in episodes], lengths),
        actions=_pad([e.actions for e in episodes], lengths),
        rewards=_pad(rewards, lengths),
        lengths=lengths,
    ), known


def _require_alike(index: int, episode: Episode, first: Episode) -> None:
    steps = len(episode.observations)
    for name in ("observations", "actions"):
        got = getattr(episode, name).shape
        expected = getattr(first, name).shape
        if got[1:] != expected[1:]:
            raise InputError(
                f"episode {index} has {name} of shape {list(got)}, episode 0 {list(expected)}: "
                "make them agree."
            )
    for name, part in (("actions", episode.actions), ("rewards", episode.rewards)):
        if part is not None and len(part) != steps:
            raise InputError(
                f"episode {index} has {steps} observations but {len(part)} {name}: a step has one "
                "of each."
            )


def _pad(parts: Sequence[AnyArray], lengths: AnyArray) -> AnyArray:
    shape = (len(parts), int(np.max(lengths)), *parts[0].shape[1:])
    # A set, since thousands of episodes have a dtype or two.
    dtype = np.result_type(*{part.dtype for part in parts})
    needed = np.prod(shape, dtype=float) * dtype.itemsize
    # One episode of a million steps among short ones would pad all of them to a million.
    most = min(MAX_BYTES, max(FREE_BYTES, MOST_INFLATION * sum(part.nbytes for part in parts)))
    if needed > most:
        raise InputError(
            f"padding {shape[0]} episodes to the longest of {shape[1]} steps needs "
            f"{needed / 1e9:.2f} GB, the most is "
            f"{most / 1e9:.2f} GB here: "
            "select fewer episodes, or cut the longest into pieces."
        )
    padded = np.zeros(shape, dtype)
    for row, part in zip(padded, parts, strict=True):
        row[: len(part)] = part
    return padded


def to_floats(name: str, values: AnyArray) -> FloatArray:
    """Values as native float32 or float64; float32 stays,
    everything else numeric becomes float64. What is so already is not copied."""
    if values.dtype.kind not in "fiub":
        raise InputError(f"{name} have dtype {values.dtype}, expected numbers.")
    if values.dtype.kind == "f" and values.dtype.itemsize == 4:
        return np.asarray(values, np.float32)
    return np.asarray(values, np.float64)


def shipped_demos(name: str) -> Path:
    """Path of demonstrations that ship with the package, e.g. `shipped_demos("lap-grid.npz")`."""
    folder = Path(str(importlib.resources.files("icrl.demos"))) / "data"
    known = sorted(path.name for path in folder.glob("*.npz"))
    if name not in known:
        raise unknown_name("shipped demonstrations", name, known)
    return folder / name


def check_against(demos: Demonstrations, task: Task) -> None:
    """Raise `InputError` with every reason why these demonstrations cannot belong to the task."""
    problems = find_mismatches(demos, task)
    if problems:
        raise InputError(" ".join(problems))


def find_mismatches(demos: Demonstrations, task: Task) -> list[str]:
    """Every reason why these demonstrations cannot belong to the task; empty when they fit."""
    return [
        # All at once: who mends a recording should not have to come back for the next reason.
        *_observation_mismatch(demos, task),
        *_action_mismatch(demos, task),
        *_horizon_mismatch(demos, task),
    ]


def _observation_mismatch(demos: Demonstrations, task: Task) -> list[str]:
    got = demos.trajectories.observations.shape[2]
    expected = task.observation_space.shape[0]
    if got != expected:
        names = ", ".join(task.observation_names[:3]) + (", ..." if expected > 3 else "")
        advice = "record the observations the task gives, in its order."
        # Gymnasium's bodies leave their position out of what they observe by default: that mistake
        # has its own advice.
        if got < expected and any(
            name in ("x", "y") for name in task.observation_names[: expected - got]
        ):
            left_out = " and ".join(task.observation_names[: expected - got])
            advice = (
                f"the {left_out} position is often left out; "
                "record with exclude_current_positions_from_observation=False."
            )
        return [
            f"observations have {got} columns, task {task.name} has {expected} ({names}): {advice}"
        ]
    return _order_mismatch(
        "observation", demos.observation_names, task.observation_names, task.name
    )


def _order_mismatch(
    kind: str, ours: tuple[str, ...], theirs: tuple[str, ...], task: str
) -> list[str]:
    """A column that bears the name of another column of the task:
    its values would silently be taken for those."""
    known = _bare_names(theirs)
    for column, name in enumerate(_bare_names(ours)):
        # A number only counts the columns of a log; it names none of the task's.
        if not name.isdigit() and name in known and known[column] != name:
            return [
                f"{kind} columns are in another order: column {column} is {ours[column]}, task "
                f"{task} has {theirs[column]}: reorder the columns to the task's order (of a "
                f"table: --columns.{kind}s NAMES)."
            ]
    return []


def _bare_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names as a table and a task can share them:
    obs[x], obs_x, obs.x, observation_x and x are all x."""
    matches = [_PREFIXED.fullmatch(name) for name in names]
    bare = tuple(
        name if match is None else match[1] or match[2]
        for name, match in zip(names, matches, strict=True)
    )
    # Where two names become one, nothing can be said about their order.
    if len(set(bare)) == len(bare):
        return bare
    return names


def _action_mismatch(demos: Demonstrations, task: Task) -> list[str]:
    kinds = {True: "discrete (integers)", False: "continuous (floats)"}
    if demos.discrete != task.discrete:
        return [
            f"actions are {kinds[demos.discrete]}, task {task.name} has {kinds[task.discrete]} "
            "ones: these demonstrations belong to another task, or were saved with the wrong dtype "
            "or shape."
        ]
    if isinstance(task.action_space, gym.spaces.Box):
        got = demos.trajectories.actions.shape[2]
        expected = task.action_space.shape[0]
        if got != expected:
            return [
                f"actions have {got} columns, task {task.name} has {expected} "
                f"({', '.join(task.action_names[:4])}...): record the actions given to the "
                "environment, all of them."
            ]
        swapped = _order_mismatch("action", demos.action_names, task.action_names, task.name)
        if swapped:
            return swapped
    outside = actions_outside(demos, task)
    if not outside.any():
        return []
    episode, step, *column = (int(i) for i in np.argwhere(outside)[0])
    value = demos.trajectories.actions[(episode, step, *column)]
    where = f"episode {episode}, step {step}" + (
        f", column {column[0]} ({task.action_names[column[0]]})" if column else ""
    )
    return [
        f"{int(outside.sum())} actions are outside the action space of task {task.name}, first at "
        f"{where}: {value} is not in {_bounds(task, column)}: {_advice(demos.discrete)}"
    ]


def _advice(discrete: bool) -> str:
    if discrete:
        return "number the choices as the environment does."
    return "record actions as the environment applies them (clipped to the space), in its units."


def _bounds(task: Task, column: list[int]) -> str:
    space = task.action_space
    if isinstance(space, gym.spaces.Discrete):
        return f"{space.start}..{space.start + space.n - 1}"
    return f"[{space.low[column[0]]:g}, {space.high[column[0]]:g}]"


def _horizon_mismatch(demos: Demonstrations, task: Task) -> list[str]:
    lengths = demos.trajectories.lengths
    if int(lengths.max()) <= task.horizon:
        return []
    return [
        f"episode {int(lengths.argmax())} has {int(lengths.max())} steps, task {task.name} ends "
        f"after {task.horizon}: cut the episodes there, or use a task with a longer horizon."
    ]


def actions_outside(demos: Demonstrations, task: Task) -> BoolArray:
    """True where an action is outside the task's space (rounding allowed):
    shape of `actions`, False on padding."""
    actions = demos.trajectories.actions
    mask = demos.trajectories.mask
    if isinstance(task.action_space, gym.spaces.Discrete):
        start = int(task.action_space.start)
        count = int(task.action_space.n)
        return np.asarray(((actions < start) | (actions >= start + count)) & mask)
    return outside_box(actions, task.action_space) & mask[..., None]


def outside_box(values: AnyArray, space: gym.spaces.Box) -> BoolArray:
    """True where values [..., k] leave the box of shape [k] by more than rounding."""
    low = space.low.astype(np.float64)
    high = space.high.astype(np.float64)

    def slack(bound: AnyArray) -> AnyArray:
        return ROUNDING * np.maximum(1.0, np.where(np.isfinite(bound), np.abs(bound), 0.0))

    return np.asarray((values < low - slack(low)) | (values > high + slack(high)))
