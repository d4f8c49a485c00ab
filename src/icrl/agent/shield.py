"""The shield: where the action that was drawn is forbidden,
the nearest allowed one is taken in its place.

It is part of the world and not of the policy, as clipping is: the policy update sees what was
drawn. It needs a cost function, so it works for a learned zeta as for a rule that somebody wrote
down. With a model of what follows from an action it also refuses what leads to where everything is
forbidden, and what would be stopped too late. NumPy only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from icrl.agent.ahead import Ahead
from icrl.types import THRESHOLD, AnyArray, BoolArray, CostFunction, FloatArray

FORBIDDEN_ABOVE = 1.0 - THRESHOLD
"""A pair is forbidden where its cost 1 − ζ exceeds this."""

NUM_CANDIDATES = 96
"""Actions tried for one that is forbidden: half anywhere in the space, half around it."""
FEWER_CANDIDATES = 32
"""The same where what follows from each must be foretold."""
_NUM_ESCAPES = 16
"""Actions tried, beside the probes, where all that are allowed lead to where nothing is."""
_STEPS_TO_STOP = 8
"""Steps within which an agent that heads for what is forbidden must be able to stop or to turn."""
_NUMBERS = np.arange(1, _STEPS_TO_STOP)[:, None, None]
_NARROWEST = 0.03
"""Deviation of the candidates nearest to it, as a share of half the width of the space."""
_NUM_PROBES = 8
"""Further actions that are tried to find out whether a state allows any."""
_NUM_BRAKES = 3
"""Probes that are tried first."""
_NUM_FIRST = 10
"""Candidates that are tried first, the nearest: most often one of them will do."""
_SHARES = np.array([0.25, 0.5, 0.75])
_NUM_ROUNDS = 2
"""An action that was found is moved towards the one that was drawn, by these shares of the way,
so many times: it ends up within 4⁻² of that way from the boundary."""


class Shielded(NamedTuple):
    """What a shield makes of forbidden actions."""

    actions: AnyArray
    """[n, a] or [n]: an allowed action where there is one, else the one that was given"""
    found: BoolArray
    """[n]: an allowed one was found"""


@dataclass(frozen=True, kw_only=True)
class Shield:
    """Stands between a policy and its environment."""

    cost: CostFunction
    ahead: Ahead | None = None
    """What follows from an action; None: the shield judges the present pair alone."""
    probes: AnyArray | None = None
    """[k, a] or [k]: actions that stand for all of them,
    where the question is whether a state allows any"""

    def forbids(self, observations: FloatArray, actions: AnyArray) -> BoolArray:
        """True where a pair is forbidden; shapes as of a `CostFunction`."""
        # A region answers this without the way over costs; any plain function will do (decision
        # 0002).
        of_cost = getattr(self.cost, "forbids", None)
        if of_cost is not None:
            return np.asarray(of_cost(observations, actions))
        return np.asarray(self.beyond(observations, actions) > 0)

    def beyond(self, observations: FloatArray, actions: AnyArray) -> FloatArray:
        """How far inside what is forbidden; above 0 where it is.

        A cost that says so itself still tells deep from deeper where it is 1.
        """
        # ζ is 0 all over the inside of a region: by the cost alone every way out looks alike, and
        # judges stayed beyond a right wall for up to 65 % of their steps (decision 0021).
        of_cost = getattr(self.cost, "beyond", None)
        if of_cost is not None:
            return np.asarray(of_cost(observations, actions))
        return np.asarray(self.cost(observations, actions) - FORBIDDEN_ABOVE)

    def _inside(self, observations: FloatArray, actions: AnyArray) -> FloatArray:
        """`beyond`, and 0 where nothing is forbidden."""
        of_cost = getattr(self.cost, "inside", None)
        if of_cost is not None:
            return np.asarray(of_cost(observations, actions))
        return np.asarray(np.maximum(self.beyond(observations, actions), 0.0))

    def leads_astray(self, observations: FloatArray, actions: AnyArray) -> BoolArray:
        """[n]: an action leads, or nearly leads, to a state in which every action is forbidden."""
        if self.ahead is None or self.probes is None:
            return np.zeros(len(observations), np.bool_)
        following = self.ahead.follows(observations, actions)  # [k, n, o]
        # First with the same action: where that is allowed there is an allowed one, and the probes
        # need not be asked.
        doubtful = self.forbids(following, self._for_all(actions, len(following)))
        about_states = self.about_states_alone
        # of a rule about states alone one action speaks for all
        if doubtful.any() and not about_states:
            doubtful[doubtful] = self._forbids_all(following[doubtful])
        astray = np.asarray(doubtful.any(axis=0))
        if about_states is False:  # a rule about actions leaves others wherever one arrives
            return astray
        # Braking (decision 0020), asked only of those that head for the wall: eight steps of every
        # probe are many questions.
        rows = np.flatnonzero(~astray)
        if len(rows):
            rows = rows[self._nears(observations[rows], following[0, rows], actions[rows])]
        if len(rows):
            astray[rows] = ~self._can_go_on(following[0, rows])
        return astray

    def _nears(
        self, observations: FloatArray, following: FloatArray, actions: AnyArray
    ) -> BoolArray:
        """[n]: going on as from here to what follows, what is forbidden would be entered soon."""
        # A straight line on from the first step that the model foretells: cheap, since it only
        # decides of whom more is asked.
        ahead = _NUMBERS * (following - observations)
        ahead += following
        given = self._for_all(actions, len(ahead))
        return np.asarray(self.forbids(ahead, given).any(axis=0))

    @cached_property
    def about_states_alone(self) -> bool | None:
        """Whether a pair is forbidden does not depend on its action; None: nobody knows."""
        return getattr(self.cost, "about_states_alone", None)

    def _for_all(self, actions: AnyArray, number: int) -> AnyArray:
        """[number, n, ...]: the same actions beside so many observations each."""
        if self.about_states_alone:
            return actions  # nobody will look at them
        return np.broadcast_to(actions, (number, *actions.shape))

    def _can_go_on(self, observations: FloatArray) -> BoolArray:
        """[n]: there is time to stop or to turn.

        One of the probes, kept up for a while, keeps out of what is forbidden.
        """
        assert self.probes is not None
        able = np.zeros(len(observations), np.bool_)
        # The first of the probes are the middle and the fullest brakes, which most often will do.
        for tried in (slice(None, _NUM_BRAKES), slice(_NUM_BRAKES, None)):
            rows = np.flatnonzero(~able)
            probes = self.probes[tried]
            if len(rows) == 0 or len(probes) == 0:
                break
            able[rows] = self._can_go_on_by(observations[rows], probes)
        return able

    def _can_go_on_by(self, observations: FloatArray, probes: AnyArray) -> BoolArray:
        """[n]: by one of these probes."""
        assert self.ahead is not None
        given = np.concatenate([probes] * len(observations))
        seen = np.repeat(observations, len(probes), axis=0)
        path = self.ahead.kept_up(seen, given, _STEPS_TO_STOP)
        # [steps, n · probes] -> [n · probes]
        fine = ~self.forbids(path, self._for_all(given, len(path))).any(axis=0)
        return np.asarray(fine.reshape(-1, len(probes)).any(axis=1))

    def _forbids_all(self, observations: FloatArray) -> BoolArray:
        """[n]: no action is allowed there, as far as the probes tell."""
        assert self.probes is not None
        shape = (len(observations), len(self.probes))
        given = np.broadcast_to(self.probes, (len(observations), *self.probes.shape))
        seen = np.broadcast_to(observations[:, None], (*shape, observations.shape[1]))
        return np.asarray(self.forbids(seen, given).all(axis=1))

    def trespass(self, observations: FloatArray, actions: AnyArray) -> FloatArray:
        """[n]: how far inside what is forbidden an action leads if it is kept up, in all."""
        assert self.ahead is not None
        # In all, and not at the end: of two ways out the shorter one through what is forbidden is
        # better.
        path = self.ahead.kept_up(observations, actions, _STEPS_TO_STOP + 1)
        return np.asarray(np.sum(self._inside(path, self._for_all(actions, len(path))), axis=0))

    def refuses(self, observations: FloatArray, actions: AnyArray) -> BoolArray:
        """Forbidden, or leading to where everything is; [..., o], [..., a] or [...] choices."""
        refused = self.forbids(observations, actions)
        if self.ahead is None:
            return refused
        # Only what is not forbidden as it is needs a look ahead, which costs far more.
        flat = refused.reshape(-1).copy()
        open_ones = np.flatnonzero(~flat)
        seen = observations.reshape(-1, observations.shape[-1])[open_ones]
        given = actions.reshape(-1, *actions.shape[refused.ndim :])[open_ones]
        flat[open_ones] = self.leads_astray(seen, given)
        return flat.reshape(refused.shape)

    def leads_any_astray(self, observations: FloatArray, actions: AnyArray) -> BoolArray:
        """`refuses` of pairs none of which is forbidden as it is."""
        shape = observations.shape[:-1]
        seen = observations.reshape(-1, observations.shape[-1])
        given = actions.reshape(-1, *actions.shape[len(shape) :])
        return self.leads_astray(seen, given).reshape(shape)


def probes_of(low: FloatArray, high: FloatArray) -> FloatArray:
    """[k, a]: the middle of a space, its two ends, and some more, always the same."""
    rng = np.random.default_rng(0)
    middle = (low + high) / 2
    # The ends are the fullest brakes; between them some draws, since a grid in many dimensions
    # would have too many.
    anywhere = rng.uniform(low, high, (_NUM_PROBES, len(low)))
    return np.concatenate([middle[None], low[None], high[None], anywhere]).astype(np.float32)


def nearest_allowed(
    rng: np.random.Generator,
    forbids: Callable[[FloatArray, AnyArray], BoolArray],
    observations: FloatArray,
    actions: FloatArray,
    low: FloatArray,
    high: FloatArray,
    num_candidates: int = NUM_CANDIDATES,
    hopeless: BoolArray | None = None,
) -> Shielded:
    """Of many candidates the nearest allowed one,
    then moved towards the action as far as that is allowed.

    Distances are shares of the width of the space, per dimension. Shapes: observations [n, o],
    actions [n, a], finite low and high [a]; `hopeless` [n]: where nothing is allowed, as is known.
    """
    num, width = len(actions), actions.shape[1]
    half = num_candidates // 2
    anywhere = rng.uniform(low, high, (num, half, width))
    directions = rng.standard_normal((num, half, width))
    if hopeless is None or not hopeless.any():
        drawn = _Drawn(anywhere, directions)
        return _nearest_of(drawn, forbids, observations, actions, low, high)
    # drawn for all, so that what others are given does not depend on who is hopeless
    chosen = actions.copy()
    found = np.zeros(num, np.bool_)
    rows = np.flatnonzero(~hopeless)
    if len(rows):
        drawn = _Drawn(anywhere[rows], directions[rows])
        some = _nearest_of(drawn, forbids, observations[rows], actions[rows], low, high)
        chosen[rows] = some.actions
        found[rows] = some.found
    return Shielded(chosen, found)


class _Drawn(NamedTuple):
    """Where candidates lie."""

    anywhere: FloatArray
    """[n, half, a]"""
    directions: FloatArray
    """[n, half, a]: around the action, standard normal"""


@cache
def _distances(number: int) -> FloatArray:
    """[number]: how far candidates lie around an action, the nearest first."""
    return np.geomspace(_NARROWEST, 1.0, number)


def _nearest_of(
    drawn: _Drawn,
    forbids: Callable[[FloatArray, AnyArray], BoolArray],
    observations: FloatArray,
    actions: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> Shielded:
    num, half, width = drawn.anywhere.shape
    spread = _distances(half)[None, :, None] * (high - low) / 2
    around = actions[:, None] + drawn.directions * spread
    # the fullest brake is one of the ends
    ends = np.broadcast_to(np.stack([low, high]), (num, 2, width))
    candidates = np.concatenate([drawn.anywhere, around, ends], axis=1)  # [n, K, a]
    # two calls, of which each is a fraction of `np.clip`
    candidates = np.minimum(np.maximum(candidates, low), high).astype(actions.dtype)
    # [n, K]; by shares of the width, since a valve in percent would outweigh an angle
    distances = np.linalg.norm((candidates - actions[:, None]) / (high - low), axis=-1)
    nearest_first = np.argsort(distances, axis=1)
    candidates = np.take_along_axis(candidates, nearest_first[..., None], axis=1)
    inside = actions.copy()
    found = np.zeros(num, np.bool_)
    for tried in (slice(None, _NUM_FIRST), slice(_NUM_FIRST, None)):
        rows = np.flatnonzero(~found)
        some = candidates[rows, tried]  # [rows, k, a]
        if some.size == 0:
            break
        seen = np.repeat(observations[rows][:, None], some.shape[1], axis=1)
        allowed: BoolArray = np.logical_not(forbids(seen, some))
        # argmax: the first that is allowed, and they stand nearest first.
        inside[rows] = some[np.arange(len(rows)), np.argmax(allowed, axis=1)]
        found[rows] = allowed.any(axis=1)
    # The nearest candidate may still be far from the boundary: without this the agent would keep
    # more distance from it than the rule asks for.
    rows = np.flatnonzero(found)
    inside[rows] = _moved_towards(forbids, observations[rows], inside[rows], actions[rows])
    return Shielded(np.where(found[:, None], inside, actions), found)


def _moved_towards(
    forbids: Callable[[FloatArray, AnyArray], BoolArray],
    observations: FloatArray,
    inside: FloatArray,
    actions: FloatArray,
) -> FloatArray:
    """Allowed actions moved towards others that are not, as far as that is allowed."""
    outside = actions
    every = np.arange(len(inside))
    for _ in range(_NUM_ROUNDS):
        if len(inside) == 0:
            break
        steps = np.concatenate([[0.0], _SHARES, [1.0]])[None, :, None]
        between = (inside[:, None] + steps * (outside - inside)[:, None]).astype(actions.dtype)
        seen = np.repeat(observations[:, None], len(_SHARES), axis=1)
        allowed = np.ones(between.shape[:2], np.bool_)
        allowed[:, 1:-1] = np.logical_not(forbids(seen, between[:, 1:-1]))
        allowed[:, -1] = False
        # the furthest that all before it are allowed with
        last = np.argmin(allowed, axis=1) - 1
        inside = between[every, last]
        outside = between[every, last + 1]
    return inside


def way_back(
    rng: np.random.Generator, shield: Shield, observations: FloatArray, actions: AnyArray
) -> AnyArray:
    """Where every action leads astray, or is forbidden: the one of some that, kept up, leads back
    soonest or goes least deep; [n, o], [n, a] or [n] -> like the actions."""
    assert shield.probes is not None
    tried = shield.probes
    if actions.ndim == 2:
        low = shield.probes.min(axis=0)
        high = shield.probes.max(axis=0)
        # The probes are always the same; fresh draws find ways that none of them is.
        tried = np.concatenate([tried, rng.uniform(low, high, (_NUM_ESCAPES, len(low)))])
    given = np.empty((1 + len(tried), *actions.shape), actions.dtype)  # [k, n, a]
    # What was drawn may already lead out: then the policy has its way.
    given[0] = actions
    given[1:] = tried[:, None]
    seen = np.broadcast_to(observations, (len(given), *observations.shape))
    flat = given.reshape(-1, *actions.shape[1:])
    trespass = shield.trespass(seen.reshape(-1, observations.shape[1]), flat)
    best = np.argmin(trespass.reshape(len(given), -1), axis=0)
    return np.asarray(given[best, np.arange(len(actions))])


def redrawn_choices(
    rng: np.random.Generator | None,
    forbids: Callable[[FloatArray, AnyArray], BoolArray],
    observations: FloatArray,
    actions: AnyArray,
    log_probs: FloatArray,
) -> Shielded:
    """Another choice among the allowed ones,
    with the policy's own probabilities (without `rng`: the likeliest).

    Shapes: observations [n, o], actions [n] integers, log_probs [n, choices].
    """
    num, choices = log_probs.shape
    every = np.broadcast_to(np.arange(choices, dtype=actions.dtype), (num, choices))
    seen = np.repeat(observations[:, None], choices, axis=1)
    allowed: BoolArray = np.logical_not(forbids(seen, every))
    scores = log_probs
    if rng is not None:
        scores = scores + rng.gumbel(size=scores.shape)  # the largest is a draw from the softmax
    found: BoolArray = np.asarray(allowed.any(axis=1))
    chosen = np.argmax(np.where(allowed, scores, -np.inf), axis=1).astype(actions.dtype)
    return Shielded(np.where(found, chosen, actions), found)
