"""`icrl report`: scores, tables, figures, the page and the commands behind them,
from run directories into one."""

import re
from collections.abc import Sequence
from pathlib import Path

from icrl.errors import InputError
from icrl.experiment.directory.run_directory import SCORES
from icrl.experiment.suite.making import COMMAND
from icrl.files import make_folder, write_whole
from icrl.json_files import write_json
from icrl.report.ablation import cells_of, draw_ablation
from icrl.report.cells import fenced
from icrl.report.figures import draw_final_scores, draw_learning_curves, draw_zeta_over_x
from icrl.report.judging import expert_line, expert_steps, judge_tasks, judged_scores
from icrl.report.records import read_commands, read_groups
from icrl.report.table import (
    notes,
    truth_known,
)
from icrl.report.task_report import TaskReport
from icrl.report.web.page import write_page
from icrl.report.zeta_views import zeta_views
from icrl.types import EXPERT
from icrl.words import in_markdown, one_line

TABLE = "table.md"
PAGE = "index.html"
RUN_PAGE = "report.html"


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


def write_run_page(directory: Path) -> Path:
    """`report.html` of one finished run, beside its files."""
    reports = judge_tasks(read_groups([directory]))
    (run,) = (run for group in reports[0].groups for run in group.runs)
    title = f"icrl: {run.config.get('method')} on {run.task}, seed {run.seed}"
    return write_page(directory / RUN_PAGE, title, reports, read_commands([directory]))


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
