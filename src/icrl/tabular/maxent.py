"""The maximum-entropy distribution over trajectories of a small world, exactly (Eqs. 2-6).

    p(τ) = 1/Z · p(s₀) Πₜ p(sₜ₊₁ | sₜ, aₜ) · exp(β r(sₜ, aₜ)) · ζ(sₜ, aₜ),
    τ = (s₀, a₀, …, s_{T−1}, a_{T−1})

`log_zeta` is any array [S, A] of log ζ ≤ 0: a hard constraint is −inf where forbidden
(`hard_log_zeta`), no constraint is zeros. This is the paper's form; it is exact for deterministic
dynamics. With stochastic dynamics it weighs the luck of the transitions by what follows (optimism).
"""

from dataclasses import dataclass

import numpy as np

from icrl.errors import InputError
from icrl.tabular.mdp import TabularMDP
from icrl.tabular.walks import Walks, checked_walks, pair_counts
from icrl.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class TrajectoryDistribution:
    """p(τ) as a time-varying Markov chain: sample and sum from left to right."""

    log_partition: float
    """log Z"""
    start: FloatArray
    """[S]: p(s₀)"""
    policy: FloatArray
    """[T, S, A]: p(aₜ | sₜ); zero rows in states from which nothing feasible follows"""
    successor_probs: FloatArray
    """[T, S, A, K]: p(sₜ₊₁ | sₜ, aₜ) over `mdp.successors`;
    in the paper's form not the dynamics of the MDP"""
    occupancies: FloatArray
    """[T, S, A]: p(sₜ = s, aₜ = a)"""

    @property
    def occupancy(self) -> FloatArray:
        """[S, A]: Σₜ p(sₜ = s, aₜ = a), the expected visits of each pair; sums to T."""
        return np.asarray(np.sum(self.occupancies, axis=0))


def log_partition(mdp: TabularMDP, log_zeta: FloatArray, beta: float = 1.0) -> FloatArray:
    """log Z = log Σ_s p(s) exp V₀(s), for log ζ [..., S, A];
    leading axes are a batch of constraints -> [...].

    Vₜ(s) = log Σₐ exp Qₜ(s, a), Qₜ(s, a) = β r(s, a) + log ζ(s, a) + log Σ_s' p(s' | s, a)
    exp Vₜ₊₁(s'), V_T = 0.
    """
    log_weight = beta * mdp.reward + log_zeta  # [..., S, A]
    # In log space throughout: Z of a hundred steps is far beyond what a float holds.
    values: FloatArray = np.zeros(log_weight.shape[:-1])
    for _ in range(mdp.horizon):
        values = log_sum_exp(log_weight + _log_expected_exp(mdp, values))
    return log_sum_exp(values + _safe_log(mdp.start))


def solve(mdp: TabularMDP, log_zeta: FloatArray, beta: float = 1.0) -> TrajectoryDistribution:
    """p(τ) under log ζ [S, A]: one backward recursion (as in `log_partition`), one forward.

    p(a | s, t) = exp(Qₜ(s, a) − Vₜ(s)), p(s' | s, a, t) ∝ p(s' | s, a) exp Vₜ₊₁(s'),
    p(s₀) ∝ p(s₀) exp V₀(s₀).
    """
    log_weight = beta * mdp.reward + log_zeta
    horizon = mdp.horizon
    values: FloatArray = np.zeros(mdp.num_states)
    policy = np.empty((horizon, *mdp.reward.shape))
    successor_probs = np.empty((horizon, *mdp.successors.shape))
    for t in reversed(range(horizon)):
        log_next = mdp.successor_log_probs + values[mdp.successors]  # [S, A, K]
        log_expected = log_sum_exp(log_next)  # [S, A]
        log_q = log_weight + log_expected
        values = log_sum_exp(log_q)
        policy[t] = np.exp(_subtract(log_q, values[:, None]))
        successor_probs[t] = np.exp(_subtract(log_next, log_expected[:, :, None]))
    log_start = values + _safe_log(mdp.start)
    log_z = float(log_sum_exp(log_start))
    # No trajectory is left, so there is no distribution: a constraint that forbids everything is an
    # error of whoever made it, not a likelihood of 0.
    if log_z == -np.inf:
        raise InputError(
            f"the constraint leaves no trajectory of {horizon} steps from the start (Z = 0): it "
            f"forbids {int(np.sum(np.isneginf(log_zeta)))} of {log_zeta.size} pairs; allow some of "
            "them."
        )
    start = np.exp(log_start - log_z)
    return TrajectoryDistribution(
        log_partition=log_z,
        start=start,
        policy=policy,
        successor_probs=successor_probs,
        occupancies=chain_occupancies(mdp, start, policy, successor_probs),
    )


def chain_occupancies(
    mdp: TabularMDP, start: FloatArray, policy: FloatArray, successor_probs: FloatArray
) -> FloatArray:
    """ρₜ(s, a) = ρₜ(s) p(a | s, t),  ρₜ₊₁(s') = Σ_{s,a} ρₜ(s, a) p(s' | s, a, t): [T, S, A]."""
    occupancies = np.empty_like(policy)
    here = start
    flat_successors = mdp.successors.ravel()
    for t in range(len(policy)):
        occupancies[t] = here[:, None] * policy[t]
        flow = occupancies[t][:, :, None] * successor_probs[t]  # [S, A, K]
        # bincount adds up where several pairs lead to one state; an indexed assignment would keep
        # the last.
        here = np.bincount(flat_successors, weights=flow.ravel(), minlength=mdp.num_states).astype(
            np.float64
        )
    return occupancies


