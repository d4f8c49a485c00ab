"""One run: a method on a scenario, logged round by round into a run
directory, scored at the end."""

import time
from pathlib import Path
from typing import Any

from icrl.agent.policy_file import save_policy
from icrl.config import require
from icrl.constraint.learned import LearnedConstraint
from icrl.demos.fitting import FittedDemos
from icrl.errors import InputError
from icrl.evaluate import Truth, judge, play_episodes
from icrl.experiment.directory.checkpoint import flat, remove_checkpoints
from icrl.experiment.directory.provenance import config_digest
from icrl.experiment.directory.run_directory import CONFIG, CONSTRAINT, POLICY, RunDirectory
from icrl.experiment.directory.spec import RunSpec
from icrl.experiment.run.callbacks import Callback, Started, StopRun
from icrl.experiment.run.constraint_scores import (
    VisitedPairs,
    forbidden_share,
    score_constraint,
    share_before_forbidden,
)
from icrl.experiment.run.keeping import Keeper, SavedRun, identity
from icrl.experiment.run.making import check_method, run_method
from icrl.interrupts import heed_interrupts, uninterrupted
from icrl.json_files import to_json
from icrl.methods.learners import Carried, Continuation, Snapshot
from icrl.rounds import Progress, num_rounds
from icrl.spans import begin_run, seconds_taken, span
from icrl.tasks.task import Scenario
from icrl.types import Scores, Trajectories
from icrl.versions import library_versions


def check_run(
    spec: RunSpec,
    scenario: Scenario,
    demos: FittedDemos | None,
    directory: Path,
    constraint: LearnedConstraint | None = None,
    resume: bool = False,
) -> int:
    """Raise `InputError` for whatever would stop the run, before anything is written;
    otherwise its rounds."""
    require(spec.seed >= 0, "seed", spec.seed, "an integer >= 0")
    require(spec.episodes >= 1, "episodes", spec.episodes, "an integer >= 1")
    # Cheap questions first: a directory that is taken is told in milliseconds, a method that does
    # not fit the task only once that is at hand.
    RunDirectory(directory).check_free(resume)
    check_method(spec.method, scenario, demos, constraint, spec.config)
    return num_rounds(scenario.task, spec.config)


def run_learning(
    spec: RunSpec,
    scenario: Scenario,
    demos: FittedDemos | None,
    directory: Path,
    display: Callback,
    constraint: LearnedConstraint | None = None,
    resume: bool = False,
) -> tuple[Scores, Snapshot]:
    """Make the run; after every round its directory holds the metrics,
    the constraint and the policy so far.

    With a `constraint` (that of `spec.constraint`) it is transferred, and none is learned.
    `display` looks on: `Callbacks([...])` for several; one that raises `StopRun` ends the run after
    the last finished round. With `resume` a run of the same spec that the directory holds goes on,
    and ends as if it had never been away.
    """
    rounds = check_run(spec, scenario, demos, directory, constraint, resume)
    with RunDirectory(directory).held(resume):
        return _make_run(spec, scenario, demos, directory, display, constraint, rounds, resume)


def _make_run(
    spec: RunSpec,
    scenario: Scenario,
    demos: FittedDemos | None,
    directory: Path,
    display: Callback,
    constraint: LearnedConstraint | None,
    rounds: int,
    resume: bool,
) -> tuple[Scores, Snapshot]:
    """The run itself, in a directory that nobody else writes."""
    begin_run()
    run = RunDirectory(directory)
    command = "learn"
    if constraint is not None:
        command = "transfer"
    config = {"command": command, **to_json(spec)}
    # A checkpoint says whose it is by content, not by path: demonstrations that were edited since
    # would lead the run elsewhere, and it must not go on as if nothing had happened.
    keeper = Keeper(directory, identity(to_json(spec), demos, constraint), display)
    saved = None
    if resume:
        require_same_settings(run, spec)
        saved = keeper.restored()
    # what an earlier life of the run left behind; nothing, where there was none
    before: tuple[dict[str, Any], ...] = ()
    carried = None
    seen = None
    steps_before = 0
    seconds_before = 0.0
    if saved is None:
        run.begin(config, resume)
    else:
        before = run.go_on(saved.carried.number + 1)
        carried = saved.carried
        seen = saved.visited
        steps_before = saved.carried.steps
        seconds_before = saved.seconds
    expert = None
    if demos is not None:
        expert = demos.trajectories
    # The last finished round alone: a callback that stops the run in the middle of one leaves this
    # as the result, and keeping all would grow with the run.
    finished: list[Snapshot] = []
    card = {name: getattr(spec, name) for name in ("method", "task", "seed", "preset")}
    card["config"] = config_digest(to_json(spec.config))
    card["versions"] = library_versions()
    visited = VisitedPairs(expert, seen)
    display.on_start(Started(directory, config, rounds, before))
    display.on_update(Progress(steps_before, rounds))
    # As if the clock had never stopped: seconds are those of all lives of the run together.
    started = time.perf_counter() - seconds_before

    def save(snapshot: Snapshot) -> None:
        heed_interrupts()
        # For the log alone. The learner that made the snapshot is done with it and never hears of
        # this.
        truth = _judge_if_known(scenario, snapshot.samples)
        visited.add(snapshot.samples, snapshot.number, snapshot.evidence_weights)
        metrics = _metrics_of(snapshot, time.perf_counter() - started, truth)
        # Ctrl-C waits here: policy, constraint and the line of metrics are of one round, so that
        # whoever stops a run can still read it.
        with uninterrupted():
            save_policy(snapshot.policy, directory / POLICY)
            if snapshot.constraint is not None:
                snapshot.constraint.save(directory / CONSTRAINT)
            visited.save(directory)
            run.log(metrics)
            finished[:] = [snapshot]
            display.on_round(snapshot, metrics)

    def keep(carry: Carried) -> None:
        keeper.keep(SavedRun(carry, visited.state(), time.perf_counter() - started))

    continuation = Continuation(carried, keep)
    # Checkpoints are written only as often as is cheap, so the newest round may be in memory alone.
    # Whatever ends the block early writes it first.
    with keeper.at_the_latest():
        try:
            last = run_method(
                spec.method,
                scenario,
                demos,
                constraint,
                spec.config,
                spec.seed,
                card,
                save,
                display.on_update,
                continuation,
            )
        except StopRun as stop:
            if not finished:
                raise InputError(
                    f"{directory}: a callback stopped the run before its first round was over."
                ) from stop
            last = finished[0]
        seconds = time.perf_counter() - started
        # Within the block: a run that is stopped while it is being scored has all its training on
        # disk.
        played = play_episodes(scenario.task, last.policy, spec.episodes, spec.seed)
    truth = _judge_if_known(scenario, played)
    scores = make_scores(spec, demos, last.steps, truth, seconds)
    details = _beside_the_scores(spec, scenario, demos, last, visited, played, truth)
    run.finish(scores, details)
    # After the scores, which say that the run is finished: killed in between, it is finished and
    # has a checkpoint too many, which does no harm.
    remove_checkpoints(directory)
    display.on_end(scores, details)
    return scores, last


