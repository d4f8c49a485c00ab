"""Putting sets of trajectories together and taking them apart."""

from collections.abc import Sequence

import numpy as np

from icrl.types import AnyArray, BoolArray, FloatArray, IntArray, Pairs, Trajectories


def select(trajectories: Trajectories, keep: BoolArray) -> Trajectories:
    """The trajectories where `keep` [N] is True."""
    return Trajectories(
        observations=trajectories.observations[keep],
        actions=trajectories.actions[keep],
        rewards=trajectories.rewards[keep],
        lengths=trajectories.lengths[keep],
    )


def cut(trajectories: Trajectories, lengths: IntArray) -> Trajectories:
    """Each trajectory up to so many of its steps [N], but at least the first."""
    # At least one step, though it earns nothing: an episode of none has no start to be compared
    # from.
    kept = np.maximum(np.minimum(lengths, trajectories.lengths), 1)
    times = np.arange(trajectories.rewards.shape[1])
    rewards = np.where(times[None, :] < np.asarray(lengths)[:, None], trajectories.rewards, 0.0)
    return Trajectories(
        observations=trajectories.observations,
        actions=trajectories.actions,
        rewards=rewards,
        lengths=kept,
    )


def join(parts: Sequence[Trajectories]) -> Trajectories:
    """All trajectories of several sets, in order, padded with zeros to the longest."""
    longest = max(part.observations.shape[1] for part in parts)

    def padded(array: AnyArray) -> AnyArray:
        return np.pad(array, ((0, 0), (0, longest - array.shape[1]), *((0, 0),) * (array.ndim - 2)))

    return Trajectories(
        observations=np.concatenate([padded(part.observations) for part in parts]),
        actions=np.concatenate([padded(part.actions) for part in parts]),
        rewards=np.concatenate([padded(part.rewards) for part in parts]),
        lengths=np.concatenate([part.lengths for part in parts]),
    )


def real_steps(trajectories: Trajectories, values: AnyArray) -> AnyArray:
    """Values [N, T, ...] of the real steps: [steps, ...]; a copy only where there is padding."""
    mask = trajectories.mask
    if mask.all():
        return values.reshape(-1, *values.shape[2:])
    return values[mask]


def pairs_of(trajectories: Trajectories, every: int = 1) -> Pairs:
    """The real pairs (s, a), every so many of them."""
    if every == 1:
        return Pairs(
            observations=real_steps(trajectories, trajectories.observations),
            actions=real_steps(trajectories, trajectories.actions),
        )
    # chosen before they are copied: all of them may be as large as the memory
    rows, times = np.unravel_index(
        np.flatnonzero(trajectories.mask)[::every], trajectories.mask.shape
    )
    return Pairs(
        observations=trajectories.observations[rows, times],
        actions=trajectories.actions[rows, times],
    )


def join_pairs(parts: Sequence[Pairs]) -> Pairs:
    """All pairs of several sets."""
    return Pairs(
        observations=np.concatenate([part.observations for part in parts]),
        actions=np.concatenate([part.actions for part in parts]),
    )


def along(pairs: Pairs, column: int, values: FloatArray) -> Pairs:
    """The pairs once for each of `values` [K],
    with that put in one column and all else as recorded.

    Columns are those of [s, a]. Shapes: [P, o], [P, ...] -> [K, P, o], [K, P, ...].
    """
    observations = np.repeat(pairs.observations[None], len(values), axis=0)
    actions = np.repeat(pairs.actions[None], len(values), axis=0)
    width = observations.shape[-1]
    if column < width:
        observations[..., column] = values[:, None]
    else:
        actions[..., column - width] = values[:, None]
    return Pairs(observations=observations, actions=actions)
