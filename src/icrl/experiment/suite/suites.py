"""The suites that ship, by name: the comparisons,
transfers and ablations of the paper's Sections 4 and 5."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from icrl.config import LearnConfig, Train, Weights
from icrl.errors import InputError, unknown_name
from icrl.experiment.suite.suite import Entry, Suite
from icrl.experiment.suite.suite_file import read_suite
from icrl.methods.binary_classifier import BINARY_CLASSIFIER
from icrl.methods.gail_constraint import GAIL_CONSTRAINT
from icrl.methods.icrl import ICRL
from icrl.methods.record import Look, Method
from icrl.methods.references import EXPERT_AGENT, NOMINAL_AGENT
from icrl.presets import forward_alone
from icrl.tasks.shapes.names import FAMILY, NAMES

LONG = Look(f"{ICRL.name}-long", f"{ICRL.label}, 3x steps", ICRL.colour)
LAGRANGIAN = Look(f"{ICRL.name}-lagrangian", "ICRL's ζ, Lagrangian agent", "#56B4E9")


def source_of(method: Method, preset: str = "default") -> Look:
    """The runs in which a method learns what is then transferred."""
    look = method.look(preset)
    return Look(f"source-{look.label}", f"{look.name}, source of a transfer", look.colour)


def _entry(method: Method, task: str, seeds: int, preset: str = "default") -> Entry:
    """The runs of a method on a task, under the label that its record says."""
    label = method.look(preset).label
    return Entry(label=label, task=task, method=method.name, preset=preset, seeds=seeds)


def _comparison(task: str, ours: int, others: int) -> tuple[Entry, ...]:
    """ICRL with our settings and the paper's, both baselines,
    and the agent without any constraint."""
    return (
        _entry(ICRL, task, ours),
        _entry(ICRL, task, others, preset="paper"),
        _entry(BINARY_CLASSIFIER, task, others),
        _entry(GAIL_CONSTRAINT, task, others),
        _entry(NOMINAL_AGENT, task, others),
    )


def lap_grid() -> Suite:
    """Ten seeds of everything, and ten more of ours,
    for the first were looked at while the method was made."""
    return Suite(
        name="lap-grid",
        purpose="LapGridWorld, every method",
        entries=_comparison("lap-grid", 20, 10),
    )


def lap_grid_long() -> Suite:
    """Does a finished agent stay finished?"""

    def three_times(config: LearnConfig) -> LearnConfig:
        return replace(config, steps=3 * config.steps)

    entry = Entry(label=LONG.label, task="lap-grid", seeds=10, change=three_times)
    return Suite(
        name="lap-grid-long", purpose="LapGridWorld, three times as long", entries=(entry,)
    )


def half_cheetah() -> Suite:
    """The body on which public code collapses: ten seeds of ours."""
    return Suite(
        name="half-cheetah",
        purpose="HalfCheetah, every method",
        entries=_comparison("half-cheetah-wall", 10, 5),
    )


def ant() -> Suite:
    """The larger body: six seeds of ours, for three of them were looked at
    while the method was made."""
    return Suite(name="ant", purpose="Ant, every method", entries=_comparison("ant-wall", 6, 3))


METHODS_THAT_TRANSFER = (ICRL, BINARY_CLASSIFIER, GAIL_CONSTRAINT)


FAIR_METHODS = (
    (ICRL, "default"),
    (ICRL, "paper"),
    (ICRL, "authors"),
    (BINARY_CLASSIFIER, "default"),
    (GAIL_CONSTRAINT, "default"),
)
"""(method, preset): ours, the paper's algorithm, what its authors' code does, both baselines."""
DEFAULTS_THAT_TRANSFER = tuple((method, "default") for method in METHODS_THAT_TRANSFER)


def _transfers(
    task: str,
    seeds: int,
    methods: tuple[tuple[Method, str], ...] = DEFAULTS_THAT_TRANSFER,
) -> tuple[Entry, ...]:
    """Each method's constraint, seed by seed, on another body,
    between the agents that know all and nothing of it.

    And ICRL's under the agent of the binary classifier:
    what is the constraint's doing, what the agent's?
    """
    kept = tuple(
        replace(
            _entry(method, task, seeds, preset),
            source=source_of(method, preset).label,
            change=forward_alone,
        )
        for method, preset in methods
    )
    references = tuple(
        replace(_entry(agent, task, seeds), change=forward_alone)
        for agent in (EXPERT_AGENT, NOMINAL_AGENT)
    )
    control = Entry(
        label=LAGRANGIAN.label,
        task=task,
        method=BINARY_CLASSIFIER.name,
        seeds=seeds,
        source=source_of(ICRL).label,
        change=forward_alone,
    )
    return (*references, *kept, control)


def over_positions(config: LearnConfig) -> LearnConfig:
    """A constraint over x and y alone, which Ant and Point have in common;
    learned in half of the steps of `ant`."""
    return replace(config, features=("x", "y"), steps=2_000_000)


def transfer_point() -> Suite:
    """The Ant's constraint over (x, y), learned here, on a kinematic robot with another reward."""
    sources = tuple(
        replace(_entry(method, "ant-wall", 5), label=source_of(method).label, change=over_positions)
        for method in METHODS_THAT_TRANSFER
    )
    return Suite(
        name="transfer-point",
        purpose="the Ant's constraint over (x, y) on Point",
        entries=sources + _transfers("point", 5),
    )


