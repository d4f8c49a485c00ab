"""What everybody asks of a method: one record each, and nothing heavy,
so that help stays instant."""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from icrl import presets
from icrl.config import LearnConfig
from icrl.errors import InputError, unknown_name

if TYPE_CHECKING:
    from icrl.baselines.greedy import Inference
    from icrl.constraint.objective import Objective

Settings = Callable[[str], LearnConfig]
"""A task's name -> the settings for it."""


class Presses(enum.StrEnum):
    """How a constraint presses on an agent."""

    cost = "cost"
    """1 − ζ is to be avoided: `forward.respect` says whether it is charged or ends the episode."""
    bonus = "bonus"
    """log ζ is added to the reward."""


class Look(NamedTuple):
    """How runs are shown."""

    label: str
    """In directories and files."""
    name: str
    """In tables and legends."""
    colour: str | None = None
    """None: one that no other method has."""


def _our_settings() -> dict[str, Settings]:
    return {
        "default": presets.default,
        "paper": presets.paper,
        "authors": presets.authors,
    }


def baseline_settings(
    choice: presets.BaselineChoice = presets.NO_CHOICE,
) -> dict[str, Settings]:
    """The paper's loop and Lagrangian agent, with the PPO of the preset
    and what the method's own sweep chose, where there was one."""
    return {
        "default": lambda task: presets.baseline(task, "default", choice),
        "paper": lambda task: presets.baseline(task, "paper", choice),
        "authors": lambda task: presets.baseline(task, "authors", choice),
    }


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to learn a constraint, or an agent to compare with.

    How it learns is one of three: `objective` (Algorithm 1 with that loss for ζ), `learner` (a
    function of its own), or neither, where it is told the truth.
    """

    name: str
    """As typed after --method."""
    label: str
    """As written in tables and legends."""
    summary: str
    """A few words, for help texts."""
    colour: str | None = None
    """In figures; None: one that no other method has."""
    settings: Mapping[str, Settings] = field(default_factory=_our_settings)
    """By the name of the preset."""
    looks: Mapping[str, Look] = field(default_factory=dict)
    """How runs with another preset than `default` are shown, by its name."""
    presses: Presses | None = Presses.cost
    """How its constraint acts on an agent; None: it learns none."""
    objective: "Callable[[], Objective] | None" = None
    """Imports the loss that ζ descends, and returns it."""
    learner: Callable[[], Callable[..., Any]] | None = None
    """Imports the function that learns (a `learners.Learner`), and returns it."""
    inference: "Callable[[], Inference] | None" = None
    """Imports a function that finds the constraint from demonstrations alone, where no agent is
    needed for that."""
    needs_demos: bool = True
    needs_tabular: bool = False
    """Only tasks that have a tabular form will do."""
    needs_truth: bool = False
    """It is told the true constraint: a line to compare with, never a way to learn."""

    def __post_init__(self) -> None:
        """Validate."""
        # Who is told the truth must have no way to learn: else it could pass for a learner in a
        # table.
        ways = [self.objective is not None, self.learner is not None, self.needs_truth]
        if sum(ways) != 1:
            raise InputError(
                f"method {self.name!r} must say how it learns in one way, got {sum(ways)}: give "
                "objective= (a loss for ζ) or learner= (a function of its own)."
            )

    @property
    def learns(self) -> bool:
        """It learns a constraint."""
        return self.presses is not None

    @property
    def sweepable(self) -> bool:
        """It has settings that bear on the constraint."""
        # An exact inference has no settings: a sweep would try nothing.
        return self.learns and self.inference is None

    def preset(self, name: str, task: str) -> LearnConfig:
        """The settings called `name` for a task."""
        if name not in self.settings:
            raise unknown_name("preset", name, self.settings)
        return self.settings[name](task)

    def look(self, preset: str = "default") -> Look:
        """How its runs with that preset are shown."""
        if preset == "default":
            return Look(self.name, self.label, self.colour)
        if preset in self.looks:
            return self.looks[preset]
        label = f"{self.name} ({preset})"
        return Look(label, label)
