"""`icrl report`: scores, table, figures and the commands behind them, from run directories into one small directory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from icrl.agent.policy_file import load_policy
from icrl.agent.rollout import sample_trajectories
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.demos.dataset import Demonstrations
from icrl.errors import InputError
from icrl.experiment.constraint_scores import over_constraint
from icrl.experiment.inputs import must_import, open_demos_if_any
from icrl.experiment.provenance import constraint_of_run
from icrl.experiment.run_directory import CONSTRAINT, POLICY, SCORES, write_json
from icrl.experiment.suite import COMMAND
from icrl.files import make_folder, write_whole
from icrl.presets import EXPERT
from icrl.report.ablation import ablation_note, ablation_table, cells_of, draw_ablation
from icrl.report.figures import ZetaOverX, draw_final_scores, draw_learning_curves, draw_zeta_over_x
from icrl.report.knowledge import judge_all, knowledge_note, knowledge_table, seeds_table
from icrl.report.records import Group, RunRecord, read_commands, read_groups
from icrl.report.table import Forbidden, expert_level, markdown_table, notes
from icrl.tasks.registry import make_scenario
from icrl.tasks.task import Scenario
from icrl.trajectories import join
from icrl.types import AnyArray, FloatArray, Trajectories
from icrl.words import in_markdown, one_line

TABLE = "table.md"
_X = "x"
_EPISODES, _STATES, _POINTS = 5, 400, 161
"""Episodes of each agent, states that the other features are drawn from, points on x."""


def write_report(directories: Sequence[Path], out: Path, command: str) -> list[Path]:
    """Everything worth committing about the runs in `directories`; returns the files written."""
    groups = read_groups(directories)
    _require_truth(groups)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a directory, {out} is a file.")
    make_folder(out)
    # a line of somebody's command.txt must not end the block of code that it is shown in
    commands = [one_line(line).replace("```", "` ` `") for line in read_commands(directories)]
    commands.append(one_line(command))
    write_whole(out / COMMAND, ("\n".join(commands) + "\n").encode())
    written, sections, scores = [out / SCORES, out / COMMAND], [], []
    for task in dict.fromkeys(group.task for group in groups):
        chosen = [group for group in groups if group.task == task]
        section, figures, forbidden = _write_task(task, chosen, out)
        sections.append(section)
        written += figures
        scores += [judged_scores(run, forbidden) for group in chosen for run in group.finished]
    write_json(out / SCORES, scores)
    text = "\n".join([*sections, "Made by:\n", "```", *commands, "```"]) + "\n"
    write_whole(out / TABLE, text.encode())
    return [*written, out / TABLE]


def _require_truth(groups: Sequence[Group]) -> None:
    for run in (run for group in groups for run in group.runs):
        # a report executes nothing that a run names, and nobody knows the truth of such a task
        own = must_import(run.task)
        scores = run.scores or {}
        if own or any(scores.get(name, 0.0) is None for name in ("true_return", "violation_rate")):
            raise InputError(
                f"{run.directory} is a run on {run.task}, whose true constraint is not known: there are no true "
                "returns to report. Use icrl evaluate and icrl explain on it, and leave it out here."
            )


def judged_scores(run: RunRecord, forbidden: Forbidden) -> dict[str, Any]:
    """A run's scores, with the share of the expert's steps that the table shows: judged on the same expert for all.

    The run itself knew the demonstrations of its task, if that.
    """
    scores = dict(run.scores or {})
    if (run.label, run.seed) in forbidden:
        share = forbidden[run.label, run.seed]
        scores["constraint"] = {**(scores.get("constraint") or {}), "expert_steps_forbidden": share}
    return scores


def _write_task(task: str, groups: list[Group], out: Path) -> tuple[str, list[Path], Forbidden]:
    """The section of one task in the page, its figures, and what each constraint forbids the expert."""
    scenario, finished = make_scenario(task), [run for group in groups for run in group.finished]
    if not finished:
        return f"## {task}\n\nNo run is finished.\n\n{notes(groups)}", [], {}
    demos, _ = open_demos_if_any(finished[0].config.get("demos"), scenario)
    for run in finished:
        if (run.directory / CONSTRAINT).is_dir():
            constraint_of_run(run.directory, run.config, scenario.task)
    references = references_of(groups, demos)
    lines = references | expert_line(groups)
    cells = cells_of(groups)
    apart = {EXPERT, *(cell.group.label for cell in cells)}
    curves = [group for group in groups if group.label not in apart]
    expert = expert_steps(groups, scenario, demos)
    forbidden = forbidden_steps(groups, scenario, expert)
    tables, figures = [markdown_table(groups, references, forbidden)], []
    name = task.replace("/", "-")  # shapes/disc: a file, not a folder
    known = judge_all(groups, scenario, demos)
    if known and not cells:
        tables.append(f"How well the constraint itself is known:\n\n{knowledge_table(groups, known)}")
    tables.append(f"Every seed:\n\n{seeds_table(groups, known, expert_level(groups), forbidden)}")
    tables += [knowledge_note(scenario, demos, _all_transferred(finished))] if known else []
    if cells:
        tables.append(f"What each ablation costs, against having both with the same B:\n\n{ablation_table(cells)}")
        tables.append(ablation_note())
        figures += draw_ablation(cells, lines, out / f"{name}-ablation")
    if any(group.finished for group in curves):
        figures += draw_learning_curves(curves, lines, out / f"{name}-learning-curves")
    figures += draw_final_scores(groups, lines, out / f"{name}-final-scores")
    views = [] if cells or expert is None else zeta_views(groups, scenario, expert)
    if views:
        figures += draw_zeta_over_x(task, views, scenario.constraint, out / f"{name}-zeta-over-x")
    pictures = [f"![{path.stem}]({path.name})" for path in figures if path.suffix == ".png"]
    parts = [f"## {in_markdown(task)}", f"True constraint: {scenario.constraint}.", *tables]
    return "\n\n".join([*parts, notes(groups), *pictures]) + "\n", figures, forbidden


def _all_transferred(runs: Sequence[RunRecord]) -> bool:
    """Did no run of the task learn its constraint there?"""
    learned = [run for run in runs if (run.directory / CONSTRAINT).is_dir()]
    return bool(learned) and all(run.config.get("constraint") is not None for run in learned)


def references_of(groups: Sequence[Group], demos: Demonstrations | None) -> dict[str, dict[str, float]]:
    """Scores of expert and nominal agent by the demos' card, except where runs of the same are in the report."""
    found = {} if demos is None else demos.card.get("references", {})
    shown = {group.label for group in groups if group.finished}
    return {name: found[name] for name in ("expert", "nominal") if name in found and name not in shown}


