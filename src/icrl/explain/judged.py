"""The pairs that an explanation rests on, as ζ judges them:
what the demonstrations and the run's agents did."""

from dataclasses import dataclass, replace

import numpy as np

from icrl.constraint.features import Features
from icrl.constraint.learned import LearnedConstraint
from icrl.trajectories import join_pairs, pairs_of
from icrl.types import AnyArray, BoolArray, FloatArray, IntArray, Pairs, Trajectories
from icrl.visited import Visited

MOST_DEMO_PAIRS = 20_000
_COPIES = 10_000
PAYS = 0.2
"""Share of what demonstrations earn that makes an episode worth an explanation."""
_WIDER = 1.0
"""Moved copies reach this many ranges of the data beyond it, on each side."""
EXPERT = -1
MOVED = -2
"""Instead of an episode's number: a demonstrated pair; a copy of one with a feature moved."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """n pairs seen through ζ's d features, raw (not clipped)."""

    names: tuple[str, ...]
    """[d]"""
    choices: BoolArray
    """[d]: True where the feature is one choice of a discrete action (1: taken, 0: not)"""
    values: FloatArray
    """[n, d] float64"""
    forbidden: BoolArray
    """[n]: ζ is below its threshold"""
    episodes: IntArray
    """[n]: the agents' episode, `EXPERT` or `MOVED`"""
    pairs: Pairs
    """The same pairs as the constraint takes them."""
    paid: BoolArray | None = None
    """[n]: of an episode that pays enough to ask why the expert does not
    do likewise; None: all are"""

    @property
    def flags(self) -> BoolArray:
        """[d]: a number that is only ever 0 or 1, such as one of a set of states;
        nothing lies between."""
        return flag_columns(self.choices, self.values)

    def judged_as(self, forbidden: BoolArray) -> "Judged":
        """The same pairs, judged otherwise."""
        return replace(self, forbidden=forbidden)

    @property
    def by_expert(self) -> BoolArray:
        """[n]: demonstrated."""
        return np.asarray(self.episodes == EXPERT)

    @property
    def by_agents(self) -> BoolArray:
        """[n]: done by an agent of the run, chance included."""
        return np.asarray(self.episodes >= 0)


