"""Our way through Algorithm 1: fresh agents, evidence that needs explaining,
ζ as the rule over few features that does.

1. *Scouts*, fresh agents without any constraint, show where reward leads. What they do, at the mode
   of their policy, is evidence as far as it earns more than demonstrations do from a like start.
2. *Find*: the few axes along which the evidence goes where no demonstration goes,
   and the wall in them.
3. *Judge*: the best scout goes on under that ζ, then a fresh agent, neither helped by
   demonstrations. If one still out-earns them, its episodes are counter-examples: they move the
   wall, or show that other axes explain more.
4. *Hand out*: an agent under the last ζ that demonstrations help.
"""

import dataclasses
from functools import partial
from typing import Any

import jax
import numpy as np

from icrl.agent.forward_step import NOTHING_DONE, forward_steps, generator
from icrl.agent.imitation import shown_steps
from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import init_agent, policy_of
from icrl.agent.training import (
    Goal,
    Plays,
    Training,
    first_forbidden,
    judged_training,
    seen_first,
    start_training,
    train_on,
)
from icrl.config import LearnConfig, Train
from icrl.contest import Contests
from icrl.demos.dataset import Demonstrations
from icrl.errors import InputError
from icrl.evidence.expected import Expected, expected_of
from icrl.evidence.gathered import OUT_EARNS, STILL, add, scouts_advantage
from icrl.finding import Finder, mean_cost, rule_of, told_of
from icrl.progress import HARDLY, counted, improving, measured, scouted, with_best
from icrl.rounds import OnProgress, Phase, Round, num_rounds, report_progress
from icrl.state import LearnState, Scout
from icrl.tasks.task import Task
from icrl.trials import rule_cost
from icrl.types import CostFunction, Trajectories

_SCOUTS_SHARE = 0.5
"""Of a run's steps, for all scouts."""
_JUDGE_SHARES = (0.075, 0.15)
"""Of a run's steps: a fresh agent judges ζ for as long as the longest scout took, within them."""
_SCOUT_AGAIN = 1 / 3
"""Of that, for the scout that goes on under ζ."""
_FINAL_SHARE = 0.5
"""Of a run's steps, for the agent that is handed out at most."""
_GROWS = 0.4
"""Share of an agent's training over which what is forbidden grows to its full size."""
_NEAR = 0.05
"""Of the way from chance to demonstrations: an agent that comes so near earns what they earn.
To earn the last of it, agents go where nobody has shown that one may."""
_NEAR_OF_ALL = 0.1
"""And of what demonstrations earn."""
_LEFT_FOR_FINAL = 0.3
"""Of a run's steps, for the agent that is handed out."""
_LAST_LOOK = 0.8
"""Of a run's steps, after which ζ stays as it is."""
_MORE_SCOUTS = 2
"""Scouts that may follow the first where they show nothing."""
_MOST_GENERATIONS = 5
_RETURNS_AT = 2.0
"""A scout returns once it out-earns demonstrations by so many of their
deviations, twice in a row."""
_TWICE = 2
_CONTESTS = 1
"""Folded into the key of trials: another use of chance must not change how agents begin."""
_NEVER = 10**12
"""A scout's learning rate never falls."""


