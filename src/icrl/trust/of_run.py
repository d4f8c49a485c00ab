"""The verdict on a run: reads its directory and puts the checks of this room to it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.saved import CARD
from icrl.demos.fitting import FittedDemos
from icrl.errors import InputError
from icrl.experiment.directory.provenance import constraint_of_run
from icrl.experiment.directory.run_directory import CONFIG, CONSTRAINT, RunDirectory
from icrl.experiment.directory.spec import RunSpec
from icrl.explain.judged import Judged, judge_pairs
from icrl.tasks.task import Task
from icrl.trust.check import Check, Level, Verdict
from icrl.trust.coverage import check_coverage, measure_coverage
from icrl.trust.demonstrations import check_demonstrations, check_enough
from icrl.trust.ensemble import check_ensemble, measure_disagreement
from icrl.trust.evidence import check_evidence, check_wall
from icrl.trust.fresh import Fresh
from icrl.trust.held_out import NAME as HELD_OUT
from icrl.trust.held_out import REPRODUCED, check_held_out, held_out_alarms, reproduction
from icrl.trust.judges import check_judges, judge_of_card
from icrl.trust.record import Record, record_of
from icrl.trust.refit import find_refit
from icrl.trust.returns import check_returns, compared, forbids_anything
from icrl.trust.rule import (
    Strange,
    check_elsewhere,
    check_rivals,
    last_judges,
    standing_of,
    strange_places,
)
from icrl.types import Trajectories
from icrl.visited import VISITED, Visited, load_visited

_SAME = ("task", "method", "preset", "config", "demos", "constraint", "env", "columns")
"""What runs of one ensemble share; their seeds differ."""

AGENT = "the agent under ζ"
JUDGE = "a fresh agent under ζ"

OnFold = Callable[[int, int], None]


def has_constraint(directory: Path) -> bool:
    """There is a constraint to judge."""
    return (directory / CONSTRAINT / CARD).exists()


def judge_run(
    directory: Path,
    task: Task,
    demos: FittedDemos | None,
    played: Trajectories,
    others: Sequence[Path] | None = None,
    on_fold: OnFold = lambda done, fits: None,
    judge: Fresh | None = None,
) -> Verdict:
    """Every check that can be made of a run.

    `played`: fresh episodes of its agent; `others`: runs with other seeds (None: those beside it);
    `judge`: a fresh agent that was trained under its ζ just now.
    """
    constraint = load_constraint(directory / CONSTRAINT)
    spec = RunDirectory(directory).spec()
    visited = None
    if (directory / VISITED).exists():
        visited = load_visited(directory / VISITED)
    judged = None
    if demos is not None:
        judged = judge_pairs(constraint, demos.trajectories, visited)
    seeds = _ensemble(
        directory, constraint, judged, siblings(directory) if others is None else others
    )
    if (
        # A rule that was found by search can be asked much more than a network: its run recorded
        # scouts and judges. A transferred one was found elsewhere, in a record that is not here.
        constraint.region is not None
        and demos is not None
        and visited is not None
        and spec.constraint is None
    ):
        record = record_of(visited, demos, _phases(directory))
        return Verdict((*found_by_search(constraint, task, demos, record, played, judge), seeds))
    elsewhere = None
    checks = [
        _held_out(spec, task, constraint, demos, visited, judged, on_fold),
        _coverage(constraint, judged, visited),
    ]
    if demos is not None and constraint.region is not None:
        strange = strange_places(constraint, task, demos.trajectories, played)
        elsewhere = strange is not None and strange.plain
        earns = {AGENT: _earns(float(np.mean(played.returns)), demos)}
        checks.append(check_elsewhere({AGENT: strange}, earns))
    checks.append(check_returns(constraint, played, demos, elsewhere))
    return Verdict((*checks, seeds))


def found_by_search(
    constraint: LearnedConstraint,
    task: Task,
    demos: FittedDemos,
    record: Record,
    played: Trajectories,
    judge: Fresh | None,
) -> list[Check]:
    """All questions that the record of a run answers about a rule that was found in it."""
    space = record.space(constraint)
    standing = standing_of(constraint, task, record)
    places = {AGENT: strange_places(constraint, task, demos.trajectories, played)}
    earns = {AGENT: _earns(float(np.mean(played.returns)), demos)}
    judged = judge_of_card(constraint)
    done = last_judges(record)
    if judge is not None:
        judged = judge.judged
        done = judge.episodes
    judges_elsewhere = None
    if done is not None and forbids_anything(constraint):
        places[JUDGE] = strange_places(constraint, task, demos.trajectories, done)
        earns[JUDGE] = _earns(float(np.mean(done.returns)), demos)
        judges_elsewhere = _plain(places[JUDGE])
    nearest = None
    if standing is not None and standing.others:
        nearest = (standing.others[0].axes, standing.others[0].score)
    checks = [
        check_demonstrations(constraint, record, space),
        check_evidence(constraint, record, nearest),
    ]
    wall = check_wall(space)
    if wall is not None:
        checks.append(wall)
    if standing is not None:
        checks.append(check_rivals(standing))
    checks.append(check_judges(constraint, demos, judged, judges_elsewhere))
    # of an empty ζ the evidence says whether something is missing:
    # all that an agent does is elsewhere there
    missing = forbids_anything(constraint) and _plain(places[AGENT])
    checks.append(check_returns(constraint, played, demos, missing))
    checks.append(check_elsewhere(places, earns))
    checks.append(check_enough(space))
    return checks


def _earns(mean_return: float, demos: FittedDemos) -> float | None:
    if not demos.has_rewards:
        return None
    return compared(mean_return, demos).share


def _plain(strange: Strange | None) -> bool:
    return strange is not None and strange.plain


def _phases(directory: Path) -> dict[int, str]:
    """What the agent of each round was there for, as the run's metrics tell it."""
    found = {}
    for row in RunDirectory(directory).metrics():
        if isinstance(row.get("constraint/phase"), str):
            found[int(row["round"])] = str(row["constraint/phase"])
    return found


