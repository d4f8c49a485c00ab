"""Errors for bad input: what was expected, what came, what to do. The CLI prints them without a traceback."""

import difflib
from collections.abc import Iterable


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
