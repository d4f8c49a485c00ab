"""How well each method knows the constraint itself:
all judged on the same pairs, and every seed by itself."""

from collections.abc import Sequence

import numpy as np

from icrl.constraint.learned import load_constraint
from icrl.demos.dataset import Demonstrations
from icrl.evaluate import judge_constraint
from icrl.experiment.directory.run_directory import CONSTRAINT
from icrl.experiment.run.constraint_scores import false_alarms_right_of_start, score_on_grid
from icrl.report.cells import Table
from icrl.report.records import Group
from icrl.report.table import Forbidden, truth_known
from icrl.tasks.task import Scenario
from icrl.trajectories import join_pairs, pairs_of
from icrl.types import Pairs
from icrl.visited import VISITED, load_visited
from icrl.words import in_markdown

_PAIRS = 1_000
"""Pairs of the demonstrations, and of every run, that all are judged on."""
_X = "x"
_COLUMNS = {
    "hit_rate": "hit rate",
    "false_alarm_rate": "false alarms",
    "false_alarm_rate_right_of_start": "false alarms, x > 0",
    "auc": "AUC",
    "iou": "IoU",
    "grid_auc": "AUC on the grid",
    "grid_iou": "IoU on the grid",
    "boundary_x": "boundary x",
}
_OWN = {
    "hit_rate": "hit rate, own run",
    "false_alarm_rate_right_of_start": "false alarms x > 0, own run",
}

Known = dict[tuple[str, int], dict[str, float | None]]
"""By label and seed: what the constraint of that run is worth on the common pairs."""


def judge_all(groups: Sequence[Group], scenario: Scenario, demos: Demonstrations | None) -> Known:
    """Every finished run's constraint on one set of pairs:
    some of the demonstrations', some of every run's agents'."""
    # The same for all: on its own pairs a method whose agents never go near the wall looks perfect.
    pairs = common_pairs(groups, demos)
    found: Known = {}
    if pairs is None:
        return found
    names = scenario.task.observation_names
    if _X in names:
        column = names.index(_X)
    else:
        column = None
    for group in groups:
        for run in group.finished:
            if not (run.directory / CONSTRAINT).is_dir():
                continue
            constraint = load_constraint(run.directory / CONSTRAINT)
            scores: dict[str, float | None] = judge_constraint(
                scenario, constraint, pairs
            )._asdict()
            if column is not None:
                scores["false_alarm_rate_right_of_start"] = false_alarms_right_of_start(
                    constraint, pairs, column
                )
                scores |= score_on_grid(scenario, constraint, pairs, column)
            found[group.label, run.seed] = scores
    return found


def common_pairs(groups: Sequence[Group], demos: Demonstrations | None) -> Pairs | None:
    """As many pairs of every run that kept a record as of the demonstrations,
    evenly spread over each."""
    if demos is None:
        parts = []
    else:
        parts = [pairs_of(demos.trajectories)]
    for run in (run for group in groups for run in group.finished):
        if (run.directory / VISITED).exists():
            parts.append(load_visited(run.directory / VISITED).pairs())
    if parts:
        return join_pairs([_spread(part) for part in parts])
    return None


def _spread(pairs: Pairs) -> Pairs:
    count = len(pairs.observations)
    # Evenly over the record, which is in the order of the rounds: early and late agents alike.
    chosen = np.linspace(0, count - 1, min(count, _PAIRS)).round().astype(int)
    return Pairs(observations=pairs.observations[chosen], actions=pairs.actions[chosen])


def knowledge_table(groups: Sequence[Group], known: Known) -> Table:
    """A row per method: mean over seeds, lowest and highest in brackets;
    of boundaries also how many seeds have one."""
    columns = {
        key: name
        for key, name in _COLUMNS.items()
        if any(key in scores for scores in known.values())
    }
    rows = []
    for group in groups:
        seeds = [
            known[group.label, run.seed]
            for run in group.finished
            if (group.label, run.seed) in known
        ]
        if seeds:
            rows.append(
                [
                    in_markdown(group.name),
                    *(_spread_of([scores.get(key) for scores in seeds]) for key in columns),
                ]
            )
    return Table(["method", *columns.values()], rows)


