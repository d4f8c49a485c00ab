"""The process behind `bundle.Elsewhere`: `python -m icrl.tasks.env_worker PARENT MAIN`.

It ends when its input does. In the middle of a long step it cannot hear that: then it ends
because its parent is gone.
"""

import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from typing import Any

from icrl.errors import InputError
from icrl.tasks.bundle import EnvBundle

_PR_SET_PDEATHSIG = 1
"""From <linux/prctl.h>: the signal that this process gets when its parent ends."""
_LOOK_SECONDS = 0.5


def main() -> None:
    """Make the environments, then do what is asked, one request and one answer at a time."""
    # Ctrl-C is the parent's to hear: it ends its processes in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(int(sys.argv[1]), from_main_thread=sys.argv[2] == "1")
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an environment prints must not land among the answers
    bundle: EnvBundle | None = None
    failed: str | None = None
    factory, count, render_mode = pickle.load(requests)
    try:
        bundle = EnvBundle(pickle.loads(factory), count, render_mode)
    except InputError as error:
        # Kept for the first question: nobody reads an answer that was not asked for.
        failed = str(error)
    while True:
        try:
            verb, arguments = pickle.load(requests)
        except EOFError:
            break
        pickle.dump(
            (False, failed) if bundle is None else _answer(bundle, verb, arguments), answers
        )
        answers.flush()
    try:
        if bundle is not None:
            bundle.close()
    except InputError as error:
        sys.stderr.write(f"{error}\n")  # nobody waits for an answer any more


def end_with_parent(parent: int, from_main_thread: bool) -> None:
    """End this process soon after process `parent`, whatever it is doing then.

    A thread looks every now and then. An environment that is inside a C library, and keeps Python
    waiting, is ended by Linux itself. Linux means the thread that started us: so only if that
    lasts as long as the process.
    """
    if os.name != "posix":
        return
    if from_main_thread and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def _answer(bundle: EnvBundle, verb: str, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    try:
        return True, getattr(bundle, verb)(*arguments)
    except InputError as error:
        return False, str(error)


if __name__ == "__main__":
    main()
