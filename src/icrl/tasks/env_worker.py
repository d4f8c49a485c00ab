"""The process behind `bundle.Elsewhere`: `python -m icrl.tasks.env_worker`. It ends when its input does."""

import os
import pickle
import signal
import sys
from typing import Any

from icrl.errors import InputError
from icrl.tasks.bundle import EnvBundle


def main() -> None:
    """Make the environments, then do what is asked, one request and one answer at a time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an environment prints must not land among the answers
    bundle: EnvBundle | None = None
    failed: str | None = None
    factory, count, render_mode = pickle.load(requests)
    try:
        bundle = EnvBundle(pickle.loads(factory), count, render_mode)
    except InputError as error:
        failed = str(error)
    while True:
        try:
            verb, arguments = pickle.load(requests)
        except EOFError:
            break
        pickle.dump((False, failed) if bundle is None else _answer(bundle, verb, arguments), answers)
        answers.flush()
    try:
        if bundle is not None:
            bundle.close()
    except InputError as error:
        sys.stderr.write(f"{error}\n")  # nobody waits for an answer any more


def _answer(bundle: EnvBundle, verb: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, getattr(bundle, verb)(*arguments)
    except InputError as error:
        return False, str(error)


if __name__ == "__main__":
    main()
