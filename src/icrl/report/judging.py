"""What there is to say of a task: its tables, its references, what each constraint forbids."""

from collections.abc import Sequence
from typing import Any

from icrl.constraint.learned import load_constraint
from icrl.demos.dataset import Demonstrations
from icrl.errors import InputError
from icrl.experiment.directory.provenance import constraint_of_run
from icrl.experiment.directory.run_directory import CONSTRAINT
from icrl.experiment.run.constraint_scores import over_constraint
from icrl.experiment.run.inputs import (
    ImportRefused,
    columns_of_run,
    demos_as_they_are,
    open_demos_if_any,
    scenario_of_run,
)
from icrl.report.ablation import ablation_note, ablation_table, cells_of
from icrl.report.knowledge import Known, judge_all, knowledge_note, knowledge_table, seeds_table
from icrl.report.records import Group, RunRecord
from icrl.report.table import (
    Forbidden,
    expert_level,
    nominal_rate,
    summary_table,
    truth_known,
)
from icrl.report.task_report import NamedTable, TaskReport
from icrl.report.zeta_views import episodes_of
from icrl.tasks.task import Scenario
from icrl.trajectories import join
from icrl.types import EXPERT, NOMINAL, Trajectories


def judge_tasks(groups: Sequence[Group]) -> list[TaskReport]:
    """What there is to say of each task."""
    tasks = dict.fromkeys(group.task for group in groups)
    return [judge_task(task, [group for group in groups if group.task == task]) for task in tasks]


def judge_task(task: str, groups: list[Group]) -> TaskReport:
    """The tables of one task, and what each constraint forbids the expert."""
    finished = [run for group in groups for run in group.finished]
    if not finished:
        return TaskReport(task=task, groups=groups)
    scenario = _scenario_if_any(finished)
    demos = _demos_of(finished[0].config, scenario)
    for run in finished:
        if (run.directory / CONSTRAINT).is_dir():
            # Opened for its errors: a report must not show a constraint that was copied in from
            # another run.
            constraint_of_run(
                run.directory, run.config, None if scenario is None else scenario.task
            )
    references = references_of(groups, demos)
    nominal = nominal_rate(groups, references)
    cells = cells_of(groups)
    forbidden: Forbidden = {}
    known: Known = {}
    if scenario is not None and scenario.truth_known and truth_known(groups):
        forbidden = forbidden_steps(groups, scenario, expert_steps(groups, scenario, demos))
        known = judge_all(groups, scenario, demos)
    tables = [
        NamedTable(
            name="methods", title="Methods", table=summary_table(groups, references, forbidden)
        )
    ]
    if known and not cells:
        title = "How well the constraint itself is known"
        tables.append(
            NamedTable(name="constraint", title=title, table=knowledge_table(groups, known))
        )
    seeds = seeds_table(groups, known, expert_level(groups), forbidden)
    tables.append(NamedTable(name="seeds", title="Every seed", table=seeds))
    remarks = []
    if scenario is not None and known:
        remarks.append(knowledge_note(scenario, demos, _all_transferred(finished)))
    if cells:
        title = "What each ablation costs, against having both with the same B"
        tables.append(
            NamedTable(name="ablation", title=title, table=ablation_table(cells, nominal))
        )
        remarks.append(ablation_note())
    return TaskReport(
        task=task,
        groups=groups,
        scenario=scenario,
        demos=demos,
        references=references,
        tables=tables,
        remarks=remarks,
        forbidden=forbidden,
    )


def _scenario_if_any(finished: Sequence[RunRecord]) -> Scenario | None:
    """The task of the runs; None where it is a function that only they name (a report executes
    nothing), or was made in somebody's Python and is gone: nobody knows the truth of such a task.
    """
    first = finished[0]
    try:
        return scenario_of_run(first.config, directory=first.directory)
    except InputError as error:
        # Without the task nothing here can check what runs say of the truth: then none may say
        # anything.
        truths = ("true_return", "violation_rate")
        told = [
            run
            for run in finished
            if any((run.scores or {}).get(name) is not None for name in truths)
        ]
        if not told:
            return None
        if not isinstance(error, ImportRefused):
            raise
        raise InputError(
            f"{told[0].directory} is a run on {told[0].task}, whose true constraint is not known, "
            "but its scores.json holds what only the truth can tell: it was edited. Restore it, or "
            "leave the run out."
        ) from None


def _demos_of(config: dict[str, Any], scenario: Scenario | None) -> Demonstrations | None:
    """The demonstrations as the task takes them; without the task as they are."""
    source = config.get("demos")
    columns = columns_of_run(config)
    if scenario is not None:
        return open_demos_if_any(source, scenario, columns)[0]
    if source is None:
        return None
    return demos_as_they_are(source, columns)


def judged_scores(run: RunRecord, forbidden: Forbidden) -> dict[str, Any]:
    """A run's scores, with the share of the expert's steps that the table shows:
    judged on the same expert for all.

    The run itself knew the demonstrations of its task, if that.
    """
    scores = dict(run.scores or {})
    if (run.label, run.seed) in forbidden:
        share = forbidden[run.label, run.seed]
        scores["constraint"] = {**(scores.get("constraint") or {}), "expert_steps_forbidden": share}
    return scores


def _all_transferred(runs: Sequence[RunRecord]) -> bool:
    """Did no run of the task learn its constraint there?"""
    learned = [run for run in runs if (run.directory / CONSTRAINT).is_dir()]
    return bool(learned) and all(run.config.get("constraint") is not None for run in learned)


def references_of(
    groups: Sequence[Group], demos: Demonstrations | None
) -> dict[str, dict[str, float]]:
    """Scores of expert and nominal agent by the demos' card,
    except where runs of the same are in the report."""
    found = {}
    if demos is not None:
        found = demos.card.get("references", {})
    # What was run here beside the others is a fairer line than what a card remembers.
    shown = {group.label for group in groups if group.finished}
    return {name: found[name] for name in (EXPERT, NOMINAL) if name in found and name not in shown}


def expert_line(groups: Sequence[Group]) -> dict[str, dict[str, float]]:
    """Mean final scores of the expert's runs, where the report has some:
    drawn as a level line, as in the paper."""
    experts = {group.label: group for group in groups if group.label == EXPERT and group.finished}
    scores = ("true_return", "violation_rate")
    return {
        label: {name: float(group.values(name).mean()) for name in scores}
        for label, group in experts.items()
    }


def expert_steps(
    groups: Sequence[Group], scenario: Scenario, demos: Demonstrations | None
) -> Trajectories | None:
    """What an expert of the task does: episodes of the expert's runs;
    without any, the demonstrations, if there are."""
    runs = [run for group in groups if group.label == EXPERT for run in group.finished]
    if runs:
        # Of all seeds: one expert's style would count as the expert's.
        return join([episodes_of(run, scenario) for run in runs])
    if demos is None:
        return None
    return demos.trajectories


def forbidden_steps(
    groups: Sequence[Group], scenario: Scenario, expert: Trajectories | None
) -> Forbidden:
    """By label and seed: the share of the expert's steps that a run's constraint forbids."""
    if expert is None:
        return {}
    runs = [
        run for group in groups for run in group.finished if (run.directory / CONSTRAINT).is_dir()
    ]
    shares = [
        over_constraint(scenario, load_constraint(run.directory / CONSTRAINT), expert)
        for run in runs
    ]
    return {
        (run.label, run.seed): share
        for run, share in zip(runs, shares, strict=True)
        if share is not None
    }
