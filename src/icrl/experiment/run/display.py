"""A run while it goes on: a live table of rounds with a progress bar on a terminal,
one line per round elsewhere."""

import time
from collections import deque
from types import TracebackType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from icrl.experiment.run.callbacks import Callback, Started
from icrl.methods.learners import Snapshot
from icrl.rounds import Progress
from icrl.words import one_line, say, shown

_SHOWN_ROUNDS = 12
_COLUMNS = (
    "round",
    "steps",
    "steps/s",
    "return",
    "cost",
    "cost D",
    "cost S",
    "KL o→n",
    "KL n→o",
    "λ",
)
"""Mean cost 1 − ζ in training, of the demonstrations D and of the samples S;
KL(old ‖ new), KL(new ‖ old)."""


LEGEND = (
    "return: of the sampled episodes; cost: mean 1 − ζ in training, D: of the demonstrations, S: "
    "of the samples;\n"
    "KL o→n, n→o: how far ζ moved in the round (nats); λ: Lagrange multiplier (0 where the episode "
    "ends instead)"
)
"""What the columns mean, said once."""


class LiveDisplay(Callback):
    """Round, steps, steps/s, ETA; the agent's return;
    cost of demos and samples, KLs, multiplier."""

    def __init__(self, title: str, total_steps: int, console: Console | None = None) -> None:
        self.console = console or Console()
        self.title = title
        self.rows: deque[tuple[str, ...]] = deque(maxlen=_SHOWN_ROUNDS)
        self.why = ""
        self.rounds_done = 0
        self.rounds = 0
        self.steps = 0
        self.started = time.perf_counter()
        self.bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            console=self.console,
        )
        self.bar_task = self.bar.add_task(
            "starting (compiling takes a few seconds)", total=total_steps
        )
        self.live = Live(
            self._render(), console=self.console, refresh_per_second=4, transient=False
        )

    def __enter__(self) -> "LiveDisplay":
        self.started = time.perf_counter()
        if self.console.is_terminal:
            self.live.start()
        else:
            say(self.console, self.title)
            say(self.console, LEGEND)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            # the rounds seldom fill the budget to the last step
            self.bar.update(self.bar_task, total=self.steps)
        if self.console.is_terminal:
            self.live.update(self._render())
            self.live.stop()

    def on_start(self, started: Started) -> None:
        """A run that goes on has rounds behind it."""
        self.rounds_done = len(started.before)
        if started.before:
            say(self.console, f"Going on after round {self.rounds_done}")

    def on_update(self, progress: Progress) -> None:
        """A policy update was made."""
        self.steps = progress.steps
        self.rounds = progress.rounds
        self._update_bar()

    def on_round(self, snapshot: Snapshot, metrics: dict[str, Any]) -> None:
        """A round was finished."""
        self.rounds_done = snapshot.number + 1
        self.rounds = snapshot.rounds
        self.steps = snapshot.steps
        self.rows.append(_row(snapshot, metrics))
        self._update_bar()
        # A log file has no cursor: what would be redrawn there is a line for each round.
        if not self.console.is_terminal:
            line = "  ".join(
                f"{name} {value}" for name, value in zip(_COLUMNS, self.rows[-1], strict=True)
            )
            say(self.console, line)
        self._say_why(metrics)

    def _say_why(self, metrics: dict[str, Any]) -> None:
        """What the round was for and what followed from it:
        under the table, or as a line where it is news."""
        why = f"{metrics.get('constraint/phase', '')}: {metrics.get('constraint/why', '')}"
        # Said when it is news: for many rounds a scout is merely out.
        if "constraint/why" not in metrics or why == self.why:
            return
        self.why = why
        if not self.console.is_terminal:
            say(self.console, f"  {why}")

    def _update_bar(self) -> None:
        speed = self.steps / max(time.perf_counter() - self.started, 1e-9)
        text = f"round {min(self.rounds_done + 1, self.rounds)}/{self.rounds}"
        self.bar.update(
            self.bar_task,
            completed=self.steps,
            description=f"{text}  {self.steps:,} steps  {speed:,.0f}/s",
        )
        if self.console.is_terminal:
            self.live.update(self._render())

    def _render(self) -> RenderableType:
        # Ten columns must fit into the 80 of an ordinary terminal:
        # no frame, one space between them.
        table = Table(
            title=shown(self.title),
            title_justify="left",
            header_style="bold underline",
            box=None,
            padding=(
                0,
                1,
                0,
                0,
            ),
        )
        for name in _COLUMNS:
            table.add_column(name, justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*row)
        return Group(table, Text(one_line(self.why)), self.bar, Text(LEGEND, style="dim"))


def _row(snapshot: Snapshot, metrics: dict[str, Any]) -> tuple[str, ...]:
    """What a person wants to see of a round; the rest is in metrics.jsonl."""

    def value(name: str, form: str) -> str:
        if name in metrics:
            return format(metrics[name], form)
        return "-"

    # How many there will be is a guess where rounds have different lengths.
    rounds = max(snapshot.number + 1, snapshot.rounds)
    return (
        f"{snapshot.number + 1}/{rounds}",
        f"{snapshot.steps:,}",
        f"{snapshot.steps / max(metrics['seconds'], 1e-9):,.0f}",
        value("agent/return", ".1f"),
        value("agent/cost", ".3f"),
        value("constraint/cost_demos", ".3f"),
        value("constraint/cost_samples", ".3f"),
        value("constraint/kl_old_new", ".3g"),
        value("constraint/kl_new_old", ".3g"),
        value("agent/multiplier", ".2f"),
    )
