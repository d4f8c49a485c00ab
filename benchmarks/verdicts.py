"""The study of verdicts: what `icrl evaluate` says of runs whose ζ is right, wrong or sabotaged.

    python benchmarks/verdicts.py runs/shapes --out results/verdicts

Takes run directories, or folders of them, of tasks whose truth is known. Every ζ that is a
region is judged as it is, and after each of these sabotages, whose files are as those of an
honest run but for ζ:

- shifted out, shifted in: by a third of what it forbids,
  along every axis of numbers (names: by one);
- emptied; mirrored along its first axis;
- another's: the region of another world with as many features, stretched to the box of this one;
- style: a wall between demonstrations and scouts in other features,
  the ones that set them apart most.

Other seeds are no help: where there are any,
their ζ is sabotaged in the same way, so that they agree.

By the truth, on all recorded pairs, a ζ is right (hit rate >= 0.9, false alarms <= 0.1, and it
touches at most a tenth of the demonstrations, which are all feasible; where nothing is forbidden:
false alarms <= 0.01), wrong (hits < 0.75 or false alarms > 0.25; where nothing is forbidden: >
0.05) or between.

A verdict is right if it is not "do not trust it" for a right ζ, if it is "do not trust it" for a
wrong one, and if it is not "trust it" for one between, and for fewer than five demonstrations.
"""

import argparse
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import per_run
from scipy.spatial import cKDTree

from icrl.agent.policy_file import load_policy
from icrl.constraint.found import region_constraint
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.constraint.region import Region, RegionAxis
from icrl.demos.dataset import Demonstrations
from icrl.evaluate import play_episodes
from icrl.experiment.directory.run_directory import CONSTRAINT, POLICY, RunDirectory
from icrl.experiment.directory.spec import spec_from_json
from icrl.experiment.run.constraint_scores import judge_against_truth
from icrl.experiment.run.inputs import demos_of_run, scenario_of_run
from icrl.explain.judged import judge_pairs
from icrl.explain.reading import verdict_on
from icrl.explain.rules import explain_region
from icrl.report.table import as_markdown
from icrl.search.axes import axis_values, make_axes
from icrl.tasks.task import Scenario
from icrl.trust.fresh import train_judge
from icrl.trust.of_run import judge_run
from icrl.trust.record import Record, record_of
from icrl.trust.rule import standing_of
from icrl.types import BoolArray, FloatArray
from icrl.visited import VISITED, load_visited

KINDS = ("as it is", "shifted out", "shifted in", "emptied", "mirrored", "another's", "style")
EPISODES = 20
FEW = 5
_NODES = 60
_KEPT = ("config.json", "metrics.jsonl", "scores.json", VISITED, POLICY)


class Run(NamedTuple):
    """A finished run."""

    path: Path
    config: dict[str, Any]
    scenario: Scenario
    demos: Demonstrations
    constraint: LearnedConstraint
    record: Record

    @property
    def world(self) -> str:
        """Its task, in short."""
        return str(self.config["task"]).removeprefix("shapes/")

    @property
    def few(self) -> bool:
        """There are too few demonstrations to say anything."""
        return self.demos.trajectories.num_trajectories < FEW

    def of_one_kind(self, other: "Run") -> bool:
        """The same but for the seed."""
        if self.config["seed"] == other.config["seed"]:
            return False
        return all(
            self.config.get(name) == other.config.get(name)
            for name in ("task", "method", "preset", "demos")
        )


def find_runs(folders: list[Path]) -> list[Run]:
    """Finished runs whose ζ is a region."""
    paths = []
    for folder in folders:
        paths += [folder] if (folder / "config.json").exists() else sorted(folder.iterdir())
    found = []
    for path in paths:
        if not (path / "scores.json").exists() or not (path / CONSTRAINT / "card.json").exists():
            continue
        constraint = load_constraint(path / CONSTRAINT)
        if constraint.region is None or not (path / VISITED).exists():
            continue
        config = RunDirectory(path).config()
        scenario = scenario_of_run(config)
        demos = demos_of_run(config, scenario)
        phases = {
            int(row["round"]): str(row["constraint/phase"]) for row in RunDirectory(path).metrics()
        }
        record = record_of(load_visited(path / VISITED), demos, phases)
        found.append(Run(path, config, scenario, demos, constraint, record))
    return found


