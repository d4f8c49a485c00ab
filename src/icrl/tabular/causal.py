"""The causal-entropy form for stochastic dynamics (soft Bellman): the agent chooses actions, never luck.

The paper's p(τ) (`maxent.py`) reweighs transitions by what follows, as if the agent could choose them: offered a
gamble, it believes in winning. The causal form maximises Σₜ E[β r + log ζ] + H(aₜ | s₀, a₀, …, sₜ) with the true
dynamics. For deterministic dynamics and one start state both are the same distribution.
"""

import numpy as np

from icrl.errors import InputError
from icrl.tabular.maxent import TrajectoryDistribution, chain_occupancies, log_sum_exp
from icrl.tabular.mdp import TabularMDP
from icrl.tabular.walks import Walks, checked_walks, pair_counts
from icrl.types import FloatArray


def solve_causal(mdp: TabularMDP, log_zeta: FloatArray, beta: float = 1.0) -> TrajectoryDistribution:
    """p(τ) = p(s₀) Πₜ π(aₜ | sₜ, t) p(sₜ₊₁ | sₜ, aₜ) with the soft-optimal π under log ζ [S, A].

    π(a | s, t) = exp(Qₜ(s, a) − Vₜ(s)),  Qₜ(s, a) = β r + log ζ + Σ_s' p(s' | s, a) Vₜ₊₁(s'),  Vₜ = log Σₐ exp Qₜ.
    `log_partition` holds Σ_s p(s) V₀(s), the causal counterpart of log Z. A hard constraint forbids every action that
    *could* lead to a state without a feasible action.
    """
    log_weight = beta * mdp.reward + log_zeta
    values: FloatArray = np.zeros(mdp.num_states)
    policy = np.empty((mdp.horizon, *mdp.reward.shape))
    for t in reversed(range(mdp.horizon)):
        log_q = log_weight + _expected(mdp.transitions, values)
        values = log_sum_exp(log_q)
        alive = np.isfinite(values)
        policy[t] = np.where(alive[:, None], np.exp(log_q - np.where(alive, values, 0.0)[:, None]), 0.0)
    log_z = float(_expected(mdp.start, values))
    if log_z == -np.inf:
        raise InputError(
            f"no policy keeps the constraint for sure over {mdp.horizon} steps: it forbids "
            f"{int(np.sum(np.isneginf(log_zeta)))} of {log_zeta.size} pairs; allow some of them or soften ζ."
        )
    dynamics = np.broadcast_to(np.exp(mdp.successor_log_probs), (mdp.horizon, *mdp.successors.shape))
    return TrajectoryDistribution(
        log_partition=log_z,
        start=mdp.start,
        policy=policy,
        successor_probs=dynamics,
        occupancies=chain_occupancies(mdp, mdp.start, policy, dynamics),
    )


def causal_log_likelihood(mdp: TabularMDP, walks: Walks, log_zeta: FloatArray, beta: float = 1.0) -> float:
    """L = 1/N Σᵢ Σₜ log π(aₜ | sₜ, t): nats per demonstration; the dynamics do not depend on ζ and are left out."""
    checked_walks(mdp, walks)
    policy = solve_causal(mdp, log_zeta, beta).policy
    steps = np.arange(mdp.horizon)
    with np.errstate(divide="ignore"):
        log_policy = np.log(policy[steps, walks.states, walks.actions])  # [N, T]
    return float(np.mean(np.sum(log_policy, axis=1)))


def causal_gradient(mdp: TabularMDP, walks: Walks, log_zeta: FloatArray, beta: float = 1.0) -> FloatArray:
    """∂L/∂log ζ(s, a) of the causal likelihood, [S, A]: realised minus foreseen visits, step by step.

    ∇L = n_D − 1/N Σᵢ [ρ(· | s₀ⁱ) + Σₜ (ρₜ₊₁(· | sₜ₊₁ⁱ) − Σ_s' p(s' | sₜⁱ, aₜⁱ) ρₜ₊₁(· | s'))]: the luck of the
    demonstrations is not evidence. With many demonstrations the inner sum averages out and n_D − ρ remains.
    """
    visits = _visits_to_go(mdp, solve_causal(mdp, log_zeta, beta).policy)  # [T+1, S, S, A]
    s, a = walks.states, walks.actions
    foreseen = np.mean(visits[0, s[:, 0]], axis=0)
    for t in range(mdp.horizon - 1):
        hoped = np.einsum("nj,jsa->sa", mdp.transitions[s[:, t], a[:, t]], visits[t + 1])
        foreseen = foreseen + (np.sum(visits[t + 1, s[:, t + 1]], axis=0) - hoped) / walks.num_walks
    return np.asarray(pair_counts(mdp, walks) - foreseen)


def _visits_to_go(mdp: TabularMDP, policy: FloatArray) -> FloatArray:
    """ρₜ(s, a | i): expected visits of (s, a) from step t on when sₜ = i; [T+1, S, S, A]."""
    num_states, num_actions = mdp.reward.shape
    visits = np.zeros((mdp.horizon + 1, num_states, num_states, num_actions))
    for t in reversed(range(mdp.horizon)):
        chain = np.einsum("ia,iaj->ij", policy[t], mdp.transitions)
        visits[t] = np.einsum("ij,jsa->isa", chain, visits[t + 1])
        visits[t][np.arange(num_states), np.arange(num_states)] += policy[t]
    return visits


def _expected(probs: FloatArray, values: FloatArray) -> FloatArray:
    """Σ_s p(s) V(s) over the last axis of probs, with 0 · (−inf) = 0."""
    dead = np.isneginf(values)
    risk = np.sum(probs[..., dead], axis=-1) > 0
    return np.where(risk, -np.inf, probs @ np.where(dead, 0.0, values))
