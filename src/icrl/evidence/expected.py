"""What demonstrations earn from a like start: the yardstick of every agent.

The likelihood has its partition function per start. A trajectory that earns no more than
demonstrations do from where it starts needs no explanation; one that earns more by more than their
own scatter does.
"""

from dataclasses import dataclass, replace

import numpy as np

from icrl.trajectories import cut
from icrl.types import FloatArray, IntArray, Trajectories

_NEAREST = 3
_RIDGE = 1.0
_LEAST_SHOWN = 6
"""Fewer demonstrations say nothing about how returns depend on the start."""
_LEAST_SCATTER = 0.05
"""Of the way from chance to demonstrations: a smaller difference of returns is none."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """V_D(s₀), σ_D, and what chance earns."""

    starts: FloatArray
    """[N, k]: first observations of demonstrations, those that vary, in deviations"""
    used: FloatArray
    """[o]: one over the deviation of each first observation; 0 where it does not vary"""
    returns: FloatArray
    """[N]"""
    kind: str
    """mean, nearest or linear: whichever foretells held-out returns best"""
    scatter: float
    """σ_D"""
    chance: float
    """Mean return of an untrained agent."""
    chance_rate: float
    """Its mean reward per step."""
    length: float
    """Mean length of demonstrations."""
    steps: int | None
    """Returns are compared over so many first steps,
    where demonstrations are clips of longer episodes."""

    @property
    def mean(self) -> float:
        """Of the demonstrations' returns."""
        return float(np.mean(self.returns))

    @property
    def way(self) -> float:
        """From what chance earns to what demonstrations earn."""
        return abs(self.mean - self.chance)

    @property
    def standard_error(self) -> float:
        """Of that mean, as far as the start does not explain it."""
        return self.scatter / float(np.sqrt(len(self.returns)))

    def returns_of(self, samples: Trajectories) -> FloatArray:
        """[M]: returns over equal lengths."""
        if self.steps is None:
            return samples.returns
        return np.asarray(np.sum((samples.rewards * samples.mask)[:, : self.steps], axis=1))

    def from_starts(self, samples: Trajectories) -> FloatArray:
        """[M]: V_D at the first observation of each."""
        starts = _scaled(samples.observations[:, 0], self.used)
        if self.kind == "nearest":
            gaps = np.sum((starts[:, None] - self.starts[None]) ** 2, axis=-1)
            return np.asarray(self.returns[np.argsort(gaps, axis=1)[:, :_NEAREST]].mean(axis=1))
        if self.kind == "linear":
            return np.asarray(_with_one(starts) @ _ridge(self.starts) @ self.returns)
        return np.full(len(starts), self.mean)

    def advantages(self, samples: Trajectories) -> FloatArray:
        """[M]: A = R − V_D(s₀), in units of σ_D."""
        return (self.returns_of(samples) - self.from_starts(samples)) / self.scatter

    def stopped(self, samples: Trajectories, first: IntArray) -> Trajectories:
        """Episodes up to so many steps [M], where they were stopped for what they did next.

        Where every step costs something, being stopped must not pay: what is left of such an
        episode is worth what chance earns in that time, if that is less than nothing.
        """
        # Before decision 0021 an episode that ζ ended early looked like a gain there.
        permitted = cut(samples, first)
        whole = np.maximum(samples.lengths, self.length)
        if self.steps is not None:
            whole = np.minimum(whole, self.steps)
        missing = np.where(first < samples.lengths, np.maximum(whole - first, 0.0), 0.0)
        rewards = permitted.rewards.copy()
        last = np.asarray(permitted.lengths) - 1
        rewards[np.arange(len(last)), last] += min(0.0, self.chance_rate) * missing
        return replace(permitted, rewards=rewards)

    def competence(self, samples: Trajectories) -> FloatArray:
        """[M]: share of the way from chance to what demonstrations earn from there."""
        expected = self.from_starts(samples)
        returns = self.returns_of(samples)
        # chance may earn more than the demonstrations
        way = np.maximum(expected - self.chance, self.scatter)
        return np.asarray(1.0 + (returns - expected) / way)

    def paid(self, samples: Trajectories) -> FloatArray:
        """[M, T]: what was earned beyond chance before each step,
        as a share of what demonstrations earn beyond it."""
        rewards = samples.rewards * samples.mask
        times = np.arange(rewards.shape[1])
        # Without the reward of the step itself: what is asked is what had been paid before it.
        beyond = np.cumsum(rewards, axis=1) - rewards - self.chance_rate * times
        whole = self.from_starts(samples) - self.chance_rate * self.length
        least = _LEAST_SCATTER * abs(self.mean - self.chance) + 1e-12
        # Where demonstrations earn no more than chance there is no way to be on: a share of 0.
        shares = beyond / np.where(np.abs(whole) < least, np.inf, whole)[:, None]
        return np.asarray(shares)


