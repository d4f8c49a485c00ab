"""The command line: finds the verb, prints errors without tracebacks. Imports nothing heavy, so help is instant."""

import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from icrl.errors import InputError, unknown_name
from icrl.interrupts import remembered_interrupts
from icrl.runtime import configure_numpy

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
  icrl render DIR        an animation of a run's policy and its learned cost
  icrl bench throughput  training speed as a share of the physics' own
  icrl demos check PATH  describe demonstrations, and what to be wary of (demos convert: other formats)
  icrl export DIR        a learned constraint as an ONNX model
  icrl relabel DATASET   a Minari dataset with the cost of every step
  icrl tasks             list the tasks

`icrl VERB --help` shows all settings of a verb. Start with: icrl learn lap-grid
"""

VERBS = (
    "learn", "transfer", "evaluate", "explain", "collect", "suite", "sweep", "report", "render", "bench",
    "demos", "export", "relabel", "tasks",
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the `icrl` command."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(OVERVIEW)
        return
    if arguments[0] in ("-V", "--version"):
        from importlib.metadata import version

        sys.stdout.write(f"icrl {version('icrl')}\n")
        return
    try:
        if arguments[0] not in VERBS:
            raise unknown_name("verb", arguments[0], VERBS)
        configure_numpy()
        with remembered_interrupts():
            import_module(f"icrl.verbs.{arguments[0]}").run(arguments[1:])
    except InputError as error:
        sys.stderr.write(f"icrl: {error}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt as interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process is ending: a second Ctrl-C must not garble it
        sys.stderr.write(f"icrl: {str(interrupt) or 'interrupted.'}\n")
        raise SystemExit(130) from None