def siblings(directory: Path) -> list[Path]:
    """Finished runs beside this one that differ from it in nothing but the seed."""
    own = RunDirectory(directory).config()
    found = []
    for path in sorted(directory.resolve().parent.iterdir()):
        if (
            path == directory.resolve()
            or not (path / CONFIG).exists()
            or not RunDirectory(path).finished
        ):
            continue
        # All that decides a run but its seed: runs with other settings differ for other reasons
        # than chance.
        config = RunDirectory(path).config()
        same = all(config.get(name) == own.get(name) for name in _SAME)
        if same and config.get("seed") != own.get("seed") and has_constraint(path):
            found.append(path)
    return found


def _held_out(
    spec: RunSpec,
    task: Task,
    constraint: LearnedConstraint,
    demos: FittedDemos | None,
    visited: Visited | None,
    judged: Judged | None,
    on_fold: OnFold,
) -> Check:
    if demos is None or judged is None:
        return Check(HELD_OUT, Level.unknown, "the demonstrations of this run are not at hand", {})
    if spec.constraint is not None:
        return check_held_out(constraint, demos, None, "the constraint was learned elsewhere")
    if demos.trajectories.num_trajectories < 2:
        return check_held_out(
            constraint, demos, None, "with one demonstrated episode it cannot be known"
        )
    refit = find_refit(spec.method, task, constraint, spec.config, visited)
    if refit is None:
        return check_held_out(constraint, demos, None, "the run kept no samples to fit ζ to again")
    on_fold(0, 1)
    # The control: a refit that cannot say what the run said would only tell of itself.
    agreement = reproduction(constraint, refit(demos), judged)
    if agreement < REPRODUCED:
        why = (
            "ζ cannot be fitted again from what the run kept: a refit agrees with it on "
            f"{agreement:.0%} (balanced)"
        )
        return check_held_out(constraint, demos, None, why)
    return check_held_out(constraint, demos, held_out_alarms(demos, refit, on_fold), "")


def _coverage(
    constraint: LearnedConstraint, judged: Judged | None, visited: Visited | None
) -> Check:
    if judged is None or visited is None:
        missing = "a record of where the agents went is"
        if judged is None:
            missing = "the demonstrations are"
        return Check("coverage", Level.unknown, f"{missing} not at hand", {})
    return check_coverage(measure_coverage(constraint, judged))


def _ensemble(
    directory: Path, constraint: LearnedConstraint, judged: Judged | None, others: Sequence[Path]
) -> Check:
    if judged is None or not others:
        return check_ensemble(None)
    loaded = []
    for path in others:
        # It would agree with itself, and make the seeds look better.
        if path.resolve() == directory.resolve():
            raise InputError(f"{path} is the run itself: give runs with other seeds with --others.")
        loaded.append(constraint_of_run(path, RunDirectory(path).config(), None))
    return check_ensemble(measure_disagreement([constraint, *loaded], judged.pairs))
