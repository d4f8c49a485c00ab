"""Which features a clone sees: none that it does better without.

Few demonstrations and many features that mean nothing: a clone learns them by heart.
"""

from collections.abc import Callable

import numpy as np

from icrl.agent.imitation import Imitation, Shown, best_imitation, held_out_error
from icrl.agent.networks import NetworkShape, flatten, unflatten
from icrl.agent.state import AgentState
from icrl.types import FloatArray, IntArray

_TAKEN_AWAY = (0.5, 0.25)
"""Shares of its features that a clone may do without, tried in turn."""
_NO_WORSE = 2.0
"""A clone of fewer features may miss what was held out by so many times as much, if it earns more
all the same: errors of single steps do not say what they add up to."""
_CLEARLY = 0.05
"""Of what demonstrations earn: a clone that earns more by this earns more."""

Earned = Callable[[Imitation], float]
"""What a clone earns when it acts, as a share of what demonstrations earn."""


def clone_of_few(
    rng: np.random.Generator,
    agent: AgentState,
    inputs: FloatArray,
    shown: Shown,
    earned: Earned | None = None,
) -> Imitation:
    """The best clone: features that it misses least are taken away, and it is made anew, until that
    does not help any more.

    Where clones can be tried (`earned`), what they earn decides among those that miss what was held
    out about as little.
    """
    known: dict[bytes, float] = {}

    def worth(clone: Imitation) -> float:
        assert earned is not None
        key = clone.seen.tobytes()
        if key not in known:
            # An imitation that earns more than those it imitates does something else: it cuts
            # through blocked cells (decision 0031).
            known[key] = min(earned(_blind(clone, agent.shape)), 1.0)
        return known[key]

    def no_worse(fewer: Imitation, clone: Imitation) -> bool:
        if earned is None:
            return fewer.error <= clone.error
        # Decision 0031: of 16 features that meant nothing, by their errors clones kept six or gave
        # up one that mattered; the right four were 1.5 times as far off, and earned 0.97, not 0.75.
        if fewer.error <= clone.error:
            return worth(fewer) >= worth(clone) - _CLEARLY
        if fewer.error > _NO_WORSE * clone.error:
            return False
        return worth(fewer) >= worth(clone) + _CLEARLY

    # What never changed says nothing of what was done, and its scale is not known.
    changed = (np.ptp(shown.observations, axis=0) > 0).astype(np.float32)
    best = best_imitation(rng, agent, inputs, shown, changed)
    order = _least_missed_first(rng, agent, inputs, shown, best)
    shares = list(_TAKEN_AWAY)
    while shares:
        number = int(shares.pop(0) * len(order))
        if number == 0:
            continue
        seen = best.seen.copy()
        seen[order[:number]] = 0.0
        fewer = best_imitation(rng, agent, inputs, shown, seen)
        if no_worse(fewer, best):
            best = fewer
            order = _least_missed_first(rng, agent, inputs, shown, best)
            shares = list(_TAKEN_AWAY)
    return _blind(best, agent.shape)


def _least_missed_first(
    rng: np.random.Generator,
    agent: AgentState,
    inputs: FloatArray,
    shown: Shown,
    clone: Imitation,
) -> IntArray:
    """The features that a clone sees, by how much worse it does where one of them is shuffled."""
    features = np.flatnonzero(clone.seen)
    held_out = inputs[shown.held_out] * clone.seen
    missed = []
    for feature in features:
        shuffled = held_out.copy()
        shuffled[:, feature] = rng.permutation(shuffled[:, feature])
        missed.append(
            held_out_error(clone.params, shuffled, shown.actions[shown.held_out], agent.shape)
        )
    return np.asarray(features[np.argsort(missed)])


def _blind(clone: Imitation, shape: NetworkShape) -> Imitation:
    """The same, the policy's first layer without weights for features that it does not see."""
    blocks = {name: np.array(block) for name, block in unflatten(clone.params, shape).items()}
    # Networks are stacked, and the policy is the first of them.
    blocks["w0"][:, : shape.hidden[0]] *= clone.seen[:, None]
    return clone._replace(params=np.asarray(flatten(blocks, shape, np)))
