"""The agent alone: how well does it live under the *true* cost,
with and without help from demonstrations?

    python benchmarks/forward.py --seeds 0 1 2 3 4 --jobs 2 --out results/forward

Modes: *helped* (as the agent that is handed out), *alone* (as judges are, and transfers), *clone*
(imitation only, no reward), *empty* (helped, but nothing is forbidden: how soon does a clone
leave the rule?).

Every agent is judged by the truth on 100 episodes at the mode of its policy; *passed*: at least
0.95 of the demonstrations' return up to the first forbidden step, and at most 1 % of steps
forbidden. Cells that are there already are not made again.
"""

import argparse
import dataclasses
import importlib
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import per_run

MODES = ("helped", "alone", "clone", "empty")
SHAPES = (
    "disc", "gate", "diagonal", "tube", "two-walls", "zone-speed", "zone-action", "one-way",
    "action-limit", "never-action", "octant", "blocked-cells", "plant", "distractors", "noise",
    "fuel-meter", "no-rule", "weak-expert",
)  # fmt: skip
WORLDS = (*(f"shapes/{name}" for name in SHAPES), "lap-grid", "bridges", "acrobot", "mountain-car")
BLIND = "blind_h/"
"""Worlds of that folder, by their modules: blind_h/w3_agv."""
BODIES = ("half-cheetah-wall", "ant-wall")
EPISODES = 100
STEPS = {"half-cheetah-wall": 960_000, "ant-wall": 960_000}
"""Most steps of one agent; a quarter of a run's for the bodies."""
OTHERS = {"helped": 400_000, "empty": 400_000, "alone": 1_000_000}
"""On all other worlds, by mode."""
PATIENCE = 400_000
"""Steps after which an agent that has not become better is not trained further."""
NEAR = 0.02
"""Of what demonstrations earn: an agent is done where it earns no less than that less than they."""
MEASURED = 100
"""Episodes that say whether an agent is done, as many as the agent of a run has: of ten, one start
too hard or too easy decides, and of forty a breach from one start in fifty is missed."""


def main() -> None:
    """Make the missing cells, then write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    parser.add_argument("--modes", nargs="+", default=["helped", "alone"], choices=MODES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--set", nargs="*", default=[], help="forward settings to try, e.g. terminate.soft=0.5"
    )
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "cells"
    cells: list[dict[str, Any]] = per_run.read(file) or []
    made = {(cell["world"], cell["mode"], cell["seed"]) for cell in cells}
    wanted = [
        (world, mode, seed, tuple(arguments.set))
        for seed in arguments.seeds
        for world in arguments.worlds
        for mode in arguments.modes
        if (world, mode, seed) not in made
    ]
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for cell in pool.map(_cell, wanted):
            cells.append(cell)
            per_run.write(file, cells)
            print(_line(cell), flush=True)
    (arguments.out / "table.md").write_text(table(cells))


def _line(cell: dict[str, Any]) -> str:
    return (
        f"{cell['world']:24} {cell['mode']:7} {cell['seed']} return {cell['ratio']:6.3f} forbidden "
        f"{cell['forbidden']:.4f} reached {cell['reached_at']} of {cell['steps']} "
        f"{'ok' if cell['passed'] else 'NO'} (sampled {cell['sampled_ratio']:.3f}, "
        f"{cell['sampled_forbidden']:.4f}) {cell['seconds']:.0f} s"
    )


def _cell(wanted: tuple[str, str, int, tuple[str, ...]]) -> dict[str, Any]:
    """One agent."""
    from icrl.runtime import configure_jax

    configure_jax()
    return make_cell(*wanted)


class Trained(NamedTuple):
    """What came of one agent's training."""

    agent: Any
    steps: int
    reached_at: int | None
    """Steps after which it passed first; of the control, after which it left the rule."""


