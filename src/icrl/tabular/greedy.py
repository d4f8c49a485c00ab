"""Greedy maximum-likelihood constraint inference (Scobee & Sastry, ICLR 2020):
the method that ICRL starts from.

Adding a constraint that no demonstration breaks only removes other trajectories, so the likelihood
of every demonstration grows by the same factor Z(C) / Z(C ∪ h) = 1 / (1 − p_C(τ touches h)). The
best h is the one that the current model is surest to touch and the demonstrations never do.

**When to stop.** KL(p_D ‖ p_C), from the empirical distribution of the demonstrations to the model,
falls by exactly the gain log Z(C) − log Z(C ∪ h) of each step; Scobee & Sastry stop when this
improvement is below a threshold, and so do we (`min_gain`, nats per demonstration).

The default is log(H / 0.05) / N for H hypotheses and N demonstrations: once C is the truth, a
hypothesis h that is touched with probability p is missed by all N demonstrations with
probability (1 − p)ᴺ = exp(−N · gain), so at this threshold fewer than 0.05 false constraints are
expected among all H.

It follows that a constraint can only be found if it is tempting enough: p ≥ 1 − (0.05 / H)^(1/N)
under the model that holds the constraints found before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icrl.errors import InputError
from icrl.tabular.hypotheses import Hypothesis, all_hypotheses, forbidden_pairs
from icrl.tabular.maxent import log_likelihood, log_partition, solve
from icrl.tabular.mdp import TabularMDP, hard_log_zeta
from icrl.tabular.walks import Walks, checked_walks, pairs_used
from icrl.types import BoolArray, FloatArray

EXPECTED_FALSE_POSITIVES = 0.05
"""How many false constraints the default `min_gain` lets through on average: the usual 5 %."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One constraint, and what it explains."""

    hypothesis: Hypothesis
    gain: float
    """log Z(C) − log Z(C ∪ h): nats per demonstration"""
    log_likelihood: float
    """Of the demonstrations once this constraint is added: nats per demonstration"""


@dataclass(frozen=True, kw_only=True)
class GreedyConstraint:
    """What greedy inference found, in order."""

    findings: tuple[Finding, ...]
    feasibility: FloatArray
    """[S, A]: ζ, 0 where forbidden, else 1"""
    nominal_log_likelihood: float
    """Of the demonstrations without any constraint: nats per demonstration"""
    min_gain: float
    """The threshold that was used"""
    next_gain: float
    """What the best hypothesis that was not added would have gained; 0 if none was left"""

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """The constraints alone, in order."""
        return tuple(finding.hypothesis for finding in self.findings)


def default_min_gain(num_hypotheses: int, num_demos: int) -> float:
    """log(H / 0.05) / N: see the module's docstring."""
    return float(np.log(num_hypotheses / EXPECTED_FALSE_POSITIVES) / num_demos)


