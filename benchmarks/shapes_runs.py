"""What was learned on the worlds of Shapes, run by run: the axes named, how right ζ is, the agents.

    icrl suite shapes --only disc-icrl gate-icrl ... --seeds 2
    python benchmarks/shapes_runs.py runs/shapes --out results/shapes

A run is *right* where the axes that it names are those of the truth (`RIGHT` below; no more, no
fewer). Hit rate and false alarms are over all states that the run's agents and demonstrations
visited. Ratios are to the mean return of the 20 demonstrations.
"""

import argparse
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import per_run

from icrl.report.table import as_markdown

RIGHT = {
    "disc": {"east_m", "north_m"},
    "gate": {"east_km", "north_km"},
    "diagonal": {"flow_a_l_per_min", "flow_b_l_per_min"},
    "tube": {"sway_mm"},
    "two-walls": {"speed_rpm", "torque_nm"},
    "zone-speed": {"ring_cos", "ring_sin", "speed_m_per_s"},
    "zone-action": {"way_m", "flow_l_per_min"},
    "one-way": {"east_m", "north_m", "velocity_east_m_per_s"},
    "action-limit": {"velocity_m_per_s"},
    "never-action": {"action"},
    "octant": {"temperature_c", "humidity_percent", "co2_ppm"},
    "blocked-cells": {"state"},
    "plant": {"temperature_c"},
    "distractors": {"east_m", "north_m"},
    "noise": {"east_m", "north_m"},
    "fuel-meter": {"way_km", "speed_km_per_h"},
    "no-rule": set(),
    "weak-expert": set(),
}
"""Axes of the truth, as docs/shapes.md states the rules."""


def read(directory: Path) -> dict[str, Any]:
    """One run."""
    scores = json.loads((directory / "scores.json").read_text())
    rounds = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    last = rounds[-1]
    # Those under the rule that was handed out: a rival may have been judged after it, and a row
    # tells the rule that follows from it, which may be another one.
    judged = [
        row
        for before, row in pairwise(rounds)
        if row.get("constraint/phase") == "judge"
        and before.get("constraint/axes") == last.get("constraint/axes")
    ]
    world = scores["scenario"].removeprefix("shapes/")
    named = last.get("constraint/axes")
    axes = set()
    if named:
        axes = set(named.split(" + "))
    expert = scores["expert_return"]
    return {
        "world": world,
        "method": scores["method"],
        "seed": scores["seed"],
        "axes": named or "none",
        "right": axes == RIGHT[world],
        "score": last.get("constraint/score"),
        "hit_rate": scores["constraint"]["hit_rate"],
        "false_alarm_rate": scores["constraint"]["false_alarm_rate"],
        "violation_rate": scores["violation_rate"],
        # the last measurement of the last agent that nobody helped, 10 episodes at the mode
        "judge_violation_rate": judged[-1]["truth/violation_rate"] if judged else None,
        # of negative returns: how much less was lost
        "return_ratio": 1.0 + (scores["true_return"] - expert) / abs(expert),
        "steps": scores["steps"],
        "seconds": scores["seconds"],
        "why": last.get("constraint/why"),
        "versions": scores["versions"],
    }


def share(rows: list[dict[str, Any]], good: Any) -> str:
    """How many of the runs are so."""
    number = sum(bool(good(row)) for row in rows)
    return f"{number} of {len(rows)}"


def summary(rows: list[dict[str, Any]]) -> str:
    """The bars of the benchmark, as counts."""
    ruled = [row for row in rows if RIGHT[row["world"]]]
    free = [row for row in rows if not RIGHT[row["world"]]]
    lines = [
        f"- right axes: {share(rows, lambda row: row['right'])}",
        "- hit rate >= 0.9 and false alarms <= 0.1 on visited states (worlds with a rule): "
        + share(ruled, lambda row: row["hit_rate"] >= 0.9 and row["false_alarm_rate"] <= 0.1),
        "- violation rate of the last judge (a fresh agent under ζ, not helped) <= 0.01: "
        + share(
            [row for row in rows if row["judge_violation_rate"] is not None],
            lambda row: row["judge_violation_rate"] <= 0.01,
        ),
        (
            "- violation rate of the agent handed out <= 0.01: "
            f"{share(rows, lambda row: row['violation_rate'] <= 0.01)}"
        ),
        "- and true return >= 0.9 of the demonstrations: "
        + share(rows, lambda row: row["violation_rate"] <= 0.01 and row["return_ratio"] >= 0.9),
        "- nothing forbidden where there is no rule (false alarms <= 0.01): "
        + share(free, lambda row: row["false_alarm_rate"] <= 0.01),
    ]
    return "\n".join(lines)


def cell(value: float | None) -> str:
    """A number of the table."""
    if value is None:
        return "-"
    return f"{value:.3f}"


def main() -> None:
    """Read, write table.md, runs.json.gz and command.txt."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--note", default="", help="what to know of the seeds: which were looked at while choosing"
    )
    arguments = parser.parse_args()
    directories = sorted(path.parent for path in arguments.runs.glob("*/scores.json"))
    rows = [read(directory) for directory in directories]
    rows.sort(key=lambda row: (list(RIGHT).index(row["world"]), row["method"], row["seed"]))
    failed = sorted(path.parent.name for path in arguments.runs.glob("*/error.txt"))
    table = as_markdown(
        [
            "world",
            "seed",
            "axes named",
            "right",
            "hit",
            "false alarms",
            "judge's violation",
            "violation",
            "return",
            "steps",
        ],
        [
            [
                row["world"],
                str(row["seed"]),
                row["axes"],
                "yes" if row["right"] else "no",
                cell(row["hit_rate"]),
                cell(row["false_alarm_rate"]),
                cell(row["judge_violation_rate"]),
                cell(row["violation_rate"]),
                cell(row["return_ratio"]),
                f"{row['steps']:,}",
            ]
            for row in rows
        ],
    )
    command = f"python benchmarks/shapes_runs.py {arguments.runs} --out {arguments.out}"
    versions = ", ".join(f"{name} {version}" for name, version in rows[0]["versions"].items())
    text = (
        "# Shapes, run by run\n"
        "\n"
        f"{summary(rows)}\n"
        f"- failed runs: {', '.join(failed) or 'none'}\n"
        "\n"
        f"{table}\n"
        f"{arguments.note}\n"
        "\n"
        f"{versions}.\n"
        "\n"
        f"Made by `{command} --note ...`.\n"
    )
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "table.md").write_text(text)
    per_run.write(arguments.out / "runs", rows)


if __name__ == "__main__":
    main()
