"""`icrl report`: scores, table, figures and the commands behind them, from run directories into one small directory."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from icrl.agent.policy_file import load_policy
from icrl.agent.rollout import sample_trajectories
from icrl.constraint.learned import LearnedConstraint, load_constraint
from icrl.demos.dataset import Demonstrations
from icrl.errors import InputError
from icrl.experiment.inputs import open_demos
from icrl.experiment.run_directory import CONSTRAINT, POLICY, SCORES, write_json
from icrl.experiment.suite import COMMAND
from icrl.report.figures import ZetaOverX, draw_final_scores, draw_learning_curves, draw_zeta_over_x
from icrl.report.records import Group, RunRecord, read_commands, read_groups
from icrl.report.table import markdown_table, notes
from icrl.tasks.registry import make_scenario
from icrl.tasks.task import Scenario
from icrl.types import AnyArray, FloatArray, Trajectories

TABLE = "table.md"
_X = "x"
_EPISODES, _STATES, _POINTS = 5, 400, 161
"""Episodes of each agent, states that the other features are drawn from, points on x."""


def write_report(directories: Sequence[Path], out: Path, command: str) -> list[Path]:
    """Everything worth committing about the runs in `directories`; returns the files written."""
    groups = read_groups(directories)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a directory, {out} is a file.")
    out.mkdir(parents=True, exist_ok=True)
    commands = [*read_commands(directories), command]
    write_json(out / SCORES, [run.scores for group in groups for run in group.finished])
    (out / COMMAND).write_text("\n".join(commands) + "\n")
    written, sections = [out / SCORES, out / COMMAND], []
    for task in dict.fromkeys(group.task for group in groups):
        section, figures = _write_task(task, [group for group in groups if group.task == task], out)
        sections.append(section)
        written += figures
    text = "\n".join([*sections, "Made by:\n", "```", *commands, "```"]) + "\n"
    (out / TABLE).write_text(text)
    return [*written, out / TABLE]


def _write_task(task: str, groups: list[Group], out: Path) -> tuple[str, list[Path]]:
    """The section of one task in the page, and its figures."""
    scenario = make_scenario(task)
    first = next(run for group in groups for run in group.finished)
    demos, _ = open_demos(str(first.config["demos"]), scenario)
    references = references_of(groups, demos)
    figures = draw_learning_curves(groups, references, out / f"{task}-learning-curves")
    figures += draw_final_scores(groups, references, out / f"{task}-final-scores")
    views = zeta_views(groups, scenario, demos)
    if views:
        figures += draw_zeta_over_x(task, views, scenario.constraint, out / f"{task}-zeta-over-x")
    pictures = [f"![{path.stem}]({path.name})" for path in figures if path.suffix == ".png"]
    parts = [f"## {task}", f"True constraint: {scenario.constraint}.", markdown_table(groups, references)]
    return "\n\n".join([*parts, notes(groups), *pictures]) + "\n", figures


def references_of(groups: Sequence[Group], demos: Demonstrations) -> dict[str, dict[str, float]]:
    """Scores of the expert, and of the nominal agent unless nominal runs are in the report, by the demos' card."""
    found = dict(demos.card.get("references", {}))
    if any(group.label == "nominal" and group.finished for group in groups):
        found.pop("nominal", None)
    return {name: found[name] for name in ("expert", "nominal") if name in found}


def zeta_views(groups: Sequence[Group], scenario: Scenario, demos: Demonstrations) -> list[ZetaOverX]:
    """ζ over x for each method that learned a constraint on a task with a feature called x."""
    if _X not in scenario.task.observation_names:
        return []
    column = scenario.task.observation_names.index(_X)
    expert = demos.trajectories
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
    """Points on x over all that was visited, within the range in which ζ can see x."""
    low, high = float(visited.min()), float(visited.max())
    for constraint in constraints:
        if _X in constraint.features.names:
            index = constraint.features.names.index(_X)
            low = max(low, constraint.features.lower[index])
            high = min(high, constraint.features.upper[index])
    pad = 0.03 * max(high - low, 1e-3)
    return np.linspace(low - pad, high + pad, _POINTS)


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
