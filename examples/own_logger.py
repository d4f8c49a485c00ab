"""A logger of your own: a callback that writes a line of Markdown after every round."""

from dataclasses import replace
from pathlib import Path

import icrl


class MarkdownLog(icrl.Callback):
    """A table in one file: what the agent earns, and what it is charged.

    Also to be had: `on_update`, after every policy update, and `on_checkpoint` (docs/tools.md).
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_start(self, started):
        """The run's directory is there; nothing was learned yet."""
        title = f"{started.config['method']} on {started.config['task']}, {started.rounds} rounds"
        self.path.write_text(f"# {title}\n\n| steps | return | cost of a step |\n|---|---|---|\n")

    def on_round(self, snapshot, metrics):
        """After every round: `metrics` is its line of metrics.jsonl (docs/methods/metrics.md)."""
        cost = metrics["constraint/cost_samples"]
        with self.path.open("a") as file:
            file.write(f"| {metrics['steps']} | {metrics['agent/return']:.1f} | {cost:.3f} |\n")

    def on_end(self, scores, details):
        """The run is over and scored."""
        with self.path.open("a") as file:
            file.write(f"\nThe agent that was handed out earns {details['nominal_return']:.1f}.\n")


if __name__ == "__main__":
    config = replace(icrl.preset("paper", "lap-grid"), steps=20_000)
    log = MarkdownLog(Path("log.md"))
    icrl.run("lap-grid", "runs/own-logger", config=config, callbacks=[log])
    print(log.path.read_text())
