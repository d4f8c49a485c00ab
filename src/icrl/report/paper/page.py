"""The page: each figure and table of the paper, its values, ours beside them, and whether what it
says holds here."""

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path

from icrl.config import LearnConfig
from icrl.experiment.suite.suites import ABLATION_UPDATES, ABLATIONS, ablation_label
from icrl.files import make_folder, write_whole
from icrl.methods.greedy import GREEDY
from icrl.methods.icrl import ICRL
from icrl.methods.registry import preset
from icrl.report.cells import Table, fenced
from icrl.report.looks import written
from icrl.report.paper.claims import (
    ALIKE,
    EXPERT_LEVEL,
    FEWEST_SEEDS,
    NO_RUNS,
    NO_VIOLATIONS,
    Verdict,
    verdicts,
)
from icrl.report.paper.found import Cell, Found, read_found
from icrl.report.paper.printed import (
    ABLATION,
    BRIDGES,
    ICRLS,
    LEARNING,
    OUR_TRANSFERS,
    ROWS,
    TABLE_1,
    TASKS,
    TRANSFERS,
    Panel,
)
from icrl.types import EXPERT, NOMINAL
from icrl.words import in_markdown

COLUMNS = 100


def write_paper(directories: Sequence[Path], out: Path, command: str) -> Path:
    """Write the page; `command` is said to have made it."""
    text = paper_page(read_found(directories), out, command)
    make_folder(out.parent)
    write_whole(out, text.encode())
    return out


