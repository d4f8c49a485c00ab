"""`icrl bench throughput`."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from tyro.conf import Positional

from icrl.errors import InputError, unknown_name
from icrl.verbs.inputs import find_scenario


@dataclass(frozen=True, kw_only=True)
class BenchArgs:
    """Measure speed against the physics alone, in one run, on a quiet machine."""

    name: Positional[str] = "throughput"
    """What to measure: throughput."""
    tasks: tuple[str, ...] = ("half-cheetah-wall", "ant-wall")
    """MuJoCo tasks to measure on."""
    seconds: float = 10.0
    """Time per measurement; there are about twenty per task."""
    peers: bool = False
    """Also Stable-Baselines3's PPO on the same HalfCheetah (needs the extra 'sb3')."""
    out: Path = Path("results/bench/throughput.json")
    """Where all numbers go, with versions and machine."""


def run(arguments: list[str]) -> None:
    """`icrl bench throughput`."""
    args = tyro.cli(BenchArgs, prog="icrl bench", args=arguments)
    if args.name != "throughput":
        raise unknown_name("benchmark", args.name, ("throughput",))
    if not args.seconds > 0:
        raise InputError(f"--seconds must be above 0, got {args.seconds}.")
    from rich.console import Console

    from icrl.experiment.bench.table import bench_throughput
    from icrl.experiment.bench.throughput import throughput_settings

    for name in args.tasks:
        find_scenario(name)
    settings = throughput_settings(args.tasks, args.seconds, args.peers)
    bench_throughput(settings, args.out, f"icrl bench {' '.join(arguments)}", Console())
