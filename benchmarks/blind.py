"""Worlds that nobody had seen: what is learned on each by `icrl learn` with no flag but `--demos`,
and how right it is.

    python benchmarks/blind.py benchmarks/blind_h --seeds 0 1 --out results/blind-h

A folder holds modules `w*.py`: `make_env`, `violates` (the truth, for judging alone), and in the
docstring a line `Rule features: ...`; and `demos/`, a file for each by its number. Their README
says who wrote them, and what he knew. Runs are kept under `--runs`, and not made again.

*Hits* and *false alarms* are over what the agents and the demonstrations visited, *judge* is the
last fresh agent under ζ that no demonstration helped, *verdict* what `icrl evaluate` says without
the truth. Ratios are to the mean return of the demonstrations, up to the first forbidden step.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import per_run

from icrl.report.table import as_markdown


def main() -> None:
    """Learn, judge, write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("worlds", type=Path, help="folder of modules")
    parser.add_argument("--only", nargs="+", default=[], help="some of them")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/blind"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--note", default="")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.worlds))
    names = sorted(path.stem for path in arguments.worlds.glob("w[0-9]*.py"))
    rows = []
    for seed in arguments.seeds:
        for name in names:
            if not arguments.only or name in arguments.only:
                run = arguments.runs / f"{name}-{seed}"
                if not (run / "scores.json").exists():
                    learn(arguments.worlds, name, seed, run)
                rows.append(judged(name, seed, run))
                print(json.dumps(rows[-1]), flush=True)
    rows.sort(key=lambda row: (row["world"], row["seed"]))
    arguments.out.mkdir(parents=True, exist_ok=True)
    per_run.write(arguments.out / "runs", rows)
    words = f"python benchmarks/blind.py {arguments.worlds} --seeds"
    command = " ".join([words, *map(str, arguments.seeds), "--out", str(arguments.out)])
    (arguments.out / "table.md").write_text(table(rows, command, arguments.note))


def learn(worlds: Path, name: str, seed: int, run: Path) -> None:
    """As a stranger would: in a process of its own, where the module can be imported."""
    demos = worlds / "demos" / f"{name.partition('_')[0]}.npz"
    words = ["learn", f"{name}:make_env", "--demos", str(demos), "--seed", str(seed)]
    subprocess.run(
        [sys.executable, "-m", "icrl", *words, "--out", str(run)],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path[:1], *_python_path()])},
    )


def _python_path() -> list[str]:
    return [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]


def judged(name: str, seed: int, run: Path) -> dict[str, Any]:
    """One run, by the truth."""
    import icrl

    module = importlib.import_module(name)
    found = icrl.evaluate(
        run, task=f"{name}:make_env", truth=module.violates, others=[], progress=False
    )
    rounds = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    scores = json.loads((run / "scores.json").read_text())
    axes = rounds[-1].get("constraint/axes") or "none"
    said = "Rule features:"
    truth = (module.__doc__ or "").split(said)[1].strip().splitlines()[0]
    judges = [row for row in rounds if row.get("constraint/phase") == "judge"]
    assert found.truth is not None
    assert found.constraint_truth is not None
    expert = scores["expert_return"]
    return {
        "world": name,
        "seed": seed,
        "truth": truth,
        "axes": axes,
        "score": rounds[-1].get("constraint/score"),
        "hit_rate": found.constraint_truth["hit_rate"],
        "false_alarm_rate": found.constraint_truth["false_alarm_rate"],
        "violation_rate": found.truth.violation_rate,
        "return_ratio": 1.0 + (found.truth.true_return - expert) / abs(expert),
        "judged": len(judges),
        "verdict": found.verdict and found.verdict.text,
        "why": rounds[-1].get("constraint/why"),
        "steps": scores["steps"],
        "seconds": scores["seconds"],
        "versions": scores["versions"],
    }


def table(rows: list[dict[str, Any]], command: str, note: str) -> str:
    """Every run."""
    cells = [
        [
            row["world"],
            str(row["seed"]),
            row["truth"],
            row["axes"],
            *(_cell(row[name]) for name in ("hit_rate", "false_alarm_rate", "violation_rate")),
            _cell(row["return_ratio"]),
            str(row["verdict"]).splitlines()[0],
        ]
        for row in rows
    ]
    head = ["world", "seed", "the rule is about", "axes named", "hit", "false alarms",
            "violation", "return", "verdict"]  # fmt: skip
    versions = ", ".join(f"{name} {version}" for name, version in rows[0]["versions"].items())
    return (
        "# Worlds that nobody had seen\n\n"
        f"{as_markdown(head, cells)}\n{note}\n\n{versions}.\n\nMade by `{command} --note ...`.\n"
    )


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}"


if __name__ == "__main__":
    main()