def expert_line(groups: Sequence[Group]) -> dict[str, dict[str, float]]:
    """Mean final scores of the expert's runs, where the report has some: drawn as a level line, as in the paper."""
    experts = {group.label: group for group in groups if group.label == EXPERT and group.finished}
    scores = ("true_return", "violation_rate")
    return {label: {name: float(group.values(name).mean()) for name in scores} for label, group in experts.items()}


def expert_steps(groups: Sequence[Group], scenario: Scenario, demos: Demonstrations | None) -> Trajectories | None:
    """What an expert of the task does: episodes of the expert's runs; without any, the demonstrations, if there are."""
    runs = [run for group in groups if group.label == EXPERT for run in group.finished]
    if runs:
        return join([_visited(run, scenario) for run in runs])
    return None if demos is None else demos.trajectories


def forbidden_steps(groups: Sequence[Group], scenario: Scenario, expert: Trajectories | None) -> Forbidden:
    """By label and seed: the share of the expert's steps that a run's constraint forbids."""
    if expert is None:
        return {}
    runs = [run for group in groups for run in group.finished if (run.directory / CONSTRAINT).is_dir()]
    shares = [over_constraint(scenario, load_constraint(run.directory / CONSTRAINT), expert) for run in runs]
    return {(run.label, run.seed): share for run, share in zip(runs, shares, strict=True) if share is not None}