def seeds_table(
    groups: Sequence[Group], known: Known, expert: float | None, forbidden: Forbidden
) -> Table:
    """A row per run: nothing is averaged away."""
    if not truth_known(groups):
        return _seeds_without_truth(groups)
    columns = {
        key: name
        for key, name in _COLUMNS.items()
        if any(key in scores for scores in known.values())
    }
    own = {key: name for key, name in _OWN.items() if key in columns}
    headers = [
        "method",
        "seed",
        "true return",
        "ratio to expert",
        "violation rate",
        "expert steps forbidden",
    ]
    rows = []
    for group in groups:
        for run in group.finished:
            scores = run.scores or {}
            total = float(scores["true_return"])
            here = known.get((group.label, run.seed), {})
            if expert:
                ratio = f"{total / expert:.3f}"
            else:
                ratio = "-"
            rows.append(
                [
                    in_markdown(group.name),
                    str(run.seed),
                    f"{total:,.1f}",
                    ratio,
                    f"{scores['violation_rate']:.4f}",
                    _number(forbidden.get((group.label, run.seed))),
                    *(_number(run.constraint_scores.get(key)) for key in own),
                    *(_number(here.get(key)) for key in columns),
                    f"{scores['seconds']:,.0f}",
                    f"{scores['steps_per_second']:,.0f}",
                ]
            )
    return Table([*headers, *own.values(), *columns.values(), "seconds", "steps/s"], rows)


def _seeds_without_truth(groups: Sequence[Group]) -> Table:
    """What there is to say of every run where nobody knows the truth."""
    headers = [
        "method",
        "seed",
        "return",
        "agent's steps judged infeasible",
        "demonstrated steps judged infeasible",
    ]
    rows = []
    for group in groups:
        for run in group.finished:
            scores = run.scores or {}
            judged = run.constraint_scores
            rows.append(
                [
                    in_markdown(group.name),
                    str(run.seed),
                    f"{scores['nominal_return']:,.1f}",
                    _number(judged.get("agent_steps_forbidden")),
                    _number(judged.get("expert_steps_forbidden")),
                    in_markdown(run.verdict or "not judged"),
                    f"{scores['seconds']:,.0f}",
                    f"{scores['steps_per_second']:,.0f}",
                ]
            )
    return Table([*headers, "verdict", "seconds", "steps/s"], rows)


def knowledge_note(
    scenario: Scenario, demos: Demonstrations | None, transferred: bool = False
) -> str:
    """How to read both tables; where there is an x, also what the demonstrations leave open
    (of a constraint that was learned elsewhere these ones say nothing)."""
    if demos is None:
        shown = ""
    else:
        shown = f"{_PAIRS:,} of the demonstrations and "
    text = (
        f"All constraints are judged on the same pairs: {shown}{_PAIRS:,} of what the agents of "
        "every run of this report did. Hit rate: share of the forbidden pairs that are judged "
        "infeasible; false alarms: share of the allowed ones. IoU: of the pairs that are forbidden "
        "in truth or by judgement, the share that are both. Own run: on what the agents of the run "
        "itself did, and the demonstrations. Mean over seeds, lowest to highest in brackets."
    )
    names = scenario.task.observation_names
    if _X not in names:
        return text
    grid = (
        f"{text} On the grid x is set to values from −20 to 10, all else as in those pairs. "
        "Boundary: the x at which "
    )
    grid += 'mean ζ crosses ½ there; "-": nowhere.'
    if transferred or demos is None:
        return (
            f"{grid} These constraints were learned elsewhere: what the data left open there is in "
            "that report."
        )
    trajectories = demos.trajectories
    lowest = float(trajectories.observations[trajectories.mask][:, names.index(_X)].min())
    return (
        f"{grid} The lowest demonstrated x is {lowest:.2f}: between the truth and it the "
        "demonstrations leave the boundary open."
    )


def _spread_of(values: Sequence[float | None]) -> str:
    numbers = [value for value in values if value is not None]
    if not numbers:
        return "-"
    # A mean over those seeds that have a boundary must say how many these are.
    if len(numbers) == len(values):
        few = ""
    else:
        few = f", {len(numbers)} of {len(values)} seeds"
    return (
        f"{_number(float(np.mean(numbers)))} ({_number(min(numbers))} to "
        f"{_number(max(numbers))}{few})"
    )


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) >= 1.005:
        return f"{value:.2f}"
    return f"{value:.4f}"
