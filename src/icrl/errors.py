"""Errors for bad input: what was expected, what came, what to do.

The CLI prints them without a traceback.
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

LEARN = {
    "jax": "jax",
    "jaxlib": "jax",
    "optax": "optax",
    "mujoco": "mujoco",
    "scipy": "scipy",
    "matplotlib": "matplotlib",
    "PIL": "pillow",
    "threadpoolctl": "threadpoolctl",
}
"""Modules that the extra 'learn' brings, and the packages that hold them."""


class InputError(ValueError):
    """The input (a file, a name, a value) cannot be used; the message says why and what to do."""


class InputWarning(UserWarning):
    """The input can be used, but the user should know something about it."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """An `InputError` for a name that does not exist, with the nearest ones that do."""
    options = sorted(known)
    close = difflib.get_close_matches(name, options, n=3, cutoff=0.4)
    if close:
        hint = f"did you mean {' or '.join(repr(c) for c in close)}?"
    else:
        hint = "nothing is close to it."
    return InputError(f"unknown {kind} {name!r}: {hint} Known: {', '.join(options) or '(none)'}.")


class MissingExtra(InputError, ImportError):
    """A package is missing that an extra of ours brings."""


@contextmanager
def naming_the_extra() -> Iterator[None]:
    """A module of the extra 'learn' that is missing in the block becomes a `MissingExtra`."""
    try:
        yield
    except ModuleNotFoundError as error:
        # Only what the extra brings: a module that is missing for another reason keeps its own
        # error.
        package = LEARN.get((error.name or "").partition(".")[0])
        if package is None:
            raise
        raise MissingExtra(
            f"this needs {package}, which icrl alone does not bring: it is for using a constraint. "
            "To learn, judge and draw: pip install 'icrl[learn]'."
        ) from error


def require_learn() -> None:
    """Raise `MissingExtra` if a package of the extra 'learn' is missing; none is imported."""
    with naming_the_extra():
        for module in LEARN:
            if find_spec(module) is None:
                raise ModuleNotFoundError(f"No module named {module!r}", name=module)
