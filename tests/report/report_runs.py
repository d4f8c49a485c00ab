"""Run directories made by hand, so that a report's numbers can be checked by hand."""

import json

from icrl.json_files import write_json


def write_run(
    out,
    label,
    seed,
    returns,
    rates,
    *,
    finished=True,
    error=None,
    steps=1000,
    mujoco="4.0.0",
    method="icrl",
):
    """A run of `len(returns)` rounds of `steps` environment steps on LapGridWorld."""
    directory = out / f"{label}-seed{seed}"
    directory.mkdir(parents=True)
    config = {
        "task": "lap-grid",
        "method": method,
        "preset": "default",
        "seed": seed,
        "label": label,
    }
    write_json(directory / "config.json", {**config, "demos": "shipped:lap-grid.npz"})
    lines = [
        {
            "round": i,
            "steps": steps * (i + 1),
            "truth/true_return": value,
            "truth/violation_rate": rate,
        }
        for i, (value, rate) in enumerate(zip(returns, rates, strict=True))
    ]
    (directory / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if error is not None:
        (directory / "error.txt").write_text(
            f"Traceback\n{error}\n\nThe run ended with exit code 1.\n"
        )
    elif finished:
        scores = {
            "scenario": "lap-grid",
            "method": method,
            "seed": seed,
            "label": label,
            "steps": steps * len(returns),
            "true_return": returns[-1],
            "violation_rate": rates[-1],
            "expert_return": 60.0,
            "seconds": 2.0,
            "steps_per_second": steps * len(returns) / 2.0,
            "versions": {"python": "3.11", "mujoco": mujoco},
        }
        write_json(directory / "scores.json", scores)
    return directory