def sabotaged(run: Run, kind: str, runs: list[Run]) -> LearnedConstraint | None:
    """The run's ζ after a sabotage; None: there is none of this kind."""
    constraint = run.constraint
    region = constraint.region
    assert region is not None
    empty = not np.any(region.depth > region.level)
    if kind == "as it is":
        return constraint
    if kind == "style":
        return _style(run)
    if kind == "another's":
        return _of_another(run, runs)
    if empty:
        return None
    if kind == "emptied":
        return replace(constraint, region=replace(region, depth=np.zeros_like(region.depth)))
    if kind == "mirrored":
        return replace(
            constraint,
            region=replace(region, depth=np.ascontiguousarray(np.flip(region.depth, axis=0))),
        )
    outward = 1.0
    if kind == "shifted in":
        outward = -1.0
    return replace(constraint, region=_shifted(region, outward * _side(run)))


def _side(run: Run) -> float:
    """On which side of the demonstrations the forbidden lies along the first axis:
    away from them is out."""
    space = run.record.space(run.constraint)
    forbidden = space.forbidden()
    if not len(forbidden):
        return 1.0
    return float(np.sign(np.mean(forbidden[:, 0]) - np.mean(space.shown[:, 0])) or 1.0)


def _shifted(region: Region, sign: float) -> Region:
    """Moved by a third of what is forbidden, along every axis of numbers; of names alone by one."""
    index = np.argwhere(region.depth > region.level)
    axes = []
    for place, axis in enumerate(region.axes):
        if axis.categorical:
            axes.append(axis)
            continue
        extent = axis.nodes[index[:, place].max()] - axis.nodes[index[:, place].min()]
        axes.append(replace(axis, nodes=axis.nodes + sign * extent / 3))
    depth = region.depth
    if all(axis.categorical for axis in region.axes):
        depth = np.roll(depth, int(sign), axis=0)
    return replace(region, axes=tuple(axes), depth=depth)


def _of_another(run: Run, runs: list[Run]) -> LearnedConstraint | None:
    """The region of the next world whose region has as many axes, all of them numbers,
    stretched to this one's box."""
    region = run.constraint.region
    assert region is not None
    worlds = [other for other in runs if other.world != run.world and not other.few]
    later = [other for other in worlds if other.world > run.world] + worlds
    for other in later:
        theirs = other.constraint.region
        assert theirs is not None
        if not np.any(theirs.depth > theirs.level) or any(
            axis.categorical for axis in theirs.axes + region.axes
        ):
            continue
        if len(theirs.axes) != len(region.axes):
            continue
        axes = []
        for axis, mine in zip(theirs.axes, region.axes, strict=True):
            low, high = _range_of(run, mine)
            share = (axis.nodes - axis.nodes[0]) / (axis.nodes[-1] - axis.nodes[0])
            axes.append(RegionAxis(columns=mine.columns, nodes=low + share * (high - low)))
        return replace(run.constraint, region=replace(theirs, axes=tuple(axes)))
    return None


def _range_of(run: Run, axis: RegionAxis) -> tuple[float, float]:
    if len(axis.nodes) > 1:
        return float(axis.nodes[0]), float(axis.nodes[-1])
    column = run.constraint.features.columns[axis.columns[0]]
    values = _values(run)[0][:, column]
    return float(values.min()), float(values.max())


def _values(run: Run) -> tuple[FloatArray, FloatArray, FloatArray]:
    """All features of demonstrated steps, of scouts' steps,
    and how much the latter need explaining."""
    task = run.scenario.task
    columns = tuple(
        replace(axis, columns=(column,))
        for axis in make_axes(task.observation_names, task.action_names, False, False)
        for column in axis.columns
    )
    demos = run.demos.trajectories
    visited = run.record.visited
    parts = []
    for observations, actions in (
        (demos.observations[demos.mask], demos.actions[demos.mask]),
        (visited.observations, visited.actions),
    ):
        taken = actions
        if task.discrete:
            taken = np.eye(len(task.action_names))[np.asarray(actions, np.int64)]
        parts.append(axis_values(columns, observations, taken, False))
    return parts[0], parts[1], run.record.weights[visited.episodes]


def _style(run: Run) -> LearnedConstraint | None:
    """A wall in the features that set scouts apart from demonstrations most,
    the rule's own left out."""
    task = run.scenario.task
    shown, done, weights = _values(run)
    chosen = _apart(run, shown, done[weights > 0.5])
    if not chosen:
        return None
    shown = shown[:, chosen]
    done = done[weights > 0.5][:, chosen]
    if not len(done):
        return None
    low = np.minimum(shown.min(axis=0), done.min(axis=0))
    scale = np.maximum(np.maximum(shown.max(axis=0), done.max(axis=0)) - low, 1e-9)
    nodes = [np.linspace(-0.1, 1.1, _NODES) for _ in chosen]
    mesh = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1)
    from_shown = cKDTree((shown - low) / scale).query(mesh)[0]
    from_done = cKDTree((done - low) / scale).query(mesh)[0]
    borne = 0.02
    depth = np.where((from_done < from_shown) | (from_shown <= borne), from_shown / borne, 0.0)
    axes = tuple(
        RegionAxis(columns=(i,), nodes=low[i] + scale[i] * nodes[i]) for i in range(len(chosen))
    )
    region = Region(
        axes=axes, depth=depth.astype(np.float32), evidence_depth=max(1.0, float(depth.max()) / 2)
    )
    return region_constraint(region, [(column,) for column in chosen], task, run.constraint.card)


