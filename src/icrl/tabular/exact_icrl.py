"""ICRL (Algorithm 1) with nothing sampled: the MaxEnt occupancies of the current ζ_θ
replace the forward step.

Each round solves the world under ζ_θ, so S is the whole distribution and the importance weights are
1; then θ takes one step along the exact gradient (Eq. 6), bent by the curvature of the last steps
(L-BFGS: the visits of a goal are worth hundreds of times those of a door, and plain ascent only
zig-zags), and shortened until the objective has risen.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from icrl.config import Activation
from icrl.constraint.network import Params, init_params, log_feasibility, logits
from icrl.errors import InputError, unknown_name
from icrl.tabular.maxent import log_likelihood, log_likelihood_gradient
from icrl.tabular.mdp import TabularMDP
from icrl.tabular.walks import Walks, checked_walks
from icrl.types import FloatArray

MEMORY = 10
"""Steps that L-BFGS remembers; 5 to 20 is usual."""
MAX_HALVINGS = 30
"""A step of 2⁻³⁰ is below the resolution of the float32 gradient."""
SUFFICIENT_RISE = 1e-4
"""Share of the rise promised by the slope that a step must deliver (Armijo's usual constant)."""

Objective = Callable[[FloatArray], tuple[float, float]]
"""θ -> (objective, log-likelihood)."""


@dataclass(frozen=True, kw_only=True)
class ExactICRL:
    """ζ_θ after exact ICRL, and how it got there."""

    params: Params
    feasibility: FloatArray
    """[S, A]: ζ_θ"""
    log_likelihoods: tuple[float, ...]
    """Before the first round and after each: nats per demonstration;
    strictly rising when `sparsity` is 0"""
    objectives: tuple[float, ...]
    """Likelihood minus the regulariser, strictly rising"""


def pair_features(mdp: TabularMDP, feature_names: tuple[str, ...] | None = None) -> FloatArray:
    """[S, A, f]: the named observations scaled to [−1, 1] and the one-hot action;
    all of them by default."""
    spread = np.ptp(mdp.observations, axis=0)
    scaled = (
        2.0
        * (mdp.observations - np.min(mdp.observations, axis=0))
        / np.where(spread > 0, spread, 1.0)
        - 1.0
    )
    num_states, num_actions = mdp.reward.shape
    seen = np.broadcast_to(scaled[:, None, :], (num_states, num_actions, scaled.shape[1]))
    done = np.broadcast_to(np.eye(num_actions), (num_states, num_actions, num_actions))
    known = mdp.observation_names + mdp.action_names
    if feature_names is None:
        columns = known
    else:
        columns = feature_names
    for name in columns:
        if name not in known:
            raise unknown_name("feature", name, known)
    return np.concatenate([seen, done], axis=2)[:, :, [known.index(name) for name in columns]]


def learn_exact(
    mdp: TabularMDP,
    demos: Walks,
    *,
    feature_names: tuple[str, ...] | None = None,
    rounds: int = 200,
    hidden: tuple[int, ...] = (64, 64),
    activation: Activation = Activation.tanh,
    sparsity: float = 0.0,
    beta: float = 1.0,
    seed: int = 0,
) -> ExactICRL:
    """Fit ζ_θ over named features: maximise L(θ) − δ · mean_{s,a}(1 − ζ_θ(s, a)),
    δ = `sparsity` (Eqs. 5, 8).

    Stops before `rounds` when no step along the gradient raises the objective any more.
    """
    if rounds < 1 or sparsity < 0:
        raise InputError(f"rounds must be >= 1 and sparsity >= 0, got {rounds} and {sparsity}.")
    checked_walks(mdp, demos)
    inputs = pair_features(mdp, feature_names)
    flat, unravel = ravel_pytree(init_params(np.random.default_rng(seed), inputs.shape[2], hidden))
    table_of = jax.jit(
        lambda theta: log_feasibility(logits(unravel(theta), inputs, activation, jnp), jnp)
    )
    # The gradient of Eq. 6 by the chain rule: occupancies are found in NumPy, and only ζ's own part
    # needs JAX.
    pull_back = jax.jit(lambda theta, gap: jax.vjp(table_of, theta)[1](gap)[0])

    def log_zeta_of(theta: FloatArray) -> FloatArray:
        return np.asarray(table_of(theta.astype(np.float32)), np.float64)

    def objective(theta: FloatArray) -> tuple[float, float]:
        log_zeta = log_zeta_of(theta)
        likelihood = log_likelihood(mdp, demos, log_zeta, beta)
        # expm1(log ζ) is ζ − 1, with all its digits near ζ = 1.
        return likelihood + sparsity * float(np.mean(np.expm1(log_zeta))), likelihood

    def gradient(theta: FloatArray) -> FloatArray:
        log_zeta = log_zeta_of(theta)
        gap = log_likelihood_gradient(mdp, demos, log_zeta, beta)  # n_D − ρ
        # d/d log ζ of the regulariser: the mean of ζ - 1 changes by ζ per entry.
        gap = gap + sparsity * np.exp(log_zeta) / log_zeta.size
        return np.asarray(pull_back(theta.astype(np.float32), gap.astype(np.float32)), np.float64)

    # θ itself in float64, though the network runs in float32: sums of many small steps would
    # otherwise lose them.
    theta, trace = _maximise(objective, gradient, np.asarray(flat, np.float64), rounds)
    return ExactICRL(
        params=unravel(jnp.asarray(theta, jnp.float32)),
        feasibility=np.exp(log_zeta_of(theta)),
        log_likelihoods=tuple(likelihood for _, likelihood in trace),
        objectives=tuple(value for value, _ in trace),
    )


def _maximise(
    objective: Objective,
    gradient: Callable[[FloatArray], FloatArray],
    theta: FloatArray,
    rounds: int,
) -> tuple[FloatArray, list[tuple[float, float]]]:
    """L-BFGS ascent with backtracking: θ, and (objective, log-likelihood)
    at the start and after each round."""
    trace = [objective(theta)]
    memory: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=MEMORY)
    slope = gradient(theta)
    for _ in range(rounds):
        moved = _climb(objective, theta, slope, _direction(slope, memory), trace)
        if moved is None and memory:
            memory.clear()  # a curvature gone stale: the bare gradient gets one more try
            moved = _climb(objective, theta, slope, _direction(slope, memory), trace)
        if moved is None:
            break
        new_slope = gradient(moved)
        step = moved - theta
        bend = slope - new_slope
        # Only where the objective bends downwards along the step is it a curvature at all; a
        # negative one would turn uphill into downhill.
        if step @ bend > 1e-10 * np.linalg.norm(step) * np.linalg.norm(bend):
            memory.append((step, bend))
        theta = moved
        slope = new_slope
    return theta, trace


