"""The command line: finds the verb, prints errors without tracebacks.

Imports nothing heavy, so help is instant.
"""

import errno
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn, TextIO

from icrl.errors import InputError, InputWarning, naming_the_extra, unknown_name
from icrl.files import reason_of
from icrl.interrupts import (
    heed_interrupts,
    ignore_interrupts,
    interrupted_by,
    leave_at_once,
    remembered_interrupts,
)
from icrl.runtime import configure_numpy
from icrl.spans import span
from icrl.words import printable

OVERVIEW = """\
icrl: learn the constraint an expert was obeying, from its demonstrations.

  icrl learn TASK        learn a constraint, and an agent that respects it
  icrl transfer TASK     train another agent under a constraint that was learned elsewhere
  icrl evaluate DIR      how far to trust a run; and against the true constraint, where it is known
  icrl explain DIR       read a learned constraint: short rules, what the data leave open, slices
  icrl collect TASK      train an expert under the true constraint and record it
  icrl suite NAME        make many runs: every method, many seeds
  icrl sweep TASK        try many settings and keep the best, judged without the truth
  icrl report DIR...     tables, figures and a page to open in a browser, from runs
  icrl paper DIR...      each figure of the paper, ours beside it, and what of it holds here
  icrl render DIR        an animation of a run's policy and its learned cost
  icrl bench throughput  training speed as a share of the physics' own
  icrl demos check PATH  describe demonstrations, and what to be wary of \
(demos convert: other formats)
  icrl export DIR        a learned constraint as an ONNX model
  icrl relabel DATASET   a Minari dataset with the cost of every step
  icrl tasks             list the tasks

`icrl VERB --help` shows all settings of a verb. Start with: icrl learn lap-grid
"""

VERBS = (
    "learn", "transfer", "evaluate", "explain", "collect", "suite", "sweep", "report", "paper",
    "render", "bench", "demos", "export", "relabel", "tasks",
)  # fmt: skip


_FULL_OR_FORBIDDEN = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
"""What the system refuses for reasons that the user can do something about."""


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the `icrl` command."""
    try:
        _main(argv)
        sys.stdout.flush()  # here, where it can be caught, and not at Python's end
    except BrokenPipeError:
        _end_unread()


def _main(argv: Sequence[str] | None) -> None:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(OVERVIEW)
        return
    if arguments[0] in ("-V", "--version"):
        from importlib.metadata import version

        from icrl.versions import PACKAGE

        sys.stdout.write(f"{PACKAGE} {version(PACKAGE)}\n")
        return
    with remembered_interrupts():
        try:
            _run(arguments)
            heed_interrupts()  # somebody took the exception, and the verb came to its end
        except KeyboardInterrupt as interrupt:
            _end_interrupted(str(interrupt), at_once=argv is None)
        except (InputError, OSError) as error:
            if interrupted_by() is not None:  # what went wrong then is the interrupt's doing
                _end_interrupted("", at_once=argv is None)
            _say(_words_for(error))
            raise SystemExit(2) from None


def _run(arguments: list[str]) -> None:
    if arguments[0] not in VERBS:
        raise unknown_name("verb", arguments[0], VERBS)
    # Before any verb is imported: OpenBLAS reads its threads when NumPy is loaded.
    configure_numpy()
    with naming_the_extra(), span("import"):
        verb = import_module(f"icrl.verbs.{arguments[0]}")
    heed_interrupts()
    with warnings.catch_warnings(), naming_the_extra():
        warnings.showwarning = _show_warning
        verb.run(arguments[1:])


def _end_interrupted(words: str, at_once: bool) -> NoReturn:
    """Exit with 128 + the signal's number, as shells do: 130 after Ctrl-C, 143 after SIGTERM."""
    exit_code = 128 + (interrupted_by() or 2)
    ignore_interrupts()
    _say(words or "interrupted.")
    if at_once:  # the process is ours to end; who calls `main` with words of their own goes on
        leave_at_once(exit_code)
    raise SystemExit(exit_code) from None


def _end_unread() -> NoReturn:
    """Whoever read what was printed has seen enough (`icrl ... | head`): no fault, no words."""
    # Python flushes once more at its end, and would complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(128 + signal.SIGPIPE) from None


def _words_for(error: InputError | OSError) -> str:
    if isinstance(error, InputError):
        return str(error)
    # Anything else may be a fault of ours, and needs its traceback; a reader who left is `main`'s.
    if error.errno not in _FULL_OR_FORBIDDEN:
        raise error
    return f"{error.filename or 'a file'} cannot be read or written: {reason_of(error)}."


def _say(words: str) -> None:
    sys.stderr.write(f"icrl: {printable(words)}\n")


_show_python = warnings.showwarning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Warnings of ours are for the user, who need not know the line of code;
    others are shown as ever."""
    if issubclass(category, InputWarning):
        _say(f"warning: {message}")
    else:
        _show_python(message, category, filename, lineno, file, line)