def infer_constraints(
    mdp: TabularMDP,
    demos: Walks,
    hypotheses: Sequence[Hypothesis] | None = None,
    *,
    beta: float = 1.0,
    min_gain: float | None = None,
    max_constraints: int | None = None,
) -> GreedyConstraint:
    """Add the hypothesis of largest gain until the gain is below `min_gain`;
    no demonstration becomes infeasible.

    `hypotheses` defaults to every state, action and pair;
    `beta` is the inverse temperature of the demonstrator.
    """
    checked_walks(mdp, demos)
    if hypotheses is None:
        hypotheses = all_hypotheses(mdp)
    else:
        hypotheses = tuple(hypotheses)
    if not hypotheses:
        raise InputError(
            "no hypotheses to choose from: give at least one, or leave them out for all of them."
        )
    if min_gain is None:
        threshold = default_min_gain(len(hypotheses), demos.num_walks)
    else:
        threshold = min_gain
    if threshold <= 0:
        raise InputError(f"min_gain must be above 0 (nats per demonstration), got {threshold}.")

    pairs = forbidden_pairs(mdp, hypotheses)
    # What a demonstration does is never forbidden: its likelihood would be 0, whatever is gained
    # elsewhere.
    open_to_choice = ~np.any(pairs & pairs_used(mdp, demos), axis=(1, 2))  # [H]
    forbidden = np.zeros(mdp.reward.shape, dtype=np.bool_)
    likelihood = nominal = log_likelihood(mdp, demos, hard_log_zeta(forbidden), beta)
    findings: list[Finding] = []
    while True:
        best, gain = _best_hypothesis(mdp, forbidden, pairs, open_to_choice, beta)
        # The gain of the one that is not added is kept (`next_gain`): it says how near a miss was.
        if gain < threshold or len(findings) == max_constraints:
            break
        forbidden |= pairs[best]
        # Every demonstration gains the same, so the likelihood need not be computed again.
        likelihood += gain
        findings.append(Finding(hypothesis=hypotheses[best], gain=gain, log_likelihood=likelihood))
    return GreedyConstraint(
        findings=tuple(findings),
        feasibility=np.where(forbidden, 0.0, 1.0),
        nominal_log_likelihood=nominal,
        min_gain=threshold,
        next_gain=gain,
    )


def gains(mdp: TabularMDP, forbidden: BoolArray, pairs: BoolArray, beta: float = 1.0) -> FloatArray:
    """log Z(C) − log Z(C ∪ h) = −log(1 − p_C(τ touches h))
    for C [S, A] and hypotheses [H, S, A]: [H], ≥ 0.

    The probability of *ever* touching h, not the expected count of touches: one backward recursion
    per hypothesis, in log space because the surviving mass can be far below the smallest float.
    """
    log_z = log_partition(mdp, hard_log_zeta(forbidden), beta)
    # A gain is never negative but for rounding: a constraint only removes trajectories.
    return np.maximum(log_z - log_partition(mdp, hard_log_zeta(forbidden | pairs), beta), 0.0)


def _best_hypothesis(
    mdp: TabularMDP, forbidden: BoolArray, pairs: BoolArray, open_to_choice: BoolArray, beta: float
) -> tuple[int, float]:
    """(index, gain) of the best hypothesis; near-ties go to the earlier, that is broader, one."""
    # Exact gains take a recursion each; bounds by occupancy sort out all but a few first.
    candidates = np.flatnonzero(
        open_to_choice & _may_be_best(mdp, forbidden, pairs, open_to_choice, beta)
    )
    if candidates.size == 0:
        return 0, 0.0
    found = gains(mdp, forbidden, pairs[candidates], beta)
    top = float(np.max(found))
    # Equal hypotheses differ in the last bits; the order of the list must decide, not rounding.
    winner = int(np.flatnonzero(found >= top - 1e-9 * max(1.0, top))[0])
    return int(candidates[winner]), float(found[winner])


def _may_be_best(
    mdp: TabularMDP, forbidden: BoolArray, pairs: BoolArray, open_to_choice: BoolArray, beta: float
) -> BoolArray:
    """[H]: False where another hypothesis is surely better,
    by bounds that need no recursion per hypothesis.

    maxₜ p(touch h at t) ≤ p(ever touch h) ≤ Σₜ p(touch h at t).
    """
    occupancies = solve(mdp, hard_log_zeta(forbidden), beta).occupancies
    num_hypotheses = len(pairs)
    # [H, T]
    touch = (
        pairs.reshape(num_hypotheses, -1).astype(np.float64)
        @ occupancies.reshape(mdp.horizon, -1).T
    )
    lower = np.max(touch, axis=1)
    upper = np.sum(touch, axis=1)
    # Only among those that may be chosen: one that a demonstration breaks must not rule out the
    # rest.
    best_lower = np.max(lower[open_to_choice], initial=0.0)
    return np.asarray((upper >= best_lower * (1.0 - 1e-9)) & (upper > 0.0))
