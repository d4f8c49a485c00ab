"""Trials: what agents keep of their gain while they obey a rule.

A style that agents share explains all they do as well as a rule does. But who gives up a style
still out-earns the demonstrations, and who obeys the rule does not (docs/decisions/0019, 0021).
"""

from typing import NamedTuple

import numpy as np

from icrl.agent.cloning import foreseeing
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import AgentState, policy_of
from icrl.agent.training import first_forbidden
from icrl.config import LearnConfig
from icrl.constraint.found import region_cost
from icrl.evidence.expected import Expected
from icrl.search.rule import Rule
from icrl.tasks.task import Task
from icrl.trajectories import join
from icrl.types import CostFunction, Trajectories

WORTH_ASKING = 0.5
"""Deviations of the demonstrations: an agent that out-earns them by less has nothing to lose."""
_CAUTION = 0.75
"""Not at full caution: a wall close around demonstrations stops agents whatever its axes are."""
_SHARE = 0.003
_MOST_EPISODES = 100
"""Episodes of a trial: a share of a run's steps, but no more than so many. What an agent earns
beyond demonstrations scatters with its start, so a few would tell little."""


def rule_cost(rule: Rule, caution: float, task: Task) -> CostFunction:
    """1 − ζ of a rule."""
    region = rule.region.with_caution(caution)
    return region_cost(region, [axis.columns for axis in rule.axes], task)


class Tried(NamedTuple):
    """What agents did under a rule."""

    kept: float
    """Share of what they earn beyond demonstrations, by whoever keeps most."""
    permitted: Trajectories
    """Their episodes, each up to the first forbidden step."""


class Trials:
    """Where agents are tried."""

    def __init__(self, task: Task, config: LearnConfig) -> None:
        self.task = task
        self.forward = config.forward
        episodes = int(_SHARE * config.steps / task.horizon)
        self.env = task.make_env(int(np.clip(episodes, config.num_samples, _MOST_EPISODES)))

    def ask(
        self,
        rng: np.random.Generator,
        agents: list[AgentState],
        seen: Trajectories,
        expected: Expected,
    ) -> "Asked":
        """Those of the agents that out-earn the demonstrations;
        `seen` shows their shields what follows from actions."""
        return Asked(self, rng, agents, seen, expected)


class Asked:
    """Agents that out-earn the demonstrations, ready to be tried under rules."""

    def __init__(
        self,
        trials: Trials,
        rng: np.random.Generator,
        agents: list[AgentState],
        seen: Trajectories,
        expected: Expected,
    ) -> None:
        self.trials = trials
        self.rng = rng
        self.seed = int(rng.integers(2**31))
        """The same starts for everybody, under every rule."""
        self.expected = expected
        self.steps = 0
        """Environment steps so far."""
        self.agents: list[AgentState] = []
        self.most = 0.0
        """What the best of them earns beyond demonstrations."""
        for agent in agents:
            earned = self.advantage(self.permitted(agent, None))
            if earned > WORTH_ASKING:
                # A scout never had a shield, so its model of what follows is empty: it learns it
                # here from what scouts did.
                self.agents.append(foreseeing(rng, agent, seen, trials.task))
                self.most = max(self.most, earned)

    def kept_under(self, rule: Rule) -> Tried:
        """Share of that gain that is kept under a rule, by whoever keeps most of it.

        They learn nothing anew: where the rule refuses what they do, the shield does the next best
        thing.
        """
        cost = rule_cost(rule, _CAUTION, self.trials.task)
        # Every one is asked: by forty starts of the best one alone the same rule was told as 0.56,
        # 0.20 and 0.47 (decision 0021).
        episodes = [self.permitted(agent, cost) for agent in self.agents]
        earned = [self.advantage(permitted) for permitted in episodes]
        # beside what the best of them earns: a share of little is mostly chance
        return Tried(float(np.clip(max(earned) / self.most, 0.0, 1.0)), join(episodes))

    def advantage(self, permitted: Trajectories) -> float:
        """Mean over episodes of what they earn beyond demonstrations, in their deviations."""
        return float(np.mean(self.expected.advantages(permitted)))

    def permitted(self, agent: AgentState, cost: CostFunction | None) -> Trajectories:
        """What an agent does at the mode of its policy, each episode up to what is forbidden."""
        trials = self.trials
        policy = policy_of(agent, trials.task, trials.forward, cost, greedy=True)
        # What follows a forbidden step counts for nothing here, and need not be played.
        samples = sample_trajectories(
            self.rng, policy, trials.env, trials.task.horizon, self.seed, ends_at=cost
        )
        self.steps += samples.num_steps
        return self.expected.stopped(samples, first_forbidden(samples, cost))