def paper_page(found: Found, out: Path, command: str) -> str:
    """All of it as Markdown; pictures are linked from where `out` lies."""
    made = verdicts(found)
    parts = [
        "# The paper, figure by figure",
        _wrapped(
            "For whoever holds the paper and asks which of its figures can be made here. Written "
            "by the command at the end, from runs; nothing is typed in but the paper's own values, "
            "which were read off its figures (to about 3 %)."
        ),
        _wrapped(
            "Returns depend on the physics engine: compare shares of the expert's return, not "
            "returns. What `paper`, `authors` and ours "
            "are, and in what they differ: [fidelity.md](fidelity.md); of which commits the runs "
            "are: [results](../results/README.md). What has no runs yet says so. Figure 2 shows "
            "the environments (`icrl tasks`)."
        ),
        "## What the paper says, and whether it holds here",
        _wrapped(
            f"Each sentence is a rule: expert level is {EXPERT_LEVEL} of the expert's return (the "
            f"paper calls 0.82 so), no violations a rate of at most {NO_VIOLATIONS} on every seed, "
            f"alike means within {ALIKE} of the expert's return; with fewer than {FEWEST_SEEDS} "
            "seeds nothing is said. Where there are experts with the same agent, expert level is "
            "of theirs: the paper's experts had the paper's agent."
        ),
        _wrapped(
            "The column *paper* is the same number in the paper's own "
            "figure, which does not always bear the sentence out. Sentences under *ours* are no "
            "part of the paper."
        ),
        _icrl_table(made).markdown(),
        "Of others:",
        _others_table(made).markdown(),
        "## Figure 1: two bridges",
        _bridges(found, out),
        "## Figure 3: learning constraints",
        *(_panel(found, panel, out) for panel in LEARNING),
        "## Figure 4: transferring constraints",
        *(_panel(found, panel, out) for panel in TRANSFERS),
        "## Ours: transfers that are hard",
        _wrapped(
            "In the paper's transfers an agent that knows nothing may keep the constraint by luck. "
            "Here the task itself pulls through the wall ([transfer.md]"
            "(transfer.md#transfers-that-are-hard))."
        ),
        *(_panel(found, panel, out) for panel in OUR_TRANSFERS),
        "## Figure 5: ablations",
        _ablation(found, out),
        "## Table 1: hyperparameters",
        _wrapped(
            "The paper's value, and what the presets hold: LapGridWorld, HalfCheetah, Ant, Point, "
            "AntBroken, in this order; one value where all agree."
        ),
        _table_1().markdown(),
        "Made by:",
        fenced([command]),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _icrl_table(made: Sequence[Verdict]) -> Table:
    """What is said of ICRL: a row for each sentence and task, a column for each of the three."""
    headers = ("figure", "task", "sentence", "paper", *(written(label) for label in ICRLS))
    rows: dict[tuple[str, str, str, str], dict[str, str]] = {}
    for verdict in made:
        if verdict.label in ICRLS:
            key = (verdict.figure, verdict.task, verdict.sentence, verdict.printed)
            rows.setdefault(key, {})[verdict.label] = _in_words(verdict)
    return Table(
        [in_markdown(header) for header in headers],
        [
            [*(in_markdown(part) for part in key), *(said.get(label, "-") for label in ICRLS)]
            for key, said in rows.items()
        ],
    )


def _others_table(made: Sequence[Verdict]) -> Table:
    """What is said of baselines and of agents that know nothing."""
    headers = ("figure", "task", "of", "sentence", "paper", "here")
    rows = [
        [
            *(in_markdown(part) for part in (verdict.figure, verdict.task)),
            in_markdown(written(verdict.label)),
            *(in_markdown(part) for part in (verdict.sentence, verdict.printed)),
            _in_words(verdict),
        ]
        for verdict in made
        if verdict.label not in ICRLS
    ]
    return Table(headers, rows)


def _in_words(verdict: Verdict) -> str:
    if verdict.holds == NO_RUNS:
        return NO_RUNS
    return f"**{verdict.holds}** ({in_markdown(verdict.here)})"


def _panel(found: Found, panel: Panel, out: Path) -> str:
    """A heading, a table of everybody, and the learning curves where there are any."""
    headers = (
        "who",
        "paper: return",
        "of its expert's",
        "here: true return (mean ± SE)",
        "of our expert's",
        "of experts' with its agent",
        "violation rate (worst seed)",
        "seeds",
    )
    rows = []
    for label, row in ROWS.items():
        values = panel.values.get(row)
        printed = ["-", "-"]
        if values is not None:
            expert = panel.values[EXPERT][0]
            printed = [
                " to ".join(f"{value:,.4g}" for value in values),
                " to ".join(f"{value / expert:.2f}" for value in values),
            ]
        mean, ratio, *rest = _here(found, panel.task, label)
        own = _share(found.own_ratio(panel.task, label))
        rows.append([in_markdown(written(label)), *printed, mean, ratio, own, *rest])
    text = [f"### {panel.title} ({panel.steps} steps)", Table(headers, rows).markdown().rstrip()]
    text += _measure(found, panel.task)
    text += _picture(found, f"{panel.task}-learning-curves.png", panel.title, out)
    return "\n\n".join(text)


def _here(found: Found, task: str, label: str) -> list[str]:
    cell = found.cell(task, label)
    ratio = found.ratio(task, label)
    if cell is None:
        return [NO_RUNS, "-", "-", "-"]
    return [
        _mean(cell),
        _share(ratio),
        f"{cell.rate:.3f} ({cell.worst_rate:.3f})",
        _seeds(cell.seeds),
    ]


def _share(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.2f}"


def _measure(found: Found, task: str) -> list[str]:
    """Whose return the shares are of."""
    expert = found.expert(task)
    if expert is None:
        return []
    value, as_long = expert
    if as_long:
        return [f"Our expert: the mean of the runs of *{written(EXPERT)}*, {value:,.1f}."]
    return [
        _wrapped(
            f"Our expert: the one of the demonstrations, {value:,.1f}, which on the bodies was "
            "trained for fewer steps than the agents; a share above 1 says no more than that. "
            f"There are no runs of *{written(EXPERT)}* yet."
        )
    ]


def _bridges(found: Found, out: Path) -> str:
    headers = ("who", "here: true return (mean ± SE)", "of our expert's", "violation rate", "seeds")
    rows = [
        [in_markdown(written(label)), *_here(found, BRIDGES.task, label)]
        for label in (NOMINAL, ICRL.name, GREEDY.name)
    ]
    text = [Table(headers, rows).markdown().rstrip()]
    text += _picture(found, "bridges.png", "Two bridges", out)
    return "\n\n".join(text)


def _ablation(found: Found, out: Path) -> str:
    headers = ("left out", *(f"B = {updates}" for updates in ABLATION_UPDATES))
    names = {
        "both": "nothing",
        "no-early-stopping": "early stopping",
        "no-importance-sampling": "importance sampling",
        "neither": "both",
    }
    rows = []
    for ablation in ABLATIONS:
        cells = [
            found.cell(ABLATION.task, ablation_label(ablation, updates))
            for updates in ABLATION_UPDATES
        ]
        said = [NO_RUNS if cell is None else f"{_mean(cell)}, {cell.rate:.3f}" for cell in cells]
        rows.append([names[ablation.name], *said])
    text = [
        _wrapped(
            "True return (mean ± SE over seeds), violation rate; the preset `paper` otherwise. The "
            "paper's own values were not read off: its curves overlap."
        ),
        Table(headers, rows).markdown().rstrip(),
    ]
    text += _picture(found, f"{ABLATION.task}-ablation.png", "Ablations", out)
    return "\n\n".join(text)


def _table_1() -> Table:
    headers = ("parameter", "paper", "`paper`", "`authors`")
    presets = {name: [preset(name, task) for task in TASKS] for name in ("paper", "authors")}
    rows = []
    for parameter, (path, printed) in TABLE_1.items():
        row = [parameter, _values(printed)]
        for configs in presets.values():
            held = tuple(
                None if value is None else _setting(config, path)
                for config, value in zip(configs, printed, strict=True)
            )
            row.append("the same" if held == printed else _values(held))
        rows.append(row)
    return Table(headers, rows)


def _setting(config: LearnConfig, path: str) -> object:
    value: object = config
    for name in path.split("."):
        value = getattr(value, name)
    if value is None:
        return "none"
    return value


def _values(values: tuple[object, ...]) -> str:
    known = [value for value in values if value is not None]
    if len(set(known)) == 1:
        return _value(known[0])
    return "; ".join("-" if value is None else _value(value) for value in values[: len(known)])


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _mean(cell: Cell) -> str:
    if len(cell.seeds) == 1:
        return f"{cell.mean:,.1f}"
    return f"{cell.mean:,.1f} ± {cell.error:,.1f}"


def _seeds(seeds: tuple[int, ...]) -> str:
    """0-4, or each by itself where some are missing."""
    if len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}-{seeds[-1]}"
    return ", ".join(map(str, seeds))


def _picture(found: Found, name: str, title: str, out: Path) -> list[str]:
    path = found.picture(name)
    if path is None:
        return []
    link = Path(os.path.relpath(path, out.parent)).as_posix()
    return [f"![{title}, here]({link})"]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False)
