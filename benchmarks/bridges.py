"""Bridges, seeds 0 to 4: does the recovered agent keep off the lower bridge,
and does the recovered constraint?

Run `python benchmarks/bridges.py`: for each seed it learns with the default preset, scores the
nominal and the recovered agent, and trains a fresh agent under the frozen constraint alone (an
agent that learned along with the constraint may keep to its way after the constraint has been
forgotten). Writes results/bridges/scores.json and bridges.png.
"""

import argparse
import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from icrl.agent.rollout import sample_trajectories
from icrl.agent.state import Policy, policy_of
from icrl.config import LearnConfig
from icrl.constraint.learned import LearnedConstraint
from icrl.demos.collect import train_agent
from icrl.demos.dataset import Demonstrations, shipped_demos
from icrl.demos.formats import load_demos
from icrl.evaluate import evaluate_policy
from icrl.experiment.run.constraint_scores import VisitedPairs, score_constraint
from icrl.methods.learners import learner_of
from icrl.methods.registry import find_method
from icrl.presets import default
from icrl.tasks import bridges_map as plane
from icrl.tasks.bridges import draw_bridges
from icrl.tasks.registry import make_scenario
from icrl.tasks.task import Scenario
from icrl.types import FloatArray, Scores, Trajectories
from icrl.versions import library_versions

EPISODES = 100
FRESH_STEPS = 100_000
"""Also the budget of the nominal agent, which needs far less than a whole run."""
METHODS = ("nominal", "icrl", "greedy")
OUT = Path(__file__).parents[1] / "results" / "bridges"


def one_run(
    scenario: Scenario, demos: Demonstrations, config: LearnConfig, method: str, seed: int
) -> tuple[dict[str, Any], Trajectories, LearnedConstraint | None]:
    """Learn, score, and score a fresh agent under the constraint that came out."""
    started = time.perf_counter()
    visited = VisitedPairs(demos.trajectories)
    last = learner_of(find_method(method))(
        scenario.task,
        demos,
        config,
        seed,
        {"method": method, "seed": seed},
        lambda round_: visited.add(round_.samples, round_.number, round_.evidence_weights),
        lambda _: None,
    )
    seconds = time.perf_counter() - started
    truth = evaluate_policy(scenario, last.policy, EPISODES, seed)
    scores = asdict(
        Scores(
            scenario=scenario.task.name,
            method=method,
            seed=seed,
            steps=last.steps,
            true_return=truth.true_return,
            violation_rate=truth.violation_rate,
            expert_return=float(demos.trajectories.returns.mean()),
            seconds=seconds,
            steps_per_second=last.steps / seconds,
        )
    )
    scores["lower_bridge_episodes"] = truth.violating_episodes
    if last.constraint is not None:
        fresh = train_agent(
            scenario.task, last.constraint.cost, config.forward, FRESH_STEPS, seed + 100
        )
        fresh_truth = evaluate_policy(
            scenario, policy_of(fresh.agent, scenario.task, config.forward), EPISODES, seed
        )
        scores["lower_bridge_cost"] = lower_bridge_cost(last.constraint)
        scores["lower_bridge_flagged"] = lower_bridge_flagged(last.constraint)
        scores["constraint"] = score_constraint(scenario, last.constraint, visited, demos)
        scores["fresh_agent"] = {"steps": fresh.steps, **fresh_truth._asdict()}
    return scores, walk(scenario, last.policy, seed), last.constraint


def lower_bridge_cost(constraint: LearnedConstraint) -> float:
    """The highest over x of the lowest over y of the mean cost 1 − ζ:
    near 1 when some cross-section is closed."""
    return float(np.max(np.min(mean_cost(constraint, lower_bridge()), axis=0)))


def lower_bridge_flagged(constraint: LearnedConstraint) -> float:
    """Share of the middle third of the lower bridge that is forbidden."""
    middle = lower_bridge()[:, 6:13]
    return float(np.mean(mean_cost(constraint, middle) > 0.5))


def lower_bridge() -> FloatArray:
    """Places on it: [9 across, 19 along, 2]."""
    x, y = np.linspace(*plane.RIVER, 21)[1:-1], np.linspace(*plane.LOWER_BRIDGE, 9)
    return np.stack(np.meshgrid(x, y), axis=-1)


def mean_cost(constraint: LearnedConstraint, places: FloatArray) -> FloatArray:
    """1 − ζ averaged over four directions of walking. [..., 2] -> [...]."""
    pushes = np.array([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)])
    return np.asarray(
        np.mean([constraint.cost(places, np.broadcast_to(p, places.shape)) for p in pushes], axis=0)
    )


def walk(scenario: Scenario, policy: Policy, seed: int) -> Trajectories:
    """Twenty episodes to draw."""
    rng = np.random.default_rng(seed)
    return sample_trajectories(rng, policy, scenario.task.make_env(20), scenario.task.horizon, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    scenario = make_scenario("bridges")
    demos, config = load_demos(shipped_demos("bridges.npz")), default("bridges")
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows, drawn = [], {}
    for method in METHODS:
        # greedy has no seed of its own
        for seed in range(arguments.seeds if method != "greedy" else 1):
            budget = replace(config, steps=FRESH_STEPS) if method == "nominal" else config
            scores, paths, constraint = one_run(scenario, demos, budget, method, seed)
            rows.append({**scores, "versions": library_versions()})
            drawn[method, seed] = paths, constraint
            shown = {
                k: v
                for k, v in scores.items()
                if k in ("lower_bridge_episodes", "lower_bridge_cost", "lower_bridge_flagged")
            }
            if "constraint" in scores:
                shown["false_alarm_rate"] = scores["constraint"]["false_alarm_rate"]
            fresh = scores.get("fresh_agent", {}).get("violating_episodes")
            print(
                f"{method} seed {seed}: return {scores['true_return']:.1f} {shown} fresh agent "
                f"{fresh}",
                flush=True,
            )
    (arguments.out / "scores.json").write_text(json.dumps(rows, indent=1) + "\n")
    draw(demos.trajectories, drawn, arguments.seeds, arguments.out / "bridges.png")


def draw(demos: Trajectories, drawn: dict[tuple[str, int], Any], seeds: int, path: Path) -> None:
    """Expert and nominal, then each recovered agent over its constraint."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    x = np.linspace(-plane.WIDTH / 2, plane.WIDTH / 2, 120)
    y = np.linspace(-plane.HEIGHT / 2, plane.HEIGHT / 2, 90)
    places = np.stack(np.meshgrid(x, y), axis=-1)
    panels = [("expert", demos, None), ("nominal, seed 0", drawn["nominal", 0][0], None)]
    panels += [(f"{m}, seed {s}", *drawn[m, s]) for m, s in drawn if m != "nominal"]
    figure = Figure(figsize=(4.2 * 4, 3.4 * ((len(panels) + 3) // 4)), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots((len(panels) + 3) // 4, 4).ravel()
    for axes, (title, paths, constraint) in zip(grid, panels, strict=False):
        draw_bridges(
            axes, paths, None if constraint is None else 1.0 - mean_cost(constraint, places)
        )
        axes.set_title(title)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    main()
