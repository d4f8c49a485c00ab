"""Methods by name: those that ship, those that installed packages bring, and a user's own.

A package brings one by an entry point in the group `icrl.methods`, whose name is the method's. A
user names one as `module:name`, where `name` is a `Method`. To import a module is to execute it, so
that is done for a name that the user typed (`open_method`), never for one that a run names.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from icrl.config import LearnConfig
from icrl.errors import InputError, unknown_name
from icrl.methods.binary_classifier import BINARY_CLASSIFIER
from icrl.methods.gail_constraint import GAIL_CONSTRAINT
from icrl.methods.greedy import GREEDY
from icrl.methods.icrl import ICRL
from icrl.methods.record import Method, Presses
from icrl.methods.references import EXPERT_AGENT, NOMINAL_AGENT
from icrl.presets import PRESETS, known_as

if TYPE_CHECKING:
    from icrl.tasks.task import Task

GROUP = "icrl.methods"
"""Of entry points."""
_SHIPPED = (ICRL, GAIL_CONSTRAINT, BINARY_CLASSIFIER, GREEDY, NOMINAL_AGENT, EXPERT_AGENT)
METHODS: dict[str, Method] = {method.name: method for method in _SHIPPED}
"""Those that ship, in the order in which tables show them."""
REFERENCES = tuple(method for method in _SHIPPED if not method.learns)
"""Agents that learn no constraint and need no demonstrations."""
_opened: dict[str, Method] = {}
"""Methods `module:name` that the user named in this process."""


def find_method(name: str) -> Method:
    """The method of that name; nothing is imported that only the name itself names."""
    # Ours first: no package can take the name of a method that ships.
    known = METHODS | _opened
    if name in known:
        return known[name]
    if ":" in name:
        raise InputError(
            f"the method {name} is code that would be executed. If you know the module and trust "
            f"it, name it yourself: --method {name}"
        )
    # Asked for only now: it reads the metadata of every installed package.
    installed = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in installed:
        raise unknown_name("method", name, [*METHODS, *installed])
    return _load(installed[name])


def open_method(name: str) -> Method:
    """The method that the user named: as `find_method`, and `module:name` is imported."""
    if ":" in name and name not in _opened:
        # Here, since it needs gymnasium, which a name that is known does without.
        from icrl.tasks.factories import find_object

        _opened[name] = _checked(find_object(name, "method"), name)
    return find_method(name)


def is_known(name: str) -> bool:
    """`find_method` has an answer."""
    return name in METHODS or name in _opened or name in entry_points(group=GROUP).names


def preset(name: str, task: "str | Task", method: str = ICRL.name) -> LearnConfig:
    """The settings called `name` for a task and a method.

    One that we do not know gets the general ones; a `Task`, which can be looked at, those of a body
    where it is like one.
    """
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    if not isinstance(task, str):
        task = known_as(task)
    return find_method(method).preset(name, task)


def that_press() -> list[str]:
    """Names of the methods whose constraint can act on an agent."""
    return [name for name, method in (METHODS | _opened).items() if method.learns]


def help_text(*, sweepable: bool = False, presses: bool = False) -> str:
    """The methods that ship, for `--help`; of transfers with how a constraint presses."""
    parts = []
    for method in METHODS.values():
        if (sweepable and not method.sweepable) or (presses and not method.learns):
            continue
        said = method.summary
        if presses:
            said = "cost 1 - zeta"
            if method.presses is Presses.bonus:
                said = "reward + log zeta"
        parts.append(f"{method.name} ({said})")
    return f"{', '.join(parts)}; or module:name of a method of yours."


def _load(entry: EntryPoint) -> Method:
    try:
        found = entry.load()
    # Whatever a stranger's module raises while it is imported is bad input, and no fault of ours.
    except Exception as error:
        raise InputError(
            f"the method {entry.name} of the entry point {entry.value} cannot be imported: "
            f"{error}. Mend or remove the package that brings it."
        ) from error
    return _checked(found, f"{entry.name} ({entry.value})")


def _checked(found: Any, name: str) -> Method:
    if not isinstance(found, Method):
        raise InputError(
            f"{name} is {type(found).__name__}, expected an icrl.Method (docs/architecture.md says "
            "how to write one; examples/own_method.py is one)."
        )
    return found