def log_probabilities(
    mdp: TabularMDP, walks: Walks, log_zeta: FloatArray, beta: float = 1.0
) -> FloatArray:
    """log p(τᵢ) for each walk, [N]; −inf for a walk that the constraint forbids."""
    checked_walks(mdp, walks)
    s = walks.states
    a = walks.actions
    log_weight = beta * mdp.reward + log_zeta
    log_dynamics = _safe_log(mdp.transitions[s[:, :-1], a[:, :-1], s[:, 1:]])  # [N, T-1]
    log_unnormalised = (
        _safe_log(mdp.start)[s[:, 0]]
        + np.sum(log_weight[s, a], axis=1)
        + np.sum(log_dynamics, axis=1)
    )
    return np.asarray(log_unnormalised - log_partition(mdp, log_zeta, beta))


def log_likelihood(mdp: TabularMDP, walks: Walks, log_zeta: FloatArray, beta: float = 1.0) -> float:
    """L = 1/N Σᵢ log p(τᵢ): nats per demonstration (Eq. 5)."""
    return float(np.mean(log_probabilities(mdp, walks, log_zeta, beta)))


def log_likelihood_gradient(
    mdp: TabularMDP, walks: Walks, log_zeta: FloatArray, beta: float = 1.0
) -> FloatArray:
    """∂L/∂log ζ(s, a) = n_D(s, a) − ρ(s, a):
    demonstrated visits minus expected ones, [S, A] (Eq. 6).

    The gradient in any parameters θ of ζ follows by the chain rule:
    Σ_{s,a} (n_D − ρ)(s, a) ∇_θ log ζ_θ(s, a).
    """
    return pair_counts(mdp, walks) - solve(mdp, log_zeta, beta).occupancy


def kl_divergence(
    mdp: TabularMDP, log_zeta_p: FloatArray, log_zeta_q: FloatArray, beta: float = 1.0
) -> float:
    """KL(p ‖ q) = Σ_{s,a} ρ_p(s, a) (log ζ_p − log ζ_q)(s, a) − log Z_p + log Z_q;
    inf where q forbids what p does.

    With p under the older parameters and q under the newer it is KL(old‖new);
    swap them for KL(new‖old).
    """
    p = solve(mdp, log_zeta_p, beta)
    visited = p.occupancy > 0
    # -inf - -inf, where both forbid a pair, is NaN, but p never goes there: the `where` throws it
    # away.
    with np.errstate(invalid="ignore"):
        log_ratio = np.where(visited, log_zeta_p - log_zeta_q, 0.0)
    if np.any(np.isposinf(log_ratio)):
        return np.inf
    return float(
        np.sum(p.occupancy * log_ratio) - p.log_partition + log_partition(mdp, log_zeta_q, beta)
    )


def sample_walks(
    mdp: TabularMDP, distribution: TrajectoryDistribution, num_walks: int, rng: np.random.Generator
) -> Walks:
    """τᵢ ~ p(τ), independent: [N, T] states and actions."""
    states = np.empty((num_walks, mdp.horizon), dtype=np.int64)
    actions = np.empty_like(states)
    here = _sample_rows(np.broadcast_to(distribution.start, (num_walks, mdp.num_states)), rng)
    for t in range(mdp.horizon):
        states[:, t] = here
        actions[:, t] = _sample_rows(distribution.policy[t, here], rng)
        choice = _sample_rows(distribution.successor_probs[t, here, actions[:, t]], rng)
        here = mdp.successors[here, actions[:, t], choice]
    return Walks(states=states, actions=actions)


def log_sum_exp(values: FloatArray) -> FloatArray:
    """log Σ exp over the last axis; −inf where every entry is."""
    top = np.max(values, axis=-1, keepdims=True)
    # -inf - -inf would be NaN; shifted by 0 the sum is 0 and its logarithm -inf, as it should be.
    top = np.where(np.isneginf(top), 0.0, top)
    return np.asarray(_safe_log(np.sum(np.exp(values - top), axis=-1)) + top[..., 0])


def _log_expected_exp(mdp: TabularMDP, values: FloatArray) -> FloatArray:
    """log Σ_s' p(s' | s, a) exp V(s'): values [..., S] -> [..., S, A]."""
    # One successor: the logarithm of a mean over one is the value itself.
    if mdp.deterministic:
        return np.take(values, mdp.successors[:, :, 0], axis=-1)
    return log_sum_exp(mdp.successor_log_probs + np.take(values, mdp.successors, axis=-1))


def _safe_log(probs: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probs))


def _subtract(log_values: FloatArray, log_norm: FloatArray) -> FloatArray:
    """log_values − log_norm, and −inf where the norm is −inf (nothing to normalise)."""
    return np.where(
        np.isneginf(log_norm), -np.inf, log_values - np.where(np.isneginf(log_norm), 0.0, log_norm)
    )


def _sample_rows(probs: FloatArray, rng: np.random.Generator) -> IntArray:
    """One index per row of probs [N, M] by inversion; never an index of probability zero."""
    cumulative = np.cumsum(probs, axis=1)
    # <=, with draws in [0, 1): an index whose probability is 0 adds nothing to the sum and is
    # stepped over.
    draws = rng.random(len(probs)) * cumulative[:, -1]
    return np.asarray(np.sum(cumulative <= draws[:, None], axis=1))
