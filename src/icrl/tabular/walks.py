"""`Walks`: trajectories as indices of states and actions,
and their conversion from and to `Trajectories`."""

from dataclasses import dataclass

import numpy as np

from icrl.errors import InputError
from icrl.tabular.mdp import TabularMDP
from icrl.types import BoolArray, FloatArray, IntArray, Trajectories


@dataclass(frozen=True, kw_only=True)
class Walks:
    """N trajectories of a `TabularMDP`, each of exactly T = horizon steps."""

    states: IntArray
    """[N, T]"""
    actions: IntArray
    """[N, T]"""

    def __post_init__(self) -> None:
        """Validate shapes."""
        if (
            np.ndim(self.states) != 2
            or np.shape(self.states) != np.shape(self.actions)
            or 0 in self.states.shape
        ):
            raise InputError(
                "states and actions must both have shape [N, T] with N, T >= 1, got "
                f"{list(np.shape(self.states))} and {list(np.shape(self.actions))}."
            )

    @property
    def num_walks(self) -> int:
        """N."""
        return int(self.states.shape[0])


def pair_counts(mdp: TabularMDP, walks: Walks) -> FloatArray:
    """n(s, a) = 1/N Σᵢ Σₜ 1[sₜ = s, aₜ = a]: mean visits of each pair, [S, A]."""
    # one number for each pair, so that a single bincount counts them all
    flat = walks.states.ravel() * mdp.num_actions + walks.actions.ravel()
    counts = np.bincount(flat, minlength=mdp.num_states * mdp.num_actions)
    return np.asarray(counts.reshape(mdp.num_states, mdp.num_actions) / walks.num_walks)


def pairs_used(mdp: TabularMDP, walks: Walks) -> BoolArray:
    """[S, A]: True where some walk takes the pair."""
    return np.asarray(pair_counts(mdp, walks) > 0)


def to_walks(mdp: TabularMDP, trajectories: Trajectories, tolerance: float = 1e-4) -> Walks:
    """Look every observation up among `mdp.observations`;
    all trajectories must last the whole horizon."""
    short = np.flatnonzero(np.asarray(trajectories.lengths) != mdp.horizon)
    if short.size:
        raise InputError(
            f"{short.size} of {trajectories.num_trajectories} trajectories do not last the horizon "
            f"of {mdp.horizon} steps (number {short[0]} has "
            f"{int(trajectories.lengths[short[0]])}); give the MDP the right horizon, or an "
            "absorbing state in which an ended episode stays."
        )
    seen = np.asarray(trajectories.observations)[:, : mdp.horizon]  # [N, T, o]
    if seen.shape[-1] != mdp.observations.shape[1]:
        raise InputError(
            f"the trajectories observe {seen.shape[-1]} numbers, the MDP shows "
            f"{mdp.observations.shape[1]} ({', '.join(mdp.observation_names)})."
        )
    gaps = np.max(np.abs(seen[:, :, None, :] - mdp.observations), axis=-1)  # [N, T, S]
    states = np.argmin(gaps, axis=-1)
    worst = float(np.max(np.min(gaps, axis=-1)))
    # "not <=": NaN is refused, too.
    if not worst <= tolerance:
        raise InputError(
            f"an observation is {worst:.3g} away from the nearest of the {mdp.num_states} states "
            f"(tolerance {tolerance:g}): the demonstrations come from another world, or are scaled "
            "otherwise."
        )
    actions = np.asarray(trajectories.actions)[:, : mdp.horizon]
    if (
        actions.ndim != 2
        or not np.issubdtype(actions.dtype, np.integer)
        or np.any((actions < 0) | (actions >= mdp.num_actions))
    ):
        raise InputError(
            f"actions must be whole numbers 0 to {mdp.num_actions - 1} of shape [N, T], got "
            f"{actions.dtype} of shape {list(actions.shape)}."
        )
    return checked_walks(mdp, Walks(states=states, actions=actions.astype(np.int64)))


def to_trajectories(mdp: TabularMDP, walks: Walks) -> Trajectories:
    """The same walks as the task would show them."""
    return Trajectories(
        observations=mdp.observations[walks.states],
        actions=walks.actions,
        rewards=mdp.reward[walks.states, walks.actions],
        lengths=np.full(walks.num_walks, walks.states.shape[1]),
    )


def checked_walks(mdp: TabularMDP, walks: Walks) -> Walks:
    """The walks themselves, if the MDP can produce them:
    right horizon, possible start, possible moves."""
    if walks.states.shape[1] != mdp.horizon:
        raise InputError(
            f"walks last {walks.states.shape[1]} steps, the horizon of the MDP is {mdp.horizon}."
        )
    num_states, num_actions = mdp.reward.shape
    in_range = (np.min(walks.states) >= 0) and (np.max(walks.states) < num_states)
    if not (in_range and np.min(walks.actions) >= 0 and np.max(walks.actions) < num_actions):
        raise InputError(
            f"walks must use states 0 to {num_states - 1} and actions 0 to {num_actions - 1}."
        )
    if np.any(mdp.start[walks.states[:, 0]] == 0):
        bad = int(np.flatnonzero(mdp.start[walks.states[:, 0]] == 0)[0])
        state = mdp.state_names[walks.states[bad, 0]]
        raise InputError(f"demonstration {bad} starts in {state}, where the MDP never starts.")
    # [N, T-1]
    moves = mdp.transitions[walks.states[:, :-1], walks.actions[:, :-1], walks.states[:, 1:]]
    if np.any(moves == 0):
        bad, step = (int(i) for i in np.argwhere(moves == 0)[0])
        s = walks.states[bad, step]
        a = walks.actions[bad, step]
        after = walks.states[bad, step + 1]
        raise InputError(
            f"demonstration {bad} goes from {mdp.state_names[s]} to {mdp.state_names[after]} by "
            f"{mdp.action_names[a]} at step {step}: the MDP cannot do that."
        )
    return walks