def expected_of(demos: Trajectories, chance: Trajectories, horizon: int) -> Expected:
    """The yardstick that demonstrations give, beside what an untrained agent does."""
    lengths = np.asarray(demos.lengths)
    longest = int(lengths.max())
    # All of one length, shorter than others may live: they were cut, and longer lives would earn
    # more for their length alone.
    clips = bool(
        longest < horizon and (lengths == longest).all() and chance.lengths.max() > longest
    )
    steps = None
    if clips:
        steps = longest
    returns = np.asarray(demos.returns, np.float64)
    first = np.asarray(demos.observations[:, 0], np.float64)
    deviations = first.std(axis=0)
    # Beside their own size: rounding of a feature that is always 1,000 is no variation.
    varies = deviations > 1e-6 * np.maximum(np.abs(first).max(axis=0), 1e-9)
    used = np.where(varies, 1.0 / np.where(varies, deviations, 1.0), 0.0)
    starts = _scaled(first, used)
    kind, errors = _best_kind(starts, returns)
    chance_returns = chance.returns
    if steps is not None:
        chance_returns = np.sum((chance.rewards * chance.mask)[:, :steps], axis=1)
    by_chance = float(np.mean(chance_returns))
    # Demonstrations that all earn the same would make every hair of a difference evidence. Where
    # they earn what chance earns, the scatter of chance says what a hair is.
    least = _LEAST_SCATTER * max(
        abs(float(np.mean(returns)) - by_chance), float(np.std(chance_returns))
    )
    return Expected(
        starts=starts,
        used=used,
        returns=returns,
        kind=kind,
        scatter=max(float(np.std(errors)), least, 1e-9),
        chance=by_chance,
        chance_rate=float(np.sum(chance.rewards * chance.mask) / chance.num_steps),
        length=float(lengths.mean()),
        steps=steps,
    )


def _best_kind(starts: FloatArray, returns: FloatArray) -> tuple[str, FloatArray]:
    """Of three ways to foretell a demonstration's return from its start,
    the best on those left out; its errors."""
    number = len(returns)
    # What the mean of the others would have missed, in closed form; `by_line` likewise, by its hat
    # matrix.
    by_mean = (returns - returns.mean()) * number / max(number - 1, 1)
    if number < _LEAST_SHOWN or starts.shape[1] == 0:
        return "mean", by_mean
    gaps = np.sum((starts[:, None] - starts[None]) ** 2, axis=-1)
    # No demonstration foretells itself.
    np.fill_diagonal(gaps, np.inf)
    by_nearest = returns - returns[np.argsort(gaps, axis=1)[:, :_NEAREST]].mean(axis=1)
    hat = _with_one(starts) @ _ridge(starts)
    by_line = (returns - hat @ returns) / np.maximum(1.0 - np.diag(hat), 1e-6)
    errors = {"mean": by_mean, "nearest": by_nearest, "linear": by_line}
    best = min(errors, key=lambda kind: float(np.mean(errors[kind] ** 2)))
    return best, errors[best]


def _ridge(starts: FloatArray) -> FloatArray:
    """(XᵀX + λI)⁻¹Xᵀ of the starts and a constant, which is not shrunk."""
    inputs = _with_one(starts)
    penalty = np.diag([_RIDGE] * starts.shape[1] + [1e-9])
    return np.asarray(np.linalg.solve(inputs.T @ inputs + penalty, inputs.T))


def _with_one(starts: FloatArray) -> FloatArray:
    return np.concatenate([starts, np.ones((len(starts), 1))], axis=1)


def _scaled(first: FloatArray, used: FloatArray) -> FloatArray:
    """The first observations that vary, in deviations."""
    return np.asarray(np.asarray(first, np.float64) * used)[:, used > 0]