def judge_pairs(
    constraint: LearnedConstraint, demos: Trajectories, visited: Visited | None
) -> Judged:
    """What ζ says of the demonstrations and of where the agents went.

    Without a record of the agents, copies of demonstrated pairs with one feature moved stand
    in for them, so that there is something that ζ forbids; they are nobody's doing and count
    as no evidence.
    """
    features = constraint.features
    # Thinned: rules are chosen on 8,000 pairs, and a million more would only be waited for.
    expert = pairs_of(demos, max(1, demos.num_steps // MOST_DEMO_PAIRS))
    if visited is None:
        others = moved_copies(features, expert)
        episodes = np.full(len(others.observations), MOVED)
    else:
        others = visited.pairs()
        episodes = visited.episodes
    pairs = join_pairs([expert, others])
    return Judged(
        names=features.names,
        choices=choice_columns(features),
        values=feature_values(features, pairs.observations, pairs.actions),
        forbidden=~constraint.is_feasible(pairs.observations, pairs.actions),
        episodes=np.concatenate([np.full(len(expert.observations), EXPERT), episodes]),
        pairs=pairs,
        paid=None
        if visited is None
        else np.concatenate([np.ones(len(expert.observations), bool), _paid(visited, demos)]),
    )


def _paid(visited: Visited, demos: Trajectories) -> BoolArray:
    """[n]: the pair's episode earns at least a fifth of what the mean demonstration earns (all,
    if nothing is known of what those earn). An expert has no reason to do what pays nothing,
    allowed or not."""
    expert = float(np.mean(demos.returns))
    if expert != 0:
        # By the size of the return: a fifth of a negative return would be more than all of it.
        enough = visited.returns >= expert - (1 - PAYS) * abs(expert)
    else:
        enough = np.ones(len(visited.returns), bool)
    return np.asarray(enough[visited.episodes])


def choice_columns(features: Features) -> BoolArray:
    """[f]: which features are choices of a discrete action."""
    return np.array(
        [features.discrete and column >= features.num_observations for column in features.columns]
    )


def flag_columns(choices: BoolArray, values: FloatArray) -> BoolArray:
    """[d]: which of the features in `values` [n, d] are yes or no without being a choice."""
    return np.asarray(~choices & np.all((values == 0) | (values == 1), axis=0))


def feature_values(features: Features, observations: AnyArray, actions: AnyArray) -> FloatArray:
    """[s, a][columns] as ζ is given them, but not clipped:
    [n, o], [n, a] (or [n]) -> [n, f] float64."""
    if features.discrete:
        acts = actions[:, None] == np.arange(features.num_actions)
    else:
        acts = actions
    return np.concatenate([observations, acts], axis=1).astype(np.float64)[
        :, list(features.columns)
    ]


def with_feature(features: Features, pairs: Pairs, index: int, values: FloatArray) -> Pairs:
    """The pairs with feature `index` set to `values` [n];
    a choice is set by taking it where the value is 1."""
    column = features.columns[index]
    width = features.num_observations
    observations = pairs.observations.copy()
    actions = pairs.actions.copy()
    if column < width:
        observations[:, column] = values
    elif features.discrete:
        # A choice is untaken only by taking another: where the value is 0, the pair stays as it is.
        actions[values > 0.5] = column - width
    else:
        actions[:, column - width] = values
    return Pairs(observations=observations, actions=actions)


def moved_copies(features: Features, pairs: Pairs) -> Pairs:
    """Copies of pairs, each with one feature drawn evenly from a range wider than the
    data (within ζ's bounds)."""
    rng = np.random.default_rng(0)
    values = feature_values(features, pairs.observations, pairs.actions)
    low = values.min(axis=0)
    high = values.max(axis=0)
    # At least one unit: a feature that never changed is moved, too.
    reach = _WIDER * np.maximum(high - low, 1.0)
    # Beyond ζ's bounds nothing changes: copies there would all be alike.
    low = np.maximum(low - reach, features.lower)
    high = np.minimum(high + reach, features.upper)
    per_feature = max(1, _COPIES // features.num_features)
    parts = []
    for index in range(features.num_features):
        chosen = rng.integers(0, len(values), per_feature)
        copies = Pairs(observations=pairs.observations[chosen], actions=pairs.actions[chosen])
        drawn = rng.uniform(low[index], np.maximum(high[index], low[index]), per_feature)
        parts.append(with_feature(features, copies, index, drawn))
    return join_pairs(parts)


def influence(constraint: LearnedConstraint, judged: Judged, most_pairs: int = 2_000) -> FloatArray:
    """How much each feature matters to ζ: the share of judgements that flip when its
    values are shuffled. -> [d].

    Half of the pairs (at most) are forbidden ones, so that a constraint that forbids little is
    not thought to ignore everything. A discrete action is shuffled as one, and its choices
    share the number.
    """
    rng = np.random.default_rng(0)
    chosen = balanced_indices(judged.forbidden, most_pairs, rng)
    pairs = Pairs(
        observations=judged.pairs.observations[chosen], actions=judged.pairs.actions[chosen]
    )
    before = judged.forbidden[chosen]
    shares = np.zeros(len(judged.names))
    for index in range(len(shares)):
        order = rng.permutation(len(chosen))
        if judged.choices[index]:
            moved = Pairs(observations=pairs.observations, actions=pairs.actions[order])
        else:
            moved = with_feature(
                constraint.features, pairs, index, judged.values[chosen[order], index]
            )
        # Forbidden before, feasible now (or neither): that these two are equal is a flip.
        shares[index] = np.mean(before == constraint.is_feasible(moved.observations, moved.actions))
    return shares


def balanced_indices(forbidden: BoolArray, most: int, rng: np.random.Generator) -> IntArray:
    """Up to `most` indices, half of them (as far as there are any) of forbidden pairs,
    half of allowed ones."""
    parts = []
    for kind in (np.flatnonzero(forbidden), np.flatnonzero(~forbidden)):
        parts.append(rng.permutation(kind)[: most // 2])
    return np.concatenate(parts)
