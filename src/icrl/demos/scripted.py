"""Demonstrations by a script that knows the rule: those of Shapes. Like `collect`, it may see the
truth."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from icrl.demos.dataset import Demonstrations
from icrl.errors import InputError
from icrl.tasks.shapes.experts import find_script
from icrl.tasks.shapes.habits import draw_habits
from icrl.tasks.shapes.names import FAMILY
from icrl.tasks.shapes.scenarios import make_shape
from icrl.tasks.shapes.worlds import WORLDS
from icrl.tasks.task import Scenario
from icrl.trajectories import join, select
from icrl.types import AnyArray, FloatArray, Trajectories


def play_script(
    scenario: Scenario, seed: int, first: int, episodes: int, keep_rule: bool = True
) -> tuple[Trajectories, list[int]]:
    """Episodes `first`, `first` + 1, ... of this seed, and the seeds that their environments were
    given.

    Each is the same whatever is played beside it.
    """
    task = scenario.task
    name = task.name.removeprefix(FAMILY)
    script = find_script(name, keep_rule)
    # One for each episode: how many are played beside it changes nothing.
    rngs = [np.random.default_rng([seed, first + index]) for index in range(episodes)]
    env_seeds = [int(rng.integers(2**31)) for rng in rngs]
    width = len(task.action_names)
    habits = draw_habits(rngs, task.horizon, width)
    env = WORLDS[name].make_env(episodes)

    def choose(seen: AnyArray, step: int) -> AnyArray:
        chosen = script(seen, habits.tremble[step], habits)
        if isinstance(task.action_space, gym.spaces.Box):
            chosen = np.clip(chosen, task.action_space.low, task.action_space.high)
            chosen = chosen.astype(np.float32)
        return chosen

    seen, _ = env.reset(seed=env_seeds)
    return play(env, task.horizon, seen, choose), env_seeds


def play(
    env: VectorEnv,
    horizon: int,
    seen: AnyArray,
    choose: Callable[[AnyArray, int], AnyArray],
) -> Trajectories:
    """One episode from each environment, which was reset to `seen`.

    `choose` makes actions of observations and the number of the step.
    """
    observations: list[FloatArray] = []
    actions: list[AnyArray] = []
    rewards: list[FloatArray] = []
    lengths = np.full(env.num_envs, horizon)
    over = np.zeros(env.num_envs, np.bool_)
    for step in range(horizon):
        chosen = choose(seen, step)
        observations.append(seen)
        actions.append(chosen)
        seen, reward, terminated, truncated, _ = env.step(chosen)
        rewards.append(reward)
        ended = np.asarray(terminated | truncated)
        lengths[ended & ~over] = step + 1
        over |= ended
        if over.all():
            break
        # The others play on: what an ended one does from here on is masked by its length.
        if ended.any():
            seen, _ = env.reset(options={"reset_mask": ended})
    return Trajectories(
        observations=np.stack(observations, axis=1),
        actions=np.stack(actions, axis=1),
        rewards=np.stack(rewards, axis=1).astype(np.float32),
        lengths=lengths,
    )


def script_demos(name: str, episodes: int, seed: int) -> Demonstrations:
    """Episodes of the scripted expert of `shapes/NAME` that keep its rule.

    The card counts those that were left out because they did not.
    With `env_seeds` of the card, and these actions, the environment plays every episode again.
    """
    scenario = make_shape(name)
    kept: list[Trajectories] = []
    env_seeds: list[int] = []
    played = 0
    while len(env_seeds) < episodes:
        # A script that seldom keeps its rule would be played for ever.
        if played > 20 * episodes:
            raise InputError(
                f"the scripted expert of {name} kept its rule in {len(env_seeds)} of {played} "
                "episodes: give it a wider margin."
            )
        part, seeds = play_script(scenario, seed, played, episodes)
        clean = ~np.any(scenario.violates(part.observations, part.actions) & part.mask, axis=1)
        kept.append(select(part, clean))
        env_seeds += [value for value, is_clean in zip(seeds, clean, strict=True) if is_clean]
        played += episodes
    everything = join(kept)
    trajectories = select(everything, np.arange(everything.num_trajectories) < episodes)
    return Demonstrations(
        trajectories=trajectories,
        discrete=scenario.task.discrete,
        card=_card(scenario, trajectories, env_seeds[:episodes], played - len(env_seeds), seed),
        observation_names=scenario.task.observation_names,
        action_names=scenario.task.action_names,
    )


def _card(
    scenario: Scenario, trajectories: Trajectories, env_seeds: list[int], rejected: int, seed: int
) -> dict[str, Any]:
    return {
        "task": scenario.task.name,
        "expert": "scripted",
        "seed": seed,
        "env_seeds": env_seeds,
        "episodes": trajectories.num_trajectories,
        "rejected_episodes": rejected,
        "mean_return": float(np.mean(trajectories.returns)),
        "std_return": float(np.std(trajectories.returns)),
        "violations": 0,
    }
