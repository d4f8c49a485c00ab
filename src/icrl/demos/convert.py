"""`icrl demos convert`: the same demonstrations in another format, written,
read again and compared."""

import re
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np

from icrl.demos.dataset import Demonstrations, check_against
from icrl.demos.fitting import fit_to_task
from icrl.demos.formats import SUFFIXES, ColumnMapping, load_demos, save_demos
from icrl.demos.formats_minari import find_minari, minari_root
from icrl.demos.reading import require_extra
from icrl.errors import InputError
from icrl.tasks.task import Task

MINARI = "minari:"
"""A target that begins so is the id of a new Minari dataset."""
_ID = re.compile(r"([\w-]+/)*[\w-]+-v\d+")


def convert_demos(
    source: str, target: str, columns: ColumnMapping | None = None, task: Task | None = None
) -> Demonstrations:
    """Read `source` (see `load_demos`), write it to `target`,
    and make sure that what is read there is the same.

    `target` is a file (.npz, .csv, .parquet) or `minari:ID`; nothing is overwritten. With a task
    the demonstrations must fit it, and a Minari dataset gets its action space.
    """
    # Before the source is read, which may take minutes.
    _require_free(target)
    demos = load_demos(source, columns)
    if task is not None:
        # Their form alone: rewards that the task could say would cost the last step of each
        # episode, and what is written is to be the same.
        demos = fit_to_task(demos, task)
        check_against(demos, task)
    if target.startswith(MINARI):
        save_minari(demos, target.removeprefix(MINARI), task)
        # Read again and compared: a converter's fault would otherwise be found by whoever learns
        # from it.
        found = load_demos(find_minari(target.removeprefix(MINARI)))
    else:
        save_demos(demos, target)
        found = load_demos(target)
    if not _same(demos, found):
        raise InputError(
            f"{target} was written, but does not hold what {source} does: do not use it, and "
            "report this."
        )
    return found


def save_minari(demos: Demonstrations, dataset_id: str, task: Task | None = None) -> None:
    """Write a new local Minari dataset; the action space is the task's, or unbounded without one.

    Minari keeps T + 1 observations for T actions.
    The last one was never recorded here: the one before stands for it.
    """
    try:
        import minari
        from minari.data_collector import EpisodeBuffer
    except ImportError as error:
        raise require_extra("minari", "minari", Path(dataset_id)) from error
    if not demos.has_rewards:
        raise InputError(
            "a Minari dataset holds a reward for every step, and these demonstrations have none: "
            "add them."
        )
    t = demos.trajectories
    buffers = [
        EpisodeBuffer(
            id=index,
            observations=list(
                np.concatenate(
                    [t.observations[index, :steps], t.observations[index, steps - 1 : steps]]
                )
            ),
            actions=list(t.actions[index, :steps]),
            rewards=list(t.rewards[index, :steps]),
            # Whether an episode ended or was cut is not recorded here: cut claims less.
            terminations=[False] * steps,
            truncations=[step == steps - 1 for step in range(steps)],
        )
        for index, steps in enumerate(int(length) for length in t.lengths)
    ]
    observation_space, action_space = _spaces(demos, task)
    with warnings.catch_warnings():
        # about authors and an environment to evaluate in, which logs do not have
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers(
            dataset_id=dataset_id,
            buffer=buffers,
            observation_space=observation_space,
            action_space=action_space,
            description=(
                "Made by icrl demos convert. The observation after the last action is not known: "
                "repeated."
            ),
        )


def _spaces(
    demos: Demonstrations, task: Task | None
) -> tuple[gym.spaces.Box, gym.spaces.Box | gym.spaces.Discrete]:
    t = demos.trajectories
    observations = gym.spaces.Box(
        -np.inf, np.inf, t.observations.shape[2:], t.observations.dtype.type
    )
    if task is not None:
        return observations, task.action_space
    if demos.discrete:
        return observations, gym.spaces.Discrete(int(t.actions.max()) + 1)
    return observations, gym.spaces.Box(-np.inf, np.inf, t.actions.shape[2:], t.actions.dtype.type)


def _require_free(target: str) -> None:
    if target.startswith(MINARI):
        name = target.removeprefix(MINARI)
        if not _ID.fullmatch(name):
            raise InputError(
                f"{name!r} is no Minari id: expected e.g. minari:my-robot/expert-v0 (it ends in "
                "-v0)."
            )
        taken = (minari_root() / name).exists()
        path = minari_root() / name
    else:
        path = Path(target)
        if path.suffix not in SUFFIXES:
            raise InputError(
                f"{target}: the suffix {path.suffix!r} is unknown, expected one of "
                f"{', '.join(SUFFIXES)}, or {MINARI}ID for a Minari dataset."
            )
        taken = path.exists()
    if taken:
        raise InputError(
            f"{path} exists already: nothing was overwritten. Choose another target, or remove it "
            "first."
        )


def _same(ours: Demonstrations, theirs: Demonstrations) -> bool:
    """Bit for bit, up to the width of the floats."""
    a = ours.trajectories
    b = theirs.trajectories
    pairs = (
        (a.observations, b.observations),
        (a.actions, b.actions),
        (a.rewards, b.rewards),
        (a.lengths, b.lengths),
    )
    alike = ours.discrete == theirs.discrete and ours.has_rewards == theirs.has_rewards
    return alike and all(np.array_equal(mine, found) for mine, found in pairs)