def _climb(
    objective: Objective,
    theta: FloatArray,
    slope: FloatArray,
    direction: FloatArray,
    trace: list[tuple[float, float]],
) -> FloatArray | None:
    """θ + 2⁻ᵏ d for the first k that raises the objective enough
    (noted in `trace`); None if none does."""
    last = trace[-1][0]
    promise = SUFFICIENT_RISE * float(slope @ direction)
    for size in 0.5 ** np.arange(MAX_HALVINGS):
        reached = objective(theta + size * direction)
        # Strictly: the record promises an objective that rises in every round.
        if reached[0] > last + size * promise:
            trace.append(reached)
            return np.asarray(theta + size * direction)
    return None


def _direction(slope: FloatArray, memory: deque[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """H⁻¹ ∇J by the two-loop recursion over the remembered (step, bend); an uphill direction.

    Shapes: [P] -> [P].
    """
    if not memory:
        # The first step knows no curvature: at most of length 1, or it may leap to where zeta is
        # flat.
        return slope / max(1.0, float(np.linalg.norm(slope)))
    direction = slope
    shares = []
    for step, bend in reversed(memory):
        shares.append((step @ direction) / (step @ bend))
        direction = direction - shares[-1] * bend
    step, bend = memory[-1]
    direction = direction * (step @ bend) / (bend @ bend)
    for (step, bend), share in zip(memory, reversed(shares), strict=True):
        direction = direction + (share - (bend @ direction) / (step @ bend)) * step
    return np.asarray(direction)
