"""`icrl render DIR`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.verbs.inputs import require_counts
from icrl.words import say


@dataclass(frozen=True, kw_only=True)
class RenderArgs:
    """Animate the policy of a run: the wall where there is one,
    and what the learned constraint charges."""

    directory: Positional[Path]
    """A run directory."""
    out: Path | None = None
    """Where to write; None: policy.FORMAT in the run directory."""
    seed: int = 0
    """Seed of the episode."""
    steps: int | None = None
    """Most steps to show; None: one episode, or 200 steps of a longer one."""
    format: str = "webp"
    """webp, gif, or mp4 (needs the extra 'video')."""
    task: str | None = None
    """The run's task in your words, where it is a function of yours (module:function);
    None: as the run names it."""
    allow_import: bool = False
    """Import the module that the run names as its task. That executes it: only
    for runs that you trust."""


def run(arguments: list[str]) -> None:
    """`icrl render DIR`."""
    args = tyro.cli(RenderArgs, prog="icrl render", args=arguments)
    require_counts(args.seed, steps=1 if args.steps is None else args.steps)
    from rich.console import Console
    from rich.progress import Progress

    from icrl.report.animation import render_run
    from icrl.report.kept import write_run_page

    console = Console()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("playing", total=None)
        path = render_run(
            args.directory, args.out, args.seed, args.steps, args.format,
            lambda done, total: bar.update(task, completed=done, total=total),
            task_name=args.task, allow_import=args.allow_import,
        )  # fmt: skip
    size = path.stat().st_size / 1e6
    say(console, f"Wrote {path} ({size:.1f} MB)")
    if path.parent == args.directory:
        write_run_page(args.directory, console)