def transfer_ant_broken() -> Suite:
    """The Ant's constraint over all of state and action,
    from the suite `ant` where that has been run."""
    sources = tuple(
        replace(
            _entry(method, "ant-wall", 3),
            label=source_of(method).label,
            borrow=f"ant/{method.name}",
        )
        for method in METHODS_THAT_TRANSFER
    )
    return Suite(
        name="transfer-ant-broken",
        purpose="the Ant's constraint on an Ant with two dead legs",
        entries=sources + _transfers("ant-broken", 3),
    )


def _all_steps(config: LearnConfig) -> LearnConfig:
    """Nobody else stops once an agent earns what demonstrations earn."""
    return replace(config, train=Train.all_steps)


def _fair_comparison(task: str, icrl: int = 5) -> tuple[Entry, ...]:
    """Everybody on a task: five seeds, `icrl` of ours and the paper's; and five experts that are
    trained as long as the agents, for a ratio above 1 must not come from a weak expert. Of the
    paper's agent and of its authors' too: what an agent falls short of even when it is told the
    truth is no fault of ζ. All train to the end of their steps."""
    seeds = {"default": icrl, "paper": icrl}
    learned = tuple(
        replace(
            _entry(method, task, seeds.get(preset, 5) if method is ICRL else 5, preset),
            change=_all_steps,
        )
        for method, preset in FAIR_METHODS
    )
    references = tuple(
        replace(_entry(agent, task, 5), change=forward_alone)
        for agent in (EXPERT_AGENT, NOMINAL_AGENT)
    )
    own_experts = tuple(
        replace(_entry(EXPERT_AGENT, task, 5, preset), change=forward_alone)
        for preset in EXPERT_AGENT.looks
    )
    return learned + references + own_experts


def fair_lap_grid() -> Suite:
    """The paper's Figure 3, first column."""
    return Suite(
        name="fair-lap-grid",
        purpose="LapGridWorld, everybody, the same experts",
        entries=_fair_comparison("lap-grid"),
    )


def fair_half_cheetah() -> Suite:
    """The paper's Figure 3, second column; ten seeds of ours and the paper's, as it has."""
    return Suite(
        name="fair-half-cheetah",
        purpose="HalfCheetah, everybody, the same experts",
        entries=_fair_comparison("half-cheetah-wall", 10),
    )


def fair_ant() -> Suite:
    """The paper's Figure 3, third column."""
    return Suite(
        name="fair-ant",
        purpose="Ant, everybody, the same experts",
        entries=_fair_comparison("ant-wall"),
    )


def _only_positions(config: LearnConfig) -> LearnConfig:
    """A constraint over x and y, learned in as many steps as any other."""
    return replace(config, features=("x", "y"))


def fair_transfer_point() -> Suite:
    """The paper's Figure 4, first column: everybody's constraint over (x, y), learned here."""
    sources = tuple(
        replace(
            _entry(method, "ant-wall", 5, preset),
            label=source_of(method, preset).label,
            change=_only_positions,
        )
        for method, preset in FAIR_METHODS
    )
    return Suite(
        name="fair-transfer-point",
        purpose="everybody's constraint over the Ant's (x, y) on Point",
        entries=sources + _transfers("point", 5, FAIR_METHODS),
    )


def _borrowing_transfer(name: str, purpose: str, source: str, lender: str, task: str) -> Suite:
    """Everybody's constraint from the suite `lender`, where that has been run, on another task."""
    sources = tuple(
        replace(
            _entry(method, source, 5, preset),
            label=source_of(method, preset).label,
            borrow=f"{lender}/{method.look(preset).label}",
            change=_all_steps,
        )
        for method, preset in FAIR_METHODS
    )
    return Suite(name=name, purpose=purpose, entries=sources + _transfers(task, 5, FAIR_METHODS))


def fair_transfer_ant_broken() -> Suite:
    """The paper's Figure 4, second column."""
    return _borrowing_transfer(
        name="fair-transfer-ant-broken",
        purpose="everybody's constraint of the Ant on an Ant with two dead legs",
        source="ant-wall",
        lender="fair-ant",
        task="ant-broken",
    )


