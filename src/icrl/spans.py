"""Where the time of a run goes: wall seconds by phase, always recorded.

    with span("physics"):
        env.step(actions)

Time belongs to the innermost span that is open, so phases add up to the whole. To go into a span
and out of it costs about a microsecond. Every thread has a record of its own.
"""

import threading
import time
from contextlib import ContextDecorator
from functools import cache

PHASES = {
    "import": "loading of libraries",
    "compile": "JAX: tracing, compiling, reading what an earlier process compiled",
    "physics": "steps and resets of the environments in which agents are trained",
    "acting": "the policy's actions there",
    "shield": "cost 1 − ζ of these actions, and others in place of forbidden ones",
    "update": "PPO, critics, normalisers, cloning and the pull towards demonstrations",
    "foresight": "the shield's model of what follows from actions",
    "zeta": "finding ζ: search, wall, agents tried under candidates; or its gradient steps",
    "sampling": "the episodes S, their physics included",
    "evaluation": "judging by the truth, and the last episodes",
    "pictures": "the picture and the page",
    "other": "whatever else: files, the display, setting up",
}
"""All phases, and what each is; `other` is what no span covers."""

_WHOLE = frozenset({"zeta", "sampling", "evaluation", "pictures"})
"""What is done within these is theirs: the physics of an evaluation is evaluation.
Only compiling is told apart."""

_COMPILING = "/jax/core/compile/"
"""How the names begin under which JAX tells how long it traced, lowered and compiled."""


class _Record(threading.local):
    """The seconds of one thread."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.phase = "other"
        self.since = time.perf_counter()
        self.outer: list[str] = []
        """Phases of the spans around the present one."""
        self.compiled: list[tuple[float, float]] = []
        """Start and seconds of what was compiled in the present phase."""

    def go_to(self, phase: str) -> None:
        """The time up to now is that of the phase so far."""
        now = time.perf_counter()
        self.seconds[self.phase] += now - self.since
        self.since = now
        self.phase = phase
        self.compiled.clear()


_record = _Record()


class Span(ContextDecorator):
    """The time of a block, or of a decorated function, is that of a phase."""

    def __init__(self, phase: str) -> None:
        self.phase = phase

    def __enter__(self) -> None:
        outer = _record.phase
        # In any case: the end of this span takes one off.
        _record.outer.append(outer)
        if outer not in _WHOLE:
            _record.go_to(self.phase)

    def __exit__(self, *error: object) -> None:
        outer = _record.outer.pop()
        if outer not in _WHOLE:
            _record.go_to(outer)


_SPANS = {phase: Span(phase) for phase in PHASES}


def span(phase: str) -> Span:
    """For `with`, or to decorate a function."""
    return _SPANS[phase]


def go_on_as(phase: str) -> None:
    """The rest of the present span is of another phase; where none is open, nothing is."""
    if _record.outer and _record.phase not in _WHOLE:
        _record.go_to(phase)


def seconds_taken() -> dict[str, float]:
    """Seconds by phase since this was last asked, in this thread."""
    _record.go_to(_record.phase)
    taken = dict(_record.seconds)
    _record.seconds = dict.fromkeys(PHASES, 0.0)
    return taken


def begin_run() -> None:
    """From now on seconds are those of a run: what was before it is not,
    but the loading of its libraries."""
    _watch_compiling()
    before = seconds_taken()
    _record.seconds["import"] = before["import"]


@cache
def _watch_compiling() -> None:
    """Have JAX tell when it compiles; once in a process."""
    from jax import monitoring

    monitoring.register_event_duration_secs_listener(_compiled)


def _compiled(event: str, duration_secs: float, **kwargs: str | int) -> None:
    """What was compiled just now is no longer part of the phase in which it happened.

    Events may lie within each other, the inner one told first: it is counted once.
    """
    if not event.startswith(_COMPILING):
        return
    start = time.perf_counter() - duration_secs
    within = sum(inner for began, inner in _record.compiled if began >= start)
    _record.compiled = [one for one in _record.compiled if one[0] < start]
    _record.compiled.append((start, duration_secs))
    _record.seconds["compile"] += duration_secs - within
    # Taken off now, added when the phase ends: in between a phase may stand below 0.
    _record.seconds[_record.phase] -= duration_secs - within