class SearchWay:
    """Scouts, findings, judges, and the agent that is handed out."""

    def __init__(self, task: Task, demos: Demonstrations, config: LearnConfig, key: Any) -> None:
        if not demos.has_rewards:
            raise InputError(
                f"the demonstrations have no rewards, and task {task.name} does not say what a "
                "step (s, a, s') pays: what an agent earns beyond them cannot be told. Record them "
                "with rewards, give your environment a method reward_of, or learn with --preset "
                "paper, which does without."
            )
        self.task = task
        self.demos = demos
        self.config = config
        self.rounds = num_rounds(task, config)
        # A key for each use of chance: one more trial must not change how the next agent begins.
        self.key_chance, self.key_agents, self.key_rounds, key_tries = jax.random.split(key, 4)
        key_contests = jax.random.fold_in(key_tries, _CONTESTS)
        # a piece of training is at least two episodes long: agents must be seen to the end
        batch = config.forward.num_envs * config.forward.rollout_steps
        least = -(-2 * task.horizon // config.forward.rollout_steps) * batch
        self.forward = dataclasses.replace(config.forward, steps=max(config.forward.steps, least))
        self.train_env = task.make_env(config.forward.num_envs)
        self.sample_env = task.make_env(config.num_samples)
        self.imitated = shown_steps(demos.trajectories, task)
        self.finder = Finder(task, demos, config, key_tries)
        self.contests = Contests(task, config, self.finder, key_contests)

    def start(self) -> LearnState:
        """What chance earns is the lower end of every yardstick; then the first scout."""
        training = start_training(generator(self.key_agents), self.task, self.forward)
        rng = generator(self.key_chance)
        policy = policy_of(training.agent, self.task, self.forward)
        chance = sample_trajectories(
            rng, policy, self.sample_env, self.task.horizon, int(rng.integers(2**31))
        )
        expected = expected_of(self.demos.trajectories, chance, self.task.horizon)
        return LearnState(
            training=training,
            phase=Phase.scout,
            expected=expected,
            chance=chance,
            steps=chance.num_steps,
        )

    def budget(self, state: LearnState) -> int:
        """Steps that the agent of this phase may take."""
        # What all before it took, trials and samples included: a bound on the run is a bound on all
        # of it.
        used = state.steps - state.training.steps
        if state.phase is Phase.scout:
            share = _SCOUTS_SHARE
            # Those that follow where nothing was found have what is left before the last agent.
            if state.finding is not None:
                share = 1.0 - _LEFT_FOR_FINAL
            steps = int(share * self.config.steps) - used
        elif state.phase is Phase.judge:
            least, most = (share * self.config.steps for share in _JUDGE_SHARES)
            # As long as a scout needed to find the gain, a judge may need to find a way past ζ
            # (decision 0020).
            steps = int(np.clip(state.scout_steps, least, most))
            if state.from_scout:
                steps = int(_SCOUT_AGAIN * steps)
        else:
            steps = min(int(_FINAL_SHARE * self.config.steps), self.config.steps - used)
        return max(steps, forward_steps(self.forward))

    def cost_of(self, state: LearnState) -> CostFunction | None:
        """1 − ζ that the agent of this phase is judged by; None: nothing is forbidden."""
        rule = rule_of(state)
        if state.phase is Phase.scout or rule is None:
            return None
        return rule_cost(rule, self.config.caution, self.task)

    def _growing(self, state: LearnState) -> CostFunction | None:
        """The same for an agent that is being trained:
        what is forbidden grows to its full size while it learns.

        Round a small obstacle a way is found;
        round one that has grown to its full size none would have been.
        """
        rule = rule_of(state)
        grown = state.training.steps / (_GROWS * self.budget(state))
        # A clone has its way round already; a judge that goes on has met the whole of ζ before.
        knows_it = state.training.cloned or state.alone
        if state.phase is Phase.scout or rule is None or grown >= 1.0 or knows_it:
            return self.cost_of(state)
        return rule_cost(rule, self.config.caution * grown, self.task)

    def solve(self, state: LearnState, on_progress: OnProgress) -> LearnState:
        """One piece of the agent's training under the present ζ (Eq. 9)."""
        number = state.number + 1
        if seen_first(state.training, looks=len(state.curve)):
            return dataclasses.replace(state, number=number, forward_info=NOTHING_DONE)
        training, info = train_on(
            jax.random.fold_in(self.key_rounds, 2 * number),
            state.training,
            self.task,
            self.train_env,
            self._growing(state),
            self.forward,
            # Scouts keep the whole rate (decision 0012): nobody knows before how long one is out
            # (0020).
            _NEVER if state.phase is Phase.scout else self.budget(state),
            shown=self.imitated if state.training.cloned else None,
            on_update=partial(report_progress, on_progress, state.steps, self.rounds),
        )
        return dataclasses.replace(
            state,
            number=number,
            steps=state.steps + info.steps,
            training=training,
            forward_info=info,
        )

    def sample(self, state: LearnState) -> LearnState:
        """Episodes at the mode of the policy:
        its noise is a style that all agents share and no demonstration has."""
        rng = generator(jax.random.fold_in(self.key_rounds, 2 * state.number + 1))
        policy = policy_of(
            state.training.agent, self.task, self.forward, self.cost_of(state), greedy=True
        )
        env = self.sample_env
        if state.phase is Phase.final:
            # from many starts: an agent that is handed out must do well from all of them
            env = self.finder.trials.env
        samples = sample_trajectories(rng, policy, env, self.task.horizon, int(rng.integers(2**31)))
        return dataclasses.replace(
            state,
            samples=samples,
            steps=state.steps + samples.num_steps,
            weights=np.zeros(samples.num_trajectories),
            moved=False,
            acted=state.training.agent,
            acted_as=state.phase,
        )

    def move(self, state: LearnState) -> LearnState:
        """What follows from the samples, by what their agent is there for."""
        assert state.samples is not None
        assert state.expected is not None
        if state.phase is Phase.scout:
            return self._after_scout(state, state.samples, state.expected)
        if state.phase is Phase.judge:
            return self._after_judge(state, state.samples, state.expected)
        return self._after_final(state, state.samples, state.expected)

    def _after_scout(
        self, state: LearnState, samples: Trajectories, expected: Expected
    ) -> LearnState:
        """All that scouts do is kept; once enough of them are back, ζ is found."""
        advantages = expected.advantages(samples)
        out_earning = float(np.mean(advantages)) >= _RETURNS_AT
        training = counted(state.training, out_earning)
        earned = float(np.mean(advantages))
        curve = (*state.curve, earned)
        returns = (
            training.passes >= _TWICE
            or not improving(curve)
            or training.steps + forward_steps(self.forward) > self.budget(state)
        )
        # After every piece, not at the end alone: scouts that are still learning share where reward
        # leads and differ in style (decision 0011).
        evidence = add(state.evidence, samples, 0)
        state = dataclasses.replace(
            state,
            training=training,
            evidence=evidence,
            weights=np.asarray(expected.competence(samples) >= 0.5, np.float64),
            why=f"scout {state.scouts + 1} is out",
            curve=curve,
            scout_steps=max(state.scout_steps, training.steps),
        )
        state = dataclasses.replace(state, scouted=scouted(state, Scout(training.agent, earned)))
        if not returns:
            return state
        state = dataclasses.replace(state, scouts=state.scouts + 1, curve=())
        if state.scouts < self.config.scouts and state.steps <= _SCOUTS_SHARE * self.config.steps:
            return self._fresh(state, Phase.scout, f"scout {state.scouts} is back")
        state = self.finder.found(state)
        more = state.scouts < self.config.scouts + _MORE_SCOUTS and self._time_left(state)
        if (
            rule_of(state) is None
            and state.finding is not None
            # More scouts only where those so far do not plainly out-earn, or one alone does: else
            # there was enough to explain, and no rule did.
            and (state.finding.strength < 0.9 or not self.finder.independent(state))
            and more
        ):
            return self._fresh(state, Phase.scout, "nothing found so far: one more scout")
        if rule_of(state) is None:
            return self._hand_out(state, state.why)
        return self._judge(state)

    def _judge(self, state: LearnState) -> LearnState:
        """Under a new ζ the best scout goes on first:
        nobody is nearer to a way past a rule that is wrong."""
        training = Training(state.best_scout.agent)
        return dataclasses.replace(state, training=training, phase=Phase.judge, from_scout=True)

    def _after_judge(
        self, state: LearnState, samples: Trajectories, expected: Expected
    ) -> LearnState:
        """An agent under ζ that out-earns demonstrations is a counter-example."""
        cost = self.cost_of(state)
        # What is earned beyond the wall counts neither for nor against it: a judge is asked what it
        # earns by obeying.
        permitted = expected.stopped(samples, first_forbidden(samples, cost))
        advantages = expected.advantages(permitted)
        assert state.evidence is not None
        unbound = scouts_advantage(state.evidence, expected)
        # By a third of what scouts have, too (decision 0017): below that it may be skill, which no
        # rule has to explain.
        out_earning = float(np.mean(advantages)) > max(OUT_EARNS, STILL * unbound)
        training = counted(state.training, out_earning)
        done = measured(samples, permitted, cost, expected)
        state = dataclasses.replace(
            state, training=training, why="the agent under ζ is being trained"
        )
        if (
            training.passes >= _TWICE
            and state.generation < _MOST_GENERATIONS
            and self._time_left(state)
        ):
            # Only what it did before ζ was broken: the rest is explained already.
            if state.contest is not None:
                state = dataclasses.replace(state, judge=training.agent)
                return self._challenged(self.contests.settled(state, out_earned=True))
            evidence = add(state.evidence, permitted, state.generation)
            state = dataclasses.replace(
                state,
                evidence=evidence,
                weights=np.ones(samples.num_trajectories),
                judged=(*state.judged, done),
            )
            before = state.finding
            state = self.finder.found(state)
            # Nothing explains it better: to ask another judge would give the same answer.
            if state.finding is before:
                return self._hand_out(state, state.why)
            return self._judge(state)
        if training.steps + forward_steps(self.forward) <= self.budget(state) and self._time_left(
            state
        ):
            return state
        if state.from_scout and self._time_left(state):
            state = dataclasses.replace(state, from_scout=False)
            return self._fresh(
                state, Phase.judge, "the best scout found no way past ζ: now a fresh agent"
            )
        state = dataclasses.replace(state, judged=(*state.judged, done), judge=training.agent)
        earns = f"{float(np.mean(advantages)):+.1f} deviations beside the demonstrations"
        state = dataclasses.replace(state, why=f"the agent under ζ earns {earns}")
        if state.contest is not None:
            state = self.contests.settled(state)
        return self._challenged(state)

    def _challenged(self, state: LearnState) -> LearnState:
        """The next agent is one under a rival, where the rule leaves something unsaid that it says;
        otherwise the last."""
        if self._time_left(state):
            state = self.contests.challenged(state)
        if state.contest is not None:
            return self._fresh(state, Phase.judge, state.why)
        return self._hand_out(state, state.why)

    def _after_final(
        self, state: LearnState, samples: Trajectories, expected: Expected
    ) -> LearnState:
        """Train until the agent is feasible and earns what demonstrations earn from like starts."""
        cost = self.cost_of(state)
        permitted = expected.stopped(samples, first_forbidden(samples, cost))
        done = measured(samples, permitted, cost, expected)
        most_forbidden = Goal(0.0).most_forbidden
        if state.training.cloned and state.training.steps == 0:
            # it is like one more demonstration: those that are held out lie beyond the wall, too,
            # here and there by a hair
            done = measured(samples, samples, cost, expected)
            most_forbidden = HARDLY
        # where chance loses a lot, a small part of the way is a large part of what they earn
        near = min(_NEAR * expected.way, _NEAR_OF_ALL * abs(expected.mean))
        # From like starts: the hundred starts of these episodes may be easier or harder than those
        # of the demonstrations.
        theirs = float(np.mean(expected.from_starts(samples)))
        shortfall = theirs - max(expected.standard_error, near)
        goal = None
        if self.config.train is Train.until_expert:
            goal = Goal(shortfall, most_forbidden)
        training = judged_training(state.training, done, goal, self.budget(state), self.forward)
        state = with_best(state, training, done)
        found = self._out_earned(state, permitted, expected)
        if found is not None:
            return found
        # Asked before the round, at its longest: the next one must still fit.
        next_round = (
            forward_steps(self.forward) + self.finder.trials.env.num_envs * self.task.horizon
        )
        out_of_steps = state.steps + next_round > self.config.steps
        curve = (*state.curve, float(np.mean(expected.advantages(permitted))))
        state = dataclasses.replace(state, curve=curve)
        # While it is pulled towards the demonstrations it lives off the clone: reward first undoes
        # that, and what it can do shows later (decision 0023).
        pulled = training.cloned and training.steps < self.forward.pull
        stuck = (
            goal is not None and training.done_at is None and not pulled and not improving(curve)
        )
        # Once alone it is not cloned any more, so that this happens at most once.
        if stuck and training.cloned and not out_of_steps:
            return self._go_on_alone(state)
        finished = training.finished or out_of_steps or stuck
        why = "the agent that is handed out is being trained"
        acted = state.acted
        # Settling may undo what was reached: the last look counts, too (decision 0028).
        if finished and goal is not None and training.passes < goal.passes:
            # the last agent is not there: the best feasible one is handed out, and it is said
            acted = state.best
            earned = f"{state.best_return:.4g}, demonstrations earn {shortfall:.4g}"
            why = f"the agent is not trained out: {earned}"
            if training.done_at is not None:
                why = f"what settled is worse than the best before it, which is taken: {earned}"
            elif state.best_return >= shortfall:
                why = f"the agent earned what demonstrations earn, but not twice in a row: {earned}"
        return dataclasses.replace(
            state, training=training, finished=finished, acted=acted, why=why
        )

    def _go_on_alone(self, state: LearnState) -> LearnState:
        """Demonstrations help no further (of many features a clone learns the wrong ones): the last
        judge goes on instead, or where nothing is forbidden the best scout."""
        agent = state.judge or state.best_scout.agent
        return dataclasses.replace(
            state,
            training=Training(agent),
            alone=True,
            curve=(),
            why="the agent that demonstrations help gets no better: one that they do not goes on",
        )

    def _out_earned(
        self, state: LearnState, permitted: Trajectories, expected: Expected
    ) -> LearnState | None:
        """An agent under ζ that still out-earns demonstrations, helped by them or not,
        is a counter-example.

        None: it does not, or nothing follows from it.
        """
        # In the last fifth there would hardly be time for an agent under another ζ.
        if state.generation >= _MOST_GENERATIONS or state.steps > _LAST_LOOK * self.config.steps:
            return None
        assert state.evidence is not None
        most = max(OUT_EARNS, STILL * scouts_advantage(state.evidence, expected))
        if rule_of(state) is None or float(np.mean(expected.advantages(permitted))) <= most:
            return None
        before = state.finding
        evidence = add(state.evidence, permitted, state.generation)
        found = self.finder.found(dataclasses.replace(state, evidence=evidence))
        if found.finding is before:
            return None
        return self._hand_out(found, found.why)

    def _fresh(self, state: LearnState, phase: Phase, why: str) -> LearnState:
        """The next agent, which knows nothing."""
        key = jax.random.fold_in(self.key_agents, state.number + 1)
        # every second scout looks at the world in another way: what one cannot learn the other may
        # Harbour (decision 0021): 175 to 205 each on its own scale, whatever else was tried, and
        # 270 on one; demonstrations earn 208.
        other_eyes = phase is Phase.scout and state.scouts % 2 == 1
        agent = init_agent(generator(key), self.task, self.forward, one_scale=other_eyes)
        training = Training(agent)
        return dataclasses.replace(state, training=training, phase=phase, why=why)

    def _hand_out(self, state: LearnState, why: str) -> LearnState:
        """The last agent; demonstrations help it where that is wanted."""
        key = jax.random.fold_in(self.key_agents, state.number + 1)
        helped = None
        if self.config.demos_help:
            helped = self.demos.trajectories
        cost = self.cost_of(dataclasses.replace(state, phase=Phase.final))
        plays = Plays(self.sample_env, self.task, self.forward, cost)
        training = start_training(
            generator(key), self.task, self.forward, helped, self.demos.has_rewards, plays
        )
        return dataclasses.replace(
            state,
            training=training,
            steps=state.steps + plays.steps,
            phase=Phase.final,
            why=why,
            curve=(),
            alone=False,
            best=None,
            best_return=-np.inf,
        )

    def _time_left(self, state: LearnState) -> bool:
        """There is still time for another agent before the last one."""
        return state.steps <= (1.0 - _LEFT_FOR_FINAL) * self.config.steps

    def report(self, state: LearnState) -> Round:
        """What the round leaves behind."""
        assert state.samples is not None
        assert state.forward_info is not None
        assert state.acted is not None
        constraint = self.finder.constraint_of(state)
        return Round(
            number=state.number,
            steps=state.steps,
            phase=state.acted_as,
            agent=state.acted,
            # By then the phase is the next agent's: a scout's round would be shown under the ζ
            # found after it.
            cost=self.cost_of(dataclasses.replace(state, phase=state.acted_as)),
            constraint=constraint,
            samples=state.samples,
            forward_info=state.forward_info,
            constraint_info={
                "cost_demos": mean_cost(constraint, self.demos.trajectories),
                "cost_samples": mean_cost(constraint, state.samples),
                **told_of(state),
            },
            moved=state.moved,
            why=state.why,
            evidence_weights=state.weights,
            greedy=True,
        )
