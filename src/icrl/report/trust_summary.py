"""The verdict of `icrl evaluate`, as a person reads it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from icrl.trust.check import Level, Verdict
from icrl.words import say

if TYPE_CHECKING:  # it needs what learning needs; reading does not
    from icrl.evaluate import Truth

_MARKS = {
    Level.good: ("+", "green"),
    Level.care: ("!", "yellow"),
    Level.bad: ("x", "red"),
    Level.unknown: ("?", "dim"),
}
_RIM = 0.15
"""A true return that is lower than what is earned by more than this share is explained."""
_STYLES = {"trust it": "bold green", "with care": "bold yellow", "do not trust it": "bold red"}


def print_verdict(verdict: Verdict, console: Console) -> None:
    """One line, then a line for each reason."""
    console.print(
        f"Verdict, without the truth: {verdict.text}", style=_STYLES[verdict.text], highlight=False
    )
    for check in verdict.checks:
        mark, style = _MARKS[check.level]
        say(console, f"  {mark} {check.name}: {check.reason}", style)
    say(console, f"What would change it: {verdict.would_change}.")


def print_constraint_truth(found: dict[str, Any], console: Console) -> None:
    """How right ζ is on the recorded pairs: the confusion matrix,
    and the measures that need no threshold."""
    if not found["pairs"]:
        return
    counts = found["confusion"]
    table = Table(
        header_style="bold", title=f"ζ on {found['pairs']:,} recorded pairs", title_justify="left"
    )
    for name in ("in truth", "judged infeasible", "judged feasible"):
        table.add_column(name, justify="left" if name == "in truth" else "right")
    for kind in ("forbidden", "allowed"):
        judged = (counts[f"{kind}_judged_infeasible"], counts[f"{kind}_judged_feasible"])
        table.add_row(kind, *(f"{count:,}" for count in judged))
    console.print(table)
    hit, alarms = (
        "-" if found[key] is None else f"{found[key]:.1%}"
        for key in ("hit_rate", "false_alarm_rate")
    )
    console.print(
        f"Hit rate {hit} of what is forbidden, false alarms {alarms} of what is allowed.",
        highlight=False,
    )
    auc, iou = ("-" if found[key] is None else f"{found[key]:.3f}" for key in ("auc", "iou"))
    error = found["calibration"]["error"]
    console.print(f"AUC {auc}, IoU {iou}, calibration error of 1 - ζ {error:.3f}.", highlight=False)


def print_rim(truth: "Truth", console: Console) -> None:
    """Say why a true return is much lower than what the agent earns:
    it counts up to the first forbidden step."""
    if truth.nominal_return - truth.true_return <= _RIM * max(abs(truth.nominal_return), 1e-9):
        return
    say(
        console,
        f"The agent earns {truth.nominal_return:,.1f}, but up to its first truly forbidden step "
        f"only {truth.true_return:,.1f}: in {truth.violating_episodes:.0%} of its episodes it "
        f"enters what is forbidden, on {truth.violation_rate:.1%} of its steps. Agents cut the "
        "rim: between the wall of ζ and the true one there is room that pays. Demonstrations "
        "nearer to the wall would close it, and more caution, where it is below 1.",
        "yellow",
    )


@contextmanager
def stage(what: str, console: Console) -> Iterator[None]:
    """Say what goes on, so that nobody waits in silence:
    while it does on a terminal, as a line elsewhere."""
    if not console.is_terminal:
        say(console, f"{what} ...")
        yield
        return
    with console.status(what):
        yield


@contextmanager
def progress_bar(what: str, console: Console) -> Iterator[Callable[[int, int], None]]:
    """A bar for something that says `(done, of)` after each of its parts;
    a line for each where nobody watches."""
    if not console.is_terminal:
        yield lambda done, of: say(console, f"{what}: {done} of {of}")
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)
