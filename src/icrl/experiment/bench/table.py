"""`icrl bench` for a person: the table, the file,
and the warning when the timings cannot be trusted."""

from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from icrl.config import Respect
from icrl.experiment.bench.meters import Setting, forward_config
from icrl.experiment.bench.throughput import (
    BUDGETS,
    Result,
    as_json,
    load_warning,
    machine_facts,
    run_setting,
)
from icrl.files import make_folder
from icrl.json_files import write_json
from icrl.words import say

MEANINGS = {
    "raw": "physics alone",
    "world": "the world alone",
    "rollout": "rollout (acting, cost)",
    "terminate": "training (terminate)",
    "shielded": "training (terminate), shield",
    "lagrangian": "training (lagrangian)",
    "ours": "ours, 10 epochs",
    "sb3-dummy": "SB3 PPO, DummyVecEnv",
    "sb3-subproc": "SB3 PPO, SubprocVecEnv",
}
"""Names of the meters in the table."""


def throughput_table() -> Table:
    """The empty table."""
    table = Table(title="icrl bench throughput", title_justify="left", header_style="bold")
    table.add_column("what")
    for name in ("steps/s", "of raw", "budget", "CPU"):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def add_rows(table: Table, setting: Setting, results: dict[str, Result]) -> None:
    """The rows of one setting, under a line that says which."""
    envs = forward_config(setting, Respect.terminate).num_envs
    shape = f"{setting.processes} x {setting.threads}, {envs} envs, width {setting.width}"
    table.add_row(f"[bold]{setting.task}[/bold], {shape}")
    standard = setting.num_envs is None and setting.width == 64
    budget = None
    if standard:
        budget = BUDGETS.get((setting.task, setting.processes, setting.threads))
    for index, (name, result) in enumerate(results.items()):
        judged = budget is not None and name in ("terminate", "lagrangian")
        table.add_row(
            f"  {MEANINGS[name]}",
            f"{result.steps_per_second:,.0f}",
            "-" if result.ratio_to_raw is None else f"{result.ratio_to_raw:.2f}",
            f">= {budget:.2f}" if judged else "",
            f"{result.cpu_share:.2f}",
            end_section=index == len(results) - 1,
        )


def peer_lines(rows: list[tuple[Setting, dict[str, Result]]]) -> list[str]:
    """How many times faster than the peer's better form, per setting that has peers."""
    lines = []
    for setting, results in rows:
        if "ours" in results:
            peer = max(
                result.steps_per_second for name, result in results.items() if name != "ours"
            )
            times = results["ours"].steps_per_second / peer
            lines.append(
                f"{times:.1f} x Stable-Baselines3 at its better, {setting.threads} physics "
                "thread(s) of ours."
            )
    return lines


def bench_throughput(settings: list[Setting], out: Path, command: str, console: Console) -> None:
    """Measure all settings with a progress bar, print the table, write the numbers."""
    facts = machine_facts()
    warning = load_warning(facts)
    if warning is not None:
        console.print(f"Warning: {warning}", style="yellow", highlight=False)
    table = throughput_table()
    done: list[tuple[Setting, dict[str, Result]]] = []
    make_folder(out.parent)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=len(settings))
        for setting in settings:
            bar.update(task, description=f"{setting.task}, {setting.processes} x {setting.threads}")
            done.append((setting, run_setting(setting)))
            add_rows(table, *done[-1])
            # after every setting, so that a run can be stopped at any moment
            rows = [as_json(*row) for row in done]
            write_json(
                out, {"command": command, "machine": facts, "warning": warning, "settings": rows}
            )
            bar.advance(task)
    console.print(table)
    console.print(
        "2 x 1: two processes with one thread each, rates added. CPU: CPU seconds over wall "
        "seconds of a process."
    )
    for line in peer_lines(done):
        console.print(line, highlight=False)
    say(console, f"Wrote {out}")
