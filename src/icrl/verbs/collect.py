"""`icrl collect TASK --out PATH`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from tyro.conf import Positional

from icrl.errors import InputError
from icrl.presets import EPISODES, EXPERTS, expert
from icrl.runtime import configure_jax
from icrl.tasks.shapes.names import FAMILY
from icrl.verbs.inputs import find_scenario, require_counts

if TYPE_CHECKING:
    from icrl.tasks.task import Scenario

SCRIPTED_EPISODES = 20
"""Episodes to record of a scripted expert, as many as ship."""


@dataclass(frozen=True, kw_only=True)
class CollectArgs:
    """Train experts under the true constraint and record them;
    score them, and a nominal agent beside them.

    The experts of shapes/NAME are scripts: nothing is trained,
    and --experts and --steps do not apply.
    """

    task: Positional[str]
    """Name of the task (see: icrl tasks)."""
    out: Path
    """Where to write the demonstrations (.npz)."""
    episodes: int | None = None
    """Episodes to record; None: as set for the task (the paper's number where it gives one)."""
    experts: int | None = None
    """Experts that share the episodes, with seeds from `seed` on; None: as set for the task
    (ant-wall: 5, for it can walk in any direction and an agent settles on one; others: 1)."""
    steps: int | None = None
    """Environment steps to train each agent for; None: as set for the task."""
    seed: int = 0
    """Seed of everything random."""


def run(arguments: list[str]) -> None:
    """`icrl collect TASK --out PATH`."""
    args = tyro.cli(CollectArgs, prog="icrl collect", args=arguments)
    scenario = find_scenario(args.task)
    if not scenario.truth_known:
        raise InputError(
            "icrl collect trains an expert under the true constraint, which is not known for "
            f"{args.task}: record demonstrations of your own (docs: npz, CSV, Parquet, Minari), "
            "and check them with icrl demos check."
        )
    if args.out.suffix != ".npz":
        raise InputError(f"--out must name an .npz file, got {args.out}.")
    # Before an expert is trained for an hour.
    if args.out.exists():
        raise InputError(
            f"{args.out} exists already: nothing was overwritten. Choose another --out, or remove "
            "it first."
        )
    if args.task.startswith(FAMILY):
        _record_script(scenario, args)
        return
    config, steps = expert(args.task)
    if args.episodes is None:
        episodes = EPISODES.get(args.task, 10)
    else:
        episodes = args.episodes
    if args.experts is None:
        experts = EXPERTS.get(args.task, 1)
    else:
        experts = args.experts
    if args.steps is not None:
        steps = args.steps
    require_counts(episodes=episodes, experts=experts, steps=steps, seed=args.seed)
    configure_jax()

    from rich.console import Console

    from icrl.demos.references import collect_with_references
    from icrl.report.summary import print_references

    console = Console()
    command = f"icrl collect {' '.join(arguments)}"
    demos = collect_with_references(
        scenario, config, steps, episodes, experts, args.seed, args.out, command, console
    )
    print_references(demos, args.out, console)


def _record_script(scenario: "Scenario", args: CollectArgs) -> None:
    """The expert of a world of Shapes is a script."""
    if args.experts is not None or args.steps is not None:
        raise InputError(
            f"the expert of {args.task} is a script: leave --experts and --steps away."
        )
    if args.episodes is None:
        episodes = SCRIPTED_EPISODES
    else:
        episodes = args.episodes
    require_counts(episodes=episodes, seed=args.seed)

    from rich.console import Console

    from icrl.demos.references import collect_script
    from icrl.report.summary import print_references

    demos = collect_script(scenario, episodes, args.seed, args.out)
    print_references(demos, args.out, Console())
