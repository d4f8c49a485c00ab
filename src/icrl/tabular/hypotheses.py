"""What a constraint may be in a small world: a state, an action, or one pair of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from icrl.errors import InputError
from icrl.tabular.mdp import TabularMDP
from icrl.types import BoolArray


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A claim that something is forbidden: a state (any action there),
    an action (in any state), or a pair."""

    state: int | None = None
    action: int | None = None

    def __post_init__(self) -> None:
        """Validate."""
        if self.state is None and self.action is None:
            raise InputError("a hypothesis names a state, an action, or both; got neither.")

    def describe(self, mdp: TabularMDP) -> str:
        """In words, with the names of the MDP."""
        place = []
        if self.state is not None:
            place = [f"state {mdp.state_names[self.state]}"]
        deed = []
        if self.action is not None:
            deed = [f"action {mdp.action_names[self.action]}"]
        return " with ".join(place + deed)


def all_hypotheses(
    mdp: TabularMDP, *, states: bool = True, actions: bool = True, pairs: bool = True
) -> tuple[Hypothesis, ...]:
    """Every hypothesis of the chosen kinds, the broad ones first: actions, states, pairs."""
    found: list[Hypothesis] = []
    # The order decides ties: forbidding an action everywhere is the simpler claim than forbidding
    # it in each state.
    if actions:
        found += [Hypothesis(action=a) for a in range(mdp.num_actions)]
    if states:
        found += [Hypothesis(state=s) for s in range(mdp.num_states)]
    if pairs:
        found += [
            Hypothesis(state=s, action=a)
            for s in range(mdp.num_states)
            for a in range(mdp.num_actions)
        ]
    return tuple(found)


def forbidden_pairs(mdp: TabularMDP, hypotheses: Sequence[Hypothesis]) -> BoolArray:
    """[H, S, A]: the pairs that each hypothesis forbids."""
    forbidden = np.zeros((len(hypotheses), *mdp.reward.shape), dtype=np.bool_)
    for row, hypothesis in zip(forbidden, hypotheses, strict=True):
        state: slice | int = slice(None)
        if hypothesis.state is not None:
            state = hypothesis.state
        action: slice | int = slice(None)
        if hypothesis.action is not None:
            action = hypothesis.action
        row[state, action] = True
    return forbidden


def union(mdp: TabularMDP, hypotheses: Iterable[Hypothesis]) -> BoolArray:
    """[S, A]: the pairs that any of the hypotheses forbids."""
    return np.asarray(np.any(forbidden_pairs(mdp, tuple(hypotheses)), axis=0))


def recovery_errors(
    mdp: TabularMDP, found: Sequence[Hypothesis], true: Sequence[Hypothesis]
) -> tuple[int, int]:
    """(false positives, false negatives): found hypotheses that forbid an allowed pair;
    true ones not wholly found."""
    # By pairs and not by name: a state, or all pairs in it, are the same constraint.
    found_table = union(mdp, found)
    true_table = union(mdp, true)
    false_positives = sum(
        bool(np.any(pairs & ~true_table)) for pairs in forbidden_pairs(mdp, found)
    )
    false_negatives = sum(
        bool(np.any(pairs & ~found_table)) for pairs in forbidden_pairs(mdp, true)
    )
    return false_positives, false_negatives
