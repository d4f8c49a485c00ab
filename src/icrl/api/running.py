"""`icrl.run`: what `icrl learn` does, and everything it leaves behind."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from icrl.agent.state import Policy
from icrl.api.inputs import find_scenario
from icrl.config import LearnConfig
from icrl.constraint.learned import LearnedConstraint
from icrl.demos.formats_table import ColumnMapping
from icrl.demos.rewards import HOW_COMPUTED
from icrl.experiment.directory.run_directory import RunDirectory
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.run.callbacks import Callback, Callbacks
from icrl.experiment.run.display import LiveDisplay
from icrl.experiment.run.inputs import open_demos_if_any
from icrl.experiment.run.one_run import check_run, run_learning
from icrl.methods.icrl import ICRL
from icrl.methods.registry import open_method
from icrl.methods.registry import preset as find_preset
from icrl.report.frames import load_results
from icrl.report.kept import write_run_page
from icrl.report.summary import write_pictures
from icrl.runtime import one_thread
from icrl.tasks.options import EnvOptions
from icrl.tasks.task import Scenario, Task
from icrl.types import Scores
from icrl.words import say

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, kw_only=True, eq=False)
class RunResult:
    """What a run leaves behind."""

    directory: Path
    """All of it on disk: for `icrl evaluate`, `explain`, `report` and `render`."""
    scenario: Scenario
    """What it ran on."""
    scores: Scores
    """The final scores; what depends on the truth is None where nobody knows it."""
    details: dict[str, Any]
    """All of `scores.json`."""
    metrics: list[dict[str, Any]]
    """A dict for each round."""
    policy: Policy
    """The agent."""
    constraint: LearnedConstraint | None
    """None: the method learns none."""

    def frame(self) -> "pandas.DataFrame":
        """A row for each round: every logged number, every setting. Needs the extra 'pandas'."""
        return load_results(self.directory, rounds=True)


@one_thread()
def run(
    task: str | Task | Scenario,
    out: str | Path,
    *,
    demos: str | Path | None = None,
    columns: ColumnMapping | None = None,
    env: EnvOptions | None = None,
    method: str = ICRL.name,
    preset: str = "default",
    config: LearnConfig | None = None,
    seed: int = 0,
    episodes: int = 100,
    callbacks: Sequence[Callback] = (),
    resume: bool = False,
    progress: bool = True,
) -> RunResult:
    """Learn a constraint and an agent that respects it, as `icrl learn TASK --out OUT` does.

    `task`: one of ours, a Gymnasium id, module:function, or a `Task` of your own. `demos`: a path
    or a Minari id; None: those that ship. `method`: one that ships, one that a package brings, or
    module:name. `columns`: which column of a table holds what.

    `config`: None: as the preset has it. `callbacks` look on at the start, each update, each round
    and the end; with `progress` so does the display of the terminal. With `resume` a run of the
    same settings that `out` holds, and that did not come to its end, goes on.
    """
    open_method(method)
    scenario = find_scenario(task, env)
    source = None
    if demos is not None:
        source = str(demos)
    found, name = open_demos_if_any(source, scenario, columns)
    settings = config or find_preset(preset, scenario.task, method)
    spec = RunSpec(
        task=scenario.task.name,
        method=method,
        preset=preset,
        seed=seed,
        config=settings,
        demos=name,
        episodes=episodes,
        env=env or EnvOptions(),
        columns=columns,
    )
    directory = Path(out)
    check_run(spec, scenario, found, directory, resume=resume)  # before anything is shown
    console = Console(quiet=not progress)
    if found is not None and found.rewards_computed:
        say(console, HOW_COMPUTED)
    display = LiveDisplay(f"{method} on {spec.task}, seed {seed}", settings.steps, console)
    watched: Sequence[Callback] = callbacks
    shown: LiveDisplay | nullcontext[None] = nullcontext()
    if progress:
        watched = [display, *callbacks]
        shown = display
    with shown:
        scores, last = run_learning(
            spec, scenario, found, directory, Callbacks(watched), resume=resume
        )
    write_pictures(scenario, found, last, directory)
    write_run_page(directory, console)
    kept = RunDirectory(directory)
    return RunResult(
        directory=directory,
        scenario=scenario,
        scores=scores,
        details=kept.scores(),
        metrics=kept.metrics(),
        policy=last.policy,
        constraint=last.constraint,
    )