def _apart(run: Run, shown: FloatArray, done: FloatArray) -> list[int]:
    """The columns of the best rival that the card names;
    without one, the column that sets agents apart most."""
    names = list(run.scenario.task.feature_names)
    standing = standing_of(run.constraint, run.scenario.task, run.record)
    if standing is not None:
        for other in standing.others:
            chosen = [names.index(name) for name in other.axes.split(" + ") if name in names]
            if chosen:
                return chosen
    free = [column for column in range(len(names)) if column not in run.constraint.features.columns]
    if not np.any(run.constraint.region.depth > 1):
        free = list(range(len(names)))
    if not free or not len(done):
        return []
    return [max(free, key=lambda column: _separation(shown[:, column], done[:, column]))]


def _separation(first: FloatArray, second: FloatArray) -> float:
    """The largest difference of the two distribution functions."""
    points = np.sort(np.concatenate([first, second]))
    shares = [
        np.searchsorted(np.sort(part), points, side="right") / len(part) for part in (first, second)
    ]
    return float(np.max(np.abs(shares[0] - shares[1])))


def write_case(run: Run, constraint: LearnedConstraint, folder: Path) -> Path:
    """A directory like that of the run, with this ζ."""
    target = folder / run.path.name
    target.mkdir(parents=True)
    for name in _KEPT:
        if (run.path / name).exists():
            shutil.copyfile(run.path / name, target / name)
    constraint.save(target / CONSTRAINT)
    return target


def truth_of(hit: float | None, false_alarms: float | None, touched: float) -> str:
    """right, wrong or between; `touched`: the share of feasible demonstrations
    that ζ forbids a part of."""
    alarms = false_alarms or 0.0
    if hit is None:
        if alarms <= 0.01:
            return "right"
        return "wrong" if alarms > 0.05 else "between"
    if hit >= 0.9 and alarms <= 0.1 and touched <= 0.1:
        return "right"
    return "wrong" if hit < 0.75 or alarms > 0.25 else "between"


def verdict_is_right(verdict: str, truth: str, *, few: bool) -> bool:
    """What a verdict should be, by the truth."""
    if few or truth == "between":
        return verdict != "trust it"
    return (verdict == "do not trust it") == (truth == "wrong")