def require_same_settings(run: RunDirectory, spec: RunSpec) -> None:
    """Raise `InputError` if the directory holds a run of other settings;
    nothing, if it holds none."""
    if not (run.path / CONFIG).exists():
        return
    content = run.config()
    wanted = to_json(spec)
    there = flat({name: content.get(name) for name in wanted})
    here = flat(wanted)
    for one in (there, here):  # a path may be written in several ways
        if isinstance(one.get("constraint"), str):
            one["constraint"] = str(Path(one["constraint"]).resolve())
    other = [name for name in here if there.get(name) != here[name]]
    if other:
        said = ", ".join(
            f"{name} is {there.get(name)!r:.60} there, {here[name]!r:.60} here"
            for name in other[:5]
        )
        raise InputError(
            f"{run.path} holds a run with other settings, and nothing was touched: {said}. "
            "Choose another --out, or remove it first."
        )


def _metrics_of(snapshot: Snapshot, seconds: float, truth: Truth | None) -> dict[str, Any]:
    """A line of `metrics.jsonl`; `truth/...` is what no learner could know."""
    metrics = {
        "round": snapshot.number,
        "steps": snapshot.steps,
        "seconds": seconds,
        **snapshot.metrics,
    }
    metrics |= {f"time/{name}": round(taken, 6) for name, taken in seconds_taken().items()}
    if truth is not None:
        metrics |= {f"truth/{name}": value for name, value in truth._asdict().items()}
    return metrics


@span("evaluation")
def _beside_the_scores(
    spec: RunSpec,
    scenario: Scenario,
    demos: FittedDemos | None,
    last: Snapshot,
    visited: VisitedPairs,
    played: Trajectories,
    truth: Truth | None,
) -> dict[str, Any]:
    """What `scores.json` holds beyond its contract:
    more of the agent, and how well the constraint itself is known."""
    violating = None
    if truth is not None:
        violating = truth.violating_episodes
    transfer = {}
    if spec.constraint is not None:
        transfer = {"transfer": _source_of(spec.constraint, last.constraint)}
    extra: dict[str, Any] = {
        "violating_episodes": violating,
        "nominal_return": float(played.returns.mean()),
        "episode_steps": float(played.lengths.mean()),
        "episodes": spec.episodes,
        "preset": spec.preset,
        "label": spec.label,
        **transfer,
        "versions": library_versions(),
    }
    if last.constraint is not None:
        extra["constraint"] = score_constraint(scenario, last.constraint, visited, demos)
        extra["constraint"]["agent_steps_forbidden"] = forbidden_share(last.constraint, played)
        before = share_before_forbidden(last.constraint, played)
        extra["constraint"]["agent_share_before_forbidden"] = before
    return extra


def _source_of(path: str, constraint: LearnedConstraint | None) -> dict[str, Any]:
    """Which constraint was transferred: where it lay,
    and what its card says of how it was learned."""
    card = {}
    if constraint is not None:
        card = constraint.card
    return {
        "constraint": path,
        **{name: card.get(name) for name in ("task", "method", "seed", "steps")},
    }


def _judge_if_known(scenario: Scenario, trajectories: Trajectories) -> Truth | None:
    if scenario.truth_known:
        return judge(scenario, trajectories)
    return None


def make_scores(
    spec: RunSpec, demos: FittedDemos | None, steps: int, truth: Truth | None, seconds: float
) -> Scores:
    """The contract of `scores.json`; without the truth, what depends on it is None."""
    true_return = None
    violation_rate = None
    if truth is not None:
        true_return = truth.true_return
        violation_rate = truth.violation_rate
    expert_return = None
    if demos is not None and demos.has_rewards:
        expert_return = float(demos.trajectories.returns.mean())
    return Scores(
        scenario=spec.task,
        method=spec.method,
        seed=spec.seed,
        steps=steps,
        true_return=true_return,
        violation_rate=violation_rate,
        expert_return=expert_return,
        seconds=seconds,
        steps_per_second=steps / seconds,
    )
