"""What a report says of one task: the same for the tables, the figures and the page."""

from dataclasses import dataclass, field

from icrl.demos.dataset import Demonstrations
from icrl.report.cells import Table
from icrl.report.records import Group
from icrl.report.table import Forbidden
from icrl.tasks.task import Scenario


@dataclass(frozen=True, kw_only=True)
class NamedTable:
    """A table with what stands over it."""

    name: str
    """Of its CSV file, after the task's."""
    title: str
    table: Table


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskReport:
    """One task, its runs and what was found in them."""

    task: str
    groups: list[Group]
    scenario: Scenario | None = None
    """None: no run is finished, or the task is a function that only the runs name: a report
    executes nothing."""
    demos: Demonstrations | None = None
    references: dict[str, dict[str, float]] = field(default_factory=dict)
    """Final scores of agents to compare with, drawn as level lines."""
    tables: list[NamedTable] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """How to read the tables."""
    forbidden: Forbidden = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Is any run finished?"""
        return any(group.finished for group in self.groups)