def judge_case(run: Run, kind: str, runs: list[Run], steps: int) -> dict[str, Any] | None:
    """One row; `steps`: of a fresh judge, where rivals are close (0: none)."""
    constraint = sabotaged(run, kind, runs)
    if constraint is None:
        return None
    witnesses = [other for other in runs if run.of_one_kind(other)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = write_case(run, constraint, folder)
        others = []
        for other in witnesses:
            same = sabotaged(other, kind, runs)
            if same is not None and same.features.names == constraint.features.names:
                others.append(write_case(other, same, folder / "others"))
        task = run.scenario.task
        policy = load_policy(path / POLICY, task, constraint.cost)
        played = play_episodes(task, policy, EPISODES, 1)
        said = judge_run(path, task, run.demos, played, others).as_json()
        # the record cannot tell close rivals apart: a fresh agent under ζ can
        judged_afresh = steps > 0 and said["verdict"] != "do not trust it" and _has_rivals(said)
        if judged_afresh:
            judge = train_judge(constraint, task, spec_from_json(run.config).config, steps)
            said = judge_run(path, task, run.demos, played, others, judge=judge).as_json()
        right = judge_against_truth(path, run.scenario, run.demos)
    words = "-"
    if kind == "as it is":
        judged = judge_pairs(constraint, run.demos.trajectories, run.record.visited)
        found = explain_region(constraint, judged)
        words = str(found[0]) if found else verdict_on(None)
    touched = float(np.mean(_touched(constraint, run.demos)))
    truth = truth_of(right["hit_rate"], right["false_alarm_rate"], touched)
    return {
        "run": run.path.name,
        "world": run.world,
        "seed": run.config["seed"],
        "demonstrations": run.demos.trajectories.num_trajectories,
        "kind": kind,
        "words": words,
        "hit_rate": right["hit_rate"],
        "false_alarm_rate": right["false_alarm_rate"],
        "demos_touched": touched,
        "truth": truth,
        "verdict": said["verdict"],
        "verdict_right": verdict_is_right(said["verdict"], truth, few=run.few),
        "few": run.few,
        "witnesses": len(others),
        "judged_afresh": judged_afresh,
        "bad": [name for name, check in said["checks"].items() if check["level"] == "bad"],
        "care": [
            name for name, check in said["checks"].items() if check["level"] in ("care", "unknown")
        ],
        "would_change": said["would_change"],
        "checks": said["checks"],
    }


def _touched(constraint: LearnedConstraint, demos: Demonstrations) -> BoolArray:
    """[N]: ζ forbids a part of the demonstration."""
    shown = demos.trajectories
    infeasible = ~constraint.is_feasible(shown.observations, shown.actions) & shown.mask
    return np.asarray(infeasible.any(axis=1))


def _has_rivals(said: dict[str, Any]) -> bool:
    return "rivals" in said["checks"] and said["checks"]["rivals"]["level"] == "care"


def summary(rows: list[dict[str, Any]]) -> str:
    """The counts that matter."""
    lines = [
        f"- verdicts that are right: {sum(row['verdict_right'] for row in rows)} of {len(rows)}"
    ]
    unlike = [row for row in rows if row["truth"] != "right" or row["few"]]
    trusted = sum(row["verdict"] == "trust it" for row in unlike)
    lines.append(
        f'- "trust it" said of a ζ that is not right, or of too few demonstrations: {trusted} of '
        f"{len(unlike)}"
    )
    for truth in ("right", "between", "wrong"):
        chosen = [row for row in rows if row["truth"] == truth and not row["few"]]
        counts = ", ".join(
            f"{name} {sum(row['verdict'] == name for row in chosen)}"
            for name in ("trust it", "with care", "do not trust it")
        )
        lines.append(f"- {truth} ({len(chosen)}): {counts}")
    few = [row for row in rows if row["few"]]
    lines.append(
        f"- too few demonstrations ({len(few)}): "
        f"{', '.join(sorted({row['verdict'] for row in few})) or '-'}"
    )
    return "\n".join(lines)


def cell(value: float | None) -> str:
    """A number of the table."""
    if value is None:
        return "-"
    return f"{value:.2f}"


def main() -> None:
    """Judge every case; write table.md, cases.json.gz and command.txt."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument(
        "--judge",
        type=int,
        default=0,
        help="steps of a fresh agent where the rule has a close rival",
    )
    parser.add_argument("--resume", action="store_true", help="keep the cases that OUT has already")
    arguments = parser.parse_args()
    command = "python benchmarks/verdicts.py " + " ".join(str(path) for path in arguments.runs)
    command += f" --out {arguments.out}"
    if arguments.judge:
        command += f" --judge {arguments.judge}"
    arguments.out.mkdir(parents=True, exist_ok=True)
    runs = find_runs(arguments.runs)
    rows = []
    if arguments.resume:
        rows = per_run.read(arguments.out / "cases") or []
    done = {(row["run"], row["kind"]) for row in rows}
    for run in runs:
        for kind in arguments.kinds:
            if (run.few and kind != "as it is") or (run.path.name, kind) in done:
                continue
            row = judge_case(run, kind, runs, arguments.judge)
            if row is None:
                continue
            rows.append(row)
            mark = "ok " if row["verdict_right"] else "BAD"
            said = (
                f"{mark} {run.path.name} {kind}: {row['truth']} -> {row['verdict']} {row['bad']} "
                f"care {row['care']}"
            )
            sys.stdout.write(f"{said} ({row['hit_rate']}, {row['false_alarm_rate']})\n")
            sys.stdout.flush()
        # after every run: a study that is stopped is a smaller one
        write(rows, command, arguments.out)


def write(rows: list[dict[str, Any]], command: str, out: Path) -> None:
    """table.md, cases.json.gz and command.txt."""
    names = [
        "world",
        "seed",
        "demos",
        "ζ",
        "in words",
        "hit",
        "false alarms",
        "truth",
        "verdict",
        "right",
        "because of",
    ]
    table = as_markdown(names, [_cells(row) for row in rows])
    title = "# What `icrl evaluate` says of right and of wrong rules"
    (out / "table.md").write_text(
        f"{title}\n\n{summary(rows)}\n\n{table}\n\nMade by `{command}`.\n"
    )
    per_run.write(out / "cases", rows)
    (out / "command.txt").write_text(command + "\n")


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["world"],
        str(row["seed"]),
        str(row["demonstrations"]),
        row["kind"],
        row["words"],
        cell(row["hit_rate"]),
        cell(row["false_alarm_rate"]),
        row["truth"],
        row["verdict"],
        "yes" if row["verdict_right"] else "**no**",
        ", ".join(row["bad"] or row["care"]) or "-",
    ]


if __name__ == "__main__":
    main()
