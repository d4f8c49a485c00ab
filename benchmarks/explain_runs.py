"""What `icrl explain` reads in many runs: each one's rule, its agreement with zeta,
what the data leave open.

Run `python benchmarks/explain_runs.py runs/half-cheetah --out results/half-cheetah`: writes
explain.md (with the command) and explain.json.gz. Runs without a constraint or without a record of
their agents are left out.
"""

from typing import Any

from runs_pages import write_page

from icrl.api.explaining import load_run_demos
from icrl.constraint.learned import load_constraint
from icrl.experiment.directory.run_directory import CONSTRAINT
from icrl.experiment.run.inputs import scenario_of_run
from icrl.explain.reading import read_constraint
from icrl.report.explain_summary import reading_as_json
from icrl.report.records import RunRecord
from icrl.visited import VISITED, load_visited

NOTE = (
    "Rules that fit have a balanced agreement with ζ of 0.95 or more. Left open: all thresholds "
    "between these ends explain the data equally well. Definitions: "
    "[docs/explain.md](../../docs/explain.md)."
)


def read_run(run: RunRecord) -> tuple[list[str], dict[str, Any]]:
    """The row of one run, and all that `icrl explain` says of it."""
    demos = load_run_demos(run.config, None, scenario_of_run(run.config)).trajectories
    reading = read_constraint(
        load_constraint(run.directory / CONSTRAINT), demos, load_visited(run.directory / VISITED)
    )
    rule, interval = reading.rule, reading.interval
    if rule is None:
        cells = ["forbids none of the pairs, or all", "-", "-"]
    else:
        text = f"`{rule}`" if rule.fits else f"no short rule fits (best: `{rule}`)"
        ends = () if interval is None else (interval.low, interval.high)
        left = " to ".join("?" if end is None else f"{end:.2f}" for end in ends) or "-"
        cells = [text, f"{rule.fidelity.balanced_agreement:.3f}", left]
    return cells, reading_as_json(reading)


if __name__ == "__main__":
    title, headers = (
        "What `icrl explain` reads in each run",
        ("rule", "balanced agreement", "left open"),
    )
    write_page(__doc__, "explain", title, headers, NOTE, read_run)
