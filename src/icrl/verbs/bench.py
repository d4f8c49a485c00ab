"""`icrl bench throughput` and `icrl bench checkpoint`."""

from dataclasses import dataclass, replace
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.errors import InputError, unknown_name
from icrl.runtime import configure_jax
from icrl.verbs.inputs import find_scenario
from icrl.words import say

_NAMES = ("throughput", "checkpoint")


@dataclass(frozen=True, kw_only=True)
class BenchArgs:
    """Measure speed against the physics alone, in one run, on a quiet machine."""

    name: Positional[str] = "throughput"
    """What to measure: throughput, or checkpoint (what a run spends on not being lost)."""
    tasks: tuple[str, ...] = ("half-cheetah-wall", "ant-wall")
    """MuJoCo tasks to measure on."""
    seconds: float = 10.0
    """Time per measurement; there are about twenty per task."""
    peers: bool = False
    """Also Stable-Baselines3's PPO on the same HalfCheetah (needs the extra 'sb3')."""
    steps: int | None = None
    """Of the run whose checkpoints are measured; None: as its preset says."""
    out: Path | None = None
    """Where all numbers go, with versions and machine; None: results/bench/NAME.json."""


def run(arguments: list[str]) -> None:
    """`icrl bench NAME`."""
    args = tyro.cli(BenchArgs, prog="icrl bench", args=arguments)
    if args.name not in _NAMES:
        raise unknown_name("benchmark", args.name, _NAMES)
    out = args.out or Path("results/bench") / f"{args.name}.json"
    if args.name == "checkpoint":
        _bench_checkpoint(args, out, f"icrl bench {' '.join(arguments)}")
        return
    if not args.seconds > 0:
        raise InputError(f"--seconds must be above 0, got {args.seconds}.")
    from rich.console import Console

    from icrl.experiment.bench.table import bench_throughput
    from icrl.experiment.bench.throughput import throughput_settings

    for name in args.tasks:
        find_scenario(name)
    settings = throughput_settings(args.tasks, args.seconds, args.peers)
    bench_throughput(settings, out, f"icrl bench {' '.join(arguments)}", Console())


def _bench_checkpoint(args: BenchArgs, out: Path, command: str) -> None:
    """One run of the first task."""
    configure_jax()

    from rich.console import Console

    from icrl.experiment.bench.checkpoint import measure_checkpoints
    from icrl.experiment.run.inputs import open_demos
    from icrl.files import make_folder
    from icrl.json_files import write_json
    from icrl.methods.registry import preset

    task = args.tasks[0]
    scenario = find_scenario(task)
    demos, source = open_demos(None, scenario)
    config = preset("default", task)
    if args.steps is not None:
        config = replace(config, steps=args.steps)
    found = measure_checkpoints(task, scenario, demos, source, config)
    make_folder(out.parent)
    write_json(out, {"command": command, **found})
    said = (
        f"{found['checkpoints']} checkpoints of at most {found['largest_megabytes']:.1f} MB took "
        f"{found['share_of_run']:.2%} of a run of {found['run_seconds']:.0f} s (budget "
        f"{found['budget']:.0%}): {out}"
    )
    say(Console(), said)
