"""Every number that the project asks of its own speed, measured in order on a quiet machine, beside
what was asked.

    python benchmarks/quiet.py                        # or: make bench-all; about 25 minutes
    python benchmarks/quiet.py --only lap-grid steady
    python benchmarks/quiet.py --show                 # what was measured so far; measures nothing

Two cores, nothing else running: a warning says when that is not so. Each part writes its file
under results/bench/ and is added to results/bench/asked.json at once, so that it can be stopped
and gone on with (--only); asked.md is its table. Ratios are of the physics alone in the same
minutes.

Whole runs of the Ant are shortened (--ant-steps), or they would take most of an hour. What a run
pays once (imports, compiling) then weighs more than it would, and what comes late (agents behind
the shield, searches over more evidence) may weigh less: a shortened ratio proves nothing of a whole
run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

OUT = Path(__file__).parents[1] / "results" / "bench"
ANT_STEPS = 800_000
CHEETAH, ANT = "half-cheetah-wall", "ant-wall"


class Asked(NamedTuple):
    """One number that was asked for, and what was measured."""

    what: str
    asked: float
    at_least: bool
    measured: float
    note: str = ""

    @property
    def met(self) -> bool:
        """The measured number is on the right side."""
        if self.at_least:
            return self.measured >= self.asked
        return self.measured <= self.asked


def icrl(*words: str) -> float:
    """Wall seconds of a command."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "icrl", *words], check=True)
    return time.perf_counter() - began


def whole_run(task: str, name: str, *words: str) -> dict[str, Any]:
    """`icrl bench run`; what it wrote."""
    out = OUT / f"{name}.json"
    # Relative: the command is written into the file, and a path of this machine says nothing.
    icrl("bench", "run", task, *words, "--out", os.path.relpath(out))
    read: dict[str, Any] = json.loads(out.read_text())
    return read


def lap_grid(_: argparse.Namespace) -> list[Asked]:
    """From the start of the process to the table of scores; ten seeds side by side."""
    found = []
    for name, words, asked in (("cold", ("--cold",), 12.0), ("warm", (), 5.0)):
        if name == "warm":
            # The cold run kept nothing, and on a machine that never learned anything the user's
            # cache is empty too: then the warm run would be another cold one.
            with tempfile.TemporaryDirectory() as folder:
                icrl("learn", "lap-grid", "--out", f"{folder}/run")
        read = whole_run("lap-grid", f"run-lap-grid-{name}", *words, "--seconds", "2")
        one = read["runs"][0]
        seconds = one["wall"] - one["phases"]["pictures"]
        note = f"{one['wall']:.1f} s with picture and page"
        found.append(Asked(f"icrl learn lap-grid, {name}, seconds", asked, False, seconds, note))
    with tempfile.TemporaryDirectory() as folder:
        words = ("lap-grid", "--only", "icrl", "--seeds", "10", "--out", f"{folder}/runs")
        seconds = icrl("suite", *words)
    found.append(Asked("icrl suite lap-grid, ours, ten seeds, seconds", 40.0, False, seconds))
    return found


def steady(args: argparse.Namespace) -> list[Asked]:
    """Training over raw physics, once everything is compiled."""
    from icrl.experiment.bench.meters import Setting
    from icrl.experiment.bench.throughput import as_json, run_setting

    bars = {(CHEETAH, 2, 1): 0.70, (CHEETAH, 1, 2): 0.55, (ANT, 2, 1): 0.90, (ANT, 1, 2): 0.90}
    found, rows = [], []
    for (task, processes, threads), bar in bars.items():
        setting = Setting(
            task=task,
            processes=processes,
            threads=threads,
            meters=("raw", "terminate", "shielded", "lagrangian"),
            seconds=args.seconds,
        )
        results = run_setting(setting)
        rows.append(as_json(setting, results))
        where = f"{task}, {processes} x {threads}"
        ratio = results["terminate"].ratio_to_raw or 0.0
        found.append(Asked(f"steady training, {where}", bar, True, ratio))
        behind = results["shielded"].ratio_to_raw or 0.0
        found.append(Asked(f"behind the shield over without, {where}", 0.85, True, behind / ratio))
        other = results["lagrangian"].ratio_to_raw or 0.0
        found.append(Asked(f"Lagrangian over terminate form, {where}", 0.8, True, other / ratio))
    (OUT / "steady.json").write_text(json.dumps(rows, indent=1) + "\n")
    return found


def peers(args: argparse.Namespace) -> list[Asked]:
    """Beside Stable-Baselines3, at its better of two forms."""
    from icrl.experiment.bench.meters import Setting
    from icrl.experiment.bench.throughput import PEERS, as_json, run_setting

    found, rows = [], []
    for threads in (1, 2):
        setting = Setting(
            task=CHEETAH, threads=threads, rounds=3, seconds=args.seconds, meters=PEERS
        )
        results = run_setting(setting)
        rows.append(as_json(setting, results))
        best = max(one.steps_per_second for name, one in results.items() if name != "ours")
        times = results["ours"].steps_per_second / best
        what = f"times Stable-Baselines3, {threads} physics thread(s)"
        found.append(Asked(what, 10.0, True, times))
    (OUT / "peers.json").write_text(json.dumps(rows, indent=1) + "\n")
    return found


