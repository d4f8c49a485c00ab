"""`icrl report`: scores, tables, figures, the page and the commands behind them,
from run directories into one."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from icrl.agent.policy_file import load_policy
from icrl.agent.rollout import sample_trajectories
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.demos.dataset import Demonstrations
from icrl.errors import InputError
from icrl.experiment.directory.provenance import constraint_of_run
from icrl.experiment.directory.run_directory import CONSTRAINT, POLICY, SCORES
from icrl.experiment.run.constraint_scores import over_constraint
from icrl.experiment.run.inputs import (
    ImportRefused,
    columns_of_run,
    demos_as_they_are,
    open_demos_if_any,
    scenario_of_run,
)
from icrl.experiment.suite.suite import COMMAND
from icrl.files import make_folder, write_whole
from icrl.json_files import write_json
from icrl.report.ablation import ablation_note, ablation_table, cells_of, draw_ablation
from icrl.report.cells import fenced
from icrl.report.figures import ZetaOverX, draw_final_scores, draw_learning_curves, draw_zeta_over_x
from icrl.report.knowledge import Known, judge_all, knowledge_note, knowledge_table, seeds_table
from icrl.report.records import Group, RunRecord, read_commands, read_groups
from icrl.report.table import (
    Forbidden,
    expert_level,
    nominal_rate,
    notes,
    summary_table,
    truth_known,
)
from icrl.report.task_report import NamedTable, TaskReport
from icrl.report.web.page import write_page
from icrl.tasks.task import Scenario
from icrl.trajectories import along, join, join_pairs, pairs_of
from icrl.types import EXPERT, NOMINAL, FloatArray, Pairs, Trajectories
from icrl.words import in_markdown, one_line

TABLE = "table.md"
PAGE = "index.html"
RUN_PAGE = "report.html"
_X = "x"
_EPISODES = 5
_STATES = 400
_POINTS = 161
"""Episodes of each agent, states that the other features are drawn from, points on x."""


def write_report(directories: Sequence[Path], out: Path, command: str) -> list[Path]:
    """Everything worth committing about the runs in `directories`; returns the files written."""
    groups = read_groups(directories)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a directory, {out} is a file.")
    reports = judge_tasks(groups)
    make_folder(out)
    commands = [one_line(line) for line in (*read_commands(directories), command)]
    write_whole(out / COMMAND, ("\n".join(commands) + "\n").encode())
    written = [out / SCORES, out / COMMAND]
    sections = []
    scores = []
    for report in reports:
        figures = draw_task(report, out)
        sections.append(_section(report, figures))
        written += [*figures, *_write_csv(report, out)]
        scores += [
            judged_scores(run, report.forbidden)
            for group in report.groups
            for run in group.finished
        ]
    write_json(out / SCORES, scores)
    text = "\n".join([*sections, "Made by:\n", fenced(commands)]) + "\n"
    write_whole(out / TABLE, text.encode())
    title = f"icrl: {', '.join(report.task for report in reports)}"
    return [*written, out / TABLE, write_page(out / PAGE, title, reports, commands)]


def write_run_page(directory: Path, commands: Sequence[str] = ()) -> Path:
    """`report.html` of one finished run, beside its files."""
    reports = judge_tasks(read_groups([directory]))
    (run,) = (run for group in reports[0].groups for run in group.runs)
    title = f"icrl: {run.config.get('method')} on {run.task}, seed {run.seed}"
    return write_page(
        directory / RUN_PAGE, title, reports, [*read_commands([directory]), *commands]
    )


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


def draw_task(report: TaskReport, out: Path) -> list[Path]:
    """The figures of one task; what they show is judged by the truth,
    so without it there are none."""
    groups = report.groups
    scenario = report.scenario
    if scenario is None or not truth_known(groups):
        return []
    name = as_file(report.task)
    lines = report.references | expert_line(groups)
    cells = cells_of(groups)
    apart = {EXPERT, *(cell.group.label for cell in cells)}
    curves = [group for group in groups if group.label not in apart]
    figures = []
    if cells:
        figures += draw_ablation(cells, lines, out / f"{name}-ablation")
    if any(group.finished for group in curves):
        figures += draw_learning_curves(curves, lines, out / f"{name}-learning-curves")
    figures += draw_final_scores(groups, lines, out / f"{name}-final-scores")
    expert = expert_steps(groups, scenario, report.demos)
    if cells or expert is None or not scenario.truth_known:
        views = []
    else:
        views = zeta_views(groups, scenario, expert)
    if views:
        figures += draw_zeta_over_x(
            report.task, views, scenario.constraint, out / f"{name}-zeta-over-x"
        )
    return figures


def _section(report: TaskReport, figures: Sequence[Path]) -> str:
    """One task in `table.md`."""
    heading = f"## {in_markdown(report.task)}"
    if not report.finished:
        return f"{heading}\n\nNo run is finished.\n\n{notes(report.groups)}"
    parts = [heading]
    if report.scenario is not None and report.scenario.truth_known:
        parts.append(f"True constraint: {in_markdown(report.scenario.constraint)}.")
    for part in report.tables:
        parts.append(f"{part.title}:\n\n{part.table.markdown()}")
    pictures = [f"![{path.stem}]({path.name})" for path in figures if path.suffix == ".png"]
    return "\n\n".join([*parts, *report.remarks, notes(report.groups), *pictures]) + "\n"


def _write_csv(report: TaskReport, out: Path) -> list[Path]:
    """Every table once more, for other programs."""
    written = []
    for part in report.tables:
        path = out / f"{as_file(report.task)}-{part.name}.csv"
        write_whole(path, part.table.csv().encode())
        written.append(path)
    return written


def as_file(task: str) -> str:
    """A task's name as the beginning of a file's: my_module:make_env -> my_module-make_env."""
    return re.sub(r"[^\w.-]+", "-", task).strip("-.") or "task"


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
        return join([_visited(run, scenario) for run in runs])
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


def zeta_views(
    groups: Sequence[Group], scenario: Scenario, expert: Trajectories
) -> list[ZetaOverX]:
    """ζ over x for each method that learned (or was given)
    a constraint on a task with a feature called x."""
    if _X not in scenario.task.observation_names:
        return []
    column = scenario.task.observation_names.index(_X)
    runs = {
        g.label: [run for run in g.finished if (run.directory / CONSTRAINT).is_dir()]
        for g in groups
    }
    shown = [group for group in groups if runs[group.label]]
    constraints = {
        g.label: [load_constraint(run.directory / CONSTRAINT) for run in runs[g.label]]
        for g in shown
    }
    agents = {g.label: [_visited(run, scenario) for run in runs[g.label]] for g in shown}
    visited = [expert, *(agent for group in shown for agent in agents[group.label])]
    x = _axis(
        np.concatenate([_x_of(t, column) for t in visited]),
        [c for group in shown for c in constraints[group.label]],
    )
    return [
        _zeta_over_x(g, constraints[g.label], agents[g.label], expert, scenario, column, x)
        for g in shown
    ]


def _zeta_over_x(
    group: Group,
    constraints: list[LearnedConstraint],
    agents: list[Trajectories],
    expert: Trajectories,
    scenario: Scenario,
    column: int,
    x: FloatArray,
) -> ZetaOverX:
    zeta = []
    forbidden = np.zeros(len(x))
    for constraint, agent in zip(constraints, agents, strict=True):
        moved = along(_some_steps([expert, agent]), column, x)  # [K, P, o], [K, P, ...]
        zeta.append(constraint.feasibility(moved.observations, moved.actions).mean(axis=1))
        forbidden += scenario.violates(moved.observations, moved.actions).mean(axis=1) / len(agents)
    agent_x = np.concatenate([_x_of(agent, column) for agent in agents])
    return ZetaOverX(
        group.name, group.label, x, np.stack(zeta), forbidden, _x_of(expert, column), agent_x
    )


def _x_of(trajectories: Trajectories, column: int) -> FloatArray:
    return np.asarray(trajectories.observations[trajectories.mask][:, column])


def _visited(run: RunRecord, scenario: Scenario) -> Trajectories:
    """Episodes of the run's final agent in the nominal world."""
    cost = None
    if (run.directory / CONSTRAINT).exists():
        cost = load_constraint(run.directory / CONSTRAINT).cost
    policy = load_policy(run.directory / POLICY, scenario.task, cost)
    rng = np.random.default_rng([run.seed, 0x5EE4])
    env = scenario.task.make_env(_EPISODES)
    return sample_trajectories(rng, policy, env, scenario.task.horizon, int(rng.integers(2**31)))


def _axis(visited: FloatArray, constraints: list[LearnedConstraint]) -> FloatArray:
    """Points on x over all that was visited, and a little further,
    within the range in which ζ can see x."""
    seeing = [
        (c.features, c.features.names.index(_X)) for c in constraints if _X in c.features.names
    ]
    lower = max((features.lower[index] for features, index in seeing), default=-np.inf)
    upper = min((features.upper[index] for features, index in seeing), default=np.inf)
    low, high = np.clip([visited.min(), visited.max()], lower, upper)
    pad = 0.15 * max(high - low, 1e-3)
    return np.linspace(max(low - pad, lower), min(high + pad, upper), _POINTS)


def _some_steps(pools: list[Trajectories]) -> Pairs:
    """Pairs from the pools in equal parts."""
    rng = np.random.default_rng(0)
    parts = []
    for pool in pools:
        chosen = rng.integers(pool.num_steps, size=_STATES // len(pools))
        steps = pairs_of(pool)
        parts.append(Pairs(observations=steps.observations[chosen], actions=steps.actions[chosen]))
    return join_pairs(parts)
