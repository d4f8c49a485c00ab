"""The loggers of `--log`, and the picture of ζ that they show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from icrl.words import say

if TYPE_CHECKING:
    from rich.console import Console

    from icrl.demos.dataset import Demonstrations
    from icrl.experiment.run.callbacks import Callback
    from icrl.methods.learners import Snapshot
    from icrl.tasks.task import Scenario

LoggerName = Literal["csv", "tensorboard", "wandb"]


def open_loggers(
    names: Sequence[str], scenario: "Scenario", demos: "Demonstrations | None", console: "Console"
) -> "list[Callback]":
    """A callback for each name; a package that is missing is an `InputError` that names the
    extra."""
    from icrl.experiment.run.loggers import make_logger
    from icrl.report.summary import picture_of

    def picture(snapshot: "Snapshot") -> bytes | None:
        return picture_of(scenario, demos, snapshot)

    def warn(text: str) -> None:
        say(console, text, "yellow")

    # Each once, in the order given.
    return [make_logger(name, picture, warn) for name in dict.fromkeys(names)]