def _whole(task: str, steps: int | None, two: float, one: float) -> list[Asked]:
    found = []
    for processes, threads, bar in ((2, 1, two), (1, 2, one)):
        words = ["--processes", str(processes), "--threads", str(threads), "--seconds", "10"]
        note = ""
        if steps is not None:
            words += ["--steps", str(steps)]
            note = f"shortened to {steps:,} steps"
        name = f"run-{task}-{processes}x{threads}"
        read = whole_run(task, name, *words)
        where = f"{task}, {processes} x {threads}"
        share = read["share_of_physics_alone"]
        found.append(Asked(f"whole run over raw physics, {where}", bar, True, share, note))
        phases = read["seconds_by_phase"]
        zeta = phases["zeta"] / sum(phases.values())
        found.append(Asked(f"finding zeta, share of the run, {where}", 0.05, False, zeta, note))
        if task == ANT:
            peak = max(run["peak_megabytes"] for run in read["runs"])
            found.append(Asked(f"memory, MB, {where}", 1000.0, False, peak, note))
    return found


def cheetah(args: argparse.Namespace) -> list[Asked]:
    """Whole default runs."""
    return _whole(CHEETAH, args.cheetah_steps, 0.60, 0.55)


def ant(args: argparse.Namespace) -> list[Asked]:
    """Whole default runs, shortened."""
    return _whole(ANT, args.ant_steps, 0.75, 0.70)


def demonstrations(_: argparse.Namespace) -> list[Asked]:
    """10^7 made-up steps are read, checked and put on the axes of the search."""
    from icrl.experiment.bench.growth import measure_point

    point = measure_point("steps of demonstrations", 10**7)
    note = f"{point.cpu_seconds:.0f} CPU seconds"
    return [Asked("demonstrations of 10^7 steps, MB", 2000.0, False, point.megabytes, note)]


PARTS: dict[str, Callable[[argparse.Namespace], list[Asked]]] = {
    "lap-grid": lap_grid,
    "steady": steady,
    "peers": peers,
    "half-cheetah": cheetah,
    "ant": ant,
    "demonstrations": demonstrations,
}


def show(rows: list[Asked]) -> None:
    """Asked and measured, side by side."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="asked and measured", title_justify="left", header_style="bold")
    table.add_column("what", overflow="fold")
    for name in ("asked", "measured", "met"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold")
    for row in rows:
        sign = "<="
        if row.at_least:
            sign = ">="
        met = "no"
        if row.met:
            met = "yes"
        table.add_row(row.what, f"{sign} {row.asked:g}", f"{row.measured:.3g}", met, row.note)
    Console(width=120).print(table)


def write_table(rows: list[Asked]) -> None:
    """The same beside the numbers, for readers."""
    from icrl.report.table import as_markdown

    cells = []
    for row in rows:
        sign = "at most"
        if row.at_least:
            sign = "at least"
        met = "no"
        if row.met:
            met = "yes"
        cells.append([row.what, f"{sign} {row.asked:g}", f"{row.measured:.3g}", met, row.note])
    table = as_markdown(["what", "asked", "measured", "met", "note"], cells)
    head = "# Speed: asked and measured\n\nMade by `python benchmarks/quiet.py --show`.\n\n"
    (OUT / "asked.md").write_text(f"{head}{table}\n")


def main() -> None:
    """Measure, write, show."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--show", action="store_true", help="measure nothing")
    parser.add_argument("--seconds", type=float, default=15.0, help="per meter")
    parser.add_argument("--cheetah-steps", type=int, default=None, help="default: the preset's")
    parser.add_argument("--ant-steps", type=int, default=ANT_STEPS)
    args = parser.parse_args()
    from icrl.experiment.bench.throughput import load_warning, machine_facts
    from icrl.runtime import configure_jax, configure_numpy

    configure_numpy()
    configure_jax()
    os.environ["PYTHONWARNINGS"] = "ignore"
    OUT.mkdir(parents=True, exist_ok=True)
    facts = machine_facts()
    warning = load_warning(facts)
    if warning is not None:
        print(f"Warning: {warning}", flush=True)
    path = OUT / "asked.json"
    kept: dict[str, Any] = {}
    if path.exists():
        kept = json.loads(path.read_text())["parts"]
    for name, measure in PARTS.items():
        if args.show or name not in args.only:
            continue
        print(f"== {name}", flush=True)
        began = time.perf_counter()
        try:
            rows = measure(args)
        except (Exception, SystemExit) as error:  # one part that fails does not cost the others
            print(f"{name} was not measured: {error}", flush=True)
            continue
        kept[name] = {
            "seconds": round(time.perf_counter() - began, 1),
            "machine": facts,
            "warning": warning,
            "rows": [{**row._asdict(), "met": row.met} for row in rows],
        }
        path.write_text(json.dumps({"parts": kept}, indent=1) + "\n")
    rows = [
        Asked(**{field: row[field] for field in Asked._fields})
        for name in PARTS
        if name in kept
        for row in kept[name]["rows"]
    ]
    show(rows)
    write_table(rows)


if __name__ == "__main__":
    main()
