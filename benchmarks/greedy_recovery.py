"""False positives and negatives of greedy constraint inference as a function of the
number of demonstrations.

Demonstrations are MaxEnt trajectories (beta 1) of the constrained world; hypotheses are all states,
actions and pairs; the stopping rule is the default. `gates` and `lanes` are drawn so that every
constraint is tempting and both its sides are demonstrated.

`open` is not: its five states can be walked round at no loss, so each explains little, and finding
them takes many more demonstrations. Run from the root of the repository:

    python benchmarks/greedy_recovery.py

writes results/tabular/greedy_recovery.json.gz and .png.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import per_run

from icrl.tabular.greedy import infer_constraints
from icrl.tabular.grids import (
    GATES,
    GRID_GOAL_REWARD,
    GRID_HORIZON,
    LANES,
    grid_from_text,
    lap_grid,
    marked_states,
)
from icrl.tabular.hypotheses import Hypothesis, recovery_errors, union
from icrl.tabular.maxent import sample_walks, solve
from icrl.tabular.mdp import TabularMDP, hard_log_zeta

COMMAND = "python benchmarks/greedy_recovery.py"
NUM_DEMOS = (1, 2, 5, 10, 20, 50, 100, 200)
SEEDS = range(20)
OPEN = """
S........
....x....
.......x.
..x......
....x....
.........
......x..
.........
........G
"""
OUT = Path("results/tabular")


def drawn(text: str) -> tuple[TabularMDP, list[Hypothesis]]:
    mdp = grid_from_text(text, horizon=GRID_HORIZON, goal_reward=GRID_GOAL_REWARD)
    return mdp, [Hypothesis(state=s) for s in marked_states(text, "x")]


def worlds() -> dict[str, tuple[TabularMDP, list[Hypothesis]]]:
    return {
        "LapGridWorld": (lap_grid(), [Hypothesis(action=1)]),
        "9 x 9 gates": drawn(GATES),
        "9 x 9 lanes": drawn(LANES),
        "9 x 9 open": drawn(OPEN),
    }


def measure(name: str, mdp: TabularMDP, true: list[Hypothesis]) -> list[dict[str, Any]]:
    expert = solve(mdp, hard_log_zeta(union(mdp, true)))
    rows = []
    for num_demos in NUM_DEMOS:
        for seed in SEEDS:
            demos = sample_walks(mdp, expert, num_demos, np.random.default_rng(seed))
            began = time.perf_counter()
            found = infer_constraints(mdp, demos)
            seconds = time.perf_counter() - began
            false_positives, false_negatives = recovery_errors(mdp, found.hypotheses, true)
            rows.append(
                {
                    "world": name,
                    "num_true": len(true),
                    "num_demos": num_demos,
                    "seed": seed,
                    "false_positives": false_positives,
                    "false_negatives": false_negatives,
                    "min_gain": round(found.min_gain, 4),
                    "seconds": round(seconds, 3),
                }
            )
    return rows


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["world"] for row in rows))
    figure, panels = plt.subplots(
        1, len(names), figsize=(3.6 * len(names), 3.0), sharey=True, layout="constrained"
    )
    styles = {
        "false_negatives": ("missed", "#c0392b", "o", "-"),
        "false_positives": ("invented", "#2c5aa0", "s", "--"),
    }
    for axes, name in zip(panels, names, strict=True):
        num_true = next(row["num_true"] for row in rows if row["world"] == name)
        for key, (label, colour, marker, line) in styles.items():
            table = [
                [r[key] for r in rows if r["world"] == name and r["num_demos"] == n]
                for n in NUM_DEMOS
            ]
            low, high = np.min(table, axis=1), np.max(table, axis=1)
            axes.fill_between(NUM_DEMOS, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(
                NUM_DEMOS,
                np.mean(table, axis=1),
                line,
                color=colour,
                marker=marker,
                markersize=4,
                label=label,
            )
        axes.set_xscale("log")
        axes.set_xticks(NUM_DEMOS, [str(n) for n in NUM_DEMOS])
        axes.minorticks_off()
        axes.set_title(
            f"{name}\n{num_true} true constraint{'s' if num_true > 1 else ''}", fontsize=10
        )
        axes.set_xlabel("demonstrations")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel("constraints")
    panels[0].set_ylim(-0.15, 5.3)
    panels[-1].legend(
        frameon=False, title=f"mean and range\nof {len(SEEDS)} seeds", title_fontsize=8, fontsize=9
    )
    figure.savefig(path, dpi=160)
    plt.close(figure)


def main() -> None:
    print(COMMAND)
    rows = [row for name, (mdp, true) in worlds().items() for row in measure(name, mdp, true)]
    OUT.mkdir(parents=True, exist_ok=True)
    per_run.write(OUT / "greedy_recovery", {"command": COMMAND, "runs": rows})
    draw(rows, OUT / "greedy_recovery.png")
    print(f"{'world':<14}{'demos':>6}{'exact':>8}{'missed':>8}{'invented':>10}{'seconds':>9}")
    for name in dict.fromkeys(row["world"] for row in rows):
        for n in NUM_DEMOS:
            cell = [row for row in rows if row["world"] == name and row["num_demos"] == n]
            missed, invented = (
                np.array([row[f"false_{kind}"] for row in cell])
                for kind in ("negatives", "positives")
            )
            exact = int(np.sum((missed == 0) & (invented == 0)))
            seconds = max(row["seconds"] for row in cell)
            share = f"{exact}/{len(cell)}"
            print(
                f"{name:<14}{n:>6}{share:>8}{np.mean(missed):>8.2f}"
                f"{np.mean(invented):>10.2f}{seconds:>9.2f}"
            )


if __name__ == "__main__":
    main()
