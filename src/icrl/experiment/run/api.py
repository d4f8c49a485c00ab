"""In Python what `icrl learn` does on the command line: a run, with its directory, scores and
callbacks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icrl.agent.state import Policy
from icrl.config import LearnConfig
from icrl.constraint.learned import LearnedConstraint
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.run.callbacks import Callback, Callbacks
from icrl.experiment.run.inputs import open_demos_if_any
from icrl.experiment.run.one_run import run_learning
from icrl.methods.icrl import ICRL
from icrl.methods.registry import open_method, preset
from icrl.tasks.registry import make_scenario
from icrl.types import Scores


@dataclass(frozen=True, kw_only=True, eq=False)
class RunResult:
    """What a run leaves behind."""

    directory: Path
    """All of it on disk: for `icrl evaluate`, `explain`, `report` and `render`."""
    scores: Scores
    """The final scores; what depends on the truth is None where nobody knows it."""
    details: dict[str, Any]
    """All of `scores.json`."""
    metrics: list[dict[str, Any]]
    """A dict for each round."""
    policy: Policy
    constraint: LearnedConstraint | None
    """None: the method learns none."""


def run(
    task: str,
    out: str | Path,
    *,
    demos: str | None = None,
    method: str = ICRL.name,
    config: LearnConfig | None = None,
    seed: int = 0,
    episodes: int = 100,
    callbacks: Sequence[Callback] = (),
) -> RunResult:
    """Learn a constraint and an agent that respects it, as `icrl learn TASK --out OUT` does,
    without a word.

    `task`: one of ours, a Gymnasium id, or module:function. `demos`: a path or a Minari id; None: those that ship.
    `method`: one that ships, one that a package brings, or module:name of your own.
    `config`: None: the preset `default`. `callbacks` look on at the start, each update, each round and the end.
    """
    open_method(method)
    scenario = make_scenario(task)
    found, source = open_demos_if_any(demos, scenario)
    spec = RunSpec(
        task=task,
        method=method,
        preset="default",
        seed=seed,
        config=config or preset("default", task, method),
        demos=source,
        episodes=episodes,
    )
    scores, last = run_learning(spec, scenario, found, Path(out), Callbacks(callbacks))
    directory = RunDirectory(Path(out))
    return RunResult(
        directory=directory.path,
        scores=scores,
        details=directory.scores(),
        metrics=directory.metrics(),
        policy=last.policy,
        constraint=last.constraint,
    )
