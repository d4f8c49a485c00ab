"""What a verb starts from: a scenario, demonstrations, counts that make sense."""

from typing import TYPE_CHECKING

from icrl.config import require

if TYPE_CHECKING:
    from icrl.demos.dataset import Demonstrations
    from icrl.tasks.task import Scenario


def find_scenario(name: str) -> "Scenario":
    """The scenario of that name."""
    from icrl.tasks.registry import make_scenario

    return make_scenario(name)


def find_demos(path: str | None, scenario: "Scenario") -> "tuple[Demonstrations, str]":
    """Demonstrations, given or shipped, checked against the task; and where they came from."""
    from icrl.experiment.inputs import open_demos

    return open_demos(path, scenario)


def require_counts(seed: int, **counts: int) -> None:
    """The seed is at least 0, everything else at least 1."""
    require(seed >= 0, "seed", seed, "an integer >= 0")
    for name, value in counts.items():
        require(value >= 1, name, value, "an integer >= 1")
