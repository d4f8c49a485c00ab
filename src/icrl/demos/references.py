"""Collecting demonstrations for real: the expert recorded,
and expert and nominal agents scored beside it."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from icrl.agent.forward_step import forward_steps
from icrl.agent.state import policy_of
from icrl.config import ForwardConfig
from icrl.demos.collect import Training, collect_demos, train_agent
from icrl.demos.dataset import Demonstrations
from icrl.demos.formats import save_demos
from icrl.demos.scripted import play_script, script_demos
from icrl.evaluate import Truth, evaluate_policy, judge
from icrl.files import make_folder
from icrl.json_files import to_json
from icrl.tasks.task import Scenario
from icrl.types import EXPERT, NOMINAL
from icrl.versions import library_versions

_EPISODES = 100
"""Episodes each reference agent is scored on."""
_BEYOND = 10**6
"""Scripts are scored on episodes from this one on, which nobody records."""
_AVERAGED = (*Truth._fields, "seconds")
"""Scores that are the mean of all experts'; their steps and episodes are those of each."""


def collect_with_references(
    scenario: Scenario,
    config: ForwardConfig,
    steps: int,
    episodes: int,
    experts: int,
    seed: int,
    out: Path,
    command: str,
    console: Console,
) -> Demonstrations:
    """Train experts and a nominal agent, record the experts into `out`,
    with the scores of all in its card."""
    make_folder(out.parent)
    per_step = forward_steps(config)
    total = max(1, steps // per_step) * per_step  # whole forward steps, as `train_agent` makes them
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        expert_bar = progress.add_task(
            f"expert{'s' * (experts > 1)} (true constraint)", total=experts * total
        )
        nominal_bar = progress.add_task("nominal (no constraint)", total=total)
        started = time.perf_counter()
        demos, trainings = collect_demos(
            scenario,
            config,
            steps,
            episodes,
            seed,
            lambda done: progress.update(expert_bar, completed=done),
            experts,
        )
        seconds = (time.perf_counter() - started) / experts
        scores = [
            _score(scenario, made, config, seed + index, seconds)
            for index, made in enumerate(trainings)
        ]
        # Steps and episodes are the same for all, so the first one's stand for each.
        expert_score = scores[0] | {
            name: sum(score[name] for score in scores) / experts for name in _AVERAGED
        }
        started = time.perf_counter()
        nominal = train_agent(
            scenario.task,
            None,
            config,
            steps,
            seed,
            lambda done: progress.update(nominal_bar, completed=done),
        )
        nominal_score = _score(scenario, nominal, config, seed, time.perf_counter() - started)
    card = {
        **demos.card,
        "command": command,
        "forward": to_json(config),
        "versions": library_versions(),
        "references": {EXPERT: expert_score, NOMINAL: nominal_score},
    }
    demos = replace(demos, card=card)
    save_demos(demos, out)
    return demos


def _score(
    scenario: Scenario, training: Training, config: ForwardConfig, seed: int, seconds: float
) -> dict[str, Any]:
    policy = policy_of(training.agent, scenario.task, config)
    truth = evaluate_policy(scenario, policy, _EPISODES, seed)
    return {**truth._asdict(), "steps": training.steps, "episodes": _EPISODES, "seconds": seconds}


def collect_script(scenario: Scenario, episodes: int, seed: int, out: Path) -> Demonstrations:
    """Record the scripted expert of a world of Shapes into `out`; nothing is trained.

    Beside it in the card: the same script without the rule, which is what breaking it would pay.
    """
    make_folder(out.parent)
    demos = script_demos(scenario.task.name, episodes, seed)
    references = {}
    for name, keep_rule in ((EXPERT, True), (NOMINAL, False)):
        # Fresh episodes: those that were recorded were chosen for keeping the rule.
        played, _ = play_script(scenario, seed, _BEYOND, _EPISODES, keep_rule)
        references[name] = {**judge(scenario, played)._asdict(), "episodes": _EPISODES}
    demos = replace(demos, card={**demos.card, "references": references})
    save_demos(demos, out)
    return demos
