"""What a run recorded, as evidence: who made each episode,
and how far it out-earns the demonstrations."""

from dataclasses import dataclass

import numpy as np

from icrl.constraint.learned import LearnedConstraint
from icrl.demos.dataset import Demonstrations
from icrl.explain.judged import feature_values
from icrl.rounds import Phase
from icrl.trust.space import Space, space_of
from icrl.types import BoolArray, FloatArray, Trajectories
from icrl.visited import CHANCE, Visited

_STEEPNESS = 2.0
_LEAST_SCATTER = 0.05
"""Of the size of the demonstrations' mean return: a smaller difference of returns is none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """The kept episodes of a run's agents, beside its demonstrations."""

    visited: Visited
    demos: Trajectories
    phases: tuple[str, ...]
    """[E]: what each episode's agent was there for"""
    advantages: FloatArray
    """[E]: what it earns beyond the mean demonstration, in deviations of theirs"""

    @property
    def kept(self) -> BoolArray:
        """[E]: at least one step of it was kept."""
        return np.isin(np.arange(len(self.phases)), self.visited.episodes)

    def of(self, *phases: Phase) -> BoolArray:
        """[E]: kept episodes of agents that were there for one of these."""
        names = {phase.value for phase in phases}
        return np.array([phase in names for phase in self.phases], np.bool_) & self.kept

    @property
    def weights(self) -> FloatArray:
        """[E]: how much each episode needs explaining:
        ½ where it out-earns demonstrations by their deviation."""
        # exp of these is still a number
        clipped = np.clip(self.advantages, -25.0, 25.0)
        return np.asarray(1.0 / (1.0 + np.exp(-_STEEPNESS * (clipped - 1.0))))

    def forbidden(self, constraint: LearnedConstraint) -> BoolArray:
        """[n]: kept steps that ζ forbids."""
        return ~constraint.is_feasible(self.visited.observations, self.visited.actions)

    def entered(self, constraint: LearnedConstraint) -> BoolArray:
        """[E]: at least one kept step is forbidden."""
        found = np.zeros(len(self.phases), np.bool_)
        np.logical_or.at(found, self.visited.episodes, self.forbidden(constraint))
        return found

    def steps_of(self, episodes: BoolArray) -> BoolArray:
        """[n]: kept steps of the chosen episodes."""
        return np.asarray(episodes[self.visited.episodes])

    def best_round(self, *phases: Phase) -> float:
        """The largest mean advantage of a round of such agents; -inf: there is none."""
        chosen = self.of(*phases)
        rounds = np.unique(self.visited.rounds[chosen])
        means = [
            float(np.mean(self.advantages[chosen & (self.visited.rounds == number)]))
            for number in rounds
        ]
        return max(means, default=-np.inf)

    def space(self, constraint: LearnedConstraint) -> Space:
        """The space of a region, with demonstrations and these agents in it."""
        values = feature_values(
            constraint.features, self.visited.observations, self.visited.actions
        )
        return space_of(constraint, self.demos, values)


def record_of(visited: Visited, demos: Demonstrations, phases: dict[int, str]) -> Record:
    """`phases` by round, as the run's metrics tell them;
    what they do not know is an agent like any other."""
    returns = demos.trajectories.returns
    mean = float(np.mean(returns))
    # Demonstrations that all earn the same would make every difference a large one.
    scatter = max(float(np.std(returns)), _LEAST_SCATTER * abs(mean), 1e-9)
    named = []
    for number in visited.rounds:
        name = phases.get(int(number), Phase.round.value)
        if number == CHANCE:
            name = "chance"
        named.append(name)
    return Record(
        visited=visited,
        demos=demos.trajectories,
        phases=tuple(named),
        advantages=(visited.returns - mean) / scatter,
    )