def transfer_ant_broken_turned() -> Suite:
    """Ours: the same, but who knows nothing of the wall walks through it."""
    return _borrowing_transfer(
        name="transfer-ant-broken-turned",
        purpose="everybody's constraint of the Ant on a broken Ant that starts facing the wall",
        source="ant-wall",
        lender="fair-ant",
        task="ant-broken-turned",
    )


def transfer_half_cheetah_back() -> Suite:
    """Ours: the same body, a reward that pulls through the wall."""
    return _borrowing_transfer(
        name="transfer-half-cheetah-back",
        purpose="everybody's constraint of the HalfCheetah where running backwards pays twice",
        source="half-cheetah-wall",
        lender="fair-half-cheetah",
        task="half-cheetah-back",
    )


class Ablation(NamedTuple):
    """A way to leave parts of the paper's backward step out."""

    name: str
    importance_sampling: bool
    early_stopping: bool


ABLATIONS = (
    Ablation("both", True, True),
    Ablation("no-early-stopping", True, False),
    Ablation("no-importance-sampling", False, True),
    Ablation("neither", False, False),
)
ABLATION_UPDATES = (1, 5, 10, 20)
"""B, the most updates of zeta in a round: the paper varies it within each ablation."""


def ablation_label(ablation: Ablation, updates: int) -> str:
    """Label of one cell."""
    return f"{ablation.name}-B{updates}"


def _ablated(ablation: Ablation, updates: int, config: LearnConfig) -> LearnConfig:
    """KLs are measured, and limit the updates, whether or not samples are weighted."""
    backward = replace(config.backward, updates=updates)
    if not ablation.importance_sampling:
        backward = replace(backward, weights=Weights.none)
    if not ablation.early_stopping:
        backward = replace(backward, max_kl_old_new=None, max_kl_new_old=None)
    return replace(config, backward=backward)


def _ablation(name: str, purpose: str, updates: tuple[int, ...], seeds: int) -> Suite:
    cells = [(ablation, count) for count in updates for ablation in ABLATIONS]
    entries = tuple(
        Entry(
            label=ablation_label(ablation, count),
            task="half-cheetah-wall",
            preset="paper",
            seeds=seeds,
            change=partial(_ablated, ablation, count),
        )
        for ablation, count in cells
    )
    return Suite(name=name, purpose=purpose, entries=entries)


def ablation_half_cheetah() -> Suite:
    """All sixteen cells of the paper's ablation figure."""
    purpose = "importance sampling x early stopping x B, the paper's settings"
    return _ablation("ablation-half-cheetah", purpose, ABLATION_UPDATES, 5)


def ablation_half_cheetah_short() -> Suite:
    """The same cells for few and for many updates:
    with the same --out, the long suite takes its runs over."""
    purpose = "importance sampling x early stopping, B of 5 and 20, the paper's settings"
    return _ablation("ablation-half-cheetah-short", purpose, (5, 20), 3)


SHAPES_METHODS = (
    (ICRL, "default"),
    (ICRL, "paper"),
    (BINARY_CLASSIFIER, "default"),
    (GAIL_CONSTRAINT, "default"),
)
"""(method, preset)."""


def shapes() -> Suite:
    """Every world of Shapes, every method that learns a constraint:
    which kinds of rules does each recover?"""
    entries = tuple(
        replace(
            _entry(method, FAMILY + name, 5, preset),
            label=f"{name}-{method.look(preset).label}",
        )
        for name in NAMES
        for method, preset in SHAPES_METHODS
    )
    return Suite(name="shapes", purpose="rules of many shapes, every method", entries=entries)


SUITES: dict[str, Callable[[], Suite]] = {
    "lap-grid": lap_grid,
    "lap-grid-long": lap_grid_long,
    "half-cheetah": half_cheetah,
    "ant": ant,
    "transfer-point": transfer_point,
    "transfer-ant-broken": transfer_ant_broken,
    "transfer-ant-broken-turned": transfer_ant_broken_turned,
    "transfer-half-cheetah-back": transfer_half_cheetah_back,
    "fair-lap-grid": fair_lap_grid,
    "fair-half-cheetah": fair_half_cheetah,
    "fair-ant": fair_ant,
    "fair-transfer-point": fair_transfer_point,
    "fair-transfer-ant-broken": fair_transfer_ant_broken,
    "ablation-half-cheetah": ablation_half_cheetah,
    "ablation-half-cheetah-short": ablation_half_cheetah_short,
    "shapes": shapes,
}


def find_suite(name: str) -> Suite:
    """The suite of that name, or in the file of that name (`.toml`)."""
    if name.endswith(".toml"):
        return read_suite(Path(name))
    if name not in SUITES:
        error = unknown_name("suite", name, SUITES)
        raise InputError(f"{error} A suite of your own is a file: my-suite.toml.")
    return SUITES[name]()
