"""What a sweep found: a table of its trials, what mattered, the best settings as a file, and all of
it as a page."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from icrl.config import LearnConfig
from icrl.experiment.directory.config_file import write_config
from icrl.experiment.suite.sweep import TRUTH, Sweep, best_config
from icrl.experiment.suite.sweep_study import worth
from icrl.experiment.suite.sweep_table import CSV, cell_of
from icrl.files import write_whole
from icrl.report.cells import Table, fenced
from icrl.report.web.markup import Html, element, joined, table_element
from icrl.report.web.page import document
from icrl.tasks.options import EnvOptions
from icrl.words import in_markdown, one_line

PAGE = "index.html"
TABLE = "table.md"
BEST = "best.toml"
_PARTS = ("demonstrations_allowed", "returns_matched", "evidence_explained", "seeds_agree")
_TRUTH_WARNING = (
    "Judged by the truth, which nobody has outside research: these settings are chosen with "
    "knowledge that no user of the method has, and say nothing of how well it can be tuned."
)
_NO_TRUTH_NOTE = (
    "The objective needs no truth: the mean of the share of held-out demonstrated steps that are "
    "allowed, how near the agent's return is to the demonstrations' (as far as it obeys what was "
    "learned), the share of better-paying episodes that are explained (flagged), and the share of "
    "recorded pairs that the seeds judge alike."
)


def write_sweep(sweep: Sweep, study: Any, command: str) -> list[Path]:
    """Write all of it into the sweep's directory; returns the files."""
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]
    table = _trials_table(sweep, trials)
    importance = importance_of(study)
    out = sweep.directory
    note = _NO_TRUTH_NOTE
    if sweep.objective == TRUTH:
        note = _TRUTH_WARNING
    written = [out / CSV, out / TABLE, out / PAGE]
    write_whole(out / CSV, table.csv().encode())
    best_text = None
    if any(worth(trial) is not None for trial in trials):
        best_text = _best_file(sweep, best_config(sweep, study), study.best_trial.number)
        write_whole(out / BEST, best_text.encode())
        written.append(out / BEST)
    parts = [f"# Sweep of {in_markdown(sweep.spec.task)}", note, table.markdown()]
    parts += [
        f"Importance: {', '.join(f'{name} {share:.0%}' for name, share in importance.items())}."
    ] * bool(importance)
    text = "\n\n".join([*parts, "Made by:", fenced([command])]) + "\n"
    write_whole(out / TABLE, text.encode())
    page = _page(sweep, study, trials, table, importance, note, best_text, command)
    write_whole(out / PAGE, page.encode())
    return written


def importance_of(study: Any) -> dict[str, float]:
    """How much of the differences between trials each setting accounts for; empty: too few trials
    to tell."""
    import optuna

    finished = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    values = {trial.value for trial in finished}
    if len(finished) < 4 or len(values) < 2:
        return {}
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {str(name): float(share) for name, share in found.items()}


def _trials_table(sweep: Sweep, trials: list[Any]) -> Table:
    names = [dimension.name for dimension in sweep.space.dimensions]
    parts = [
        name for name in _PARTS if any(trial.user_attrs.get(name) is not None for trial in trials)
    ]
    headers = ["trial", "objective", "state", *names, *(name.replace("_", " ") for name in parts)]
    values = {trial.number: worth(trial) for trial in trials}
    finished = [trial for trial in trials if values[trial.number] is not None]
    ordered = sorted(
        finished, key=lambda trial: (-float(values[trial.number] or 0.0), trial.number)
    )
    ordered += [trial for trial in trials if values[trial.number] is None]
    rows = []
    for trial in ordered:
        state = str(trial.state.name).lower()
        reason = trial.user_attrs.get("error")
        if reason is not None:
            state = f"failed: {in_markdown(reason)}"
        found = worth(trial)
        if found is None:
            value = "-"
        else:
            value = f"{found:.4f}"
        settings = [_cell(trial.params.get(name)) for name in names]
        rows.append(
            [
                str(trial.number),
                value,
                state,
                *settings,
                *(_cell(trial.user_attrs.get(name)) for name in parts),
            ]
        )
    return Table(headers, rows)


def _best_file(sweep: Sweep, config: LearnConfig, number: int) -> str:
    spec = sweep.spec
    # All that the sweep was told: who learns with it should not have to say it again.
    run = {"task": spec.task, "method": spec.method, "preset": spec.preset, "demos": spec.demos}
    tables: dict[str, dict[str, Any]] = {}
    if spec.env != EnvOptions():
        tables["env"] = asdict(spec.env)
    if spec.columns is not None:
        tables["columns"] = asdict(spec.columns)
    said = (
        f"# The best of the sweep in {one_line(sweep.directory)}: trial {number}. Use it with: "
        "icrl learn --config\n"
    )
    if sweep.objective == TRUTH:
        said += f"# {_TRUTH_WARNING}\n"
    return said + write_config(run, config, tables)


def _page(
    sweep: Sweep,
    study: Any,
    trials: list[Any],
    table: Table,
    importance: dict[str, float],
    note: str,
    best_text: str | None,
    command: str,
) -> str:
    parts: list[Html] = [element("h2", "What was tried")]
    kind = None
    if sweep.objective == TRUTH:
        kind = "warnings"
    parts.append(element("p", note, class_=kind))
    parts += [
        element("div", id="parallel"),
        element("div", "Point at a line.", class_="readout", id="parallel-readout"),
    ]
    if importance:
        bars = [
            joined(
                [
                    element("span", name),
                    Html(f'<i style="width:{100 * share:.1f}%"></i>'),
                    element("b", f"{share:.0%}"),
                ]
            )
            for name, share in importance.items()
        ]
        parts += [element("h3", "What mattered (PED-ANOVA)"), element("div", *bars, class_="bars")]
    parts.append(table_element(table, "Every trial, the best first"))
    if best_text is not None:
        parts += [
            element("h3", "The best settings, as a file"),
            element("pre", element("code", _lines(best_text))),
        ]
    parts += [element("h3", "Made by"), element("pre", element("code", command))]
    best = None
    if best_text is not None:
        best = study.best_trial.number
    data = {
        "best": best,
        "axes": [
            {
                "name": d.name,
                "low": d.low,
                "high": d.high,
                "log": d.log,
                "choices": [str(choice) for choice in d.choices] or None,
            }
            for d in sweep.space.dimensions
        ],
        "trials": [
            {
                "number": trial.number,
                "value": worth(trial),
                "params": {k: _plain(v) for k, v in trial.params.items()},
            }
            for trial in trials
            if len(trial.params) == len(sweep.space.dimensions)
        ],
    }
    section = element("section", *parts, id="sweep")
    return document(
        f"icrl: sweep of {sweep.spec.task}", {"sweep": "Trials"}, [section], data, ["sweep.js"]
    )


def _lines(text: str) -> Html:
    return joined([element("span", line) for line in text.splitlines()])


def _plain(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return str(value)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return in_markdown(cell_of(value))
