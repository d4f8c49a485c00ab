"""Where a run's agents went: a thinned record of its sampled episodes,
small enough to keep (`visited.npz`).

Without it nobody could say later what zeta's judgements rest on:
trust and explanations are read off these pairs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icrl.demos.reading import read_npz, reading
from icrl.errors import InputError
from icrl.files import write_through
from icrl.growing import Growing
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray, Pairs, Trajectories

VISITED = "visited.npz"
CHANCE = -1
"""The "round" of what an untrained agent did."""
MOST_PAIRS = {"chance": 4_000, "evidence": 8_000, "agents": 8_000}
"""Pairs kept of each kind of episode."""
_MOST_BYTES = 4_500_000
_MOST_FILE_BYTES = 100 * 10**6
"""A record has about `_MOST_BYTES`, and some per episode; a file that declares more than
this is none of ours."""
_MOST = 10**8
"""Rounds, steps of an episode and choices are fewer than this."""
_NAMES = (
    "observations",
    "actions",
    "episodes",
    "times",
    "rounds",
    "returns",
    "lengths",
    "evidence",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Visited:
    """n pairs (s_t, a_t) of E episodes."""

    observations: FloatArray
    """[n, o] float32"""
    actions: AnyArray
    """[n, a] float32, or [n] integers when discrete"""
    episodes: IntArray
    """[n]: which episode, 0..E-1, never falling"""
    times: IntArray
    """[n]: t"""
    rounds: IntArray
    """[E]: the round whose agent made the episode; `CHANCE`: an untrained one"""
    returns: FloatArray
    """[E]: undiscounted return of the whole episode"""
    lengths: IntArray
    """[E]: steps of the whole episode"""
    evidence: BoolArray
    """[E]: the episode counted as evidence when its round was over"""

    def __post_init__(self) -> None:
        """Validate."""
        n = len(self.observations)
        num_episodes = len(self.rounds)
        shapes = {name: list(np.shape(getattr(self, name))) for name in _NAMES}
        good = (
            self.observations.ndim == 2
            and self.actions.ndim in (1, 2)
            and shapes["actions"][0] == shapes["episodes"][0] == n
            and shapes["episodes"] == shapes["times"] == [n]
            and shapes["rounds"]
            == shapes["returns"]
            == shapes["lengths"]
            == shapes["evidence"]
            == [num_episodes]
        )
        if not good or n == 0:
            raise InputError(f"expected n >= 1 pairs of E episodes, got arrays of shapes {shapes}.")
        if (self.actions.ndim == 1) != (self.actions.dtype.kind in "iu"):
            raise InputError(
                f"actions {shapes['actions']} of type {self.actions.dtype}: need integers [n] or "
                "floats [n, a]."
            )
        for name in ("episodes", "times", "rounds", "lengths"):
            if getattr(self, name).dtype.kind not in "iu":
                raise InputError(f"{name} must be integers, got {getattr(self, name).dtype}.")
        if self.evidence.dtype != np.bool_:
            raise InputError(f"evidence must be true or false, got {self.evidence.dtype}.")
        for name in ("observations", "actions", "returns"):
            if (
                getattr(self, name).dtype.kind not in "fiu"
                or not np.isfinite(getattr(self, name)).all()
            ):
                raise InputError(f"{name} holds values that are not finite numbers.")
        self._require_possible()
        steps = np.diff(self.episodes)
        if self.episodes.min() < 0 or self.episodes.max() >= num_episodes or (steps < 0).any():
            raise InputError(f"episodes must be 0..{num_episodes - 1}, in order.")

    def _require_possible(self) -> None:
        """Raise `InputError` if a number cannot be what it stands for."""
        limits = {
            "rounds": (CHANCE, _MOST),
            "lengths": (1, _MOST),
            "times": (0, int(self.lengths.max(initial=1)) - 1),
        }
        limits |= {"actions": (0, _MOST)} if self.discrete else {}
        for name, (low, high) in limits.items():
            values = getattr(self, name)
            if values.size and (values.min() < low or values.max() > high):
                raise InputError(
                    f"{name} reach from {values.min()} to {values.max()}, expected {low} to {high}."
                )

    @property
    def discrete(self) -> bool:
        """Actions are integers."""
        return self.actions.ndim == 1

    @property
    def by_agents(self) -> BoolArray:
        """[n]: the pair is a trained agent's, not chance's."""
        return np.asarray(self.rounds[self.episodes] != CHANCE)

    def pairs(self, keep: BoolArray | None = None) -> Pairs:
        """The pairs, or those where `keep` [n] is True."""
        if keep is None:
            return Pairs(observations=self.observations, actions=self.actions)
        return Pairs(observations=self.observations[keep], actions=self.actions[keep])

    def trajectories(self, number: int) -> Trajectories | None:
        """The episodes of round `number` as they were kept:
        fewer steps, the same returns (spread evenly over them)."""
        return self._episodes(np.flatnonzero(self.rounds == number))

    def evidence_trajectories(self) -> list[Trajectories]:
        """The episodes that counted as evidence, as they were kept, round by round."""
        rounds = np.unique(self.rounds[self.evidence])
        parts = [
            self._episodes(np.flatnonzero(self.evidence & (self.rounds == number)))
            for number in rounds
        ]
        return [part for part in parts if part is not None]

    def _episodes(self, indices: IntArray) -> Trajectories | None:
        indices = indices[np.isin(indices, self.episodes)]
        if not len(indices):
            return None
        counts = np.array([np.sum(self.episodes == index) for index in indices])
        shape = (len(indices), int(counts.max()))
        observations = np.zeros((*shape, self.observations.shape[1]), np.float32)
        actions = np.zeros((*shape, *self.actions.shape[1:]), self.actions.dtype)
        rewards = np.zeros(shape)
        for row, (index, count) in enumerate(zip(indices, counts, strict=True)):
            chosen = self.episodes == index
            observations[row, :count] = self.observations[chosen]
            actions[row, :count] = self.actions[chosen]
            # Evenly: when it was earned is not kept, only how much.
            rewards[row, :count] = self.returns[index] / count
        return Trajectories(
            observations=observations, actions=actions, rewards=rewards, lengths=counts
        )


class PoolState(NamedTuple):
    """All that a pool carries on."""

    most_pairs: int
    every: int
    """Pairs of which one is kept."""
    pairs: dict[str, AnyArray]
    """[n, ...] each, by name."""


class RecorderState(NamedTuple):
    """All that a recorder carries on: one that is made of it records as the first would have."""

    pools: dict[str, PoolState]
    episodes: dict[str, AnyArray]
    """[E] each: rounds, returns, lengths, evidence."""


class _Pool:
    """Pairs of one kind of episode, thinned evenly whenever they become too many."""

    def __init__(self, most_pairs: int, every: int = 1) -> None:
        self.most_pairs = most_pairs
        self.every = every
        self.pairs: dict[str, Growing] = {}

    def state(self) -> PoolState:
        """What there is now."""
        return PoolState(self.most_pairs, self.every, _rows(self.pairs))

    def add(self, trajectories: Trajectories, first: int) -> None:
        """Keep some pairs of episodes that are counted from `first`."""
        rows, times = np.nonzero(trajectories.mask)  # ordered by episode, then time
        part = {
            "observations": np.asarray(trajectories.observations[rows, times], np.float32),
            "actions": np.asarray(trajectories.actions[rows, times]),
            "episodes": rows + first,
            "times": times,
        }
        if part["actions"].dtype.kind == "f":
            part["actions"] = part["actions"].astype(np.float32)
        _add(self.pairs, self._thinned(part))
        # Halved as often as needed: early rounds are thinned like late ones, so the record is even
        # over the run and its size does not grow.
        while len(self.pairs["times"].rows) > self.most_pairs:
            self.every *= 2
            self.pairs = _growing(self._thinned(_rows(self.pairs)))

    def _thinned(self, part: dict[str, AnyArray]) -> dict[str, AnyArray]:
        # each episode has a phase of its own, so that short ones are not all kept at their start
        keep = (part["times"] + part["episodes"]) % self.every == 0
        return {name: values[keep] for name, values in part.items()}


def _growing(arrays: dict[str, AnyArray]) -> dict[str, Growing]:
    return {name: Growing(values) for name, values in arrays.items()}


def _rows(columns: dict[str, Growing]) -> dict[str, AnyArray]:
    return {name: column.rows for name, column in columns.items()}


def _add(columns: dict[str, Growing], arrays: dict[str, AnyArray]) -> None:
    """Put rows at the end of each column; the first ones make the columns."""
    for name, values in arrays.items():
        if name in columns:
            columns[name].add(values)
        else:
            columns[name] = Growing(values)


class VisitRecorder:
    """Collects a run's `Visited`, round by round, in bounded memory."""

    def __init__(self, state: RecorderState | None = None) -> None:
        self.pools: dict[str, _Pool] = {}
        self.episodes: dict[str, Growing] = {}
        if state is not None:
            self.episodes = _growing(state.episodes)
            for kind, kept in state.pools.items():
                pool = _Pool(kept.most_pairs, kept.every)
                pool.pairs = _growing(kept.pairs)
                self.pools[kind] = pool

    def state(self) -> RecorderState:
        """What there is now."""
        return RecorderState(
            {kind: pool.state() for kind, pool in self.pools.items()}, _rows(self.episodes)
        )

    @property
    def num_episodes(self) -> int:
        """E so far."""
        if not self.episodes:
            return 0
        return len(self.episodes["rounds"].rows)

    def add(
        self, trajectories: Trajectories, number: int, weights: FloatArray | None = None
    ) -> None:
        """Record the samples of round `number` (`CHANCE`: an untrained agent's).

        `weights` [N]: how much each counts as evidence. Those that do are kept more densely than
        others: zeta rests on them.
        """
        if weights is None:
            counted = np.zeros(trajectories.num_trajectories, np.bool_)
        else:
            counted = np.asarray(weights) > 0
        pair_bytes = 4 * (
            trajectories.observations.shape[2]
            + int(np.prod(trajectories.actions.shape[2:], initial=1))
        )
        # Wide observations (the Ant has over a hundred) get fewer pairs, not a larger file.
        share = min(1.0, _MOST_BYTES / (pair_bytes + 16) / sum(MOST_PAIRS.values()))
        if number == CHANCE:
            kind = "chance"
        elif counted.any():
            kind = "evidence"
        else:
            kind = "agents"
        pool = self.pools.setdefault(kind, _Pool(max(1, int(share * MOST_PAIRS[kind]))))
        pool.add(trajectories, self.num_episodes)
        made: dict[str, AnyArray] = {
            "rounds": np.full(trajectories.num_trajectories, number, np.int32),
            "returns": np.asarray(trajectories.returns, np.float64),
            "lengths": np.asarray(trajectories.lengths, np.int32),
            "evidence": counted,
        }
        _add(self.episodes, made)

    def visited(self) -> Visited:
        """All that was kept, in the order of the episodes."""
        parts = [_rows(pool.pairs) for pool in self.pools.values()]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in _NAMES[:4]}
        # Pools are kept by kind; readers cut by episode, and need those to stand in order.
        order = np.lexsort((joined["times"], joined["episodes"]))
        return Visited(
            observations=joined["observations"][order],
            actions=joined["actions"][order],
            episodes=joined["episodes"][order].astype(np.int32),
            times=joined["times"][order].astype(np.int32),
            **{name: values.copy() for name, values in _rows(self.episodes).items()},
        )


def save_visited(visited: Visited, path: Path) -> None:
    """Write the record, whole or not at all; plain arrays, never pickled."""
    arrays = {name: getattr(visited, name) for name in _NAMES}
    write_through(path, lambda stream: np.savez(stream, allow_pickle=False, **arrays))


def load_visited(path: Path) -> Visited:
    """Read a record that `save_visited` wrote; anything else is an `InputError`."""
    with reading(path, "npz"):
        archive = read_npz(path, _NAMES, _MOST_FILE_BYTES)
        missing = [name for name in _NAMES if name not in archive]
        if missing:
            raise InputError(
                f"has no {', '.join(missing)}: it is not the record of a run's agents."
            )
        return Visited(**{name: archive[name] for name in _NAMES})
