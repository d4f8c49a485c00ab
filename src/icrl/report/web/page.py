"""The page: what needs no script is written here as HTML; charts are drawn by `assets/page.js` from
the data in it."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from icrl.errors import InputError
from icrl.experiment.directory.run_directory import CONSTRAINT
from icrl.files import write_whole
from icrl.report.cells import Table
from icrl.report.records import Group, RunRecord
from icrl.report.table import notes, truth_known, versions, warnings
from icrl.report.task_report import TaskReport
from icrl.report.web.constraint import view_of
from icrl.report.web.data import run_id, task_data
from icrl.report.web.markup import Html, element, joined, json_element, table_element
from icrl.report.web.run_parts import Animations, run_article
from icrl.words import one_line

_MOST_VIEWS = 60
"""Constraints that a page shows in full; of further ones the tables alone."""
_MANY_VIEWS = 30
_AXES = 6
_FEWER_AXES = 4
"""Features that can be chosen for a map of ζ; fewer on a page with many constraints, so that it
stays small."""


def write_page(
    path: Path, title: str, reports: Sequence[TaskReport], commands: Sequence[str]
) -> Path:
    """Write the page, whole or not at all."""
    runs = [run for report in reports for group in report.groups for run in group.finished]
    with_constraint = [run for run in runs if (run.directory / CONSTRAINT).is_dir()]
    # Maps grow with the square of the axes, and every run has its own.
    most_axes = _AXES
    if len(with_constraint) > _MANY_VIEWS:
        most_axes = _FEWER_AXES
    shown_runs = {run.directory for run in with_constraint[:_MOST_VIEWS]}
    animations = Animations(runs)
    sections = []
    data = []
    for number, report in enumerate(reports):
        section, charts = _task_section(number, report, shown_runs, most_axes, animations)
        sections.append(section)
        data.append(charts)
    write_whole(path, _report_document(title, reports, sections, data, commands).encode())
    return path


def _report_document(
    title: str,
    reports: Sequence[TaskReport],
    sections: list[Html],
    data: list[Any],
    commands: Sequence[str],
) -> str:
    links = {f"t{number}": report.task for number, report in enumerate(reports)}
    groups = [group for report in reports for group in report.groups]
    made = element(
        "section",
        element("h2", "Commands and versions"),
        element("pre", element("code", *(element("span", line) for line in commands))),
        element("ul", *(element("li", line) for line in versions(groups))),
        id="made",
    )
    links["made"] = "Commands and versions"
    return document(title, links, [*sections, made], {"tasks": data}, ["uplot.min.js", "page.js"])


def document(
    title: str,
    links: dict[str, str],
    sections: Sequence[Html],
    data: Any,
    script_names: Sequence[str],
) -> str:
    """A whole page: its parts, a way to each, the data for its scripts, and these."""
    scripts = [asset(name) for name in script_names]
    ways = [element("a", name, href=f"#{place}") for place, name in links.items()]
    theme = element("button", "Dark or light", type="button", id="theme")
    nav = element("nav", *ways, aria_label="On this page")
    body = [
        element("a", "To the content", href="#content", class_="skip"),
        element("header", element("h1", title), nav, theme),
        element("main", *sections, id="content"),
        element("footer", "Made by icrl. Charts: uPlot, MIT licence, © Leon Sorokin."),
        json_element(data, "data"),
        *(Html(f"<script>{script}</script>") for script in scripts),
    ]
    head = [
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'),
        # Else a browser asks the disk for favicon.ico, and writes an error into its console.
        Html('<link rel="icon" href="data:,">'),
        element("title", title),
        Html(f"<style>{asset('uplot.min.css')}\n{asset('page.css')}</style>"),
        # Without scripts nobody could choose a run: then all of them are shown.
        Html("<noscript><style>.run[hidden] { display: block }</style></noscript>"),
    ]
    parts = f"<head>{joined(head)}</head>\n<body>{joined(body)}</body>"
    return f'<!doctype html>\n<html lang="en">\n{parts}\n</html>\n'


def _policy(scripts: Sequence[str]) -> str:
    """Nothing is loaded from anywhere, and no script runs but those of the page."""
    # By digest, not by 'unsafe-inline': a name of a run that got through as markup could still run
    # nothing.
    digests = [
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts
    ]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {allowed}"


def _task_section(
    number: int, report: TaskReport, shown_runs: set[Path], most_axes: int, animations: Animations
) -> tuple[Html, dict[str, Any]]:
    """The part of one task, and the data of its charts."""
    identity = f"t{number}"
    charts = task_data(number, report) | {"constraints": []}
    parts: list[Html] = [element("h2", report.task)]
    if not report.finished:
        parts.append(element("p", "No run is finished."))
    elif report.scenario is not None and report.scenario.truth_known and truth_known(report.groups):
        parts.append(
            element("p", f"True constraint, which no learner saw: {report.scenario.constraint}.")
        )
    else:
        parts.append(element("p", "The true constraint is not known here."))
    said = warnings(report.groups)
    if said:
        parts.append(
            element("ul", *(element("li", line) for line in said), class_="warnings", role="note")
        )
    parts += [table_element(part.table, part.title) for part in report.tables[:1]]
    parts.append(_chart_places(identity))
    articles = []
    for group in report.groups:
        for run in group.runs:
            if run.scores is None:
                continue
            place = run_id(number, run, report)
            view = None
            if run.directory in shown_runs and report.demos is not None:
                view = _view(place, run, report, most_axes)
            if view is not None:
                charts["constraints"].append(view.data)
            articles.append(run_article(place, group, run, view, animations))
    if articles:
        parts.append(_runs_place(identity, report.groups, number, report, articles))
    parts += [table_element(part.table, part.title) for part in report.tables[1:]]
    reading = [
        element("p", line)
        for text in (*report.remarks, notes(report.groups))
        for line in text.splitlines()
    ]
    parts.append(element("details", element("summary", "How to read the tables"), *reading))
    parts.append(_settings(report.groups))
    return element("section", *parts, id=identity), charts


def _view(place: str, run: RunRecord, report: TaskReport, most_axes: int) -> Any:
    """The constraint as the page shows it; None where it does not fit the demonstrations at
    hand."""
    if report.demos is None:
        return None
    try:
        return view_of(place, run, report.demos, most_axes)
    except InputError:
        return None  # a constraint from another task, say: the tables still speak of it


def _chart_places(identity: str) -> Html:
    """Where the script draws; without it the tables say the same."""
    return joined(
        [
            element("h3", "Learning curves"),
            element(
                "p",
                "Drag over a chart to zoom, double-click to see all of it again.",
                class_="hint",
            ),
            element("div", class_="legend", id=f"{identity}-legend"),
            element("div", class_="charts", id=f"{identity}-curves"),
            element("h3", "Final scores"),
            element(
                "p",
                "A dot is a seed; the upright line is the interquartile mean, the bar its 95 % "
                "interval.",
                class_="hint",
            ),
            element("div", class_="charts", id=f"{identity}-scores"),
        ]
    )


def _runs_place(
    identity: str,
    groups: Sequence[Group],
    number: int,
    report: TaskReport,
    articles: Sequence[Html],
) -> Html:
    """One run at a time: its constraint, how far to trust it, its agent at work."""
    options = [
        element("option", f"{group.name}, seed {run.seed}", value=run_id(number, run, report))
        for group in groups
        for run in group.finished
    ]
    chooser = element(
        "label",
        "Run ",
        element("select", *options, id=f"{identity}-run"),
        for_=f"{identity}-run",
        class_="chooser",
    )
    heading = element("h3", "Each run: its constraint, how far to trust it, its agent")
    return joined(
        [heading, chooser, element("div", class_="charts", id=f"{identity}-constraint"), *articles]
    )


def _settings(groups: Sequence[Group]) -> Html:
    """The settings of every method: those that differ first, all of them on demand."""
    columns = [(group.name, _flat(group.runs[0].config)) for group in groups]
    keys = list(dict.fromkeys(key for _, settings in columns for key in settings))
    rows = [[key, *(settings.get(key, "-") for _, settings in columns)] for key in keys]
    headers = ["setting", *(name for name, _ in columns)]
    # Of all settings a reader wants the few in which methods differ.
    differing = [row for row in rows if len(set(row[1:])) > 1]
    parts = [element("h3", "Settings")]
    if len(columns) > 1 and differing:
        parts.append(table_element(Table(headers, differing), "Settings that differ"))
    whole = table_element(Table(headers, rows), "All settings (of the first seed of each method)")
    return joined([*parts, element("details", element("summary", "All settings"), whole)])


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """{"forward": {"clip": 0.2}} -> {"forward.clip": "0.2"}; what says which run it is is left
    out."""
    found: dict[str, str] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if name in ("config", "env"):
            found |= _flat(value or {}, "")
        elif isinstance(value, dict) and name != "versions":
            found |= _flat(value, f"{name}.")
        elif name not in ("versions", "seed", "label", "command", "task"):
            found[name] = one_line(value)
    return found


def asset(name: str) -> str:
    """A file of the page's own."""
    return (files("icrl.report.web") / "assets" / name).read_text(encoding="utf-8")
