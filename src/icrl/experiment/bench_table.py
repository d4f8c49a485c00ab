"""`icrl bench` for a person: the table, the file, and the warning when the timings cannot be trusted."""

from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from icrl.config import Respect
from icrl.experiment.bench import BUDGETS, Result, as_json, load_warning, machine_facts, run_setting
from icrl.experiment.bench_meters import Setting, forward_config
from icrl.experiment.run_directory import write_json

MEANINGS = {
    "raw": "physics alone",
    "rollout": "rollout (acting, cost)",
    "terminate": "training (terminate)",
    "lagrangian": "training (lagrangian)",
    "ours": "ours, 10 epochs",
    "sb3-dummy": "SB3 PPO, DummyVecEnv",
    "sb3-subproc": "SB3 PPO, SubprocVecEnv",
}
"""Names of the meters in the table."""


def throughput_table() -> Table:
    """The empty table."""
    table = Table(
        title="icrl bench throughput: environment steps per second", title_justify="left", header_style="bold"
    )
    for name in ("task", "processes x threads", "envs", "width", "what", "steps/s", "of raw", "budget", "CPU"):
        table.add_column(name, justify="left" if name in ("task", "what") else "right", no_wrap=name == "what")
    return table


def add_rows(table: Table, setting: Setting, results: dict[str, Result]) -> None:
    """The rows of one setting."""
    envs = forward_config(setting, Respect.terminate).num_envs
    standard = setting.num_envs is None and setting.width == 64
    budget = BUDGETS.get((setting.task, setting.processes, setting.threads)) if standard else None
    for index, (name, result) in enumerate(results.items()):
        who = (setting.task, f"{setting.processes} x {setting.threads}", str(envs), str(setting.width))
        judged = budget is not None and name in ("terminate", "lagrangian")
        table.add_row(
            *(who if index == 0 else ("", "", "", "")),
            MEANINGS[name],
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
            peer = max(result.steps_per_second for name, result in results.items() if name != "ours")
            times = results["ours"].steps_per_second / peer
            lines.append(f"{times:.1f} x Stable-Baselines3 at its better, {setting.threads} physics thread(s) of ours.")
    return lines


def bench_throughput(settings: list[Setting], out: Path, command: str, console: Console) -> None:
    """Measure all settings with a progress bar, print the table, write the numbers."""
    facts = machine_facts()
    warning = load_warning(facts)
    if warning is not None:
        console.print(f"Warning: {warning}", style="yellow", highlight=False)
    table = throughput_table()
    done: list[tuple[Setting, dict[str, Result]]] = []
    out.parent.mkdir(parents=True, exist_ok=True)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=len(settings))
        for setting in settings:
            bar.update(task, description=f"{setting.task}, {setting.processes} x {setting.threads}")
            done.append((setting, run_setting(setting)))
            add_rows(table, *done[-1])
            # after every setting, so that a run can be stopped at any moment
            rows = [as_json(*row) for row in done]
            write_json(out, {"command": command, "machine": facts, "warning": warning, "settings": rows})
            bar.advance(task)
    console.print(table)
    for line in peer_lines(done):
        console.print(line, highlight=False)
    console.print(f"Wrote {out}", highlight=False, soft_wrap=True)
