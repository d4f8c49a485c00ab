"""Writes docs/api.md from the signatures and docstrings of the public names:
`python docs/build_api.py`."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import icrl

TARGET = Path(__file__).with_name("api.md")
GROUPS = {
    "Learn": ("run", "RunResult", "learn_constraint", "preset", "LearnConfig", "Method"),
    "Judge, read, compare": (
        "evaluate",
        "Evaluation",
        "explain",
        "suite",
        "SuiteResult",
        "load_results",
    ),
    "Look on": ("Callback", "SuiteCallback", "StopRun"),
    "Tasks": ("make_task", "task_from_env", "make_scenario", "Task", "EnvOptions"),
    "Demonstrations": (
        "load_demos",
        "ColumnMapping",
        "save_demos",
        "shipped_demos",
        "Demonstrations",
        "Trajectories",
    ),
    "Use what was learned": (
        "LearnedConstraint",
        "load_constraint",
        "Shield",
        "export_onnx",
        "relabel_minari",
    ),
    "Gymnasium wrappers": (
        "CostInInfo",
        "SixValueStep",
        "PenalisedReward",
        "TerminateOnViolation",
        "VectorCostInInfo",
    ),
    "Errors": ("InputError",),
}
HEAD = """# Python interface

For whoever writes Python against icrl: every public name, with what it takes and returns.

Made by `python docs/build_api.py` from the code. These names are all there is to `icrl`; each is
imported from its room when it is first used. Settings are explained by `icrl learn --help`, and
where they are defined: [`src/icrl/config.py`](../src/icrl/config.py).
"""


def page() -> str:
    """The whole page; raises if a public name is in no group."""
    listed = {name for names in GROUPS.values() for name in names}
    if listed != set(icrl.__all__):
        raise SystemExit(
            "docs/build_api.py: GROUPS and icrl.__all__ differ in "
            f"{sorted(listed ^ set(icrl.__all__))}."
        )
    parts = [HEAD]
    for group, names in GROUPS.items():
        parts.append(f"\n## {group}\n")
        parts += [entry(name, getattr(icrl, name)) for name in names]
    return "\n".join(parts)


def entry(name: str, thing: Any) -> str:
    """One public name: its call, its docstring,
    and for a class its public methods and properties."""
    home = importlib.import_module(thing.__module__).__name__
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return f"### `{name}`\n\n{text(thing)} *({home})*\n"
    lines = [
        f"### `{name}`\n",
        f"```python\n{call(name, thing)}\n```\n",
        f"{text(thing)} *({home})*\n",
    ]
    if inspect.isclass(thing):
        lines += [member(key, value) for key, value in vars(thing).items() if is_public(key, value)]
    return "\n".join(lines).rstrip() + "\n"


def call(name: str, thing: Any) -> str:
    """The signature, one argument to a line when it is long."""
    signature = inspect.signature(thing)
    shown = f"icrl.{name}{plain(str(signature))}"
    if len(shown) <= 110:
        return shown
    arguments = [plain(str(parameter)) for parameter in signature.parameters.values()]
    result = (
        ""
        if signature.return_annotation is inspect.Signature.empty or inspect.isclass(thing)
        else (" -> " + plain(inspect.formatannotation(signature.return_annotation)))
    )
    return f"icrl.{name}(\n    " + ",\n    ".join(arguments) + f",\n){result}"


def plain(text: str) -> str:
    """Annotations without the modules that they come from, values without addresses."""
    text = re.sub(
        r"\b(?:icrl|numpy|gymnasium|collections|pathlib|typing|os)(?:\.\w+)*\.(\w+)", r"\1", text
    )
    text = re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[\w+(?:\[Any\])?\]\]", "ndarray", text)
    text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)  # an enum's member
    text = re.sub(r"<[^>]*>", "...", text)
    # an annotation that is written as a string
    return re.sub(r"'([A-Z]\w*(?: \| \w+)*)'", r"\1", text)


def is_public(name: str, value: Any) -> bool:
    """A method or property worth a line."""
    kinds = (property, classmethod, staticmethod)
    documented = inspect.isfunction(value) or isinstance(value, kinds) or hasattr(value, "attrname")
    return documented and not name.startswith("_") and bool(inspect.getdoc(value))


def member(name: str, value: Any) -> str:
    """A method or a property in one line."""
    function = getattr(value, "__func__", value)
    shown = (
        f"{name}{plain(str(inspect.signature(function)))}" if inspect.isfunction(function) else name
    )
    return f"- `{shown.replace('(self, ', '(').replace('(self)', '()')}`: {text(value)}"


def text(thing: Any) -> str:
    """The docstring as a paragraph; fields of a dataclass are explained in its file."""
    found = inspect.getdoc(thing) or ""
    if dataclasses.is_dataclass(thing) and found.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""
    return " ".join(found.split())


if __name__ == "__main__":
    TARGET.write_text(page())