def make_cell(world: str, mode: str, seed: int, changes: tuple[str, ...]) -> dict[str, Any]:
    """Train one agent under the true cost and judge it."""
    import jax

    from icrl.agent.state import policy_of
    from icrl.evaluate import judge, play_episodes
    from icrl.evidence.expected import expected_of
    from icrl.methods.registry import preset

    scenario, demos = world_of(world)
    task = scenario.task
    config = changed(preset("default", task).forward, changes)
    started = time.perf_counter()
    expected = expected_of(demos, demos, task.horizon)
    cost = None
    if mode != "empty":
        cost = _true_cost(scenario)
    if mode == "clone":
        trained = _cloned(task, config, demos, seed)
    else:
        helped = None
        if mode != "alone":
            helped = demos
        budget = STEPS.get(world, OTHERS[mode])
        key = jax.random.key(seed)
        trained = _trained(key, scenario, config, budget, expected, helped, mode == "empty")
    told = {}
    for greedy in (True, False):
        policy = policy_of(trained.agent, task, config, cost, greedy=greedy)
        told[greedy] = judge(dataclasses.replace(scenario, violation_reward=0.0),
                             play_episodes(task, policy, EPISODES, seed))  # fmt: skip
    ratios = {
        g: 1.0 + (t.true_return - expected.mean) / abs(expected.mean) for g, t in told.items()
    }
    return {
        "world": world,
        "mode": mode,
        "seed": seed,
        "changes": list(changes),
        "ratio": ratios[True],
        "forbidden": told[True].violation_rate,
        "sampled_ratio": ratios[False],
        "sampled_forbidden": told[False].violation_rate,
        "demonstrations": expected.mean,
        "reached_at": trained.reached_at,
        "steps": trained.steps,
        "passed": bool(ratios[True] >= 0.95 and told[True].violation_rate <= 0.01),
        "seconds": time.perf_counter() - started,
    }


def _true_cost(scenario: Any) -> Any:
    def cost(observations: Any, actions: Any) -> Any:
        return np.asarray(scenario.violates(observations, actions), np.float32)

    return cost


def _cloned(task: Any, config: Any, demos: Any, seed: int) -> Trained:
    """Imitation alone."""
    import jax

    from icrl.agent.forward_step import generator
    from icrl.agent.training import start_training

    training = start_training(generator(jax.random.key(seed)), task, config, demos)
    return Trained(training.agent, 0, None)


def _trained(
    key: Any, scenario: Any, config: Any, budget: int, expected: Any, helped: Any, control: bool
) -> Trained:
    """Until it earns what demonstrations earn; the `control` has no constraint, and no goal."""
    from icrl.agent.training import Goal, measure, train_out

    cost = _true_cost(scenario)
    # Where demonstrations scatter, one that misses their mean by its standard error does not pass:
    # it is 9 % on octant, 8 % on two-walls.
    near = min(expected.standard_error, NEAR * abs(expected.mean))
    goal, obeyed = Goal(expected.mean - near), cost
    if control:
        goal, obeyed = Goal(np.inf), None
    curve: list[tuple[int, float, float]] = []

    def on_piece(training: Any, done: Any, samples: Any) -> None:
        told = measure(samples, cost)
        curve.append((training.steps, told.mean_return, told.forbidden))

    out = train_out(
        key, scenario.task, obeyed, config, budget, goal, helped,
        num_samples=MEASURED, patience=PATIENCE, on_piece=on_piece,
    )  # fmt: skip
    least = 0.95 * expected.mean - 0.1 * abs(expected.mean) * (expected.mean < 0)
    met = [steps for steps, earned, broken in curve if earned >= least and broken <= 0.01]
    if control:
        met = [steps for steps, _, broken in curve if broken > 0.01]
    return Trained(out.agent, out.steps, next(iter(met), None))


def changed(config: Any, changes: tuple[str, ...]) -> Any:
    """The settings with some of them changed."""
    for change in changes:
        name, value = change.split("=")
        *rooms, last = name.split(".")
        if rooms:
            inner = dataclasses.replace(getattr(config, rooms[0]), **{last: json.loads(value)})
            config = dataclasses.replace(config, **{rooms[0]: inner})
        else:
            config = dataclasses.replace(config, **{last: json.loads(value)})
    return config


def world_of(name: str) -> tuple[Any, Any]:
    """A scenario, and demonstrations of it."""
    import icrl
    from icrl.demos.fitting import fit_and_check
    from icrl.tasks.task import Scenario

    if name == "acrobot":
        task = icrl.make_task("Acrobot-v1")
        logs = Path(__file__).parents[1] / "examples" / "data" / "acrobot_logs.csv"
        demos = fit_and_check(icrl.load_demos(logs), task)
        return Scenario(task=task, violates=lambda o, a: np.asarray(a) == 0), demos.trajectories
    if name.startswith(BLIND):
        folder = Path(__file__).parent / BLIND
        sys.path.insert(0, str(folder))
        stem = name.removeprefix(BLIND)
        task = icrl.make_task(f"{stem}:make_env")
        logs = folder / "demos" / f"{stem.partition('_')[0]}.npz"
        demos = fit_and_check(icrl.load_demos(logs), task)
        violates = _of_pairs(importlib.import_module(stem).violates)
        return Scenario(task=task, violates=violates), demos.trajectories
    if name == "mountain-car":
        task = icrl.make_task("MountainCarContinuous-v0")
        return Scenario(task=task, violates=_too_far_left), mountain_car_demos(task)
    scenario = icrl.make_scenario(name)
    return scenario, icrl.load_demos(icrl.shipped_demos(scenario.demos)).trajectories


