"""The suites that ship, by name: the comparisons of the paper's Section 4 (Figures 3 and 4)."""

from collections.abc import Callable
from dataclasses import replace

from icrl.config import LearnConfig
from icrl.errors import unknown_name
from icrl.experiment.suite import Entry, Suite


def _comparison(task: str, ours: int, others: int) -> tuple[Entry, ...]:
    """ICRL with our settings and the paper's, both baselines, and the agent without any constraint."""
    return (
        Entry(label="icrl", task=task, method="icrl", seeds=ours),
        Entry(label="paper", task=task, method="icrl", preset="paper", seeds=others),
        Entry(label="binary-classifier", task=task, method="binary-classifier", seeds=others),
        Entry(label="gail-constraint", task=task, method="gail-constraint", seeds=others),
        Entry(label="nominal", task=task, method="nominal", seeds=others),
    )


def lap_grid() -> Suite:
    """Ten seeds of everything."""
    return Suite(name="lap-grid", purpose="LapGridWorld, every method", entries=_comparison("lap-grid", 10, 10))


def lap_grid_long() -> Suite:
    """Does a finished agent stay finished?"""

    def three_times(config: LearnConfig) -> LearnConfig:
        return replace(config, steps=3 * config.steps)

    entry = Entry(label="icrl-long", task="lap-grid", seeds=10, change=three_times)
    return Suite(name="lap-grid-long", purpose="LapGridWorld, three times as long", entries=(entry,))


def half_cheetah() -> Suite:
    """The body on which public code collapses: ten seeds of ours."""
    return Suite(
        name="half-cheetah", purpose="HalfCheetah, every method", entries=_comparison("half-cheetah-wall", 10, 5)
    )


def ant() -> Suite:
    """The larger body."""
    return Suite(name="ant", purpose="Ant, every method", entries=_comparison("ant-wall", 5, 3))


SUITES: dict[str, Callable[[], Suite]] = {
    "lap-grid": lap_grid,
    "lap-grid-long": lap_grid_long,
    "half-cheetah": half_cheetah,
    "ant": ant,
}


def find_suite(name: str) -> Suite:
    """The suite of that name."""
    if name not in SUITES:
        raise unknown_name("suite", name, SUITES)
    return SUITES[name]()
