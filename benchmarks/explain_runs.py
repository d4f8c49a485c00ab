"""What `icrl explain` reads in many runs: each one's rule, its agreement with zeta, what the data leave open.

Run `python benchmarks/explain_runs.py runs/half-cheetah --out results/half-cheetah`: writes explain.md (with the
command) and explain.json. Runs without a constraint or without a record of their agents are left out.
"""

import argparse
from pathlib import Path
from typing import Any

from rich.progress import track

from icrl.constraint.learned import load_constraint
from icrl.experiment.run_directory import CONSTRAINT, write_json
from icrl.explain.reading import read_constraint
from icrl.report.explain_summary import reading_as_json
from icrl.report.records import RunRecord, read_groups
from icrl.report.table import as_markdown
from icrl.verbs.explain import load_run_demos
from icrl.visited import VISITED, load_visited

NOTE = (
    "Rules that fit have a balanced agreement with ζ of 0.95 or more. Left open: all thresholds between these ends "
    "explain the data equally well. Definitions: [docs/explain.md](../../docs/explain.md)."
)
HEADERS = ("method", "seed", "rule", "balanced agreement", "left open")


def read_run(run: RunRecord) -> tuple[list[str], dict[str, Any]]:
    """The row of one run, and all that `icrl explain` says of it."""
    demos = load_run_demos(run.config, None).trajectories
    reading = read_constraint(load_constraint(run.directory / CONSTRAINT), demos, load_visited(run.directory / VISITED))
    rule, interval = reading.rule, reading.interval
    if rule is None:
        cells = ["forbids none of the pairs, or all", "-", "-"]
    else:
        text = f"`{rule}`" if rule.fits else f"no short rule fits (best: `{rule}`)"
        ends = () if interval is None else (interval.low, interval.high)
        left = " to ".join("?" if end is None else f"{end:.2f}" for end in ends) or "-"
        cells = [text, f"{rule.fidelity.balanced_agreement:.3f}", left]
    return cells, {"run": run.name, "task": run.task, "seed": run.seed, **reading_as_json(reading)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    groups = read_groups([arguments.runs])
    runs = [(group.name, run) for group in groups for run in group.finished]
    runs = [(name, run) for name, run in runs if (run.directory / CONSTRAINT).is_dir()]
    rows, found = [], []
    for name, run in track([pair for pair in runs if (pair[1].directory / VISITED).exists()], "reading"):
        cells, said = read_run(run)
        rows.append([name, str(run.seed), *cells])
        found.append(said)
    command = f"python benchmarks/explain_runs.py {arguments.runs} --out {arguments.out}"
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = f"# What `icrl explain` reads in each run\n\n{as_markdown(HEADERS, rows)}\n{NOTE}\n\nMade by `{command}`.\n"
    (arguments.out / "explain.md").write_text(text)
    write_json(arguments.out / "explain.json", found)


if __name__ == "__main__":
    main()