def _of_pairs(violates: Any) -> Any:
    """A user's function of [n, o] and [n, a], for any number of axes before the last."""

    def flat(observations: Any, actions: Any) -> Any:
        shape = np.shape(observations)[:-1]
        seen = np.reshape(observations, (-1, np.shape(observations)[-1]))
        given = np.broadcast_to(actions, (*shape, *np.shape(actions)[len(shape) :]))
        return np.reshape(
            violates(seen, given.reshape(len(seen), *given.shape[len(shape) :])), shape
        )

    return flat


def _too_far_left(observations: Any, actions: Any) -> Any:
    return np.asarray(observations)[..., 0] < -0.8


def mountain_car_demos(task: Any, episodes: int = 20) -> Any:
    """A script that pumps energy, pushes with its motion, and turns round before -0.8."""
    from icrl.demos.scripted import play

    rng = np.random.default_rng(0)
    margins = rng.uniform(0.02, 0.07, episodes)
    pushes = rng.uniform(0.85, 1.0, episodes)

    def choose(seen: Any, _: int) -> Any:
        place, speed = seen[:, 0], seen[:, 1]
        push = np.where(speed >= 0, pushes, -pushes)
        # where it would roll on to -0.8 if it stopped pushing now, it brakes
        reach = place - 650.0 * speed**2 * (speed < 0)
        push = np.where((speed < 0) & (reach < -0.8 + margins), pushes, push)
        return push[:, None].astype(np.float32)

    env = task.make_env(episodes)
    seen, _ = env.reset(seed=0)
    return play(env, task.horizon, seen, choose)


def table(cells: list[dict[str, Any]]) -> str:
    """Every cell, and how many passed; of the control, how many left the rule."""
    from icrl.report.table import as_markdown

    lines = ["# The agent under the true cost", ""]
    for mode in MODES:
        mine = [cell for cell in cells if cell["mode"] == mode]
        if mine and mode == "empty":
            left = sum(cell["reached_at"] is not None for cell in mine)
            lines.append(f"- {mode} (the control): left the rule on {left} of {len(mine)}")
        elif mine:
            lines.append(f"- {mode}: {sum(cell['passed'] for cell in mine)} of {len(mine)} passed")
    rows = []
    for world in dict.fromkeys(cell["world"] for cell in cells):
        for mode in MODES:
            mine = [c for c in cells if c["world"] == world and c["mode"] == mode]
            if mine:
                rows.append(_row(world, mode, sorted(mine, key=lambda c: int(c["seed"]))))
    head = ["world", "mode", "passed", "return / demonstrations, by seed", "forbidden steps, %",
            "sampled: return", "sampled: forbidden, %",
            "steps to 0.95 (empty: to leave the rule), thousands", "steps, thousands"]  # fmt: skip
    return "\n".join(lines) + "\n\n" + as_markdown(head, rows) + "\n"


def _row(world: str, mode: str, mine: list[dict[str, Any]]) -> list[str]:
    """All seeds of a world in a mode."""
    passed = f"{sum(c['passed'] for c in mine)}/{len(mine)}"
    if mode == "empty":
        passed = "-"
    reached = ["-" if c["reached_at"] is None else f"{c['reached_at'] // 1000}" for c in mine]
    return [
        world,
        mode,
        passed,
        " ".join(f"{c['ratio']:.2f}" for c in mine),
        " ".join(f"{100 * c['forbidden']:.2g}" for c in mine),
        " ".join(f"{c['sampled_ratio']:.2f}" for c in mine),
        " ".join(f"{100 * c['sampled_forbidden']:.2g}" for c in mine),
        " ".join(reached),
        " ".join(f"{c['steps'] // 1000}" for c in mine),
    ]


if __name__ == "__main__":
    main()
