"""Writes the tables of docs/shapes.md from the worlds: `python docs/build_shapes.py`."""

import textwrap
from pathlib import Path

from icrl.demos.dataset import shipped_demos
from icrl.demos.formats import load_demos
from icrl.tasks.shapes.names import NAMES
from icrl.tasks.shapes.scenarios import make_shape
from icrl.tasks.shapes.truth import RULES

TARGET = Path(__file__).with_name("shapes.md")
START = "<!-- made by docs/build_shapes.py: do not edit by hand -->"
END = "<!-- end -->"
_SHOWN = 8
"""Names of more features than this are not all listed."""


def page() -> str:
    """The page with its tables made anew."""
    text = TARGET.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    parts = (_rules(), _numbers(), _features())
    return before + START + "\n\n" + "\n\n".join(parts) + "\n\n" + END + after


def _rules() -> str:
    rows = ["| world | rule |", "|---|---|"]
    for name in NAMES:
        rows.append(f"| `{name}` | {_escaped(make_shape(name).constraint)} |")
    return "\n".join(rows)


def _numbers() -> str:
    rows = [
        "| world | what tempts | horizon | return of the demonstrations | without the rule |",
        "|---|---|---:|---:|---:|",
    ]
    for name in NAMES:
        scenario = make_shape(name)
        card = load_demos(shipped_demos(str(scenario.demos))).card
        free = card["references"]["nominal"]["nominal_return"]
        rows.append(
            f"| `{name}` | {_escaped(RULES[name].tempts)} | {scenario.task.horizon} "
            f"| {_number(card['mean_return'])} | {_number(free)} |"
        )
    return "\n".join(rows)


def _features() -> str:
    lines = []
    for name in NAMES:
        task = make_shape(name).task
        seen = _listed(task.observation_names)
        done = _listed(task.action_names)
        choice = "one of " if task.discrete else ""
        text = f"- `{name}`: {task.description}. Sees {seen}; acts by {choice}{done}."
        lines += textwrap.wrap(text, 100, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines)


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    if len(names) > _SHOWN:
        return f"{shown} and {len(names) - _SHOWN} more"
    return shown


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
