"""What `benchmarks/collapse.py` found, as JSON files, figures and a table: all read off the rows of its three links."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from icrl.experiment.run_directory import write_json
from icrl.report.figures import figure_file
from icrl.tasks.truth import WALL_X

Rows = list[dict[str, Any]]
_COLOURS = ("#D55E00", "#E69F00", "#56B4E9", "#0072B2", "#CC79A7")


def write_studies(facts: dict[str, Any], links: list[Rows], out: Path) -> None:
    """The studies as JSON, figures and a table."""
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / "link1_evidence", out / "link2_saturation", out / "link3_turning"]
    for path, rows in zip(paths, links, strict=True):
        write_json(path.with_suffix(".json"), {**facts, "rows": rows})
    label = "share of visited states judged infeasible"
    draw_fits(links[0], {"": lambda row: row["infeasible_by_fine_bin"]}, 5, facts, label, paths[0])
    curves = {f"{n} updates": partial(lambda n, row: row[n]["mean_cost_by_fine_bin"], n) for n in updates_of(links[1])}
    draw_fits(links[1], curves, 4, facts, "mean cost 1 − ζ of scouts' states", paths[1])
    draw_turning(links[2], paths[2])
    (out / "command.txt").write_text(facts["command"] + "\n")
    (out / "table.md").write_text("\n".join(table(facts, links)) + "\n")


def distinct(rows: Rows, key: str) -> list[Any]:
    """The values of a key, in order."""
    return list(dict.fromkeys(row[key] for row in rows))


def updates_of(rows: Rows) -> list[str]:
    """After how many updates link 2 looked."""
    return [key for key in rows[0] if key.isdigit()]


def draw_fits(rows: Rows, curves: dict[str, Any], columns: int, facts: dict[str, Any], label: str, path: Path) -> None:
    """A quantity in fine bins of x, one panel per variant: each seed faint, their mean (where all have one) bold."""
    names, edges = distinct(rows, "variant"), facts["fine_bin_edges"]
    centres = np.array([edges[0] - 0.5, *(edge + 0.5 for edge in edges)])
    with figure_file(path, (12.0, 1.2 + 2.4 * len(names) / columns)) as figure:
        grid = figure.subplots(len(names) // columns, columns, sharex=True, sharey=True)
        for axes, name in zip(grid.ravel(), names, strict=True):
            for (title, curve), colour in zip(curves.items(), ("#0072B2", "#D55E00"), strict=False):
                values = np.array([curve(row) for row in rows if row["variant"] == name], np.float64)
                axes.plot(centres, values.T, color=colour, alpha=0.35, linewidth=0.8)
                axes.plot(centres, np.mean(values, axis=0), color=colour, linewidth=2.0, label=title)
            axes.axvline(WALL_X, color="#B22222", linewidth=1.2)
            axes.axvline(facts["demonstrations"]["lowest_x"], color="#111111", linewidth=1.0, linestyle=":")
            axes.set_title(fill(name, 22))
        if len(curves) > 1:
            axes.legend(frameon=False, loc="upper right")
        figure.supxlabel("x of the torso (m); red: the true wall, dotted: the lowest x of the demonstrations")
        figure.supylabel(label)


def draw_turning(rows: Rows, path: Path) -> None:
    with figure_file(path, (12.0, 4.5)) as figure:
        for axes, key in zip(figure.subplots(1, 2), ("violation_rate", "true_return"), strict=True):
            for name, colour in zip(distinct(rows, "arm"), _COLOURS, strict=True):
                curves = [row["curve"] for row in rows if row["arm"] == name]
                steps, values = [p["steps"] / 1000 for p in curves[0]], np.array([[p[key] for p in c] for c in curves])
                axes.plot(steps, values.T, color=colour, alpha=0.4, linewidth=0.8)
                axes.plot(steps, np.mean(values, axis=0), color=colour, linewidth=2.0, label=name)
            axes.set_xlabel("thousand environment steps under the true cost")
            axes.set_ylabel(key.replace("_", " "))
        axes.legend(frameon=False, loc="upper left")


def table(facts: dict[str, Any], links: list[Rows]) -> Iterator[str]:
    """The same in numbers."""
    edges, names = facts["bin_edges"], list(links[0][0]["feature_weights"])
    seeds = distinct(links[0], "seed")
    yield f"## What is evidence?\n\nShares of states judged infeasible on HalfCheetah, seeds {seeds}: at x ≤ −3 hits,"
    yield "at x > 0 false alarms. By x: means over seeds, of scouts, whole episodes of chance and demonstrations.\n"
    bins = [f"x ≤ {edges[0]:g}", *(f"to {e:g}" for e in edges[1:]), f"x > {edges[-1]:g}"]
    yield f"| fit | hits of scouts | of chance | false alarms of scouts | of chance | {' | '.join(bins)} | weights |"
    yield "| --- | " + "---: | " * (4 + len(bins)) + "--- |"
    for name in distinct(links[0], "variant"):
        rows = [row for row in links[0] if row["variant"] == name]
        shares = np.mean([row["infeasible_by_bin"] for row in rows], axis=0)
        weights = {f: np.mean([row["feature_weights"][f] for row in rows]) for f in names}
        heavy = ", ".join(f"{f} {weights[f]:.2f}" for f in sorted(weights, key=lambda f: -weights[f])[:3])
        found = product(("hit_rate_of", "false_alarm_rate_of"), ("scouts", "chance"))
        ranges = " | ".join(", ".join(f"{row[rate][of]:.3f}" for row in rows) for rate, of in found)
        yield f"| {name} | {ranges} | {' | '.join(f'{s:.2f}' for s in shares)} | {heavy} |"
    yield "\n![](link1_evidence.png)\n\n## The sample term\n\nMeans over seeds; logits: 1 %, 50 %, 99 %.\n"
    yield "| loss | updates | logits of scouts | logits of demonstrations | deviation of scouts' cost | cost > 0.99 |"
    yield "| --- | ---: | --- | --- | ---: | ---: |"
    for name, updates in product(distinct(links[1], "variant"), updates_of(links[1])):
        cells = [row[updates] for row in links[1] if row["variant"] == name]
        keys = ("logit_of_scouts", "logit_of_demos", "cost_deviation", "cost_above_0.99")
        scouts, demos, deviation, above = (np.mean([cell[key] for cell in cells], axis=0) for key in keys)
        logit = " | ".join(", ".join(f"{q:.1f}" for q in of) for of in (scouts, demos))
        yield f"| {name} | {int(updates):,} | {logit} | {deviation:.3f} | {above:.2f} |"
    yield "\n![](link2_saturation.png)\n\n## Turning a backward runner, under the true cost\n"
    heads = " | ".join(f"violations at {point['steps']:,}" for point in links[2][0]["curve"])
    yield f"| forward step | seed | {heads} | true return | λ |\n| --- |{' ---: |' * (len(links[2][0]['curve']) + 3)}"
    for row in links[2]:
        rates, end = " | ".join(f"{point['violation_rate']:.2f}" for point in row["curve"]), row["curve"][-1]
        yield f"| {row['arm']} | {row['seed']} | {rates} | {end['true_return']:,.0f} | {end['multiplier']:.1f} |"
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    yield f"\n![](link3_turning.png)\n\nVersions: {versions}.\n\nMade by:\n\n```\n{facts['command']}\n```"
