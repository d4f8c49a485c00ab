"""How runs are shown: the name and the colour of every label that we know,
as methods and suites say them."""

from collections.abc import Iterable

from icrl.experiment.suite.suites import FAIR_METHODS, LAGRANGIAN, LONG, source_of
from icrl.methods.icrl import ICRL
from icrl.methods.record import Look
from icrl.methods.registry import METHODS, REFERENCES, find_method, is_known
from icrl.words import one_line

_OTHER_COLOURS = ("#E69F00", "#332288", "#882255", "#117733")
"""With those of the methods, Okabe and Ito's palette and Tol's:
told apart by colour-blind readers too."""


def _known() -> dict[str, Look]:
    """By label, in the order in which they are shown."""
    looks: list[Look] = []
    for method in METHODS.values():
        if not method.learns:
            continue
        looks.append(method.look())
        if method is ICRL:
            looks.append(LONG)
        looks += method.looks.values()
    looks += [source_of(method, preset) for method, preset in FAIR_METHODS]
    looks.append(LAGRANGIAN)
    for agent in REFERENCES:
        looks.append(agent.look())
        looks += agent.looks.values()
    return {look.label: look for look in looks}


LOOKS = _known()


def written(label: str) -> str:
    """A label as tables and legends write it."""
    if label in LOOKS:
        return LOOKS[label].name
    if is_known(label):  # a method that a package brings
        return one_line(find_method(label).label)
    return one_line(label)


def rank(label: str) -> int:
    """Where a label stands among those that we know; after them, where we do not."""
    labels = list(LOOKS)
    if label in labels:
        return labels.index(label)
    return len(labels)


def default_label(method: str, preset: str) -> str:
    """Of a run that no suite named: as the suites that ship would have named it."""
    if method in METHODS:
        return METHODS[method].look(preset).label
    if preset == "default":
        return method
    return f"{method} ({preset})"


def colours(labels: Iterable[str]) -> dict[str, str]:
    """A colour for every label; those that we know always have the same."""
    known = {label: look.colour for label, look in LOOKS.items() if look.colour is not None}
    others = [label for label in dict.fromkeys(labels) if label not in known]
    spare = {label: _OTHER_COLOURS[i % len(_OTHER_COLOURS)] for i, label in enumerate(others)}
    return known | spare
