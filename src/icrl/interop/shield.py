"""`Shield`: stands between a policy and an environment, and refuses infeasible actions.

NumPy only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from icrl.agent.shield import nearest_allowed
from icrl.constraint.features import one_hot
from icrl.constraint.learned import LearnedConstraint, require_constraint
from icrl.errors import InputError
from icrl.types import AnyArray


class Choice(NamedTuple):
    """What a shield lets through."""

    action: Any
    """The chosen candidate: [a], or an integer."""
    feasibility: float
    """ζ of it."""
    feasible: bool
    """Whether it is feasible; if not, none of the candidates was."""
    rank: int
    """Its place among the candidates, from 0;
    for `first_feasible` and `ask`, how many were refused before it."""


@dataclass(frozen=True, kw_only=True)
class Shield:
    """Chooses among candidate actions by a learned constraint.

    It judges the next step alone. Where every action is infeasible, or each of them leads to such a
    place, only a policy that was trained under the constraint helps.
    """

    constraint: LearnedConstraint
    states: range | None = None
    """Numbers of a Discrete observation, in place of which a state's number may be given;
    None: vectors alone."""

    def __post_init__(self) -> None:
        """Validate."""
        require_constraint(self.constraint)

    @classmethod
    def for_env(
        cls, env: Any, constraint: LearnedConstraint, feature_names: Sequence[str] | None = None
    ) -> "Shield":
        """The shield of a `gymnasium.Env`: features found by its names (or those given),
        states by their number."""
        # with gymnasium, which a shield by itself does without
        from icrl.interop.judge import judge_for

        judge = judge_for(env, constraint, feature_names)
        return cls(constraint=judge.constraint, states=judge.states)

    def first_feasible(self, observation: Any, candidates: Any) -> Choice:
        """The first feasible candidate, in the caller's order of preference;
        if there is none, the most feasible.

        Shapes: observation [o] (or a state's number),
        candidates [n, a] (or [n] integers when discrete).
        """
        zeta = self._feasibility(observation, candidates)
        allowed = np.flatnonzero(zeta >= self.constraint.threshold)
        return self._choice(candidates, zeta, int(allowed[0] if len(allowed) else np.argmax(zeta)))

    def most_feasible(self, observation: Any, candidates: Any) -> Choice:
        """The candidate with the highest ζ (a tie goes to the earlier).

        Shapes as in `first_feasible`.
        """
        zeta = self._feasibility(observation, candidates)
        return self._choice(candidates, zeta, int(np.argmax(zeta)))

    def nearest(self, observation: Any, action: Any, low: Any, high: Any, seed: int = 0) -> Choice:
        """A continuous action itself where it is feasible,
        else the nearest feasible one that is found.

        It is the shield that agents are trained behind.
        Shapes: observation [o], action, low, high [a]; both bounds finite.
        """
        wanted = np.asarray(action, np.float64)
        bounds = np.stack(
            [np.broadcast_to(low, wanted.shape), np.broadcast_to(high, wanted.shape)]
        ).astype(np.float64)
        if wanted.ndim != 1 or not np.isfinite(bounds).all() or np.any(bounds[0] >= bounds[1]):
            raise InputError(
                "expected an action [a] and finite bounds with low < high, got shape "
                f"{list(wanted.shape)} and bounds {bounds.tolist()!r:.80}."
            )
        # What is allowed goes through as it is: a shield that polishes good actions is a second
        # policy.
        zeta = self._feasibility(observation, wanted[None])
        if zeta[0] >= self.constraint.threshold:
            return Choice(wanted, float(zeta[0]), True, 0)

        def forbids(observations: AnyArray, actions: AnyArray) -> AnyArray:
            return ~self.constraint.is_feasible(observations, actions)

        seen = np.asarray(observation, np.float64)[None]
        # The same question has the same answer, however often it is asked: a shield on a robot must
        # not be a source of chance.
        rng = np.random.default_rng(seed)
        found = nearest_allowed(rng, forbids, seen, wanted[None], bounds[0], bounds[1])
        chosen = found.actions[0]
        return Choice(
            chosen, float(self._feasibility(observation, chosen[None])[0]), bool(found.found[0]), 1
        )

    def ask(
        self, observation: Any, propose: Callable[[Any], Any], num_candidates: int = 16
    ) -> Choice:
        """Ask a policy for actions until one is feasible;
        of `num_candidates` infeasible ones take the most feasible.

        `propose` maps an observation to one action and should draw anew at every
        call (a stochastic policy).
        """
        if num_candidates < 1:
            raise InputError(f"expected num_candidates >= 1, got {num_candidates}.")
        best: Choice | None = None
        for index in range(num_candidates):
            action = propose(observation)
            zeta = self._feasibility(observation, np.asarray(action)[None])
            choice = Choice(
                action, float(zeta[0]), bool(zeta[0] >= self.constraint.threshold), index
            )
            # Kept for the case that none is feasible: something has to be done, and the least
            # forbidden is the best guess.
            if best is None or choice.feasibility > best.feasibility:
                best = choice
            if choice.feasible:
                return choice
        assert best is not None
        return best

    def _choice(self, candidates: Any, zeta: AnyArray, index: int) -> Choice:
        feasible = bool(zeta[index] >= self.constraint.threshold)
        return Choice(np.asarray(candidates)[index], float(zeta[index]), feasible, index)

    def _feasibility(self, observation: Any, candidates: Any) -> AnyArray:
        """ζ of each candidate at one observation: [n]."""
        seen = np.asarray(observation)
        actions = np.asarray(candidates)
        if seen.ndim == 0 and self.states is None:
            raise InputError(
                f"expected an observation [{self.constraint.features.num_observations}], got "
                f"{observation!r:.60}: if it is the number of a state, make the shield with "
                "Shield.for_env(env, constraint)."
            )
        if seen.ndim == 0 and self.states is not None:
            seen = one_hot(seen, self.states)
        if actions.ndim == 0 or len(actions) == 0:
            raise InputError(
                f"expected one or more candidate actions, got shape {list(actions.shape)}."
            )
        return self.constraint.feasibility(
            np.broadcast_to(seen, (len(actions), *seen.shape)), actions
        )
