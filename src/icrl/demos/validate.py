"""What every set of demonstrations must satisfy: shapes, lengths, dtypes, names, finite numbers."""

import numpy as np

from icrl.errors import InputError
from icrl.types import AnyArray, Trajectories


def validate_demos(
    trajectories: Trajectories,
    discrete: bool,
    observation_names: tuple[str, ...] = (),
    action_names: tuple[str, ...] = (),
) -> None:
    """Raise `InputError` unless shapes, dtypes,
    lengths and names agree and every real step is finite."""
    # In this order: each may rely on what those before it made sure of.
    _validate_shapes(trajectories, discrete)
    _validate_lengths(trajectories)
    _validate_dtypes(trajectories, discrete)
    _validate_names("observation", observation_names, int(np.shape(trajectories.observations)[2]))
    if not discrete:
        _validate_names("action", action_names, int(np.shape(trajectories.actions)[2]))
    _validate_finite("observations", trajectories.observations, trajectories, observation_names)
    _validate_finite("actions", trajectories.actions, trajectories, action_names)
    _validate_finite("rewards", trajectories.rewards, trajectories, ())


def _validate_shapes(trajectories: Trajectories, discrete: bool) -> None:
    observations = np.shape(trajectories.observations)
    actions = np.shape(trajectories.actions)
    if len(observations) != 3:
        raise InputError(
            f"observations have shape {list(observations)}, expected [episodes, steps, columns]: "
            "flatten each observation to one row; add a leading axis if there is one episode."
        )
    if observations[0] == 0:
        raise InputError("there are 0 episodes, expected at least 1: record or select some.")
    if observations[2] == 0:
        raise InputError("observations have 0 columns, expected at least 1.")
    if discrete:
        rank = 2
    else:
        rank = 3
    if len(actions) != rank or 0 in actions[2:]:
        if discrete:
            layout = "[episodes, steps] of integers (discrete)"
        else:
            layout = "[episodes, steps, columns] of floats"
        raise InputError(
            f"actions have shape {list(actions)}, expected {layout}: continuous actions of one "
            "column are [episodes, steps, 1], discrete ones [episodes, steps]."
        )
    for name, shape in (("actions", actions[:2]), ("rewards", np.shape(trajectories.rewards))):
        if shape != observations[:2]:
            raise InputError(
                f"{name} cover {list(shape)} [episodes, steps], observations "
                f"{list(observations[:2])}: each pair is (s_t, a_t), so drop the observation that "
                "follows the last action."
            )


def _validate_lengths(trajectories: Trajectories) -> None:
    num, longest = np.shape(trajectories.observations)[:2]
    lengths = np.asarray(trajectories.lengths)
    if lengths.shape != (num,) or not np.issubdtype(lengths.dtype, np.integer):
        raise InputError(
            f"lengths have shape {list(lengths.shape)} and dtype {lengths.dtype}, expected [{num}] "
            "integers: one per episode."
        )
    wrong = np.flatnonzero((lengths < 1) | (lengths > longest))
    if wrong.size:
        raise InputError(
            f"episode {wrong[0]} has length {lengths[wrong[0]]}, expected 1 to {longest} (the "
            f"steps in the arrays); {wrong.size} of {num} episodes are like this: drop empty "
            "episodes, keep whole ones."
        )


def _validate_dtypes(trajectories: Trajectories, discrete: bool) -> None:
    for name in ("observations", "rewards") if discrete else ("observations", "actions", "rewards"):
        dtype = np.asarray(getattr(trajectories, name)).dtype
        if not np.issubdtype(dtype, np.floating):
            raise InputError(
                f"{name} have dtype {dtype}, expected floats: convert them with .astype(float)."
            )
    dtype = np.asarray(trajectories.actions).dtype
    if discrete and not np.issubdtype(dtype, np.integer):
        raise InputError(
            f"actions have dtype {dtype}, expected integers because they are discrete: convert "
            "them with .astype(int), or give continuous actions as [episodes, steps, 1]."
        )


def _validate_names(kind: str, names: tuple[str, ...], width: int) -> None:
    if names and len(names) != width:
        raise InputError(
            f"there are {len(names)} {kind} names for {width} columns: give one name per column, "
            "or none."
        )
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the {kind} name {twice!r} stands for two columns: names must differ.")


def _validate_finite(
    kind: str, values: AnyArray, trajectories: Trajectories, names: tuple[str, ...]
) -> None:
    values = np.asarray(values)
    if np.issubdtype(values.dtype, np.integer):
        return
    # Padding may hold anything; it is cleaned afterwards.
    mask = trajectories.mask.reshape(values.shape[:2] + (1,) * (values.ndim - 2))
    wrong = np.argwhere(~np.isfinite(values) & mask)
    if wrong.size == 0:
        return
    episode, step, *column = (int(i) for i in wrong[0])
    where = f"episode {episode}, step {step}"
    if column:
        where += f", column {column[0]}" + (f" ({names[column[0]]})" if names else "")
    if column:
        columns = [names[i] if names else str(i) for i in np.unique(wrong[:, 2])]
    else:
        columns = []
    if columns:
        among = f"in {len(columns)} columns ({', '.join(columns[:6])}) and "
    else:
        among = "in "
    raise InputError(
        f"{kind}: {where} is {values[tuple(wrong[0])]}, expected a finite number; {len(wrong)} "
        f"such values in all, {among}{len(np.unique(wrong[:, 0]))} of {len(values)} episodes: drop "
        "these episodes, or cut them before the first such step."
    )