def zeta_views(groups: Sequence[Group], scenario: Scenario, expert: Trajectories) -> list[ZetaOverX]:
    """ζ over x for each method that learned (or was given) a constraint on a task with a feature called x."""
    if _X not in scenario.task.observation_names:
        return []
    column = scenario.task.observation_names.index(_X)
    runs = {g.label: [run for run in g.finished if (run.directory / CONSTRAINT).is_dir()] for g in groups}
    shown = [group for group in groups if runs[group.label]]
    constraints = {g.label: [load_constraint(run.directory / CONSTRAINT) for run in runs[g.label]] for g in shown}
    agents = {g.label: [_visited(run, scenario) for run in runs[g.label]] for g in shown}
    visited = [expert, *(agent for group in shown for agent in agents[group.label])]
    x = _axis(
        np.concatenate([_x_of(t, column) for t in visited]), [c for group in shown for c in constraints[group.label]]
    )
    return [_zeta_over_x(g, constraints[g.label], agents[g.label], expert, scenario, column, x) for g in shown]


def _zeta_over_x(
    group: Group,
    constraints: list[LearnedConstraint],
    agents: list[Trajectories],
    expert: Trajectories,
    scenario: Scenario,
    column: int,
    x: FloatArray,
) -> ZetaOverX:
    zeta, forbidden = [], np.zeros(len(x))
    for constraint, agent in zip(constraints, agents, strict=True):
        observations, actions = _along_x([expert, agent], column, x)  # [K, P, o], [K, P, ...]
        zeta.append(constraint.feasibility(observations, actions).mean(axis=1))
        forbidden += scenario.violates(observations, actions).mean(axis=1) / len(agents)
    agent_x = np.concatenate([_x_of(agent, column) for agent in agents])
    return ZetaOverX(group.name, group.label, x, np.stack(zeta), forbidden, _x_of(expert, column), agent_x)


def _x_of(trajectories: Trajectories, column: int) -> FloatArray:
    return np.asarray(trajectories.observations[trajectories.mask][:, column])


def _visited(run: RunRecord, scenario: Scenario) -> Trajectories:
    """Episodes of the run's final agent in the nominal world."""
    policy = load_policy(run.directory / POLICY, scenario.task)
    rng = np.random.default_rng([run.seed, 0x5EE4])
    env = scenario.task.make_env(_EPISODES)
    return sample_trajectories(rng, policy, env, scenario.task.horizon, int(rng.integers(2**31)))


def _axis(visited: FloatArray, constraints: list[LearnedConstraint]) -> FloatArray:
    """Points on x over all that was visited, and a little further, within the range in which ζ can see x."""
    seeing = [(c.features, c.features.names.index(_X)) for c in constraints if _X in c.features.names]
    lower = max((features.lower[index] for features, index in seeing), default=-np.inf)
    upper = min((features.upper[index] for features, index in seeing), default=np.inf)
    low, high = np.clip([visited.min(), visited.max()], lower, upper)
    pad = 0.15 * max(high - low, 1e-3)
    return np.linspace(max(low - pad, lower), min(high + pad, upper), _POINTS)


def _along_x(pools: list[Trajectories], column: int, x: FloatArray) -> tuple[AnyArray, AnyArray]:
    """Pairs from the pools in equal parts, with x put in the place of their own: [K, P, o] and [K, P, ...]."""
    rng = np.random.default_rng(0)
    parts = []
    for pool in pools:
        chosen = rng.integers(pool.num_steps, size=_STATES // len(pools))
        parts.append((pool.observations[pool.mask][chosen], pool.actions[pool.mask][chosen]))
    observations = np.repeat(np.concatenate([o for o, _ in parts])[None], len(x), axis=0)
    actions = np.repeat(np.concatenate([a for _, a in parts])[None], len(x), axis=0)
    observations[..., column] = x[:, None]
    return observations, actions
