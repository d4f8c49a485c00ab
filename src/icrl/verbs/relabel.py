"""`icrl relabel DATASET --constraint PATH --out ID`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.words import say


@dataclass(frozen=True, kw_only=True)
class RelabelArgs:
    """Copy a Minari dataset and add the cost of every step to its infos
    (needs the extra 'minari')."""

    dataset: Positional[str]
    """A Minari dataset: its id or its folder."""
    constraint: Path
    """A run directory that learned a constraint, or the constraint's own folder."""
    out: str
    """Id of the new dataset, e.g. walker/with-costs-v0."""
    hard: bool = False
    """Costs are 0 (feasible) and 1, in place of 1 - zeta."""
    feature_names: tuple[str, ...] | None = None
    """Names of the dataset's columns, observations and maybe actions;
    None: they are the constraint's, in its order."""


def run(arguments: list[str]) -> None:
    """`icrl relabel DATASET --constraint PATH --out ID`."""
    args = tyro.cli(RelabelArgs, prog="icrl relabel", args=arguments)
    from rich.console import Console
    from rich.progress import Progress

    from icrl.experiment.directory.provenance import open_constraint
    from icrl.interop.relabel import relabel_minari

    console = Console(highlight=False, soft_wrap=True)
    constraint = open_constraint(str(args.constraint))
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("judging", total=None)
        made = relabel_minari(
            args.dataset, constraint, args.out, hard=args.hard, feature_names=args.feature_names,
            on_episode=lambda done, total: bar.update(task, completed=done, total=total),
        )  # fmt: skip
    say(console, f"Wrote {args.out} ({made.folder})")
    console.print(
        f"  {made.num_steps} steps of {made.num_episodes} episodes, mean cost {made.mean_cost:.3f}"
    )
    console.print(f"  {made.share_infeasible:.1%} of the steps are infeasible")
