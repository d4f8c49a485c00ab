"""One run: a method on a scenario, logged round by round into a run directory, scored at the end."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from icrl.agent.policy_file import save_policy
from icrl.config import LearnConfig
from icrl.demos.dataset import Demonstrations
from icrl.evaluate import Truth, evaluate_policy, judge
from icrl.experiment.methods import Snapshot, find_method
from icrl.experiment.run_directory import CONSTRAINT, POLICY, RunDirectory, library_versions, to_json
from icrl.learn import Progress
from icrl.tasks.task import Scenario
from icrl.types import Scores


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Which run: enough to make it again."""

    task: str
    method: str
    preset: str
    seed: int
    config: LearnConfig
    demos: str
    """Path or name of the demonstrations."""
    episodes: int = 100
    """Episodes of the final evaluation."""


class Display(Protocol):
    """Something that shows a run while it goes on."""

    def progressed(self, progress: Progress) -> None:
        """A policy update was made."""

    def round_done(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """A round was finished; `metrics` is what was logged of it."""


def run_learning(
    spec: RunSpec, scenario: Scenario, demos: Demonstrations, directory: Path, display: Display
) -> tuple[Scores, Snapshot]:
    """Make the run; after every round its directory holds the metrics, the constraint and the policy so far."""
    method = find_method(spec.method)
    run = RunDirectory(directory)
    run.begin({"command": "learn", **to_json(spec)})
    card = {
        "method": spec.method,
        "task": spec.task,
        "seed": spec.seed,
        "preset": spec.preset,
        "versions": library_versions(),
    }
    started = time.perf_counter()

    def save(snapshot: Snapshot) -> None:
        truth = judge(scenario, snapshot.samples)
        metrics: dict[str, Any] = {
            "round": snapshot.number,
            "steps": snapshot.steps,
            "seconds": time.perf_counter() - started,
            **snapshot.metrics,
            **{f"truth/{name}": value for name, value in truth._asdict().items()},
        }
        run.log(metrics)
        save_policy(snapshot.policy, directory / POLICY)
        if snapshot.constraint is not None:
            snapshot.constraint.save(directory / CONSTRAINT)
        display.round_done(snapshot, metrics)

    last = method(scenario.task, demos, spec.config, spec.seed, card, save, display.progressed)
    seconds = time.perf_counter() - started
    truth = evaluate_policy(scenario, last.policy, spec.episodes, spec.seed)
    scores = make_scores(spec, demos, last.steps, truth, seconds)
    run.finish(scores, {"violating_episodes": truth.violating_episodes, "nominal_return": truth.nominal_return,
                        "episodes": spec.episodes, "preset": spec.preset, "versions": library_versions()})  # fmt: skip
    return scores, last


def make_scores(spec: RunSpec, demos: Demonstrations, steps: int, truth: Truth, seconds: float) -> Scores:
    """The contract of `scores.json`."""
    return Scores(
        scenario=spec.task,
        method=spec.method,
        seed=spec.seed,
        steps=steps,
        true_return=truth.true_return,
        violation_rate=truth.violation_rate,
        expert_return=float(demos.trajectories.returns.mean()) if demos.has_rewards else None,
        seconds=seconds,
        steps_per_second=steps / seconds,
    )
