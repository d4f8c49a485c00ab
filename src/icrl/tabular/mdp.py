"""`TabularMDP`: a finite world with a known reward,
a fixed horizon and no constraint (the nominal M)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from icrl.errors import InputError
from icrl.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class TabularMDP:
    """S states, A actions, exactly `horizon` steps.

    A trajectory is (s_0, a_0, ..., s_{T-1}, a_{T-1}).
    """

    transitions: FloatArray
    """[S, A, S]: p(s' | s, a)"""
    reward: FloatArray
    """[S, A]"""
    start: FloatArray
    """[S]: distribution of s_0"""
    horizon: int
    """T: every trajectory has this many steps;
    an episode that ends early sits in an absorbing state."""
    observations: FloatArray
    """[S, o]: what the task shows in each state; rows are distinct"""
    observation_names: tuple[str, ...]
    """One name per observation dimension."""
    state_names: tuple[str, ...]
    """One name per state, for reports."""
    action_names: tuple[str, ...]
    """One name per action."""

    def __post_init__(self) -> None:
        """Validate shapes, probabilities and names."""
        _check_shapes(self)
        _check_distribution("transitions", self.transitions)
        _check_distribution("start", self.start)
        if not np.all(np.isfinite(self.reward)):
            bad = int(np.sum(~np.isfinite(self.reward)))
            raise InputError(
                f"reward must be finite, but {bad} of {self.reward.size} entries are not; give "
                "numbers: a forbidden pair is a constraint, not a reward of -inf."
            )
        # Demonstrations come as observations: states that look alike could not be told apart in
        # them.
        if len(np.unique(self.observations, axis=0)) != self.num_states:
            raise InputError(
                f"observations must tell the states apart, but {self.num_states} states share "
                f"{len(np.unique(self.observations, axis=0))} distinct rows; add a coordinate."
            )

    @property
    def num_states(self) -> int:
        """S."""
        return int(self.transitions.shape[0])

    @property
    def num_actions(self) -> int:
        """A."""
        return int(self.transitions.shape[1])

    @property
    def deterministic(self) -> bool:
        """Every pair (s, a) has one successor."""
        return self._num_successors == 1

    @cached_property
    def successors(self) -> IntArray:
        """[S, A, K]: the states that (s, a) can lead to;
        K is the most any pair has, rows are padded by state 0."""
        # Likeliest first, so that padding, with probability 0, is what is cut off or comes last.
        order = np.argsort(-self.transitions, axis=2, kind="stable")[:, :, : self._num_successors]
        return np.where(np.take_along_axis(self.transitions, order, axis=2) > 0, order, 0)

    @cached_property
    def successor_log_probs(self) -> FloatArray:
        """[S, A, K]: log p of each of `successors`; −inf on padding."""
        probs = -np.sort(-self.transitions, axis=2)[:, :, : self._num_successors]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probs))

    @cached_property
    def _num_successors(self) -> int:
        return int(np.max(np.sum(self.transitions > 0, axis=2)))


def _check_shapes(mdp: TabularMDP) -> None:
    """Every array and tuple of the MDP fits [S, A, S]."""
    shape = np.shape(mdp.transitions)
    if len(shape) != 3 or shape[0] != shape[2] or 0 in shape:
        raise InputError(
            f"transitions must have shape [S, A, S] with S, A >= 1, got {list(shape)}."
        )
    num_states, num_actions, _ = shape
    expected = {
        "reward": (np.shape(mdp.reward), (num_states, num_actions)),
        "start": (np.shape(mdp.start), (num_states,)),
        "observations": (
            np.shape(mdp.observations),
            (num_states, len(mdp.observation_names)),
        ),
        "state_names": ((len(mdp.state_names),), (num_states,)),
        "action_names": ((len(mdp.action_names),), (num_actions,)),
    }
    for name, (got, wanted) in expected.items():
        if got != wanted:
            raise InputError(
                f"{name} must have shape {list(wanted)} (transitions have {num_states} states and "
                f"{num_actions} actions), got {list(got)}."
            )
    if mdp.horizon < 1:
        raise InputError(f"horizon must be a whole number >= 1, got {mdp.horizon}.")


def _check_distribution(name: str, probs: FloatArray) -> None:
    """The last axis of `probs` is non-negative and sums to 1."""
    if not np.all(np.isfinite(probs)) or np.any(probs < 0):
        raise InputError(
            f"{name} must hold probabilities >= 0, but the smallest entry is {np.min(probs)}."
        )
    sums = np.sum(probs, axis=-1)
    if sums.ndim:
        worst = np.unravel_index(np.argmax(np.abs(sums - 1.0)), sums.shape)
    else:
        worst = ()
    if abs(sums[worst] - 1.0) > 1e-9:
        if worst:
            where = f" at index {tuple(int(i) for i in worst)}"
        else:
            where = ""
        raise InputError(
            f"{name} must sum to 1{where}, got {float(sums[worst]):.12g}; normalise the row."
        )


def successor_transitions(successors: IntArray) -> FloatArray:
    """p(s' | s, a) = 1[s' = successors[s, a]]:
    deterministic transitions [S, A, S] from successors [S, A]."""
    num_states = successors.shape[0]
    if np.any(successors < 0) or np.any(successors >= num_states):
        raise InputError(
            f"successors must be states 0 to {num_states - 1}, got {int(np.min(successors))} to "
            f"{int(np.max(successors))}."
        )
    return np.asarray(np.eye(num_states)[successors])


def hard_log_zeta(forbidden: BoolArray) -> FloatArray:
    """log ζ of a hard constraint: −inf where forbidden [..., S, A], else 0."""
    return np.where(forbidden, -np.inf, 0.0)
